"""Compiled loops. Import this module only where they run: loading the compiler takes half a second.

Every signature is explicit, so importing compiles once and afterwards reads the cache on disk. Columns may be
read-only, as Arrow hands them out.

`takes` has one entry for each record, or none where all take part. Categories come as places in a table (_coded.py),
whose last entry stands for all places outside. That of groups, `rows`, has the number of groups for what is none; where
there is one group, there are no places, and that number is its only entry. Values are put on their grid as in
penstock.mechanisms.numbers.grid, (1): clamped to low..high, times the factor 2^-exponent, to the nearest whole number,
halves up, minus `first`. A missing value does not take part, or, where `complete` is set, counts as the lowest one.

Whether a record takes part is added or chosen, never asked: nobody can predict it, least of all the processor. What is
none is counted in a row of its own, which is left out in the end.
"""

from __future__ import annotations

from math import floor
from typing import Any

import numpy as np
from numba import njit, types

__all__ = ["add_up", "choose", "keep", "place", "tally"]

_BOOLS = types.Array(types.boolean, 1, "C", readonly=True)
_PLACES = types.Array(types.int32, 1, "C", readonly=True)
_ROWS = types.Array(types.int64, 1, "C", readonly=True)
_FLOATS = types.Array(types.float64, 1, "C", readonly=True)
_WHOLE = types.Array(types.int64, 1, "C", readonly=True)
_TABLE = types.int64[:, ::1]
_COUNTS = types.int64[::1]
_ONES = types.uint8[::1]
_F, _I, _B = types.float64, types.int64, types.boolean

_FAR = 2**62
# Steps at a time: few enough to stay in the cache between two loops.
_BLOCK = 4096


@njit(_I(types.int32, _I), cache=True, nogil=True, inline="always")
def _entry(place: Any, last: Any) -> Any:
    """Return the entry of a table for a place: the last one for every place outside, -1 among them."""
    return min(np.int64(np.uint32(place)), last)


@njit(types.void(types.boolean[::1], _PLACES, _BOOLS, _B), cache=True, nogil=True)
def choose(takes: Any, places: Any, allowed: Any, first: bool) -> None:
    """Keep the records whose category is allowed among those that take part; first: all did so far."""
    last = len(allowed) - 1
    if first:
        for i in range(len(places)):
            takes[i] = allowed[_entry(places[i], last)]
        return
    for i in range(len(places)):
        takes[i] = takes[i] & allowed[_entry(places[i], last)]


@njit(types.void(_COUNTS, _BOOLS, _PLACES, _ROWS), cache=True, nogil=True)
def tally(counts: Any, takes: Any, places: Any, rows: Any) -> None:
    """Count the records that take part, in their groups.

    Four times side by side: one count would wait for the one before it, if two records in a row have the same group.
    """
    found, last = np.zeros((4, len(counts) + 1), np.int64), len(rows) - 1
    if len(takes) == 0:
        for i in range(len(places)):
            found[i & 3, rows[_entry(places[i], last)]] += 1
    else:
        for i in range(len(places)):
            found[i & 3, rows[_entry(places[i], last)]] += takes[i]
    for group in range(len(counts)):
        counts[group] += found[0, group] + found[1, group] + found[2, group] + found[3, group]


@njit([_I(_F, _F, _F, _F, _I), _I(_I, _I, _I, _I, _I)], cache=True, nogil=True, inline="always")
def _index(value: Any, low: Any, high: Any, factor: Any, first: int) -> Any:
    """Return the step of a number; of a whole one, with factor 1, without leaving whole numbers."""
    clamped = min(max(value, low), high)
    scaled = clamped * factor
    below = floor(scaled)
    return np.int64(below) + (scaled - below >= 0.5) - first


@njit(
    [types.void(_COUNTS, _FLOATS, _F, _F, _F, _I), types.void(_COUNTS, _WHOLE, _I, _I, _I, _I)],
    cache=True,
    nogil=True,
)
def _put(steps: Any, values: Any, low: Any, high: Any, factor: Any, first: int) -> None:
    """Write the steps of numbers, by themselves: several at once fit into one register. Of NaN, that of the lowest."""
    for i in range(len(values)):
        steps[i] = _index(values[i] if values[i] == values[i] else low, low, high, factor, first)


@njit(
    [
        types.void(_COUNTS, _FLOATS, _BOOLS, _PLACES, _ROWS, _B),
        types.void(_COUNTS, _WHOLE, _BOOLS, _PLACES, _ROWS, _B),
    ],
    cache=True,
    nogil=True,
)
def _assign(of: Any, values: Any, takes: Any, places: Any, rows: Any, complete: bool) -> None:
    """Write the row of the table that each record is added to: the last one, if it takes no part."""
    last = len(rows) - 1
    none = rows[last]
    if len(places) == 0:
        for i in range(len(values)):
            of[i] = 0
    else:
        for i in range(len(values)):
            of[i] = rows[_entry(places[i], last)]
    if not complete:
        for i in range(len(values)):
            of[i] = of[i] if values[i] == values[i] else none
    for i in range(len(takes)):
        of[i] = of[i] if takes[i] else none


