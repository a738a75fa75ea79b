# mypy: allow-untyped-decorators
"""MDAV and its form under counts over k-d trees, compiled. Import this module only where it runs: it loads numba.

A round works on one planting of the trees and ends when half of their points have left; the next planting has full
leaves and small boxes again. The state of a partition (labels, running sum, centre, numbers) lives in arrays of the
caller between rounds.

Shell. The points farthest from the running mean c are looked for among the S farthest from an earlier mean m:

    |x - c| <= |x - m| + |m - c| <= r + |m - c|  for all others, r the distance of the S-th from m               (1)

If the farthest of the shell lies beyond (1) by more than rounding could hide, it is the farthest of all. Otherwise
the shell is renewed; around the mean of this turn itself it needs no (1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types

from penstock.mechanisms.microaggregation._tree import FOREST, LEAF, plant, search, shrink, sink

__all__ = ["bucketed_round", "mdav_round"]

# The start of _tree.py's SHA-256. Its compiled code becomes a part of the code here, but numba's cache on disk notices
# changes of this file only; a test sees to it that this line changes with _tree.py.
_TREE = "8ea24f7b231c6f44"

# (1): relative errors of distances stay below this for any number of columns that fits in memory,
_SLACK = 1e-9
# if their squares do not underflow.
_SMALLEST = 1e-280
# A shell has _CANDIDATES times sqrt(n) candidates. If it served few turns it did not pay, and a pause is made.
_CANDIDATES, _SERVED, _PAUSE = 4, 4, 64
# A round of few points goes on to the end.
_FEW = 1024
# Up to this many are sorted fastest one by one.
_FEW_MEMBERS = 32

_CUBE, _TABLE, _FLOATS = types.float64[:, :, ::1], types.float64[:, ::1], types.float64[::1]
_INT_TABLE, _INTS = types.int64[:, ::1], types.int64[::1]
_FLOAT, _INT = types.float64, types.int64


class Shell(NamedTuple):
    """Candidates for the point farthest from the mean."""

    points: Any  # (coordinate, candidate)
    positions: Any  # by candidate
    places: Any  # candidate by position, or -1
    keys: Any  # scratch
    centre: Any  # m of (1)
    radius: Any  # [r of (1)]
    state: Any  # [candidates left, turns served, turns to pause]


_SHELL = types.NamedTuple((_TABLE, _INTS, _INTS, _FLOATS, _FLOATS, _FLOATS, _INTS), Shell)


@njit(_INT(FOREST, _FLOATS, _FLOATS, _INTS), cache=True, nogil=True)
def _farthest(forest: Any, centre: Any, keys: Any, found: Any) -> Any:
    """Return the position farthest from the centre."""
    keys[0] = np.inf
    for tree in range(len(forest.heights)):
        search(forest, tree, centre, -1.0, 1, keys, found)
    return found[0]


@njit(_SHELL(FOREST, _INT), cache=True, nogil=True)
def _new_shell(forest: Any, n: int) -> Any:
    d, size = len(forest.anchor), _CANDIDATES * int(np.sqrt(n)) + 1
    return Shell(
        np.empty((d, size)),
        np.zeros(size, np.int64),
        np.full(len(forest.rows), -1),
        np.empty(size),
        np.zeros(d),
        np.zeros(1),
        np.zeros(3, np.int64),
    )


@njit(types.void(_SHELL), cache=True, nogil=True)
def _dissolve(shell: Any) -> None:
    for candidate in range(shell.state[0]):
        shell.places[shell.positions[candidate]] = -1
    shell.state[0] = 0


@njit(types.void(FOREST, _SHELL, _FLOATS, _INT), cache=True, nogil=True)
def _renew(forest: Any, shell: Any, centre: Any, left: int) -> None:
    """Fill the shell with the points farthest from the centre."""
    _dissolve(shell)
    size = min(len(shell.positions), left)
    shell.keys[:size] = np.inf
    for tree in range(len(forest.heights)):
        search(forest, tree, centre, -1.0, size, shell.keys, shell.positions)
    for candidate in range(size):
        position = shell.positions[candidate]
        shell.places[position] = candidate
        for j in range(len(centre)):
            shell.points[j, candidate] = forest.points[position // LEAF, j, position % LEAF]
    shell.centre[:] = centre
    # With all points inside, no point lies beyond.
    shell.radius[0] = np.sqrt(-shell.keys[0]) if size < left else -np.inf
    shell.state[0], shell.state[1] = size, 0


@njit(_INT(FOREST, _SHELL, _FLOATS, types.boolean), cache=True, nogil=True)
def _farthest_in_shell(forest: Any, shell: Any, centre: Any, renewed: bool) -> Any:
    """Return the position farthest from the centre, or -1 if it may lie outside the shell."""
    size = shell.state[0]
    distances = shell.keys[:size]
    distances[:] = 0.0
    drift = 0.0
    for j in range(len(centre)):
        drift += (centre[j] - shell.centre[j]) ** 2
        coordinate = shell.points[j, :size]
        for i in range(size):
            difference = coordinate[i] - centre[j]
            distances[i] += difference * difference
    highest, where = -1.0, -1
    for i in range(size):
        if distances[i] >= highest:
            position = shell.positions[i]
            if distances[i] > highest or forest.rows[position] < forest.rows[where]:
                highest, where = distances[i], position
    beyond = (shell.radius[0] + np.sqrt(drift)) * (1 + _SLACK)
    if renewed or (highest > _SMALLEST and np.sqrt(highest) > beyond):
        shell.state[1] += 1
        return where
    return -1


@njit(_INT(FOREST, _SHELL, _FLOATS, _INT), cache=True, nogil=True)
def _farthest_from_mean(forest: Any, shell: Any, mean: Any, left: int) -> Any:
    """Return the position farthest from the mean of the `left` points that are left."""
    if shell.state[0] > 0:
        where = _farthest_in_shell(forest, shell, mean, False)
        if where >= 0:
            return where
        if shell.state[1] < _SERVED:
            _dissolve(shell)
            shell.state[2] = _PAUSE
    if shell.state[2] > 0:
        shell.state[2] -= 1
        return _farthest(forest, mean, shell.keys, shell.positions)
    _renew(forest, shell, mean, left)
    return _farthest_in_shell(forest, shell, mean, True)


@njit(types.void(FOREST, _SHELL, _INT, _FLOATS), cache=True, nogil=True)
def _take(forest: Any, shell: Any, position: int, total: Any) -> None:
    """Remove a point from its leaf, the shell and the running sum."""
    leaf, slot, d = position // LEAF, position % LEAF, len(total)
    for j in range(d):
        total[j] -= forest.points[leaf, j, slot]
    forest.points[leaf, :, slot] = np.nan
    place = shell.places[position]
    if place >= 0:
        last = shell.state[0] - 1
        moved = shell.positions[last]
        shell.positions[place] = moved
        shell.places[moved] = place
        shell.places[position] = -1
        for j in range(d):
            shell.points[j, place] = shell.points[j, last]
        shell.state[0] = last


@njit(types.void(_INTS, _INTS), cache=True, nogil=True)
def _sort_by_row(rows: Any, members: Any) -> None:
    if len(members) > _FEW_MEMBERS:
        members[:] = members[np.argsort(rows[members])]
        return
    for i in range(1, len(members)):
        member, place = members[i], i
        while place > 0 and rows[members[place - 1]] > rows[member]:
            members[place] = members[place - 1]
            place -= 1
        members[place] = member


@njit(types.void(FOREST, _SHELL, _INTS, _FLOATS, _INTS, _INT), cache=True, nogil=True)
def _leave(forest: Any, shell: Any, members: Any, total: Any, labels: Any, label: int) -> None:
    """Label the members of a group, take them out in the order of their rows, and fit the boxes."""
    _sort_by_row(forest.rows, members)
    for member in members:
        labels[forest.rows[member]] = label
        _take(forest, shell, member, total)
    for member in members:
        leaf = member // LEAF
        if forest.fitted[leaf] != label:
            forest.fitted[leaf] = label
            shrink(forest, leaf)


@njit(_INT(FOREST, _SHELL, _FLOATS, _FLOATS, _INT, types.boolean, _FLOATS, _INTS), cache=True, nogil=True)
def _seed(forest: Any, shell: Any, centre: Any, total: Any, left: int, second: bool, keys: Any, found: Any) -> Any:
    """Hide and return the position farthest from the centre (second turn) or the mean; it becomes the centre."""
    if second:
        seed = _farthest(forest, centre, keys, found)
    else:
        for j in range(len(centre)):
            centre[j] = total[j] / left
        seed = _farthest_from_mean(forest, shell, centre, left)
    for j in range(len(centre)):
        centre[j] = forest.points[seed // LEAF, j, seed % LEAF]
    forest.points[seed // LEAF, 0, seed % LEAF] = np.nan
    return seed


@njit(types.void(_CUBE, _INTS, _INTS, _INT, _FLOATS, _FLOATS, _INTS, _INTS), cache=True, nogil=True)
def mdav_round(
    leaf_points: Any, leaf_rows: Any, first: Any, k: int, total: Any, centre: Any, labels: Any, state: Any
) -> None:
    """Label clusters until half of the points have left, see `mdav`. state = [points left, next label, second]."""
    left, label, second = state[0], state[1], state[2] == 1
    planted = left
    forest = plant(leaf_points, leaf_rows, first, total / left)
    shell = _new_shell(forest, left)
    keys, members = np.empty(k), np.zeros(k, np.int64)
    while left >= 2 * k and (2 * left > planted or planted < _FEW):
        seed = _seed(forest, shell, centre, total, left, second, keys, members)
        keys[: k - 1] = np.inf
        if k > 1:
            search(forest, 0, centre, 1.0, k - 1, keys, members)
        forest.points[seed // LEAF, 0, seed % LEAF] = centre[0]
        members[k - 1] = seed
        _leave(forest, shell, members, total, labels, label)
        label += 1
        left -= k
        # Where 3k were left, a second cluster follows, around the point farthest from the first one's seed.
        second = not second and left >= 2 * k
    state[0], state[1], state[2] = left, label, second


@njit(types.void(_INTS, _FLOATS, _INTS, _INT), cache=True, nogil=True)
def _sort(rows: Any, keys: Any, found: Any, size: int) -> None:
    """Turn a heap into a list of rising (key, row)."""
    for last in range(size - 1, 0, -1):
        key, position = keys[0], found[0]
        sink(rows, keys, found, last, keys[last], found[last])
        keys[last], found[last] = key, position


@njit(
    types.void(_CUBE, _INTS, _INTS, _INT_TABLE, _INTS, _INTS, _INTS, _FLOATS, _FLOATS, _INTS, _INTS),
    cache=True,
    nogil=True,
)
def bucketed_round(
    leaf_points: Any,
    leaf_rows: Any,
    first: Any,
    counts: Any,
    queue: Any,
    following: Any,
    ends: Any,
    total: Any,
    centre: Any,
    labels: Any,
    state: Any,
) -> None:
    """Label groups until half of the points have left, see `bucketed_groups`.

    state = [points left, groups left, second]. Tree j has the points of bucket j. The groups that are left with
    emphasis e are queue[following[e]:ends[e]].
    """
    left, groups, second = state[0], state[1], state[2] == 1
    planted = left
    forest = plant(leaf_points, leaf_rows, first, total / left)
    shell = _new_shell(forest, left)
    buckets, longest, largest = counts.shape[1], counts.max(), counts.sum(axis=1).max()
    keys, found = np.empty((buckets, longest)), np.zeros((buckets, longest), np.int64)
    sums = np.zeros((buckets, longest + 1))
    members = np.empty(largest, np.int64)
    while groups > 1 and (2 * left > planted or planted < _FEW):
        seed = _seed(forest, shell, centre, total, left, second, keys[0], found[0])
        own = forest.trees[seed // LEAF]
        for j in range(buckets):
            needed = 0
            for e in range(buckets):
                if following[e] < ends[e]:
                    needed = max(needed, counts[queue[following[e]], j] - (j == own))
            if needed > 0:
                keys[j, :needed] = np.inf
                search(forest, j, centre, 1.0, needed, keys[j], found[j])
                _sort(forest.rows, keys[j], found[j], needed)
            for i in range(needed):
                sums[j, i + 1] = sums[j, i] + keys[j, i]
        forest.points[seed // LEAF, 0, seed % LEAF] = centre[0]
        lowest, chosen = np.inf, -1
        for e in range(buckets):
            if following[e] < ends[e]:
                row = counts[queue[following[e]]]
                cost = 0.0
                for j in range(buckets):
                    cost += sums[j, row[j] - (j == own)]
                cost /= row.sum()
                if chosen < 0 or cost < lowest:
                    lowest, chosen = cost, e
        group = queue[following[chosen]]
        following[chosen] += 1
        members[0], size = seed, 1
        for j in range(buckets):
            taken = counts[group, j] - (j == own)
            members[size : size + taken] = found[j, :taken]
            size += taken
        _leave(forest, shell, members[:size], total, labels, group)
        left -= size
        groups -= 1
        second = not second
    state[0], state[1], state[2] = left, groups, second
