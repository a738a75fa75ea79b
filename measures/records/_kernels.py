"""Compiled search for the nearest points, and for what they hold. Import inside functions: it loads numba.

Distances are compared in two stages: first those along some axes, then, among equals, those along the others.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from penstock.measures.kernels import least_between, squared_between

__all__ = ["held_by_nearest"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@njit(
    "UniTuple(float64, 2)(float64[:, ::1], int64, float64[:, ::1], int64, int64, float64[:, :, ::1], boolean[::1])",
    cache=True,
    nogil=True,
)
def _distances(
    asked: Floats, row: int, points: Floats, place: int, numeric: int, squares: Floats, first: Flags
) -> tuple[float, float]:
    """Return the squared distances along the first axes and along the others."""
    total, rest = 0.0, 0.0
    tables = points.shape[1] - squares.shape[0]
    for t in range(points.shape[1]):
        if t < numeric:
            change = asked[row, t] - points[place, t]
            squared = change * change
        else:
            squared = squared_between(squares, t - tables, asked[row, t], points[place, t])
        if first[t]:
            total += squared
        else:
            rest += squared
    return total, rest


@njit(
    "UniTuple(float64, 2)(float64[:, ::1], int64, float64[:, :, ::1], int64, int64, float64[:, :, ::1], boolean[::1])",
    cache=True,
    nogil=True,
)
def _bounds(
    asked: Floats, row: int, boxes: Floats, node: int, numeric: int, squares: Floats, first: Flags
) -> tuple[float, float]:
    """Return lower bounds of `_distances` to any point of the node's box, also of the computed numbers: rounding is
    monotone, and the terms are added in the same order."""
    total, rest = 0.0, 0.0
    tables = asked.shape[1] - squares.shape[0]
    for t in range(asked.shape[1]):
        low, high = boxes[node, 0, t], boxes[node, 1, t]
        if t < numeric:
            change = max(low - asked[row, t], asked[row, t] - high, 0.0)
            squared = change * change
        else:
            squared = least_between(squares, t - tables, asked[row, t], low, high)
        if first[t]:
            total += squared
        else:
            rest += squared
    return total, rest


@njit("int64(int64[:, ::1], int64, int64, int64, int64)", cache=True, nogil=True)
def _first_from(held: Ints, kind: int, start: int, end: int, wanted: int) -> int:
    """Return the first place of start..end whose value is at least `wanted`; they rise."""
    while start < end:
        middle = (start + end) // 2
        if held[kind, middle] < wanted:
            start = middle + 1
        else:
            end = middle
    return start


@njit(
    "Tuple((int64[::1], int64[:, ::1]))(float64[:, ::1], int64[::1], int64[:, ::1], int64[::1], float64[:, :, ::1], "
    "int64, float64[:, :, ::1], boolean[::1], float64[:, ::1], int64[:, ::1], int64[::1])",
    cache=True,
    nogil=True,
)
def held_by_nearest(
    points: Floats,
    starts: Ints,
    held: Ints,
    borders: Ints,
    boxes: Floats,
    numeric: int,
    squares: Floats,
    first: Flags,
    asked: Floats,
    wanted: Ints,
    near: Ints,
) -> tuple[Ints, Ints]:
    """Return for each point that is asked about how many records are nearest, and how many of them hold what is wanted.

    held: a row for each kind of value, the records of a point side by side from starts[point], rising. wanted: a row
    for each kind, a value for each point that is asked about. near: for each of these a point to begin with, which is
    likely to be near.
    """
    nearest = np.zeros(len(asked), np.int64)
    holding = np.zeros((len(wanted), len(asked)), np.int64)
    stack = np.empty(128, np.int64)
    leaves = len(boxes) // 2
    for row in range(len(asked)):
        best, best_rest = _distances(asked, row, points, near[row], numeric, squares, first)
        for counting in (False, True):
            stack[0], height = 0, 1
            while height > 0:
                height -= 1
                node = stack[height]
                bound, bound_rest = _bounds(asked, row, boxes, node, numeric, squares, first)
                if bound > best or (bound == best and bound_rest > best_rest):
                    continue
                if node < leaves:
                    closer, other = 2 * node + 1, 2 * node + 2
                    to_closer = _bounds(asked, row, boxes, closer, numeric, squares, first)
                    to_other = _bounds(asked, row, boxes, other, numeric, squares, first)
                    if to_other < to_closer:
                        closer, other = other, closer
                    stack[height], stack[height + 1] = other, closer
                    height += 2
                    continue
                for i in range(borders[2 * node], borders[2 * node + 1]):
                    distance, rest = _distances(asked, row, points, i, numeric, squares, first)
                    if not counting:
                        if distance < best or (distance == best and rest < best_rest):
                            best, best_rest = distance, rest
                    elif distance == best and rest == best_rest:
                        start, end = starts[i], starts[i + 1]
                        nearest[row] += end - start
                        for kind in range(len(wanted)):
                            value = wanted[kind, row]
                            place = _first_from(held, kind, start, end, value)
                            holding[kind, row] += _first_from(held, kind, place, end, value + 1) - place
    return nearest, holding