@njit(
    [
        types.void(_TABLE, _FLOATS, _BOOLS, _PLACES, _ROWS, _F, _F, _F, _I, _B),
        types.void(_TABLE, _WHOLE, _BOOLS, _PLACES, _ROWS, _I, _I, _I, _I, _B),
    ],
    cache=True,
    nogil=True,
)
def add_up(
    table: Any,
    values: Any,
    takes: Any,
    places: Any,
    rows: Any,
    low: Any,
    high: Any,
    factor: Any,
    first: int,
    complete: bool,
) -> None:
    """Add values on their grid to the row of their group: number, sum, smallest, largest."""
    everyone, single = len(takes) == 0, len(places) == 0
    if single:
        number, total, smallest, largest = 0, 0, _FAR, -_FAR
        if everyone:
            for i in range(len(values)):
                is_there = values[i] == values[i]
                used = is_there | complete
                step = _index(values[i] if is_there else low, low, high, factor, first)
                number += used
                total += step if used else 0
                smallest = min(smallest, step if used else _FAR)
                largest = max(largest, step if used else -_FAR)
        else:
            for i in range(len(values)):
                is_there = values[i] == values[i]
                used = takes[i] & (is_there | complete)
                step = _index(values[i] if is_there else low, low, high, factor, first)
                number += used
                total += step if used else 0
                smallest = min(smallest, step if used else _FAR)
                largest = max(largest, step if used else -_FAR)
        table[0, 0] += number
        table[0, 1] += total
        table[0, 2] = min(table[0, 2], smallest)
        table[0, 3] = max(table[0, 3], largest)
        return
    groups = len(table)
    found = np.empty((groups + 1, 4), np.int64)
    found[:, :2] = 0
    found[:, 2] = _FAR
    found[:, 3] = -_FAR
    steps, of = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
    for start in range(0, len(values), _BLOCK):
        number = min(_BLOCK, len(values) - start)
        block = slice(start, start + number)
        _put(steps, values[block], low, high, factor, first)
        _assign(of, values[block], takes[block], places[block], rows, complete)
        for i in range(number):
            step, group = steps[i], of[i]
            found[group, 0] += 1
            found[group, 1] += step
            if step < found[group, 2]:  # foreseen by the processor: it happens a few times
                found[group, 2] = step
            if step > found[group, 3]:
                found[group, 3] = step
    for group in range(groups):
        table[group, 0] += found[group, 0]
        table[group, 1] += found[group, 1]
        table[group, 2] = min(table[group, 2], found[group, 2])
        table[group, 3] = max(table[group, 3], found[group, 3])


@njit(
    [
        _I(_COUNTS, _FLOATS, _BOOLS, _PLACES, _ROWS, _F, _F, _F, _I, _B, _I, _I),
        _I(_COUNTS, _WHOLE, _BOOLS, _PLACES, _ROWS, _I, _I, _I, _I, _B, _I, _I),
    ],
    cache=True,
    nogil=True,
)
def keep(
    keys: Any,
    values: Any,
    takes: Any,
    places: Any,
    rows: Any,
    low: Any,
    high: Any,
    factor: Any,
    first: int,
    complete: bool,
    points: int,
    groups: int,
) -> Any:
    """Write g * points + s for every value that takes part, of step s and group g; return how many there are.

    Every key is written, and the next one over it if it does not count.
    """
    kept, steps, of = 0, np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
    for start in range(0, len(values), _BLOCK):
        number = min(_BLOCK, len(values) - start)
        block = slice(start, start + number)
        _put(steps, values[block], low, high, factor, first)
        _assign(of, values[block], takes[block], places[block], rows, complete)
        for i in range(number):
            keys[kept] = of[i] * points + steps[i]
            kept += of[i] < groups
    return kept


@njit(
    [
        types.void(_ONES, _COUNTS, _FLOATS, _BOOLS, _PLACES, _ROWS, _F, _F, _F, _I, _B, _I, _I),
        types.void(_ONES, _COUNTS, _WHOLE, _BOOLS, _PLACES, _ROWS, _I, _I, _I, _I, _B, _I, _I),
    ],
    cache=True,
    nogil=True,
)
def place(
    ones: Any,
    hundreds: Any,
    values: Any,
    takes: Any,
    places: Any,
    rows: Any,
    low: Any,
    high: Any,
    factor: Any,
    first: int,
    complete: bool,
    points: int,
    groups: int,
) -> None:
    """Count values by group and step: the step s of group g is counted at g * points + s.

    Counts are bytes, so that a million of them stay in the cache; a byte that is full is emptied into the other array.
    """
    keys = np.empty(_BLOCK, np.int64)
    for start in range(0, len(values), _BLOCK):
        block = slice(start, min(start + _BLOCK, len(values)))
        kept = keep(
            keys,
            values[block],
            takes[block],
            places[block],
            rows,
            low,
            high,
            factor,
            first,
            complete,
            points,
            groups,
        )
        for i in range(kept):
            step = keys[i]
            count = ones[step]
            if count == 255:
                hundreds[step] += 256
                ones[step] = 0
            else:
                ones[step] = count + 1
