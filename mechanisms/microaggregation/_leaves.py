# mypy: allow-untyped-decorators
"""Points arranged in the leaves of k-d trees, compiled. Import this module only where it runs: it loads numba.

The points of a tree are split in two along the axis on which they spread most, each part again, until a part fits
into one leaf. The left part gets the largest power of two of leaves that leaves something to the right, so 16^i leaves
from a multiple of 16^i on are always a part of their own, and their box is a small one. Leaves are nearly full.

    cut = start + floor(points * left / leaves),   points <= size * leaves  =>  both parts fit into their leaves
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

__all__ = ["arranged"]

# The spread along an axis is judged by about this many points.
_JUDGED = 128

_FLOATS, _INTS, _INT = types.float64[:, ::1], types.int64[::1], types.int64


@njit(types.void(_FLOATS, _INTS, _INT, _INT, _INT, _INT), cache=True, nogil=True)
def _split(cloud: Any, rows: Any, start: int, middle: int, end: int, axis: int) -> None:
    """Reorder start..end so that no point before `middle` exceeds any from it on, along `axis`."""
    low, high = start, end - 1
    while low < high:
        a, b, c = cloud[low, axis], cloud[(low + high) // 2, axis], cloud[high, axis]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while cloud[i, axis] < pivot:
                i += 1
            while cloud[j, axis] > pivot:
                j -= 1
            if i <= j:
                for t in range(cloud.shape[1]):
                    cloud[i, t], cloud[j, t] = cloud[j, t], cloud[i, t]
                rows[i], rows[j] = rows[j], rows[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@njit(_INT(_FLOATS, _INT, _INT), cache=True, nogil=True)
def _widest(cloud: Any, start: int, end: int) -> int:
    """Return the axis on which the points spread most."""
    step = max(1, (end - start) // _JUDGED)
    axis, widest = 0, -1.0
    for j in range(cloud.shape[1]):
        low, high = np.inf, -np.inf
        for i in range(start, end, step):
            low, high = min(low, cloud[i, j]), max(high, cloud[i, j])
        if high - low > widest:
            axis, widest = j, high - low
    return axis


@njit(types.Tuple((types.float64[:, :, ::1], _INTS, _INTS))(_FLOATS, _INTS, _INTS, _INT), cache=True, nogil=True)
def arranged(
    points: Any, order: Any, starts: Any, size: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Arrange leaves of up to `size` points; tree t has the points order[starts[t]:starts[t + 1]] of a d x n array.

    Returns the points as (leaf, coordinate, slot), NaN in unused slots; their rows by position = leaf * size + slot;
    and the first leaf of every tree (and the end of the last).
    """
    d, trees = len(points), len(starts) - 1
    first = np.zeros(trees + 1, np.int64)
    for tree in range(trees):
        first[tree + 1] = first[tree] + (starts[tree + 1] - starts[tree] + size - 1) // size
    leaf_points = np.full((first[trees], d, size), np.nan)
    leaf_rows = np.zeros(first[trees] * size, np.int64)
    waiting = np.empty((64, 4), np.int64)
    for tree in range(trees):
        rows = order[starts[tree] : starts[tree + 1]].copy()
        cloud = np.empty((len(rows), d))
        for j in range(d):
            for i in range(len(rows)):
                cloud[i, j] = points[j, rows[i]]
        waiting[0], height = (first[tree], first[tree + 1] - first[tree], 0, len(rows)), 1
        while height > 0:
            height -= 1
            leaf, leaves, start, end = waiting[height]
            while leaves > 1:
                left = 1
                while 2 * left < leaves:
                    left *= 2
                middle = start + (end - start) * left // leaves
                _split(cloud, rows, start, middle, end, _widest(cloud, start, end))
                waiting[height] = leaf + left, leaves - left, middle, end
                height += 1
                leaves, end = left, middle
            for slot in range(end - start):
                leaf_rows[leaf * size + slot] = rows[start + slot]
                for j in range(d):
                    leaf_points[leaf, j, slot] = cloud[start + slot, j]
    return leaf_points, leaf_rows, first
