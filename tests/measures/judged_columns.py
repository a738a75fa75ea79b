"""Columns and promises that the tests of measures share."""

from __future__ import annotations

from typing import Any

from penstock.mechanisms.columns import Column, MissingRule, Role
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
