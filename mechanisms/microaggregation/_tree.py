# mypy: allow-untyped-decorators
"""Search for the nearest and the farthest points in k-d trees, compiled. Import it only where it runs: it loads numba.

A tree has leaves of up to 64 points (_leaves.py), kept coordinate by coordinate so that their distances
are computed together; 16 leaves next to each other make a node of level 1, 16 such nodes one of level 2, and so on. A
node keeps for each child a box around its points and their lowest row. A forest is several trees. Points that have
left are NaN: every comparison with them is false.

Exactness. A partition by trees is the one by scans, ties included, because no point is passed over that could win:

    key = s * sum_j (x_j - c_j)^2,  s = 1 for the nearest, -1 for the farthest; the lowest (key, row) win       (1)
    bound of a box = (1) at its point nearest to or farthest from c, added up in the same order                 (2)

Rounding is monotone, so (2) is at most the computed (1) of every point inside, not only the true one. A child is
passed over if its bound exceeds the highest key kept, or equals it while its lowest row is above the row kept.

For the farthest points boxes are generous at the corners, and with a fixed a, the mean when the tree was planted,

    |x - c|^2 = |x - a|^2 - |u|^2 - 2 (x - c).u,  u = c - a                                                     (3)

bounds the distance by the largest |x - a|^2 of the child and the largest -(x - c).u in its box. With W the squared
diagonal of a box around all points, a and c, no term exceeds W and the rounding errors stay below (5d + 22) 2^-53 W,
so (d + 8) 2^-48 W is added; where squares could underflow, (3) is not used.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types

__all__ = ["FOREST", "LEAF", "Forest", "plant", "search", "shrink", "sink"]

# So many points share a leaf: their distances are a few vector instructions a coordinate.
LEAF = 64
# So many children share a node.
_FAN = 16
_LEVELS = 16
# The lowest row of no points.
_NO_ROW = np.iinfo(np.int64).max
# (3): more than the errors of rounding, if W is not below the second.
_ROUNDING, _SMALLEST = 2.0**-48, 1e-280

_CUBE, _TABLE, _FLOATS = types.float64[:, :, ::1], types.float64[:, ::1], types.float64[::1]
_INT_TABLE, _INTS = types.int64[:, ::1], types.int64[::1]
_FLOAT, _INT = types.float64, types.int64


class Forest(NamedTuple):
    """Trees. The node i of level l in tree t is at offsets[t, l] + i; leaves are level 0, from offsets[t, 0] on."""

    points: Any  # (leaf, coordinate and |x - a|^2, slot)
    rows: Any  # by position = leaf * LEAF + slot
    boxes: Any  # (node, coordinate and |x - a|^2, lowest of each child and highest of each)
    lowest: Any  # (node, child): its lowest row
    offsets: Any
    heights: Any  # the level of each tree's root
    trees: Any  # by leaf
    fitted: Any  # by leaf: the group whose leaving it was fitted to
    anchor: Any  # a of (3)
    corners: Any  # lowest and highest of all points and a
    offset: Any  # scratch of the search: u of (3),
    stack: Any  # level and number of nodes and their lowest row,
    bounds: Any  # their bounds,
    values: Any  # and bounds of children, or distances in a leaf


_KEPT = (_CUBE, _INTS, _CUBE, _INT_TABLE, _INT_TABLE, _INTS, _INTS, _INTS, _FLOATS, _TABLE)
_SCRATCH = (_FLOATS, _INT_TABLE, _FLOATS, _TABLE)
FOREST = types.NamedTuple((*_KEPT, *_SCRATCH), Forest)


@njit(types.void(FOREST, _INT), cache=True, nogil=True)
def _fit_leaf(forest: Any, leaf: int) -> None:
    """Fit box and lowest row to the points left in a leaf; (inf, -inf) if there are none."""
    tree = forest.trees[leaf]
    number = leaf - forest.offsets[tree, 0]
    node, child = forest.offsets[tree, 1] + number // _FAN, number % _FAN
    for j in range(forest.points.shape[1]):
        low, high = np.inf, -np.inf
        for i in range(LEAF):
            x = forest.points[leaf, j, i]
            low = x if x < low else low
            high = x if x > high else high
        forest.boxes[node, j, child], forest.boxes[node, j, _FAN + child] = low, high
    lowest = _NO_ROW
    for i in range(LEAF):
        x, row = forest.points[leaf, 0, i], forest.rows[leaf * LEAF + i]
        row = row if x == x else _NO_ROW
        lowest = row if row < lowest else lowest
    forest.lowest[node, child] = lowest


@njit(types.boolean(FOREST, _INT, _INT, _INT), cache=True, nogil=True)
def _fit_node(forest: Any, tree: int, level: int, number: int) -> Any:
    """Fit box and lowest row of a node, kept by its parent; return whether they changed."""
    node = forest.offsets[tree, level] + number
    parent, child = forest.offsets[tree, level + 1] + number // _FAN, number % _FAN
    changed = False
    for j in range(forest.points.shape[1]):
        low, high = np.inf, -np.inf
        for i in range(_FAN):
            low = min(low, forest.boxes[node, j, i])
            high = max(high, forest.boxes[node, j, _FAN + i])
        changed |= low != forest.boxes[parent, j, child] or high != forest.boxes[parent, j, _FAN + child]
        forest.boxes[parent, j, child], forest.boxes[parent, j, _FAN + child] = low, high
    lowest = forest.lowest[node].min()
    changed |= lowest != forest.lowest[parent, child]
    forest.lowest[parent, child] = lowest
    return changed


@njit(types.void(FOREST, _INT), cache=True, nogil=True)
def shrink(forest: Any, leaf: int) -> None:
    """Fit a leaf to the points left in it, and the nodes above as far up as they change."""
    _fit_leaf(forest, leaf)
    tree = forest.trees[leaf]
    number = (leaf - forest.offsets[tree, 0]) // _FAN
    level = 1
    while level < forest.heights[tree] and _fit_node(forest, tree, level, number):
        number //= _FAN
        level += 1


@njit(FOREST(_CUBE, _INTS, _INTS, _FLOATS), cache=True, nogil=True)
def plant(leaf_points: Any, leaf_rows: Any, first: Any, anchor: Any) -> Any:
    """Return a forest over leaves (see `_leaves.arranged`)."""
    leaves, d, _ = leaf_points.shape
    trees = len(first) - 1
    offsets, heights = np.zeros((trees, _LEVELS), np.int64), np.zeros(trees, np.int64)
    nodes = 0
    for tree in range(trees):
        offsets[tree, 0] = first[tree]
        size, level = first[tree + 1] - first[tree], 0
        while size > 1 or level == 0:
            size, level = (size + _FAN - 1) // _FAN, level + 1
            offsets[tree, level] = nodes
            nodes += size
        heights[tree] = level
    points = np.empty((leaves, d + 1, LEAF))
    boxes = np.empty((nodes, d + 1, 2 * _FAN))
    boxes[:, :, :_FAN], boxes[:, :, _FAN:] = np.inf, -np.inf
    forest = Forest(
        points,
        leaf_rows,
        boxes,
        np.full((nodes, _FAN), _NO_ROW),
        offsets,
        heights,
        np.zeros(leaves, np.int64),
        np.full(leaves, -1),
        anchor.copy(),
        np.empty((2, d)),
        np.empty(d),
        np.empty((_LEVELS * _FAN, 3), np.int64),
        np.empty(_LEVELS * _FAN),
        np.empty((2, LEAF)),
    )
    for tree in range(trees):
        for leaf in range(first[tree], first[tree + 1]):
            forest.trees[leaf] = tree
            points[leaf, d] = 0.0
            for j in range(d):
                for i in range(LEAF):
                    points[leaf, j, i] = leaf_points[leaf, j, i]
                    points[leaf, d, i] += (leaf_points[leaf, j, i] - anchor[j]) ** 2
            _fit_leaf(forest, leaf)
        size = first[tree + 1] - first[tree]
        for level in range(1, heights[tree]):
            size = (size + _FAN - 1) // _FAN
            for number in range(size):
                _fit_node(forest, tree, level, number)
    for j in range(d):
        forest.corners[:, j] = anchor[j]
        for tree in range(trees):
            root = boxes[offsets[tree, heights[tree]], j]
            forest.corners[0, j] = min(forest.corners[0, j], root[:_FAN].min())
            forest.corners[1, j] = max(forest.corners[1, j], root[_FAN:].max())
    return forest


@njit(types.void(FOREST, _INT, _FLOATS), cache=True, nogil=True)
def _nearest_bounds(forest: Any, node: int, centre: Any) -> None:
    """(2) of every child, s = 1, into values[0]."""
    bounds = forest.values[0]
    bounds[:_FAN] = 0.0
    for j in range(len(centre)):
        c = centre[j]
        for i in range(_FAN):
            low, high = forest.boxes[node, j, i] - c, c - forest.boxes[node, j, _FAN + i]
            gap = low if low > high else high
            gap = gap if gap > 0.0 else 0.0
            bounds[i] += gap * gap


@njit(_FLOAT(FOREST, _FLOATS), cache=True, nogil=True)
def _set_out(forest: Any, centre: Any) -> Any:
    """Set u of (3); return what (3) adds for every child, the allowance for rounding less |u|^2."""
    squares, diagonal = 0.0, 0.0
    for j in range(len(centre)):
        u = centre[j] - forest.anchor[j]
        forest.offset[j] = u
        squares += u * u
        low, high = min(forest.corners[0, j], centre[j]), max(forest.corners[1, j], centre[j])
        diagonal += (high - low) * (high - low)
    return (len(centre) + 8) * _ROUNDING * diagonal - squares if diagonal > _SMALLEST else np.inf


@njit(types.void(FOREST, _INT, _FLOATS, _FLOAT), cache=True, nogil=True)
def _farthest_bounds(forest: Any, node: int, centre: Any, constant: float) -> None:
    """Put the lower distance of (2) and (3) for every child, s = -1, into values[0]. Empty children get anything."""
    d = len(centre)
    bounds, along = forest.values[0], forest.values[1]
    bounds[:_FAN], along[:_FAN] = 0.0, 0.0
    for j in range(d):
        c, u = centre[j], forest.offset[j]
        for i in range(_FAN):
            low, high = c - forest.boxes[node, j, i], forest.boxes[node, j, _FAN + i] - c
            gap = low if low > high else high
            bounds[i] += gap * gap
            low, high = low * u, -high * u
            along[i] += low if low > high else high
    for i in range(_FAN):
        beyond = forest.boxes[node, d, _FAN + i] + 2 * along[i] + constant
        bounds[i] = -bounds[i] if bounds[i] < beyond else -beyond


@njit(types.void(_INTS, _FLOATS, _INTS, _INT, _FLOAT, _INT), cache=True, nogil=True)
def sink(rows: Any, keys: Any, found: Any, size: int, key: float, position: int) -> None:
    """Replace the root of a heap whose root is the highest (key, row)."""
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        other = child + 1
        if other < size and (
            keys[other] > keys[child] or (keys[other] == keys[child] and rows[found[other]] > rows[found[child]])
        ):
            child = other
        if keys[child] < key or (keys[child] == key and rows[found[child]] < rows[position]):
            break
        keys[place], found[place] = keys[child], found[child]
        place = child
    keys[place], found[place] = key, position


@njit(types.void(FOREST, _INT, _FLOATS, _FLOAT, _INT, _FLOATS, _INTS), cache=True, nogil=True)
def _scan(forest: Any, leaf: int, centre: Any, sign: float, count: int, keys: Any, found: Any) -> None:
    """Improve the heap by the points of a leaf."""
    distances = forest.values[0]
    rows = forest.rows
    for i in range(LEAF):
        difference = forest.points[leaf, 0, i] - centre[0]
        distances[i] = difference * difference
    for j in range(1, len(centre)):
        for i in range(LEAF):
            difference = forest.points[leaf, j, i] - centre[j]
            distances[i] += difference * difference
    hits = 0
    for i in range(LEAF):
        hits += sign * distances[i] <= keys[0]
    if hits:
        for i in range(LEAF):
            key = sign * distances[i]
            position = leaf * LEAF + i
            if key < keys[0] or (key == keys[0] and rows[position] < rows[found[0]]):
                sink(rows, keys, found, count, key, position)


@njit(types.void(FOREST, _INT, _FLOATS, _FLOAT, _INT, _FLOATS, _INTS), cache=True, nogil=True)
def search(forest: Any, tree: int, centre: Any, sign: float, count: int, keys: Any, found: Any) -> None:
    """Improve the heap (keys, found)[:count] of the lowest (key, row) (1), which starts with infinite keys."""
    stack, bounds, rows = forest.stack, forest.bounds, forest.rows
    constant = 0.0 if sign > 0 else _set_out(forest, centre)
    stack[0, 0], stack[0, 1], stack[0, 2], bounds[0], size = forest.heights[tree], 0, 0, -np.inf, 1
    while size > 0:
        size -= 1
        level, number = stack[size, 0], stack[size, 1]
        if bounds[size] > keys[0] or (bounds[size] == keys[0] and stack[size, 2] > rows[found[0]]):
            continue
        node = forest.offsets[tree, level] + number
        if level == 0:
            _scan(forest, node, centre, sign, count, keys, found)
            continue
        if sign > 0:
            _nearest_bounds(forest, node, centre)
        else:
            _farthest_bounds(forest, node, centre, constant)
        floor = size
        for i in range(_FAN):
            bound, lowest = forest.values[0, i], forest.lowest[node, i]
            if lowest == _NO_ROW or bound > keys[0] or (bound == keys[0] and lowest > rows[found[0]]):
                continue
            # The best child lies on top.
            place = size
            while place > floor and (
                bounds[place - 1] < bound or (bounds[place - 1] == bound and stack[place - 1, 2] < lowest)
            ):
                stack[place, 1], stack[place, 2], bounds[place] = (
                    stack[place - 1, 1],
                    stack[place - 1, 2],
                    bounds[place - 1],
                )
                place -= 1
            stack[place, 1], stack[place, 2], bounds[place] = number * _FAN + i, lowest, bound
            stack[size, 0] = level - 1
            size += 1
