"""Local sensitivities: how far a statistic of the actual data moves when i records are replaced by any others.

With x_(1) <= ... <= x_(n), public bounds [a, b], x_(j) = a for j < 1, x_(j) = b for j > n, in steps of the grid:

    k-th smallest      max(x_(k+i) - x_(k), x_(k) - x_(k-i))                                                    (1)
    median, n odd      (1) with k = (n + 1) / 2                                                                 (2)
    median, n even     max(x_(m+i) + x_(m+1+i) - x_(m) - x_(m+1), x_(m) + x_(m+1) - x_(m-i) - x_(m+1-i)) / 2,   (3)
                       m = n / 2; for i = 1 it is max(x_(m+2) - x_(m), x_(m+1) - x_(m-1)) / 2
    maximum            (1) with k = n;   second maximum: k = n - 1;   minimum: k = 1                            (4)
    count of a property  min(i, max(c, n - c)), c of the records have it                                        (5)
    sum                max(sum over j <= i of b - x_(j), sum over the i largest of x - a);  mean: divided by n  (6)
                       for i = 1 it is max(b - x_(1), x_(n) - a)
    variance           f max_i max(F_i - (x_i - m_i)^2, (x_i - m_i)^2),   F_i = max((a - m_i)^2, (b - m_i)^2)   (7)
                       m_i the mean of the others; f = (n-1) / n^2 for the population's, 1 / n for the sample's

(7) is for one record; _variance.py has it for several. i = 1 unless another number is given.

Proof of (1), (3) and (6): f does not fall when a value grows, so it grows most when i values become b. Which i: whoever
replaces the lowest leaves the others, and so every rank, highest. Then rank k has x_(k+i). Downwards it is the mirror.

A bound is needed only where x_(j) with j < 1 or j > n is met: for one record in (1) at k = 1 and k = n and in (3) at
n = 2, and always in (6) and (7); the second maximum needs b from two records on.
On a `Grid` the bounds are 0 and its number of steps.

(7) takes the maximum over six records at most. (x - m_i)^2 is largest at x_(1) or x_(n). With S the sum of all,
(a - m_i)^2 - (x - m_i)^2 = (a - x) (a + x - 2 (S - x) / (n - 1)) is concave in x with its top at (S + a) / (n + 1), so
it is largest at a neighbour of that place; the same with b. The replacement that gives (x_i - m_i)^2 is m_i itself,
which need not be on the grid: there (7) may be a little more than is needed, never less.

Source: individual differential privacy (Soria-Comas, Domingo-Ferrer, Sánchez & Megías 2017), sections 6.1.3 and 6.2.3,
for one record, n odd, the maximum and the second maximum; the others are ours. Several records are in its second
version, Definition 6, without formulas.

Adjacency: `replace`, n public. Limits: all of these depend on the data and are secret: the median's is a gap between
records, the sum's is b - x_(1) or x_(n) - a. A sensitivity of 0 would release the exact answer, and even a secret one
shows as an answer that repeats itself: see `without_noise`.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.refusal import SettingRefused, TooFewRecords
from penstock.mechanisms.statistics._groups import SortedGroups

__all__ = [
    "count",
    "maximum",
    "mean",
    "median_in_half_steps",
    "minimum",
    "order_statistic",
    "order_statistics",
    "population_variance",
    "sample_variance",
    "second_maximum",
    "sum_of_values",
    "without_noise",
]

Steps = NDArray[np.int64]


def order_statistic(groups: SortedGroups, k: int, *, low: int | None = None, high: int | None = None) -> Steps:
    """(1), one for each group."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise SettingRefused.at(
            "k", rule="must be a whole number from 1 on", got=k, remedy="Write 1 for the smallest value."
        )
    _require_records(groups, max(k, 2))
    return _largest_gap(groups, np.full(len(groups), k), low, high)


def order_statistics(
    groups: SortedGroups, ranks: Steps, *, low: int | None = None, high: int | None = None, replaced: int = 1
) -> Steps:
    """(1), each group at a rank of its own, from 1 to its size."""
    _require_records(groups, 2)
    if not bool(((ranks >= 1) & (ranks <= groups.sizes)).all()):
        raise ValueError("ranks go from 1 to the size of the group")
    return _largest_gap(groups, ranks, low, high, replaced)


