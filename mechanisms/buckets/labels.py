"""What a bucket is called: an interval or a set of categories, never a value that only a few records have.

Numbers: "low to high", both ends included. An end is chosen so that fewer than k records cannot be singled out by it:

    fewer than k records lie beyond the outermost value of the bucket      the bound of the declared domain
    at least k records have that value                                     the value itself
    else                                                                   the roundest number between it and the
                                                                           k-th value beyond it

The roundest number is a multiple of the highest power of ten that has one there, next to the bucket. So intervals of
neighbouring buckets may overlap, and every value lies inside the interval of its own bucket.

Ordinal: "first to last" category. Nominal: the concept of the taxonomy below which exactly these categories occur, or
else all of them, joined with " | ".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechanisms.columns import Column
from mechanisms.taxonomy import Taxonomy

__all__ = ["BETWEEN", "Label", "category_label", "interval_label", "label_of", "roundest", "spanned"]

BETWEEN = " | "


@dataclass(frozen=True, slots=True, order=True)
class Label:
    """The name of a bucket, sorted by what it says: where it begins, where it ends, and for sets the text.

    Nothing else may decide the order in which labels are published, because values inside buckets are secret.
    """

    first: Fraction
    last: Fraction
    text: str


def label_of(column: Column, ranked: NDArray[Any], members: NDArray[Any], k: int) -> Label:
    """The name of a bucket, of numbers or codes. ranked: all of the column, rising; members: those in the bucket."""
    if column.numeric:
        return interval_label(column, ranked, members.min(), members.max(), k)
    categories = column.categories or ()
    if column.type == "nominal":
        text = category_label(column, np.unique(members).tolist(), np.unique(ranked).tolist())
        return Label(Fraction(0), Fraction(0), text)
    first, last = int(members.min()), int(members.max())
    first = 0 if first == ranked[0] else first
    last = len(categories) - 1 if last == ranked[-1] else last
    return Label(Fraction(first), Fraction(last), spanned(str(categories[first]), str(categories[last])))


def interval_label(column: Column, ranked: NDArray[Any], lowest: Any, highest: Any, k: int) -> Label:
    """An interval that holds all from `lowest` to `highest`."""
    domain = column.domain or (0, 0)
    low = _end(ranked, lowest, k, domain[0], whole=column.type == "integer", upwards=False)
    high = _end(ranked, highest, k, domain[1], whole=column.type == "integer", upwards=True)
    return Label(low, high, spanned(_plain(low), _plain(high)))


def category_label(column: Column, codes: Sequence[int], occurring: Sequence[int]) -> str:
    """The name of a set of categories, given all that occur."""
    categories = [str(category) for category in column.categories or ()]
    chosen = {categories[code] for code in codes}
    if column.taxonomy is not None and len(chosen) > 1:
        taxonomy = Taxonomy(dict(sorted(column.taxonomy.items())))
        known = {categories[code] for code in occurring}
        for concept in reversed(taxonomy.concepts):  # the lowest first
            if chosen == {category for category in known if concept in taxonomy.ancestors(category)}:
                return concept
    return BETWEEN.join(category for category in categories if category in chosen)


def roundest(low: Fraction, high: Fraction, *, whole: bool, largest: bool) -> Fraction:
    """Of the multiples of the highest power of ten between low and high, the smallest or the largest."""
    if low <= 0 <= high:
        return Fraction(0)
    power = len(str(int(max(abs(low), abs(high)))))
    while True:
        step = Fraction(10) ** power
        found = high // step * step if largest else -(-low // step) * step
        if low <= found <= high:
            return found
        power -= 1
        if whole and power < 0:
            raise ValueError("there is no whole number between the two")


def _end(ranked: NDArray[Any], outermost: Any, k: int, bound: float, *, whole: bool, upwards: bool) -> Fraction:
    first, after = (int(np.searchsorted(ranked, outermost, side)) for side in ("left", "right"))
    beyond = len(ranked) - after if upwards else first
    if beyond < k:
        return _exact(bound)
    value = _exact(outermost)
    if after - first >= k:
        return value
    if upwards:
        return roundest(value, _exact(ranked[after + k - 1]), whole=whole, largest=False)
    return roundest(_exact(ranked[first - k]), value, whole=whole, largest=True)


def _exact(number: Any) -> Fraction:
    """The number as its shortest decimal, which is what is printed."""
    return Fraction(int(number)) if isinstance(number, (int, np.integer)) else Fraction(repr(float(number)))


def _plain(number: Fraction) -> str:
    """All are decimals, so this is exact."""
    digits = 0
    while (number * 10**digits).denominator != 1:
        digits += 1
    return format(Decimal(int(number * 10**digits)).scaleb(-digits), "f")


def spanned(first: str, last: str) -> str:
    """From one to the other, or the one that both are."""
    return first if first == last else f"{first} to {last}"
