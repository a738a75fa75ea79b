"""Compiled loops. Import this module only where they run: loading the compiler takes half a second.

Every signature is explicit, so importing compiles once and afterwards reads the cache on disk. Columns may be
read-only, as Arrow hands them out.

A row of `table` is one cell of one measure: sum, sum of sizes, smallest, largest, largest size, second largest size.
The six lie side by side, so that a record touches one line of the cache and not six.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types

__all__ = ["LIMIT", "collect", "locate", "spread", "tally"]

# Sums, and twice any value, stay below 2^63.
LIMIT = 2**62

_CODES_8 = types.Array(types.int8, 1, "C", readonly=True)
_CODES_16 = types.Array(types.int16, 1, "C", readonly=True)
_CODES_32 = types.Array(types.int32, 1, "C", readonly=True)
_CODES_64 = types.Array(types.int64, 1, "C", readonly=True)
_PLACES = types.int64[::1]
_TABLE = types.int64[:, ::1]


@njit(
    [
        types.boolean(_PLACES, _CODES_8, types.int64),
        types.boolean(_PLACES, _CODES_16, types.int64),
        types.boolean(_PLACES, _CODES_32, types.int64),
        types.boolean(_PLACES, _CODES_64, types.int64),
    ],
    cache=True,
    nogil=True,
)
def locate(places: Any, codes: Any, categories: int) -> Any:
    """Set places = places * categories + codes; return whether every code is in 0..categories-1."""
    outside = 0
    for i in range(len(places)):
        code = types.int64(codes[i])
        outside += (code < 0) | (code >= categories)
        places[i] = places[i] * categories + code
    return outside == 0


@njit(types.void(types.int64[::1], _PLACES), cache=True, nogil=True)
def tally(counts: Any, places: Any) -> None:
    """Add one in each of the places."""
    for i in range(len(places)):
        counts[places[i]] += 1


@njit(types.boolean(_TABLE, _PLACES, _CODES_64), cache=True, nogil=True)
def collect(table: Any, places: Any, values: Any) -> Any:
    """Add the values to their places; return False, with an unusable table, where a sum of sizes reaches LIMIT."""
    for i in range(len(places)):
        value = values[i]
        if value <= -LIMIT or value >= LIMIT:
            return False
        size = abs(value)
        cell = places[i]
        # Each figure by its two indices: a view of the row would cost more than all the rest.
        table[cell, 0] += value
        table[cell, 1] += size
        if table[cell, 1] >= LIMIT:
            return False
        if value < table[cell, 2]:
            table[cell, 2] = value
        if value > table[cell, 3]:
            table[cell, 3] = value
        if size > table[cell, 4]:
            table[cell, 5] = table[cell, 4]
            table[cell, 4] = size
        elif size > table[cell, 5]:
            table[cell, 5] = size
    return True


@njit(
    types.int64(
        types.float64[::1],
        _PLACES,
        _PLACES,
        types.boolean[::1],
        _PLACES,
        _PLACES,
        types.int64[:, ::1],
        types.float64[::1],
    ),
    cache=True,
    nogil=True,
)
def spread(added: Any, whole: Any, least: Any, may_move: Any, shape: Any, starts: Any, strides: Any, debts: Any) -> Any:
    """Add to each cell that may move the whole number that the mean of the debts of its figures is next to, not below
    `least`.

    added: what each cell owes before; 0 in all but the first pass. debts: of each figure of each level, level l from
    starts[l] on, what its cells should have less what they have. Return how many cells were changed.
    """
    levels, axes = strides.shape
    digits = np.zeros(axes, np.int64)
    places = starts.copy()
    changed = 0
    for cell in range(len(whole)):
        owed = 0.0
        for level in range(levels):
            debts[places[level]] += added[cell]
            owed += debts[places[level]]
        step = max(types.int64(np.floor(owed / levels + 0.5)), least[cell] - whole[cell])
        if step != 0 and may_move[cell]:
            changed += 1
            whole[cell] += step
            for level in range(levels):
                debts[places[level]] -= step
        axis = axes - 1
        while axis >= 0:
            digits[axis] += 1
            for level in range(levels):
                places[level] += strides[level, axis]
            if digits[axis] < shape[axis]:
                break
            for level in range(levels):
                places[level] -= strides[level, axis] * shape[axis]
            digits[axis] = 0
            axis -= 1
    return changed
