"""Groups of records with taxonomies, compiled: distances are looked up, so no tree applies.

Tables of several taxonomies lie one behind the other: the row of concept a of taxonomy j begins at
first[j] + a * width[j], and its concepts are numbered from offset[j]. Import this module only where it runs.

`mdav_in_space_labels` scans records that differ, u of them: members[starts[u] + taken[u] : starts[u + 1]] are the rows
that are left of one, rising. Its first one decides ties, so that every choice is that of the scan of all rows:
among the k - 1 nearest rows are only the k - 1 nearest records by distance and first row, because the first row of each
record before another is before the rows of that one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["mdav_in_space_labels", "variable_labels"]

_TABLES = "float64[::1], int64[::1], int64[::1]"  # squared, first, width


@njit(
    f"void(float64[:, ::1], int64[:, ::1], int64[::1], int64, float64[::1], int64[::1], {_TABLES}, float64[::1])",
    cache=True,
)
def _distances(
    points: Any,
    codes: Any,
    alive: Any,
    left: int,
    centre: Any,
    concepts: Any,
    squared: Any,
    first: Any,
    width: Any,
    out: Any,
) -> None:
    """out[i] = d(alive[i], centre)^2, added up over coordinates, then over taxonomies."""
    out[:left] = 0.0
    for j in range(len(points)):
        for i in range(left):
            difference = points[j, alive[i]] - centre[j]
            out[i] += difference * difference
    for j in range(len(codes)):
        begin = first[j] + concepts[j] * width[j]
        for i in range(left):
            out[i] += squared[begin + codes[j, alive[i]]]


@njit("int64(float64[::1], int64[::1], int64[::1], int64)", cache=True)
def _farthest(distances: Any, alive: Any, heads: Any, left: int) -> int:
    """Return the place in `alive` of the largest distance, the lowest head among equals."""
    best = 0
    for i in range(1, left):
        if distances[i] > distances[best] or (distances[i] == distances[best] and heads[alive[i]] < heads[alive[best]]):
            best = i
    return best


@njit("void(float64[::1], int64[::1], int64[::1], int64, float64, int64, int64)", cache=True)
def _sink(heap: Any, head_of: Any, record_of: Any, size: int, distance: float, head: int, record: int) -> None:
    """Replace the root of a heap whose root is the largest (distance, head)."""
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        other = child + 1
        if other < size and (
            heap[other] > heap[child] or (heap[other] == heap[child] and head_of[other] > head_of[child])
        ):
            child = other
        if heap[child] < distance or (heap[child] == distance and head_of[child] < head):
            break
        heap[place], head_of[place], record_of[place] = heap[child], head_of[child], record_of[child]
        place = child
    heap[place], head_of[place], record_of[place] = distance, head, record


@njit("int64(float64[::1], int64[::1], int64[::1], int64, int64, float64[::1], int64[::1], int64[::1])", cache=True)
def _nearest(
    distances: Any, alive: Any, heads: Any, left: int, count: int, heap: Any, head_of: Any, record_of: Any
) -> int:
    """Put the `count` records nearest by (distance, head) into record_of, nearest first; return how many there are."""
    size = min(count, left)
    if size == 0:
        return 0
    heap[:size] = np.inf
    head_of[:size] = np.iinfo(np.int64).max
    record_of[:size] = -1
    for i in range(left):
        record = alive[i]
        if distances[i] < heap[0] or (distances[i] == heap[0] and heads[record] < head_of[0]):
            _sink(heap, head_of, record_of, size, distances[i], heads[record], record)
    for last in range(size - 1, 0, -1):  # the largest goes to the end, and the heap is one shorter
        distance, head, record = heap[last], head_of[last], record_of[last]
        heap[last], head_of[last], record_of[last] = heap[0], head_of[0], record_of[0]
        _sink(heap, head_of, record_of, last, distance, head, record)
    return size


@njit("void(int64[::1], int64[::1], int64[::1], int64[::1])", cache=True)
def _central(sums: Any, cover: Any, offset: Any, found: Any) -> None:
    """Find for each taxonomy the first concept of lowest sum among those above a record that is left."""
    for j in range(len(found)):
        best = -1
        for a in range(offset[j], offset[j + 1]):
            if cover[a] > 0 and (best < 0 or sums[a] < sums[best]):
                best = a
        found[j] = best - offset[j]


@njit("int64(int64[::1], int64[::1], int64, int64)", cache=True)
def _without_used(alive: Any, heads: Any, left: int, n: int) -> int:
    """Squeeze out the records that have no row left; return how many there are."""
    kept = 0
    for i in range(left):
        if heads[alive[i]] < n:
            alive[kept] = alive[i]
            kept += 1
    return kept


@njit("int64(int64[::1], int64[::1], int64)", cache=True)
def _without_grouped(alive: Any, labels: Any, left: int) -> int:
    """Squeeze out the rows that have a group; return how many are left."""
    kept = 0
    for i in range(left):
        if labels[alive[i]] < 0:
            alive[kept] = alive[i]
            kept += 1
    return kept


@njit(
    f"void(float64[:, ::1], int64[:, ::1], int64[::1], int64, int64, float64[::1], int64[::1], {_TABLES},"
    " int64[::1], int64[::1], float64[::1])",
    cache=True,
)
def _to_row(
    points: Any,
    codes: Any,
    alive: Any,
    left: int,
    row: int,
    centre: Any,
    concepts: Any,
    squared: Any,
    first: Any,
    width: Any,
    own: Any,
    own_at: Any,
    out: Any,
) -> None:
    """Put the squared distances to one row into `out`; its place is written into `centre` and `concepts`."""
    for j in range(len(points)):
        centre[j] = points[j, row]
    for j in range(len(codes)):
        concepts[j] = own[own_at[j] + codes[j, row]]
    _distances(points, codes, alive, left, centre, concepts, squared, first, width, out)


@njit(
    "int64[::1](float64[:, ::1], int64[:, ::1], float64[::1], int64[::1], int64[::1], float64[::1], int64[::1],"
    " uint8[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64)",
    cache=True,
)
def mdav_in_space_labels(
    points: Any,
    codes: Any,
    total: Any,
    members: Any,
    starts: Any,
    squared: Any,
    scores: Any,
    above: Any,
    first: Any,
    width: Any,
    offset: Any,
    own: Any,
    own_at: Any,
    k: int,
) -> NDArray[np.int64]:
    """Return MDAV's labels of the rows. points, codes: columns of the records that differ; total: the sum of all rows.

    own[own_at[j] + c]: the concept that is category c of taxonomy j.
    """
    records, n = points.shape[1], len(members)
    d, q = len(points), len(codes)
    labels = np.full(n, -1)
    record_of_row = np.empty(n, np.int64)
    taken = starts[:-1].copy()
    heads = np.empty(records, np.int64)
    for u in range(records):
        heads[u] = members[starts[u]]
        for i in range(starts[u], starts[u + 1]):
            record_of_row[members[i]] = u
    alive, left = np.arange(records), records
    sums, cover = np.zeros(offset[q], np.int64), np.zeros(offset[q], np.int64)
    for u in range(records):
        size = starts[u + 1] - starts[u]
        for j in range(q):
            for a in range(offset[j + 1] - offset[j]):
                at = first[j] + a * width[j] + codes[j, u]
                sums[offset[j] + a] += size * scores[at]
                cover[offset[j] + a] += size * above[at]
    centre, concepts = np.empty(d), np.empty(q, np.int64)
    distances = np.empty(records)
    most = min(k, records) + 1
    heap, head_of, record_of = np.empty(most), np.empty(most, np.int64), np.empty(most, np.int64)
    rows = np.empty(k, np.int64)
    remaining, label, second = n, 0, False
    seed = -1
    while remaining >= 2 * k:
        if second:  # around the record farthest from the seed of the first one
            _to_row(points, codes, alive, left, seed, centre, concepts, squared, first, width, own, own_at, distances)
        else:
            for j in range(d):
                centre[j] = total[j] / remaining
            _central(sums, cover, offset, concepts)
            _distances(points, codes, alive, left, centre, concepts, squared, first, width, distances)
        seed = alive[_farthest(distances, alive, heads, left)]
        rows[0] = heads[seed]
        taken[seed] += 1
        heads[seed] = members[taken[seed]] if taken[seed] < starts[seed + 1] else n
        left = _without_used(alive, heads, left, n)
        _to_row(points, codes, alive, left, seed, centre, concepts, squared, first, width, own, own_at, distances)
        found = _nearest(distances, alive, heads, left, k - 1, heap, head_of, record_of)
        count, begin = 1, 0
        while count < k:
            end = begin + 1
            while end < found and heap[end] == heap[begin]:
                end += 1
            while count < k:  # rows of one distance, the lowest first
                lowest = -1
                for i in range(begin, end):
                    if heads[record_of[i]] < n and (lowest < 0 or heads[record_of[i]] < heads[lowest]):
                        lowest = record_of[i]
                if lowest < 0:
                    break
                rows[count] = heads[lowest]
                count += 1
                taken[lowest] += 1
                heads[lowest] = members[taken[lowest]] if taken[lowest] < starts[lowest + 1] else n
            begin = end
        rows.sort()
        for row in rows:
            u = record_of_row[row]
            labels[row] = label
            for j in range(d):
                total[j] -= points[j, u]
            for j in range(q):
                for a in range(offset[j + 1] - offset[j]):
                    at = first[j] + a * width[j] + codes[j, u]
                    sums[offset[j] + a] -= scores[at]
                    cover[offset[j] + a] -= above[at]
        left = _without_used(alive, heads, left, n)
        label += 1
        remaining -= k
        # Where 3k were left, a second cluster follows, around the record farthest from the first one's seed.
        second = not second and remaining >= 2 * k
    labels[labels < 0] = label
    return labels


@njit(
    "int64[::1](float64[:, ::1], int64[:, ::1], float64[::1], float64[::1], int64[::1], int64[::1], int64[::1],"
    " int64[::1], int64, float64)",
    cache=True,
)
def variable_labels(
    points: Any,
    codes: Any,
    from_centre: Any,
    squared: Any,
    first: Any,
    width: Any,
    own: Any,
    own_at: Any,
    k: int,
    gain_squared: float,
) -> NDArray[np.int64]:
    """Return the labels of V-MDAV, see `v_mdav`. points, codes: columns of all rows; from_centre: squared distances."""
    n, d, q = len(from_centre), len(points), len(codes)
    labels, near, distances = np.full(n, -1), np.empty(n), np.empty(n)
    every, alive, left = np.arange(n), np.arange(n), n
    centre, concepts = np.empty(d), np.empty(q, np.int64)
    heap, head_of, row_of = np.empty(k), np.empty(k, np.int64), np.empty(k, np.int64)
    label = 0
    while left >= k:
        seed = alive[0]
        for i in range(1, left):
            if from_centre[alive[i]] > from_centre[seed]:
                seed = alive[i]
        labels[seed] = label
        left = _without_grouped(alive, labels, left)
        near[:] = np.inf
        _to_row(points, codes, alive, left, seed, centre, concepts, squared, first, width, own, own_at, distances)
        found = _nearest(distances, alive, every, left, k - 1, heap, head_of, row_of)
        for i in range(left):
            near[alive[i]] = distances[i]
        for i in range(found):
            labels[row_of[i]] = label
        left = _without_grouped(alive, labels, left)
        for i in range(found):
            row = row_of[i]
            _to_row(points, codes, alive, left, row, centre, concepts, squared, first, width, own, own_at, distances)
            for at in range(left):
                near[alive[at]] = min(near[alive[at]], distances[at])
        size = k
        while size < 2 * k - 1 and left > 0:
            best = alive[0]
            for i in range(1, left):
                if near[alive[i]] < near[best]:
                    best = alive[i]
            _to_row(points, codes, alive, left, best, centre, concepts, squared, first, width, own, own_at, distances)
            outside = np.inf
            for i in range(left):
                if alive[i] != best:
                    outside = min(outside, distances[i])
            if not near[best] < gain_squared * outside:
                break
            for i in range(left):
                near[alive[i]] = min(near[alive[i]], distances[i])
            labels[best] = label
            left = _without_grouped(alive, labels, left)
            size += 1
        label += 1
    grouped = labels.copy()
    for i in range(left):
        row = alive[i]
        _to_row(points, codes, every, n, row, centre, concepts, squared, first, width, own, own_at, distances)
        best = -1
        for other in range(n):
            if grouped[other] >= 0 and (best < 0 or distances[other] < distances[best]):
                best = other
        labels[row] = grouped[best]
    return labels
