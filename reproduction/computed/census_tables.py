"""What Tables 6.1, 6.2 and 6.5 of the thesis compare on one file of numbers. Reproduction, no guarantee.

    every record replaced by the mean of its group, groups by MDAV on x_ij / U_i                                  (1)
    the same, groups by corners in turn on x_ij / max_j x_ij, corners 0 and 1; with k = 1 the file itself         (2)
    several draws of the record-wise noise on (2)                                                                 (3)
    |theta' - theta| / |theta|,   theta the mean, and the population variance, of one attribute                   (4)

U_i = 1.5 max_j x_ij. Source: Soria-Comas 2013 (thesis), sections 6.4.1 to 6.4.3. Table 6.1 sets (1) beside (3),
Table 6.2 the noise alone beside (3), and Table 6.5 gives (4) for all of them.

The sequence of corners in (2) is not stated. Corners are counted through in binary, one attribute fastest, and each is
followed by the opposite one: FICA fastest, then INTVAL, POTHVAL and FEDTAX. That was found by trying all sequences of
pairs of opposite corners, and gives each of the 16 variances in the column "Insensit. MDAV" of Table 6.5 to the last
digit. Two things are not as the text has them: the upper corner lies at the observed maximum, not at U_i, and the
sequence does not keep the rule of section 6.3.3, which none of the 384 sequences that do would have given.

Why this is no release: U is taken from the data, and (3) does not keep the epsilon of the source; see
record_wise_laplace.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.microaggregation import mdav
from penstock.mechanisms.microaggregation.mdav import require_group_size
from penstock.mechanisms.randomness import Randomness
from penstock.reproduction.computed.record_wise_laplace import add_noise, group_means, observed_bounds

__all__ = [
    "changes_by_run",
    "corner_means",
    "counted_corners",
    "groups_around",
    "masked_runs",
    "mdav_means",
    "relative_changes",
    "taken_in_turn",
]

Table = NDArray[np.float64]


def mdav_means(values: Table, k: int) -> Table:
    """(1)."""
    return group_means(values, mdav(values / observed_bounds(values), k))


def corner_means(values: Table, k: int, fastest_first: Sequence[int]) -> Table:
    """(2); columns in the order in which the corners are counted."""
    if k == 1:
        return values
    return group_means(values, groups_around(values / values.max(axis=0), counted_corners(fastest_first), k))


def counted_corners(fastest_first: Sequence[int]) -> Table:
    """Return the corners of the unit cube in the order of (2), one a row; the last attribute only tells opposites."""
    attributes = len(fastest_first)
    counted = np.zeros((2 ** (attributes - 1), attributes))
    for bit, column in enumerate(fastest_first[:-1]):
        counted[:, column] = np.arange(len(counted)) >> bit & 1
    corners: Table = np.stack([counted, 1 - counted], axis=1).reshape(-1, attributes)
    return corners


def groups_around(points: Table, corners: Table, k: int) -> NDArray[np.int64]:
    """Return labels 0..J-1: while 2k records remain, the k nearest to the next corner leave; ties by the columns."""
    require_group_size(k, len(points), "points")
    return taken_in_turn([np.lexsort((*points.T[::-1], ((points - corner) ** 2).sum(axis=1))) for corner in corners], k)


def taken_in_turn(orders: Sequence[NDArray[np.int64]], k: int) -> NDArray[np.int64]:
    """Return labels 0..J-1: while 2k records remain, the first k of one order of them after the other leave."""
    records = len(orders[0])
    labels = np.full(records, records // k - 1, dtype=np.int64)
    left = np.ones(records, dtype=np.bool_)
    starts = [0] * len(orders)
    for label in range(records // k - 1):
        turn = label % len(orders)
        free, span = np.empty(0, dtype=np.int64), k
        while len(free) < k:
            span *= 2
            ahead = orders[turn][starts[turn] : starts[turn] + span]
            free = np.flatnonzero(left[ahead])
        members = ahead[free[:k]]
        labels[members], left[members] = label, False
        starts[turn] += int(free[k - 1]) + 1
    return labels


def masked_runs(centroids: Table, upper: Table, k: int, epsilon: float, runs: int, randomness: Randomness) -> Table:
    """(3), in an array with one file for each run."""
    return np.stack([add_noise(centroids, upper, k, epsilon, randomness) for _ in range(runs)])


def changes_by_run(values: Table, runs: Table) -> Table:
    """Return theta' / theta - 1 with its sign: one row a run, then mean and variance, then attributes."""
    before = np.array([values.mean(axis=0), values.var(axis=0)])
    after = np.stack([runs.mean(axis=1), runs.var(axis=1)], axis=1)
    changes: Table = after / before - 1
    return changes


def relative_changes(values: Table, masked: Table) -> Table:
    """(4), one column for each attribute, in rows mean and variance."""
    before, after = (np.array([table.mean(axis=0), table.var(axis=0)]) for table in (values, masked))
    changes: Table = np.abs(after / before - 1)
    return changes
