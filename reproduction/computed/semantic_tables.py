"""What Tables 6.3 and 6.4 of the thesis compare on two nominal columns with taxonomies. Reproduction, no guarantee.

    d(x, y)^2 = sum_i delta_i(x_i, y_i)^2 / delta_i(b_i, t_i)^2                                                    (1)
    MDAV on (1), its mean the concept of least marginality m_i(S, a) = sum_(x in S) delta_i(x, a) of each column   (2)
    insensitive groups: k of least (1) from the corners (b, b), (t, t), (t, b), (b, t) in turn, then by the row    (3)
    P(a) proportional to exp(-epsilon m_i(S, a) / (2 delta_i(b_i, t_i))), for each group S and column by itself    (4)
    SSE = sum over records and columns of delta_i(x_i, a_i)^2                                                      (5)
    RL = sum over records of [x is among the nearest of (a_1, a_2)] / how many records are                         (6)

b_i and t_i are the boundaries of the taxonomy. Of a group only the numbers of records of each pair of categories
matter, so groups are rows of counts, and expectations of (5) and (6) under (4) are sums over concepts: nothing is
drawn. Runs draw every group by itself, so the variance of (6) is a sum as well.

Source: Soria-Comas 2013 (thesis), (6.1) to (6.7), Algorithm 6.3, sections 6.4.1 and 6.4.2. Its taxonomies, 122 and 127
concepts of WordNet 2.1, and its map of labels to concepts are not published; those at hand have 37 and 66. Records at
equal distance from a corner are taken in the order of the file. The source says by the columns; but few distances are
different, so groups made by the columns are nearly pure, and their error at k = 30 and epsilon 10 is a seventh of that
in print.

Why (4) is no release: every column spends the whole epsilon, every group does, although one replaced record may move
all of them, and delta(b, t) can be below the diameter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.reproduction.computed.census_tables import taken_in_turn

__all__ = [
    "central",
    "chances_of_linkage",
    "choices",
    "expected_error_of_choices",
    "groups_around_boundaries",
    "groups_by_distance",
    "linked_by_choices",
    "squared_distances",
]

Table = NDArray[np.float64]
Counts = NDArray[np.int64]

# Distances are logarithms of fractions; what differs by less is equal.
_SAME = 1e-12
_CHUNK = 256


def squared_distances(apart: Sequence[Table], pairs: Counts, across: Sequence[float]) -> Table:
    """(1) between pairs of categories, squared; apart: delta of categories (rows) and concepts, categories first."""
    scaled = [delta[np.ix_(codes, codes)] / width for delta, codes, width in zip(apart, pairs.T, across, strict=True)]
    total: Table = sum((table**2 for table in scaled), np.zeros((len(pairs), len(pairs))))
    return total


def groups_by_distance(
    apart: Sequence[Table], pairs: Counts, counts: Counts, across: Sequence[float], k: int
) -> Counts:
    """(2): how many records of each pair every group has, one group a row. Ties go to the first pair."""
    distances = squared_distances(apart, pairs, across)
    nearest = np.argsort(distances, axis=1, kind="stable")
    to_concepts = [delta[codes] for delta, codes in zip(apart, pairs.T, strict=True)]
    left, groups = counts.copy(), []

    def leave(pair: int) -> None:
        groups.append(_nearest(left, nearest[pair], k))
        left[:] -= groups[-1]

    def farthest_from_mean() -> int:
        means = [(left @ table).argmin() for table in to_concepts]
        squares = [(table[:, mean] / width) ** 2 for table, mean, width in zip(to_concepts, means, across, strict=True)]
        return int(np.where(left > 0, sum(squares), -1.0).argmax())

    while left.sum() >= 3 * k:
        first = farthest_from_mean()
        leave(first)
        leave(int(np.where(left > 0, distances[first], -1.0).argmax()))
    if left.sum() >= 2 * k:
        leave(farthest_from_mean())
    return np.array([*groups, left])


def groups_around_boundaries(
    apart: Sequence[Table], pairs: Counts, of_record: Counts, boundaries: Sequence[tuple[int, int]], k: int
) -> Counts:
    """(3): how many records of each pair every group has, one group a row; of_record: the pair of every record."""
    orders = []
    for corner in ((0, 0), (1, 1), (1, 0), (0, 1)):
        squares = [
            (delta[codes, ends[side]] / delta[ends]) ** 2
            for delta, codes, ends, side in zip(apart, pairs.T, boundaries, corner, strict=True)
        ]
        # Sums that differ by rounding alone are equal distances.
        orders.append(np.argsort(np.round(sum(squares), 9)[of_record], kind="stable"))
    labels = taken_in_turn(orders, k)
    groups = np.bincount(labels * len(pairs) + of_record, minlength=(labels.max() + 1) * len(pairs))
    return groups.reshape(-1, len(pairs)).astype(np.int64)


def choices(apart: Sequence[Table], pairs: Counts, groups: Counts, across: Sequence[float], epsilon: float) -> Table:
    """(4): one row for each group, the concepts of one column after those of the other."""
    parts = []
    for delta, codes, width in zip(apart, pairs.T, across, strict=True):
        marginality = groups @ delta[codes]
        weights = np.exp(-epsilon * (marginality - marginality.min(axis=1, keepdims=True)) / (2 * width))
        parts.append(weights / weights.sum(axis=1, keepdims=True))
    return np.hstack(parts)


def central(apart: Sequence[Table], pairs: Counts, groups: Counts) -> Table:
    """Return (4) without chance: the concept of least marginality has probability 1, the first of equals."""
    parts = []
    for delta, codes in zip(apart, pairs.T, strict=True):
        chosen = np.zeros((len(groups), delta.shape[1]))
        chosen[np.arange(len(groups)), (groups @ delta[codes]).argmin(axis=1)] = 1
        parts.append(chosen)
    return np.hstack(parts)


def expected_error_of_choices(apart: Sequence[Table], pairs: Counts, groups: Counts, chances: Table) -> Table:
    """Return the expectation of (5) for each group."""
    squares = np.hstack([delta[codes] ** 2 for delta, codes in zip(apart, pairs.T, strict=True)])
    errors: Table = ((groups @ squares) * chances).sum(axis=1)
    return errors


def chances_of_linkage(apart: Sequence[Table], pairs: Counts, counts: Counts) -> Table:
    """Return (6) of one record: by concept of the first column, concept of the second, and pair of the record."""
    first, second = (delta[codes] ** 2 for delta, codes in zip(apart, pairs.T, strict=True))
    tables = []
    for concept in range(first.shape[1]):
        distances = first[:, concept] + second.T
        nearest = distances <= distances.min(axis=1, keepdims=True) + _SAME
        tables.append(nearest / (nearest @ counts)[:, np.newaxis])
    return np.stack(tables)


def linked_by_choices(linkage: Table, groups: Counts, chances: Table, times: Counts) -> Table:
    """Return expectation and standard deviation of (6), where every group (a row) stands for several alike."""
    first, second, pairs = linkage.shape
    by_pair = linkage.reshape(first * second, pairs).T
    expectation = variance = 0.0
    for start in range(0, len(groups), _CHUNK):
        part = slice(start, start + _CHUNK)
        one, other = chances[part, :first], chances[part, first:]
        linked = (groups[part] @ by_pair).reshape(-1, first, second)
        # What the second column does on average, then the first one.
        mean = ((linked @ other[:, :, np.newaxis])[:, :, 0] * one).sum(axis=1)
        square = ((linked**2 @ other[:, :, np.newaxis])[:, :, 0] * one).sum(axis=1)
        expectation += float(times[part] @ mean)
        variance += float(times[part] @ (square - mean**2))
    return np.array([expectation, np.sqrt(max(variance, 0.0))])


def _nearest(left: Counts, order: Counts, k: int) -> Counts:
    """Return how many records of each pair are among the first k in an order of pairs."""
    ordered = left[order]
    before = np.cumsum(ordered) - ordered
    taken = np.zeros_like(left)
    taken[order] = np.clip(k - before, 0, ordered)
    return taken
