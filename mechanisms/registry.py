"""Every mechanism by its name in a spec. To add one, add its folder's MECHANISM and Params here."""

from __future__ import annotations

from penstock.mechanisms import (
    closeness,
    dp_microaggregation,
    probabilistic_k_anonymity,
    refinement,
    statistics,
    table,
)
from penstock.mechanisms.mechanism import Mechanism

__all__ = ["MECHANISMS", "AnyParams", "mechanism_of"]

AnyParams = (
    probabilistic_k_anonymity.Params
    | dp_microaggregation.Params
    | closeness.Params
    | table.Params
    | statistics.Params
    | refinement.Params
)

MECHANISMS: dict[str, Mechanism] = {
    each.MECHANISM.name: each.MECHANISM
    for each in (probabilistic_k_anonymity, dp_microaggregation, closeness, table, statistics, refinement)
}


def mechanism_of(params: AnyParams) -> Mechanism:
    """Return the mechanism that these settings are for."""
    return MECHANISMS[params.mechanism]
