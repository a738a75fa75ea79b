"""Compiled loops of the measures and re-checks. Import inside functions: it loads numba.

Signatures are explicit, so everything is compiled once at the first import and then comes from the
cache. No fastmath: distances must come out with the same bits wherever they are computed.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["build_tree", "count_nearest", "least_between", "rows_by_group", "squared_between"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# So many entries of a table are looked at for one bound; a longer search would cost more than it saves.
_SCANNED = 64


@njit("int64[::1](int64[::1], int64[::1])", cache=True, nogil=True)
def rows_by_group(labels: Ints, starts: Ints) -> Ints:
    """Return the rows group by group, in row order inside each; `starts`, where each begins, is used up."""
    order = np.empty(len(labels), np.int64)
    for row in range(len(labels)):
        label = labels[row]
        order[starts[label]] = row
        starts[label] += 1
    return order


@njit("void(float64[:, ::1], int64[::1], int64, int64, int64, int64)", cache=True, nogil=True)
def _split(points: Floats, order: Ints, start: int, middle: int, end: int, axis: int) -> None:
    """Reorder rows start..end so that none before `middle` exceeds any from it on, along `axis`."""
    low, high = start, end - 1
    while low < high:
        a, b, c = points[low, axis], points[(low + high) // 2, axis], points[high, axis]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while points[i, axis] < pivot:
                i += 1
            while points[j, axis] > pivot:
                j -= 1
            if i <= j:
                for t in range(points.shape[1]):
                    points[i, t], points[j, t] = points[j, t], points[i, t]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@njit("Tuple((int64[::1], int64[::1], float64[:, :, ::1]))(float64[:, ::1], int64, int64)", cache=True, nogil=True)
def build_tree(points: Floats, numeric: int, depth: int) -> tuple[Ints, Ints, Floats]:
    """Build a balanced k-d tree over `points`, which are reordered in place.

    Node i has children 2i+1 and 2i+2; all leaves lie at `depth`. Axes from `numeric` on are nominal.
    Returns the row that each place came from, the borders of every node (two per node), and its box
    (lowest and highest point).
    """
    n, axes = points.shape
    nodes = 2 ** (depth + 1) - 1
    order = np.arange(n)
    borders = np.empty(2 * nodes, np.int64)
    boxes = np.empty((nodes, 2, axes))
    borders[0], borders[1] = 0, n
    for node in range(nodes):
        start, end = borders[2 * node], borders[2 * node + 1]
        for t in range(axes):
            boxes[node, 0, t], boxes[node, 1, t] = np.inf, -np.inf
        for i in range(start, end):
            for t in range(axes):
                boxes[node, 0, t] = min(boxes[node, 0, t], points[i, t])
                boxes[node, 1, t] = max(boxes[node, 1, t], points[i, t])
        left = 2 * node + 1
        if left >= nodes:
            continue
        axis, widest = 0, -1.0
        for t in range(axes):
            extent = boxes[node, 1, t] - boxes[node, 0, t]
            if t >= numeric:
                extent = min(extent, 1.0)
            if extent > widest:
                axis, widest = t, extent
        middle = (start + end) // 2
        _split(points, order, start, middle, end, axis)
        borders[2 * left], borders[2 * left + 1] = start, middle
        borders[2 * left + 2], borders[2 * left + 3] = middle, end
    return order, borders, boxes


@njit("float64(float64[:, :, ::1], int64, float64, float64)", cache=True, nogil=True)
def squared_between(squares: Floats, table: int, one: float, other: float) -> float:
    """Return the squared distance of two categories: 0 or 1, or what a table says, where the axis has one."""
    if table < 0:
        return 0.0 if one == other else 1.0
    squared: float = squares[table, int(one), int(other)]
    return squared


@njit("float64(float64[:, :, ::1], int64, float64, float64, float64)", cache=True, nogil=True)
def least_between(squares: Floats, table: int, one: float, low: float, high: float) -> float:
    """Return a lower bound of `squared_between` one category and those from low to high; 0 if they are many."""
    if table < 0:
        return 0.0 if low <= one <= high else 1.0
    if low <= one <= high or high - low > _SCANNED:
        return 0.0
    least: float = squares[table, int(one), int(low)]
    for other in range(int(low) + 1, int(high) + 1):
        least = min(least, squares[table, int(one), other])
    return least


@njit("float64(float64[:, ::1], int64, float64[:, ::1], int64, int64, float64[:, :, ::1])", cache=True, nogil=True)
def _distance(released: Floats, row: int, points: Floats, place: int, numeric: int, squares: Floats) -> float:
    """Return the squared distance: squared differences on numeric axes, those of categories on the others, added axis
    by axis; the last axes have tables of squared distances."""
    total = 0.0
    for t in range(numeric):
        change = released[row, t] - points[place, t]
        total += change * change
    first = points.shape[1] - squares.shape[0]
    for t in range(numeric, points.shape[1]):
        total += squared_between(squares, t - first, released[row, t], points[place, t])
    return total


@njit("float64(float64[:, ::1], int64, float64[:, :, ::1], int64, int64, float64[:, :, ::1])", cache=True, nogil=True)
def _bound(released: Floats, row: int, boxes: Floats, node: int, numeric: int, squares: Floats) -> float:
    """Return a lower bound on the squared distance from the released row to any point of the node's box.

    It holds for the computed numbers, not only for the true ones: rounding is monotone, and the
    terms are the ones of `_distance` in the same order. So an equal distance is never pruned.
    """
    total = 0.0
    for t in range(numeric):
        change = max(boxes[node, 0, t] - released[row, t], released[row, t] - boxes[node, 1, t], 0.0)
        total += change * change
    first = released.shape[1] - squares.shape[0]
    for t in range(numeric, released.shape[1]):
        total += least_between(squares, t - first, released[row, t], boxes[node, 0, t], boxes[node, 1, t])
    return total


@njit(
    "int64[::1](float64[:, ::1], int64[::1], int64[::1], float64[:, :, ::1], int64, float64[:, :, ::1], "
    "float64[:, ::1], int64[::1], int64[::1])",
    cache=True,
    nogil=True,
)
def count_nearest(
    points: Floats,
    copies: Ints,
    borders: Ints,
    boxes: Floats,
    numeric: int,
    squares: Floats,
    released: Floats,
    rows: Ints,
    own: Ints,
) -> Ints:
    """Return for each pair (released row, place of its own original) how many originals are nearest, or 0.

    The radius is known beforehand: the distance to the record's own original. The search ends at the first
    original that is strictly nearer; if there is none, it has counted all at exactly that distance.
    """
    counts = np.zeros(len(rows), np.int64)
    stack = np.empty(128, np.int64)
    first_leaf = len(boxes) // 2
    for pair in range(len(rows)):
        row = rows[pair]
        radius = _distance(released, row, points, own[pair], numeric, squares)
        found = 0
        stack[0], height = 0, 1
        while height > 0:
            height -= 1
            node = stack[height]
            if node >= first_leaf:
                for i in range(borders[2 * node], borders[2 * node + 1]):
                    distance = _distance(released, row, points, i, numeric, squares)
                    if distance < radius:
                        found, height = 0, 0
                        break
                    if distance == radius:
                        found += copies[i]
                continue
            near, far = 2 * node + 1, 2 * node + 2
            to_near = _bound(released, row, boxes, near, numeric, squares)
            to_far = _bound(released, row, boxes, far, numeric, squares)
            if to_far < to_near:
                near, far, to_near, to_far = far, near, to_far, to_near
            if to_far <= radius:
                stack[height] = far
                height += 1
            if to_near <= radius:
                stack[height] = near
                height += 1
        counts[pair] = found
    return counts
