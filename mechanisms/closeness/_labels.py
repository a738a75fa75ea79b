"""What a bucket is called: an interval or a set of categories, never a value that only a few records have.

Numbers: "low to high", both ends included, chosen such that they reveal nothing about fewer than k records:

    fewer than k records lie beyond the outermost value v      the bound of the declared domain                   (1)
    else                                                       the end of the cell of v, of the smallest step 1, 2
                                                               or 5 times a power of ten for which k or more
                                                               records have a value in that cell                  (2)

A cell of step s is (m s - s, m s] for an upper end and [m s, m s + s) for a lower one. The end shows that
the outermost value lies in its cell, as those of k records or more do. A value that k records have is its own cell.

Ordinal: "first to last", widened to a category that at least k records have, or to the end of the list. Nominal: the
concept of the taxonomy that has exactly these categories below it, or else all of them, joined with " | "; for several
columns together, categories of fewer than k records are in the labels of all buckets.

Labels of neighbouring buckets may overlap; every value lies inside that of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.taxonomy import Taxonomy

__all__ = ["BETWEEN", "TO", "Label", "category_label", "concept_names", "interval_label", "range_label"]

BETWEEN = " | "
TO = " to "

Concepts = Mapping[frozenset[int], str]


@dataclass(frozen=True, slots=True, order=True)
class Label:
    """The name of a bucket, sorted by what it says: where it begins, where it ends, and for sets the text.

    Nothing else may decide the order in which labels are published, because values inside buckets are secret.
    """

    first: Fraction
    last: Fraction
    text: str


def interval_label(column: Column, ranked: NDArray[Any], members: NDArray[Any], k: int) -> Label:
    """Return a label for numbers. ranked: all of the column, rising; members: those in the bucket."""
    domain = column.domain or (0, 0)
    whole = column.type == "integer"
    low = _end(ranked, members.min(), k, _exact(domain[0]), whole=whole, upwards=False)
    high = _end(ranked, members.max(), k, _exact(domain[1]), whole=whole, upwards=True)
    return Label(low, high, _spanned(_plain(low), _plain(high)))


def range_label(column: Column, sizes: NDArray[np.int64], members: NDArray[np.int64], k: int) -> Label:
    """Return a label for ordinal categories, as codes. sizes: how many records each category has."""
    categories = column.categories or ()
    first, last = int(members.min()), int(members.max())
    while first > 0 and sizes[first] < k:
        first -= 1
    while last < len(categories) - 1 and sizes[last] < k:
        last += 1
    return Label(Fraction(first), Fraction(last), _spanned(str(categories[first]), str(categories[last])))


def category_label(column: Column, codes: Collection[int], concepts: Concepts) -> Label:
    """Return a label for a set of nominal categories. concepts: as `concept_names` finds them."""
    chosen = frozenset(codes)
    joined = BETWEEN.join(str(category) for code, category in enumerate(column.categories or ()) if code in chosen)
    return Label(Fraction(0), Fraction(0), joined if len(chosen) == 1 else concepts.get(chosen, joined))


def concept_names(column: Column) -> Concepts:
    """Return, for a nominal column, the name of each set of categories that a concept of its taxonomy has below it."""
    if column.taxonomy is None:
        return {}
    taxonomy = Taxonomy(dict(sorted(column.taxonomy.items())))
    below: dict[str, list[int]] = {}
    for code, category in enumerate(column.categories or ()):
        for concept in taxonomy.ancestors(str(category)):
            below.setdefault(concept, []).append(code)
    # Of concepts with the same set the lowest, which is the last one met from the root.
    return {frozenset(below[concept]): concept for concept in taxonomy.concepts if concept in below}


def _end(ranked: NDArray[Any], outermost: Any, k: int, bound: Fraction, *, whole: bool, upwards: bool) -> Fraction:
    """(1) and (2)."""
    value = _exact(outermost)
    first, after = (int(np.searchsorted(ranked, outermost, side)) for side in ("left", "right"))
    if (len(ranked) - after if upwards else first) < k:
        return bound
    if after - first >= k:
        return value
    for step in _steps(value, abs(bound - value), whole=whole):
        if upwards:
            end = -(-value // step) * step
            inside = np.searchsorted(ranked, [float(end - step), float(end)], "right")
        else:
            end = value // step * step
            inside = np.searchsorted(ranked, [float(end), float(end + step)], "left")
        if inside[1] - inside[0] >= k:
            return min(end, bound) if upwards else max(end, bound)
    return bound


def _steps(value: Fraction, limit: Fraction, *, whole: bool) -> Iterator[Fraction]:
    """Yield 1, 2 and 5 times powers of ten below a limit, from the last digit of the value on."""
    power = 0 if whole else -len(str(value.denominator))
    for exponent in count(power):
        for multiple in (1, 2, 5):
            step = multiple * Fraction(10) ** exponent
            if step >= limit:
                return
            yield step


def _exact(number: Any) -> Fraction:
    """Return the number as its shortest decimal, which is what is printed."""
    return Fraction(int(number)) if isinstance(number, (int, np.integer)) else Fraction(repr(float(number)))


def _plain(number: Fraction) -> str:
    """Write a number without an exponent; all are decimals, so this is exact."""
    digits = 0
    while (number * 10**digits).denominator != 1:
        digits += 1
    return format(Decimal(int(number * 10**digits)).scaleb(-digits), "f")


def _spanned(first: str, last: str) -> str:
    return first if first == last else f"{first}{TO}{last}"
