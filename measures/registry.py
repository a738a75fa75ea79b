"""Measures by name, as specs and gates know them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from measures import anonymity, information_loss, linkage
from measures.comparison import Comparison, Groups, compare
from measures.measurement import Measurement, MeasureUndefined, MeasureUnknown
from mechanisms.columns import Columns, Declared

__all__ = ["Measure", "judge", "measure", "measure_names"]


class Measure(Protocol):
    """What `measure(name)` returns."""

    def __call__(
        self, original: Columns, released: Columns, declared: Declared, *, groups: Groups | None = None
    ) -> Measurement:
        """Judge the released quasi-identifiers and confidential columns against their originals.

        original, released: columns aligned row by row; what is judged is what is in `released`.
        groups: for each masked column the group label of every record; only some measures need it.
        """
        ...


_MEASURES: dict[str, Callable[[Comparison], Measurement]] = {
    "average_risk": anonymity.average_risk,
    "correlation_change": information_loss.correlation_change,
    "il1s": information_loss.il1s,
    "mean_change": information_loss.mean_change,
    "own_value_probability": anonymity.own_value_probability,
    "record_linkage": linkage.record_linkage,
    "sse": information_loss.sse,
    "variance_change": information_loss.variance_change,
}


def measure_names() -> tuple[str, ...]:
    """Every measure that exists, in alphabetical order."""
    return tuple(_MEASURES)


def judge(name: str, pair: Comparison) -> Measurement:
    """One measure of a comparison; measures of the same comparison share what they compute."""
    if name not in _MEASURES:
        raise _unknown(name)
    # Infinite values and sums beyond the range of floats end below as a refusal, so numpy need not warn.
    with np.errstate(over="ignore", invalid="ignore"):
        found = _MEASURES[name](pair)
    if not all(map(math.isfinite, (found.value, *found.by_column.values()))):
        raise MeasureUndefined.at(name, rule="the value is not a finite number", remedy="Correct the data.")
    return found


def measure(name: str) -> Measure:
    """The measure of that name; its docstring gives formula, source, attacker and limits."""
    if name not in _MEASURES:
        raise _unknown(name)

    def apply(original: Columns, released: Columns, declared: Declared, *, groups: Groups | None = None) -> Measurement:
        return judge(name, compare(original, released, declared, groups))

    apply.__doc__ = _MEASURES[name].__doc__
    return apply


def _unknown(name: str) -> MeasureUnknown:
    return MeasureUnknown.at("measure", rule=f"one of {', '.join(_MEASURES)}", got=name, remedy="Choose one of these.")
