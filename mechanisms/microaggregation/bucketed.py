"""Groups of similar records with a prescribed number from each bucket: MDAV under counts.

Records lie in buckets 0..b-1, n_j of n in bucket j. Group g takes c_gj >= 1 records of bucket j; k_g = sum_j c_gj.
Two groups in each turn, as in MDAV, while more than one group is left:

    x1 = the record farthest from the mean of the remaining records; a group around x1 leaves
    x2 = the remaining record farthest from x1; a group around x2 leaves
    the last group takes the rest

Which counts a group around x takes is chosen among the bucket they emphasise,

    e(g) = argmax_j (c_gj - k_g n_j / n), in integers, ties by lowest j                                        (1)

Candidates are, for each e, the first g that is left with e(g) = e. Candidate g would take

    M_g(x) = x, and for each bucket j its c_gj records nearest to x, one fewer in the bucket of x              (2)
    cost(g) = sum over M_g(x) of |y - x|^2 / k_g                                                               (3)

and the lowest cost is chosen, ties by lowest e. Distances, ties between records (lowest row) and the running mean
are those of `mdav`; (3) adds up rising distances bucket by bucket, then the buckets in their order.

Source: ours, after MDAV (Domingo-Ferrer & Torra 2005). The partition sees buckets, and nothing else of what the
buckets were made from; ties by row mean that the caller puts rows in random order first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.microaggregation.mdav import coordinates_of, running_sum

__all__ = ["bucketed_groups"]


def bucketed_groups(points: NDArray[Any], bucket: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the group of every row of an (n, d) array: label g has counts[g, j] records of bucket j."""
    coordinates = coordinates_of(points)
    if bucket.shape != (len(points),) or bucket.dtype != np.int64 or counts.dtype != np.int64 or counts.ndim != 2:
        raise ValueError("one bucket a record and a table of counts, both whole numbers of 64 bits")
    if not counts.size or bool((counts < 1).any()):
        raise ValueError("every group takes at least one record of every bucket")
    buckets = counts.shape[1]
    sizes = counts.sum(axis=0)
    if bool((bucket < 0).any()) or not np.array_equal(np.bincount(bucket, minlength=buckets), sizes):
        raise ValueError("the counts of all groups add up to the sizes of the buckets")
    return _by_trees(coordinates, bucket, np.array(counts, order="C"), sizes)


def _by_trees(
    coordinates: NDArray[np.float64], bucket: NDArray[np.int64], counts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.int64]:
    from penstock.mechanisms.microaggregation._leaves import arranged
    from penstock.mechanisms.microaggregation._rounds import bucketed_round
    from penstock.mechanisms.microaggregation._tree import LEAF

    groups, buckets = counts.shape
    emphasis = np.argmax(len(bucket) * counts - counts.sum(axis=1, keepdims=True) * sizes, axis=1)  # (1)
    queue = np.argsort(emphasis, kind="stable")
    ends = np.cumsum(np.bincount(emphasis, minlength=buckets))
    following = np.append(0, ends[:-1])
    total, centre = running_sum(coordinates), np.empty(len(coordinates))
    labels = np.full(len(bucket), -1)
    rows = np.argsort(bucket, kind="stable")
    state = np.array([len(bucket), groups, 0])
    while state[1] > 1:
        rows = rows[labels[rows] < 0]
        starts = np.append(0, np.cumsum(np.bincount(bucket[rows], minlength=buckets)))
        planted = arranged(coordinates, rows, starts, LEAF)
        bucketed_round(*planted, counts, queue, following, ends, total, centre, labels, state)
    labels[labels < 0] = queue[following[np.flatnonzero(following < ends)[0]]]
    return labels
