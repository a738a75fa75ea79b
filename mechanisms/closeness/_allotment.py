"""How many records of each bucket every group gets.

    k_i = [i N / G] - [(i - 1) N / G],   [x] = floor(x + 1/2)            sizes of the G groups                     (1)
    ceil(k_i n_j / (N t)) <= c_ij <= floor(t k_i n_j / N)                t-closeness                               (2)
    sum_j c_ij = k_i,   sum_i c_ij = n_j                                 every record once                         (3)
    maximise sum_i c_{i, i mod b}                                        one bucket stands out in each group       (4)

n_j are the sizes of the b buckets. (2) to (4) are a transportation problem, whose vertices are whole numbers. Groups of
one size and one emphasised bucket are alike, so they are solved together as one row of a small problem with 2 b rows:
the mean of alike rows is a solution if they are, and the other way round a row f_j for m groups is dealt out as
floor(f_j / m) or one more to each, which keeps (2), because its limits are whole numbers.

The largest number of groups G that has a solution is taken. For two sizes of groups a solution exists exactly if

    max(m_0 L_0j, n_j - m_1 U_1j) <= f_j <= min(m_0 U_0j, n_j - m_1 L_1j)  and  sum_j f_j = m_0 k_0             (5)

can be met, where L, U are the limits (2) and m the number of groups of each size. All of this is in whole numbers; the
linear program (4) is solved in floats, rounded, and must then satisfy (2) and (3) exactly.

Source: Soria-Comas 2013 (thesis), section 7.2.2. Departures: the recipe there ignores the sums over groups (3) and the
limits of other buckets, and misses t, for example for t = 2 and N = 17; and G need not be a multiple of b.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["allot", "cut_points", "group_number", "within_limits"]

_Limits = tuple[list[int], list[int]]
_LimitsOf = Callable[[int], _Limits]


def cut_points(records: int, parts: int) -> NDArray[np.int64]:
    """0, [N / p], [2 N / p], ..., N."""
    return np.array([(2 * place * records + parts) // (2 * parts) for place in range(parts + 1)], np.int64)


def group_number(buckets: Sequence[int], k: int, t: Fraction) -> int | None:
    """Return the largest number of groups that can be t-close with at least k records each; None if only one can."""
    records = sum(buckets)
    limits = _limits_by_size(buckets, t)
    groups = min(records // k, *buckets)  # every group has every bucket
    while groups > 1:
        if _solvable(buckets, groups, limits):
            return groups
        size = records // groups
        # With fewer groups, some have this size and some one more, until there are records // (size + 1) of them.
        both = all(_row_possible(each, limits(each)) for each in (size, size + 1))
        groups = groups - 1 if both else min(groups - 1, records // (size + 1))
    return None


def allot(buckets: Sequence[int], groups: int, t: Fraction) -> NDArray[np.int64]:
    """Return c_ij for a number of groups that `group_number` found: a row for each group, a column for each bucket."""
    b, records = len(buckets), sum(buckets)
    sizes = np.diff(cut_points(records, groups))
    if b == 1:
        return sizes[:, None].copy()
    smallest = int(sizes.min())
    kind = (sizes - smallest) * b + np.arange(groups) % b  # size and emphasised bucket
    kinds, places, alike = np.unique(kind, return_inverse=True, return_counts=True)
    limits = _limits_by_size(buckets, t)
    bounds = [limits(smallest + int(each) // b) for each in kinds]
    low = np.array([row[0] for row in bounds], np.int64)
    high = np.array([row[1] for row in bounds], np.int64)
    together = _solved(
        low * alike[:, None], high * alike[:, None], (smallest + kinds // b) * alike, np.array(buckets), kinds % b
    )
    counts = np.empty((groups, b), np.int64)
    for row, many in enumerate(alike):
        counts[places == row] = _dealt(together[row], int(many))
    if not within_limits(counts, buckets, t):
        raise ValueError("the transportation problem was not solved in whole numbers")
    return counts


def within_limits(counts: NDArray[np.int64], buckets: Sequence[int], t: Fraction) -> bool:
    """(2) and the second half of (3), in whole numbers."""
    if not np.array_equal(counts.sum(axis=0), np.array(buckets)):
        return False
    limits = _limits_by_size(buckets, t)
    sizes = counts.sum(axis=1)
    for size in np.unique(sizes).tolist():
        low, high = limits(size)
        rows = counts[sizes == size]
        if not ((rows >= low).all() and (rows <= high).all()):
            return False
    return True


def _limits_by_size(buckets: Sequence[int], t: Fraction) -> _LimitsOf:
    """(2) for all buckets, by the size of the group; Python's integers do not overflow."""
    records, p, q = sum(buckets), t.numerator, t.denominator

    @cache
    def limits(size: int) -> _Limits:
        low = [-(-size * bucket * q // (records * p)) for bucket in buckets]
        high = [size * bucket * p // (records * q) for bucket in buckets]
        return low, high

    return limits


def _row_possible(size: int, limits: _Limits) -> bool:
    low, high = limits
    return all(map(int.__le__, low, high)) and sum(low) <= size <= sum(high)


def _solvable(buckets: Sequence[int], groups: int, limits: _LimitsOf) -> bool:
    """(5)."""
    records = sum(buckets)
    size, larger = divmod(records, groups)
    smaller = groups - larger
    low, high = limits(size)
    if not _row_possible(size, (low, high)):
        return False
    if not larger:
        return all(groups * x <= n <= groups * y for x, y, n in zip(low, high, buckets, strict=True))
    low_larger, high_larger = limits(size + 1)
    least = most = 0
    for x, y, x_larger, y_larger, n in zip(low, high, low_larger, high_larger, buckets, strict=True):
        fewest, highest = max(smaller * x, n - larger * y_larger), min(smaller * y, n - larger * x_larger)
        if fewest > highest:
            return False
        least, most = least + fewest, most + highest
    return least <= smaller * size <= most


def _solved(
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    emphasised: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the vertex of the transportation problem with the largest sum of emphasised cells, rounded."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    r, b = low.shape
    gain = np.zeros((r, b))
    gain[np.arange(r), emphasised] = -1
    cell = np.arange(r * b)
    sums = coo_array(
        (np.ones(2 * r * b), (np.concatenate([cell // b, r + cell % b]), np.concatenate([cell, cell]))),
        shape=(r + b, r * b),
    ).tocsr()
    bounds = np.column_stack([low.ravel(), high.ravel()])
    found = linprog(gain.ravel(), A_eq=sums, b_eq=np.concatenate([rows, columns]), bounds=bounds, method="highs-ds")
    if found.x is None:
        raise ValueError("the transportation problem was not solved")
    whole: NDArray[np.int64] = np.rint(found.x).astype(np.int64)
    return whole.reshape(r, b)


def _dealt(together: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
    """Divide one row for several alike groups into a row for each: shares differ by at most one, sums are equal.

    What is left over of each bucket goes to the groups in turn, each bucket going on where the last one stopped.
    """
    shares, over = np.divmod(together, groups)
    counts = np.repeat(shares[None, :], groups, axis=0)
    starts = np.cumsum(over) - over
    for bucket, (start, many) in enumerate(zip(starts.tolist(), over.tolist(), strict=True)):
        counts[(start + np.arange(many)) % groups, bucket] += 1
    return counts
