"""Charges of every model, and what they cost together under one adjacency."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from penstock.mechanisms.composition import Charge, composed
from penstock.mechanisms.models import Model

MODEL_OF: dict[str, Model] = {
    "add_remove": "dp",
    "replace": "dp",
    "replace_within_cell": "dp",
    "presence": "dp",
    "from_D": "idp",
    "from_D_within_cell": "idp",
    "from_D_add_remove": "idp",
    "bootstrap_add_remove": "bdp",
    "bootstrap_replace": "bdp",
    "bootstrap_within_cell": "bdp",
}


def charge(
    epsilon: object,
    adjacency: str = "replace",
    part: str | None = None,
    unit: str = "row",
    records: str = "",
    edition: str | None = None,
) -> Charge:
    """records: names of what the records are known by, one letter each."""
    return Charge(
        model=MODEL_OF[adjacency],
        epsilon=Fraction(str(epsilon)),
        adjacency=adjacency,
        unit=unit,
        part=part,
        records=frozenset(records),
        edition=edition,
    )


def total(charges: Sequence[Charge], adjacency: str = "replace", unit: str = "row") -> Fraction:
    return composed(charges, model=MODEL_OF[adjacency], adjacency=adjacency, unit=unit)
