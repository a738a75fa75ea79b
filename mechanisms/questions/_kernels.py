"""Compiled loops. Import this module only where they run: loading the compiler takes half a second.

Every signature is explicit, so importing compiles once and afterwards reads the cache on disk. Columns may be
read-only, as Arrow hands them out.

`takes` has one entry for each record, or none where all take part; `groups` likewise, none where there is one group. A
group outside 0..number-1 is no group. Values are put on their grid as in penstock.mechanisms.numbers.grid, (1): clamped
to low..high, times the factor 2^-exponent, to the nearest whole number, halves up, minus `first`. A missing value does
not take part, or, where `complete` is set, counts as the lowest one.
"""

from __future__ import annotations

from math import floor
from typing import Any

import numpy as np
from numba import njit, types

__all__ = ["add_up", "keep", "place", "tally"]

_BOOLS = types.Array(types.boolean, 1, "C", readonly=True)
_CODES = types.Array(types.int64, 1, "C", readonly=True)
_FLOATS = types.Array(types.float64, 1, "C", readonly=True)
_WHOLE = types.Array(types.int64, 1, "C", readonly=True)
_TABLE = types.int64[:, ::1]
_COUNTS = types.int64[::1]
_ONES = types.uint8[::1]
_F, _I, _B = types.float64, types.int64, types.boolean


@njit(types.void(_COUNTS, _BOOLS, _CODES), cache=True, nogil=True)
def tally(counts: Any, takes: Any, groups: Any) -> None:
    """Count the records that take part, in their groups."""
    if len(takes) == 0:
        for i in range(len(groups)):
            if 0 <= groups[i] < len(counts):
                counts[groups[i]] += 1
        return
    for i in range(len(groups)):
        if 0 <= groups[i] < len(counts):
            counts[groups[i]] += takes[i]  # added, not asked: nobody can predict whether a record takes part


@njit([_I(_F, _F, _F, _F, _I), _I(_I, _I, _I, _I, _I)], cache=True, nogil=True, inline="always")
def _index(value: Any, low: Any, high: Any, factor: Any, first: int) -> Any:
    """Return the step of a number; of a whole one, with factor 1, without leaving whole numbers."""
    clamped = min(max(value, low), high)
    scaled = clamped * factor
    below = floor(scaled)
    return np.int64(below) + (scaled - below >= 0.5) - first


@njit(
    [
        types.void(_TABLE, _FLOATS, _BOOLS, _CODES, _F, _F, _F, _I, _B),
        types.void(_TABLE, _WHOLE, _BOOLS, _CODES, _I, _I, _I, _I, _B),
    ],
    cache=True,
    nogil=True,
)
def add_up(
    table: Any, values: Any, takes: Any, groups: Any, low: Any, high: Any, factor: Any, first: int, complete: bool
) -> None:
    """Add values on their grid to the row of their group: number, sum, smallest, largest."""
    everyone, single = len(takes) == 0, len(groups) == 0
    if single:
        number, total, smallest, largest = 0, 0, table[0, 2], table[0, 3]
        for i in range(len(values)):
            value = values[i]
            is_there = value == value
            if (everyone or takes[i]) and (is_there or complete):
                step = _index(value if is_there else low, low, high, factor, first)
                number += 1
                total += step
                smallest = min(smallest, step)
                largest = max(largest, step)
        table[0, 0] += number
        table[0, 1] += total
        table[0, 2] = smallest
        table[0, 3] = largest
        return
    if everyone:
        for i in range(len(values)):
            value, group = values[i], groups[i]
            is_there = value == value
            if (is_there or complete) and 0 <= group < len(table):
                step = _index(value if is_there else low, low, high, factor, first)
                table[group, 0] += 1
                table[group, 1] += step
                table[group, 2] = min(table[group, 2], step)
                table[group, 3] = max(table[group, 3], step)
        return
    for i in range(len(values)):
        value, group = values[i], groups[i]
        if 0 <= group < len(table):
            is_there = value == value
            used = takes[i] & (is_there | complete)
            step = _index(value if is_there else low, low, high, factor, first)
            table[group, 0] += used
            table[group, 1] += step * used
            table[group, 2] = min(table[group, 2], step if used else table[group, 2])
            table[group, 3] = max(table[group, 3], step if used else table[group, 3])


@njit(
    [
        types.void(_ONES, _COUNTS, _FLOATS, _BOOLS, _CODES, _F, _F, _F, _I, _B, _I),
        types.void(_ONES, _COUNTS, _WHOLE, _BOOLS, _CODES, _I, _I, _I, _I, _B, _I),
    ],
    cache=True,
    nogil=True,
)
def place(
    ones: Any,
    hundreds: Any,
    values: Any,
    takes: Any,
    groups: Any,
    low: Any,
    high: Any,
    factor: Any,
    first: int,
    complete: bool,
    points: int,
) -> None:
    """Count values by group and step: the step s of group g is counted at g * points + s.

    Counts are bytes, so that a million of them stay in the cache; a byte that is full is emptied into the other array.
    """
    everyone, single = len(takes) == 0, len(groups) == 0
    number = len(ones) // points
    for i in range(len(values)):
        value = values[i]
        is_there = value == value
        if (everyone or takes[i]) and (is_there or complete):
            group = 0 if single else groups[i]
            if 0 <= group < number:
                step = group * points + _index(value if is_there else low, low, high, factor, first)
                count = ones[step]
                if count == 255:
                    hundreds[step] += 256
                    ones[step] = 0
                else:
                    ones[step] = count + 1


@njit(
    [
        _I(_COUNTS, _FLOATS, _BOOLS, _CODES, _F, _F, _F, _I, _B, _I, _I),
        _I(_COUNTS, _WHOLE, _BOOLS, _CODES, _I, _I, _I, _I, _B, _I, _I),
    ],
    cache=True,
    nogil=True,
)
def keep(
    keys: Any,
    values: Any,
    takes: Any,
    groups: Any,
    low: Any,
    high: Any,
    factor: Any,
    first: int,
    complete: bool,
    points: int,
    number: int,
) -> Any:
    """Write g * points + s for every value that takes part, of step s and group g; return how many there are."""
    everyone, single = len(takes) == 0, len(groups) == 0
    kept = 0
    for i in range(len(values)):
        value = values[i]
        is_there = value == value
        if (everyone or takes[i]) and (is_there or complete):
            group = 0 if single else groups[i]
            if 0 <= group < number:
                keys[kept] = group * points + _index(value if is_there else low, low, high, factor, first)
                kept += 1
    return kept