def median_in_half_steps(
    groups: SortedGroups, *, low: int | None = None, high: int | None = None, replaced: int = 1
) -> Steps:
    """Return twice (2) or (3), a whole number, for the median counted in half steps of the grid.

    The values at the middle ranks, which are one where n is odd, are added up before and after.
    """
    _require_records(groups, 2)
    sizes = groups.sizes
    middle = ((sizes + 1) // 2, sizes // 2 + 1)
    below, now, above = (
        sum((_at_rank(groups, ranks + shift, low, high) for ranks in middle), np.zeros_like(sizes))
        for shift in (-replaced, 0, replaced)
    )
    gap: Steps = np.maximum(above - now, now - below)
    return gap


def maximum(groups: SortedGroups, *, high: int | None) -> Steps:
    """(4)."""
    _require_records(groups, 2)
    return _largest_gap(groups, groups.sizes, None, high)


def second_maximum(groups: SortedGroups, *, low: int | None = None) -> Steps:
    """(4); the bound is needed only in groups of two, where this is the minimum."""
    _require_records(groups, 2)
    return _largest_gap(groups, groups.sizes - 1, low, None)


def minimum(groups: SortedGroups, *, low: int | None) -> Steps:
    """(4)."""
    _require_records(groups, 2)
    return _largest_gap(groups, np.ones_like(groups.sizes), low, None)


def count(groups: SortedGroups, *, replaced: int = 1) -> Steps:
    """(5), for values that are 1 where a record has the property and 0 where not."""
    _require_records(groups, 1)
    counted = groups.totals(groups.values)
    moved: Steps = np.minimum(replaced, np.maximum(counted, groups.sizes - counted))
    return moved


def sum_of_values(groups: SortedGroups, *, low: int | None, high: int | None, replaced: int = 1) -> Steps:
    """(6)."""
    a, b = _require_bounds(groups, low, high)
    _require_records(groups, 1)
    first, end = groups.starts[:-1], groups.starts[1:]
    # A sum beyond 64 bits wraps around, and so do differences of it: those of a few values come out right.
    up = np.append(0, np.cumsum(b - groups.values))
    down = np.append(0, np.cumsum(groups.values - a))
    reach: Steps = np.maximum(
        up[np.minimum(first + replaced, end)] - up[first], down[end] - down[np.maximum(end - replaced, first)]
    )
    return reach


def mean(groups: SortedGroups, *, low: int | None, high: int | None) -> list[Fraction]:
    """(6)."""
    steps = sum_of_values(groups, low=low, high=high)
    return [Fraction(step, size) for step, size in zip(steps.tolist(), groups.sizes.tolist(), strict=True)]


def population_variance(groups: SortedGroups, *, low: int | None, high: int | None) -> list[Fraction]:
    """(7), in squared steps."""
    return [
        square * (size - 1) / size**2
        for square, size in zip(_largest_change(groups, low, high), groups.sizes.tolist(), strict=True)
    ]


def sample_variance(groups: SortedGroups, *, low: int | None, high: int | None) -> list[Fraction]:
    """(7), in squared steps."""
    return [
        square / size for square, size in zip(_largest_change(groups, low, high), groups.sizes.tolist(), strict=True)
    ]


def without_noise(sensitivities: Steps | list[Fraction]) -> NDArray[np.bool_]:
    """Return which groups would be released exactly, because no single record moves their statistic (ties).

    The caller refuses them, unless exact answers were explicitly allowed.
    """
    return np.array([sensitivity == 0 for sensitivity in sensitivities], dtype=np.bool_)


def _largest_gap(groups: SortedGroups, ranks: Steps, low: int | None, high: int | None, replaced: int = 1) -> Steps:
    """(1) at one rank for each group."""
    below, at, above = (_at_rank(groups, ranks + shift, low, high) for shift in (-replaced, 0, replaced))
    gap: Steps = np.maximum(above - at, at - below)
    return gap


def _at_rank(groups: SortedGroups, ranks: Steps, low: int | None, high: int | None) -> Steps:
    """Return x_(rank) of each group; low below the first rank and high beyond the last."""
    under, over = ranks < 1, ranks > groups.sizes
    padding = np.zeros_like(ranks)
    for outside, bound, side in ((under, low, "low"), (over, high, "high")):
        if outside.any():
            padding[outside] = _bound(groups, bound, side)
    inside = ~(under | over)
    places = np.where(inside, groups.starts[:-1] + ranks - 1, 0)
    return np.where(inside, groups.values[places], padding)


def _bound(groups: SortedGroups, bound: int | None, side: str) -> int:
    if bound is None:
        raise SettingRefused.at(
            side,
            rule="needs a declared bound of the column, on which this sensitivity depends",
            remedy="Declare the domain from public knowledge, or ask for a statistic further inside.",
        )
    outermost = groups.values.min(initial=bound) if side == "low" else groups.values.max(initial=bound)
    if outermost != bound or abs(bound) > 2**61:
        raise ValueError("values are clamped first, to bounds of at most 2^61 in size")
    return bound


def _require_bounds(groups: SortedGroups, low: int | None, high: int | None) -> tuple[int, int]:
    return _bound(groups, low, "low"), _bound(groups, high, "high")


def _require_records(groups: SortedGroups, least: int) -> None:
    if len(groups) and groups.sizes.min() < least:
        raise TooFewRecords.at(
            "groups",
            rule=f"must each have at least {least} record{'s' if least > 1 else ''} for this statistic",
            remedy="Merge the groups, or leave out those that are publicly known to be smaller.",
        )


def _largest_change(groups: SortedGroups, low: int | None, high: int | None) -> list[Fraction]:
    """Return the maximum of (7), without f."""
    a, b = _require_bounds(groups, low, high)
    _require_records(groups, 2)
    return [_change_of_one(groups[group], a, b) for group in range(len(groups))]


def _change_of_one(values: Steps, a: int, b: int) -> Fraction:
    n, total = len(values), _exact_sum(values, a, b)
    candidates = {0, n - 1}
    for bound in (a, b):
        after = int(np.searchsorted(values, (total + bound) // (n + 1), side="right"))
        candidates |= {max(after - 1, 0), min(after, n - 1)}
    largest = 0
    for x in values[sorted(candidates)].tolist():
        # (n - 1) (y - m_i) for the record itself and for both bounds, in whole numbers.
        own, lowest, highest = ((n - 1) * y - (total - x) for y in (x, a, b))
        largest = max(largest, own**2, max(lowest**2, highest**2) - own**2)
    return Fraction(largest, (n - 1) ** 2)


def _exact_sum(values: Steps, a: int, b: int) -> int:
    if (b - a) * len(values) >= 2**63:
        raise ValueError("the grid is too fine for a sum of so many values in 64 bits")
    return int((values - a).sum()) + a * len(values)
