"""Columns and promises that the tests of measures share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.measures import Check, RecordOutput
from penstock.measures.recheck import recheck
from penstock.measures.records.comparison import Chosen, Groups
from penstock.mechanisms.columns import Column, Columns, Declared, MissingRule, Role
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.models import Model


def number(low: float = 0, high: float = 8, role: Role = "confidential", missing: MissingRule = "refuse") -> Column:
    return Column(role=role, type="continuous", domain=(low, high), missing=missing)


def ordinal(count: int = 5, role: Role = "confidential", missing: MissingRule = "refuse") -> Column:
    return Column(role=role, type="ordinal", categories=_letters(count), missing=missing)


def nominal(count: int = 5, role: Role = "confidential", missing: MissingRule = "refuse") -> Column:
    return Column(role=role, type="nominal", categories=_letters(count), missing=missing)


def promise(model: Model, audit: tuple[str, ...] = (), **parameters: Any) -> Guarantee:
    return Guarantee(
        model=model,
        parameters=parameters,
        adjacency="for a test",
        unit="row",
        statement="for a test",
        public=(),
        secret=(),
        assumptions=(),
        not_promised=(),
        postprocessing="any",
        composes_with="nothing",
        audit=audit,
    )


def _letters(count: int) -> tuple[str, ...]:
    return tuple("abcdefghijklmnopqrstuvwxyz"[:count])


def rechecked(
    original: Columns,
    released: Columns,
    declared: Declared,
    guarantee: Guarantee,
    masked: Iterable[str],
    groups: Groups,
    chosen: Chosen | None = None,
) -> tuple[Check, ...]:
    """Re-check released records, which are as many as their originals."""
    return recheck(
        RecordOutput(
            original=original,
            released=released,
            declared=declared,
            guarantee=guarantee,
            masked=frozenset(masked),
            groups=groups,
            chosen=chosen or {},
            records=max((len(values) for values in original.values()), default=0),
        )
    )
