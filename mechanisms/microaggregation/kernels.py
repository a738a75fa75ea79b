"""Compiled loops. Import this module only where they run: loading the compiler takes half a second.

Every signature is explicit, so importing compiles once and afterwards reads the cache on disk. No
fast-math: sums keep their order, so a partition is the same on every machine.

A point that has left is marked by NaN in its first coordinate. Its distance is then NaN, every
comparison with it is false, and so it is neither nearest nor farthest; the scans need no other test.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

__all__ = ["mdav_labels", "shuffle_runs"]

# Distances are computed for as many points at a time as stay in the first-level cache.
_CHUNK = 512
# Points that have left are squeezed out when they are one in this many.
_SQUEEZE = 16

_WORDS = types.Array(types.uint32, 1, "C", readonly=True)


@njit("void(float64[:, ::1], int64, int64, float64[::1], float64[::1])", cache=True)
def _squared_distances(points: Any, start: int, stop: int, centre: Any, out: Any) -> None:
    """out[i] = sum_j (points[j, start + i] - centre[j])^2, added up in the order of j."""
    first = points[0, start:stop]
    for i in range(len(first)):
        difference = first[i] - centre[0]
        out[i] = difference * difference
    for j in range(1, len(points)):
        coordinate = points[j, start:stop]
        for i in range(len(coordinate)):
            difference = coordinate[i] - centre[j]
            out[i] += difference * difference


@njit("int64(float64[:, ::1], int64, float64[::1], float64[::1])", cache=True)
def _farthest(points: Any, slots: int, centre: Any, distances: Any) -> int:
    """Return the first slot among those farthest from the centre."""
    highest, where = -1.0, -1
    for start in range(0, slots, _CHUNK):
        stop = min(start + _CHUNK, slots)
        _squared_distances(points, start, stop, centre, distances)
        hits = 0
        for i in range(stop - start):
            hits += distances[i] > highest
        if hits:
            for i in range(stop - start):
                if distances[i] > highest:
                    highest, where = distances[i], start + i
    return where


@njit("void(float64[::1], int64[::1], int64, float64, int64)", cache=True)
def _sink(heap: Any, slot_of: Any, size: int, distance: float, slot: int) -> None:
    """Replace the root of a heap whose root is the largest (distance, slot)."""
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        other = child + 1
        if other < size and (
            heap[other] > heap[child] or (heap[other] == heap[child] and slot_of[other] > slot_of[child])
        ):
            child = other
        if heap[child] < distance or (heap[child] == distance and slot_of[child] < slot):
            break
        heap[place], slot_of[place] = heap[child], slot_of[child]
        place = child
    heap[place], slot_of[place] = distance, slot


@njit("int64(float64[:, ::1], int64, float64[::1], int64, float64[::1], int64[::1], float64[::1])", cache=True)
def _nearest(points: Any, slots: int, centre: Any, count: int, heap: Any, slot_of: Any, distances: Any) -> int:
    """Fill slot_of[:count] with the slots nearest to the centre, ties by lower slot; return the farthest.

    The scan runs along rising slots, so a later slot at the limit never displaces an earlier one.
    """
    heap[:count] = np.inf
    slot_of[:count] = slots
    limit = np.inf if count > 0 else -1.0
    highest, where = -1.0, -1
    for start in range(0, slots, _CHUNK):
        stop = min(start + _CHUNK, slots)
        _squared_distances(points, start, stop, centre, distances)
        closer, farther = 0, 0
        for i in range(stop - start):
            closer += distances[i] < limit
        for i in range(stop - start):
            farther += distances[i] > highest
        if closer:
            for i in range(stop - start):
                if distances[i] < limit:
                    _sink(heap, slot_of, count, distances[i], start + i)
                    limit = heap[0]
        if farther:
            for i in range(stop - start):
                if distances[i] > highest:
                    highest, where = distances[i], start + i
    return where


@njit("int64(float64[:, ::1], int64[::1], int64)", cache=True)
def _squeeze(points: Any, rows: Any, slots: int) -> int:
    """Move the points that are left together, in row order; return how many there are."""
    marks = points[0]
    kept = 0
    for i in range(slots):
        if not np.isnan(marks[i]):
            rows[kept] = rows[i]
            kept += 1
    # The first coordinate carries the marks, so it moves last.
    for j in range(len(points) - 1, -1, -1):
        coordinate = points[j]
        kept = 0
        for i in range(slots):
            if not np.isnan(marks[i]):
                coordinate[kept] = coordinate[i]
                kept += 1
    return kept


@njit("int64[::1](float64[:, ::1], int64)", cache=True)
def mdav_labels(points: Any, k: int) -> NDArray[np.int64]:
    """Return cluster labels of the points (one per column of a d x n array, overwritten), see `mdav`."""
    d, n = points.shape
    labels = np.empty(n, np.int64)
    rows = np.arange(n)
    centre = np.empty(d)
    distances = np.empty(_CHUNK)
    heap = np.empty(k)
    members = np.empty(k, np.int64)
    total = np.zeros(d)
    for j in range(d):
        for i in range(n):
            total[j] += points[j, i]

    slots, left, label = n, n, 0
    seed, second = -1, False
    while left >= 2 * k:
        if not second:
            if (slots - left) * _SQUEEZE > slots:
                slots = _squeeze(points, rows, slots)
            for j in range(d):
                centre[j] = total[j] / left
            seed = _farthest(points, slots, centre, distances)
        for j in range(d):
            centre[j] = points[j, seed]
        points[0, seed] = np.nan
        farthest = _nearest(points, slots, centre, k - 1, heap, members, distances)
        points[0, seed] = centre[0]
        members[k - 1] = seed
        members.sort()
        for member in members:
            labels[rows[member]] = label
            for j in range(d):
                total[j] -= points[j, member]
            points[0, member] = np.nan
        label += 1
        left -= k
        # Where 3k were left, a second cluster follows, around the point farthest from the first one's seed.
        second = not second and left >= 2 * k
        if second:
            seed = farthest
            if np.isnan(points[0, seed]):
                seed = _farthest(points, slots, centre, distances)
    for slot in range(slots):
        if not np.isnan(points[0, slot]):
            labels[rows[slot]] = label
    return labels


@njit(types.int64(types.int64[::1], types.int64[::1], _WORDS, types.int64[::1]), cache=True, nogil=True)
def shuffle_runs(order: Any, starts: Any, words: Any, state: Any) -> int:
    """Shuffle by Fisher-Yates inside the runs order[starts[r]:starts[r + 1]], from where `state` says.

    state = (run, place): the next exchange is of order[place] in that run. Stops when the words are used up
    or the runs are done, and returns the number of exchanges made.

    The partner is uniform on 0..s-1 by multiplication and rejection (Lemire 2019, Algorithm 5, with L = 32):
    m = word * s; reject while m mod 2^32 < 2^32 mod s; then m div 2^32.
    """
    used, done = 0, 0
    run, place = state[0], state[1]
    while run < len(starts) - 1:
        first = starts[run]
        while place > first:
            size = np.uint64(place - first + 1)
            while True:
                if used == len(words):
                    state[0], state[1] = run, place
                    return done
                product = np.uint64(words[used]) * size
                used += 1
                low = product & np.uint64(0xFFFFFFFF)
                if low >= size or low >= np.uint64(0x100000000) % size:
                    break
            partner = first + np.int64(product >> np.uint64(32))
            order[place], order[partner] = order[partner], order[place]
            place -= 1
            done += 1
        run += 1
        if run < len(starts) - 1:
            place = starts[run + 1] - 1
    return done
