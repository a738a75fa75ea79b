"""Which cells are confidential by the classic rules of tables, judged on the confidential side, before any noise.

x_1 >= x_2 >= ... are the contributions to a cell, X their sum:

    minimum frequency   0 < records < m                                                                        (1)
    (n, k) dominance    x_1 + .. + x_n > (k / 100) X                                                           (2)
    p% rule             X - x_1 - x_2 < (p / 100) x_1                                                          (3)

(3): the second largest contributor, who knows x_2, takes the rest for x_1 and is off by less than p per cent.

Source: Hundepool et al. 2012, "Statistical Disclosure Control", section 4.2, with strict inequalities as there.

Where values may be negative, x is the size |v| and X the sum of sizes, not the published total: a large loss gives
its owner away as a large gain does, and a total that cancels to near 0 must not hide it. For values from 0 on this
changes nothing.

Edge cases. One contributor is sensitive under (2), and one or two under (3), unless x_1 = 0. A cell of zeros is
sensitive under (1) alone: nobody dominates it, although its total shows every contribution if values cannot be
negative. An empty cell is sensitive under none. Every record is its own contributor: where one contributor has several
records, they must be added up first.

All comparisons are exact, in whole numbers. Being sensitive is itself confidential, and a cell that is not has no
promise; these rules advise, they protect nothing.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mechanisms.refusal import SettingRefused
from mechanisms.tables.cells import Cells, Integers

__all__ = ["dominated", "guessable_within", "less_frequent_than"]

Flags = NDArray[np.bool_]

# A hundred times as much is below 2^31, so a product of two remainders fits into 62 bits.
_LARGEST_DENOMINATOR = 2**24


def less_frequent_than(cells: Cells, minimum: int) -> Flags:
    """(1), where `minimum` is m."""
    if minimum < 1:
        raise SettingRefused.at("minimum", rule="at least 1 record", got=minimum, remedy="Choose 3 or more.")
    return (cells.counts > 0) & (cells.counts < minimum)


def dominated(cells: Cells, measure: str, contributors: Literal[1, 2], percent: Fraction) -> Flags:
    """(2), where `contributors` is n and `percent` is k."""
    if contributors not in (1, 2):
        raise SettingRefused.at("contributors", rule="1 or 2", got=contributors, remedy="Choose 1 or 2.")
    share, magnitudes = _share(percent), cells.measures[measure]
    largest = magnitudes.largest_size + (magnitudes.second_size if contributors == 2 else 0)
    below, _ = _around(share, magnitudes.sizes)
    flags: Flags = largest > below
    return flags


def guessable_within(cells: Cells, measure: str, percent: Fraction) -> Flags:
    """(3), where `percent` is p."""
    share, magnitudes = _share(percent), cells.measures[measure]
    rest = magnitudes.sizes - magnitudes.largest_size - magnitudes.second_size
    _, above = _around(share, magnitudes.largest_size)
    flags: Flags = rest < above
    return flags


def _share(percent: Fraction) -> Fraction:
    if isinstance(percent, bool) or not isinstance(percent, int | Fraction) or not 0 < percent < 100:
        raise SettingRefused.at(
            "percent", rule="an exact number between 0 and 100", got=percent, remedy="Write it as Fraction(15, 2)."
        )
    if percent.denominator > _LARGEST_DENOMINATOR:
        raise SettingRefused.at(
            "percent", rule="a fraction with a denominator up to 2^24", got=percent, remedy="Write fewer digits."
        )
    return Fraction(percent) / 100


def _around(share: Fraction, sizes: Integers) -> tuple[Integers, Integers]:
    """floor(share * size) and ceil(share * size): with whole numbers on the other side, (2) and (3) need no more."""
    whole, rest = np.divmod(sizes, share.denominator)
    product = share.numerator * rest
    base = share.numerator * whole
    return base + product // share.denominator, base - (-product // share.denominator)
