"""Which records satisfy the conditions of a question, exactly.

A band compares numbers as they were clamped to the domain [a, b]. Its ends lie in (a, b], or at_least is a, which every
number reaches; so clamping changes no comparison, and numbers are compared as they are:

    x >= t  exactly if  x >= least float not below t,        x < t  exactly if  x < least float not below t        (1)

and for whole numbers the same with the least whole number not below t. NaN, and a category that was not declared or is
missing, satisfy nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column, Declared
from penstock.mechanisms.questions.query import Condition

__all__ = ["Filter", "as_codes", "as_numbers", "filters_of"]

Bools = NDArray[np.bool_]
_LEAST, _MOST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Filter:
    """One condition; chosen: for each category whether it counts; else the ends of a band, None where it is open."""

    column: str
    chosen: Bools | None = None
    at_least: Fraction | None = None
    below: Fraction | None = None

    def holds(self, values: NDArray[Any]) -> Bools:
        """Return for each record whether it satisfies the condition."""
        if self.chosen is not None:
            known: Bools = (values >= 0) & (values < len(self.chosen))
            return known & self.chosen.take(values, mode="clip")
        found: Bools | None = None
        if self.at_least is not None:
            found = values >= _end(self.at_least, values)
        if self.below is not None:
            under = values < _end(self.below, values)
            found = under if found is None else found & under
        return values == values if found is None else found  # NaN differs from itself


def filters_of(where: Sequence[Condition], declared: Declared) -> tuple[Filter, ...]:
    """Return the conditions of a question without fault, ready to be looked up."""
    return tuple(_filter(condition, declared[condition.column]) for condition in where)


def _filter(condition: Condition, column: Column) -> Filter:
    if condition.is_in is not None:
        chosen = np.array([str(category) in condition.is_in for category in column.categories or ()], np.bool_)
        return Filter(condition.column, chosen)
    lowest = Fraction((column.domain or (0, 0))[0])
    at_least = None if condition.at_least == lowest else condition.at_least
    return Filter(condition.column, None, at_least, condition.below)


def as_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers as float64 or int64; what is beyond 64 bits is as far outside every domain."""
    if values.dtype == np.uint64:
        values = np.minimum(values, np.uint64(_MOST))
    return np.ascontiguousarray(values, np.int64 if values.dtype.kind in "iub" else np.float64)


def as_codes(codes: NDArray[Any]) -> NDArray[np.int64]:
    """Return codes as int64; what is no whole number is no category."""
    if codes.dtype.kind == "f":
        return np.where(np.isfinite(codes), np.clip(np.nan_to_num(codes), -1, 2**31), -1).astype(np.int64)
    return np.ascontiguousarray(codes).astype(np.int64, copy=False)


def prepared(columns: Mapping[str, NDArray[Any]], declared: Declared, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the named columns as the conditions and the loops read them."""
    return {
        name: as_numbers(columns[name]) if declared[name].numeric else as_codes(columns[name])
        for name in names
        if name in declared and declared[name].role in ("quasi_identifier", "confidential")
    }


def _end(end: Fraction, values: NDArray[Any]) -> float | int:
    """(1)."""
    if values.dtype.kind == "i":
        return min(max(ceil(end), _LEAST), _MOST)
    nearest = float(end)
    return nearest if Fraction(nearest) >= end else nextafter(nearest, inf)
