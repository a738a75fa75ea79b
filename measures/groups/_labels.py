"""Labels of buckets, read as someone reads them who has nothing but what is published.

    numbers    "low to high", both ends included, low < high, plain decimals; "low" alone where a bucket is one value
    ordinal    "first to last", a range of the declared categories; the category alone where it is one
    nominal    declared categories in declared order, joined with " | "; or the name of a concept of the taxonomy,
               which stands for the declared categories that it is above, itself included

A text that can be read in none of these ways, or in two that differ, is no label.

    width = (high - low) / (width of the domain),   (m - 1) / (C - 1) for m of the C declared categories           (1)
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from penstock.mechanisms.columns import Column

__all__ = ["Categories", "Interval", "Label", "read_labels"]

_DECIMAL = re.compile(r"-?[0-9]{1,309}(\.[0-9]{1,400})?")
_LARGEST = Fraction(sys.float_info.max)
_RANGE = " to "
_AMONG = " | "


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers from low to high, both included."""

    low: Fraction
    high: Fraction

    @property
    def place(self) -> tuple[Fraction, Fraction]:
        """Return a sort key that rises from low intervals to high ones."""
        return self.low, self.high

    def holds(self, value: float) -> bool:
        """Return whether a value lies inside. A float is compared with the floats nearest to the ends: 0.1 is "0.1"."""
        if isinstance(value, float):
            return float(self.low) <= value <= float(self.high)
        return self.low <= value <= self.high

    def width(self, column: Column) -> Fraction:
        """(1)."""
        low, high = (Fraction(repr(bound)) for bound in column.bounds)
        return (self.high - self.low) / (high - low)


@dataclass(frozen=True, slots=True)
class Categories:
    """Some of the declared categories, as codes."""

    codes: frozenset[int]

    @property
    def place(self) -> tuple[int, int]:
        """Return a sort key that rises from low ranges of categories to high ones."""
        return min(self.codes), max(self.codes)

    def width(self, column: Column) -> Fraction:
        """(1); 0 where only one category is declared."""
        return Fraction(len(self.codes) - 1, max(len(column.categories or ()) - 1, 1))


Label = Interval | Categories


def read_labels(labels: Sequence[object], column: Column) -> list[Label | None]:
    """Return what each label of the buckets of a source column stands for; None where it is no label."""
    if column.numeric:
        return [_interval(label) for label in labels]
    code = {str(category): place for place, category in enumerate(column.categories or ())}
    if column.type == "ordinal":
        return [_of_one_reading(_ranges(label, code)) for label in labels]
    below = _below(column, code)
    return [_of_one_reading(_sets(label, code, below)) for label in labels]


def _interval(label: object) -> Interval | None:
    ends = label.split(_RANGE) if isinstance(label, str) else []
    if not 1 <= len(ends) <= 2 or not all(_DECIMAL.fullmatch(end) for end in ends):
        return None
    low, high = Fraction(ends[0]), Fraction(ends[-1])
    known = max(abs(low), abs(high)) <= _LARGEST and (low < high or len(ends) == 1)
    return Interval(low, high) if known else None


def _of_one_reading(readings: set[frozenset[int]]) -> Categories | None:
    return Categories(readings.pop()) if len(readings) == 1 else None


def _ranges(label: object, code: dict[str, int]) -> set[frozenset[int]]:
    """Return the ranges that a label may stand for: every split is tried, as a category may contain the word itself."""
    if not isinstance(label, str):
        return set()
    found = {frozenset([code[label]])} if label in code else set()
    words = label.split(_RANGE)
    for place in range(1, len(words)):
        first, last = (code.get(_RANGE.join(end)) for end in (words[:place], words[place:]))
        if first is not None and last is not None and first < last:
            found.add(frozenset(range(first, last + 1)))
    return found


def _sets(label: object, code: dict[str, int], below: dict[str, frozenset[int]]) -> set[frozenset[int]]:
    if not isinstance(label, str):
        return set()
    found = {below[label]} if below.get(label) else set()
    members = [code.get(member, -1) for member in label.split(_AMONG)]
    if all(one < following for one, following in zip([-1, *members], members, strict=False)):
        found.add(frozenset(members))
    return found


def _below(column: Column, code: dict[str, int]) -> dict[str, frozenset[int]]:
    """Return the declared categories that each concept of the taxonomy is above, itself included."""
    parents = column.taxonomy or {}
    found: dict[str, set[int]] = {concept: set() for concept in parents}
    for category, place in code.items():
        waiting = [category]
        while waiting:
            concept = waiting.pop()
            if concept in found and place not in found[concept]:
                found[concept].add(place)
                waiting += parents[concept]
    return {concept: frozenset(places) for concept, places in found.items()}
