"""Which records satisfy the conditions of a question, exactly.

A band compares numbers as they were clamped to the domain [a, b]. Its ends lie in (a, b], or at_least is a, which every
number reaches; so clamping changes no comparison, and numbers are compared as they are:

    x >= t  exactly if  x >= least float not below t,        x < t  exactly if  x < least float not below t        (1)

and for whole numbers the same with the least whole number not below t, without leaving whole numbers; an end beyond
their type is reached by all or by none. NaN, a masked number, and a category that was not declared or is missing,
satisfy nothing.

How a number is read depends on the type of its column and on itself, never on the rows beside it: whole numbers stay
whole whether or not one of them is missing, because what is missing is marked by a mask beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column, Columns, Declared
from penstock.mechanisms.questions._coded import Coded, codes_of
from penstock.mechanisms.questions.query import Condition

__all__ = ["Filter", "Read", "apart", "as_numbers", "filters_of", "prepared", "satisfied"]

Bools = NDArray[np.bool_]
# The columns of some rows as conditions and loops read them: numbers, or categories by a table.
Read = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Filter:
    """One condition; chosen: for each category whether it counts; else the ends of a band, None where it is open."""

    column: str
    chosen: Bools | None = None
    at_least: Fraction | None = None
    below: Fraction | None = None

    def allowed(self, coded: Coded) -> Bools | None:
        """Return for each entry of the table whether it satisfies a condition on categories; None for a band."""
        return None if self.chosen is None else coded.table(self.chosen, False)

    def in_band(self, values: NDArray[Any]) -> Bools:
        """Return for each record whether its number lies in the band."""
        numbers, found = apart(values)
        if self.at_least is not None:
            found = _both(found, _reaches(numbers, self.at_least))
        if self.below is not None:
            found = _both(found, _is_below(numbers, self.below))
        return numbers == numbers if found is None else found  # NaN differs from itself


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


def satisfied(where: Sequence[Condition], columns: Columns, declared: Declared) -> Bools:
    """Return for each record whether it satisfies all of some conditions, at least one."""
    read = prepared(columns, declared, [condition.column for condition in where])
    found: Bools | None = None
    for each in filters_of(where, declared):
        values = read[each.column]
        allowed = None if each.chosen is None else each.allowed(values)
        found = _both(found, each.in_band(values) if allowed is None else values.looked_up(allowed))
    if found is None:
        raise ValueError("without a condition nothing is chosen")
    return found


def apart(values: NDArray[Any]) -> tuple[NDArray[Any], Bools | None]:
    """Return plain numbers, and of each whether it is there; None where no mask says that one is not."""
    mask = np.ma.getmask(values)
    return np.ma.getdata(values), None if mask is np.ma.nomask else np.logical_not(np.asarray(mask, np.bool_))


def as_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers as int64, or uint64 where they are stored so, with their mask; others as float64."""
    numbers, mask = np.ma.getdata(values), np.ma.getmask(values)
    if numbers.dtype.kind not in "iub":
        numbers = np.ascontiguousarray(numbers, np.float64)
        return numbers if mask is np.ma.nomask else np.where(mask, np.nan, numbers)
    numbers = np.ascontiguousarray(numbers, np.uint64 if numbers.dtype == np.uint64 else np.int64)
    return numbers if mask is np.ma.nomask else np.ma.MaskedArray(numbers, mask)


def prepared(columns: Mapping[str, Any], declared: Declared, names: Sequence[str]) -> dict[str, Any]:
    """Return the named columns as the conditions and the loops read them."""
    return {
        name: as_numbers(columns[name])
        if declared[name].numeric
        else codes_of(columns[name], len(declared[name].categories or ()))
        for name in names
        if name in declared and declared[name].role in ("quasi_identifier", "confidential")
    }


def _both(found: Bools | None, also: Bools) -> Bools:
    return also if found is None else found & also


def _reaches(values: NDArray[Any], end: Fraction) -> Bools:
    """Return which numbers are at least `end`, by (1)."""
    if values.dtype.kind not in "iu":
        return np.asarray(values >= _float_not_below(end), np.bool_)
    least, kind = ceil(end), np.iinfo(values.dtype)
    if not kind.min <= least <= kind.max:
        return np.full(len(values), least < kind.min)
    return np.asarray(values >= values.dtype.type(least), np.bool_)


def _is_below(values: NDArray[Any], end: Fraction) -> Bools:
    """Return which numbers are below `end`, by (1)."""
    if values.dtype.kind not in "iu":
        return np.asarray(values < _float_not_below(end), np.bool_)
    return ~_reaches(values, end)


def _float_not_below(end: Fraction) -> float:
    nearest = float(end)
    return nearest if Fraction(nearest) >= end else nextafter(nearest, inf)
