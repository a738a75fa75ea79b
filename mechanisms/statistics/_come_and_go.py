"""Individual differential privacy where a record comes or goes: how far the figures of the actual data move then.

`from_D_add_remove`: the actual data set D against D with one record more, or one less. A record lies in one group, so
no group needs to be public, nor how many records it has. x_(1) <= ... <= x_(n) in steps, bounds a = x_(0), b = x_(n+1):

    count                  1                                                                                    (1)
    sum                    B = max(|a|, |b|), of the values themselves                                          (2)
    mean m                 max(max(b - m, m - a) / (n + 1), max(x_(n) - m, m - x_(1)) / (n - 1))                (3)
    variance V             the largest of |n V + n / (n+1) (y - m)^2 - (n+1) V| / (n+1), y = a, b and m,
                           and |n V - n / (n-1) (x - m)^2 - (n-1) V| / (n-1), x = x_(1), x_(n) and next to m    (4)
    median, n = 2m - 1     max(x_(m+1) - x_(m), x_(m) - x_(m-1)) / 2                                            (5)
    median, n = 2m         (x_(m+1) - x_(m)) / 2                                                                (6)
    rank k(n)              x_(k+1) - x_(k) if k(n+1) = k + 1 or k(n-1) = k; x_(k) - x_(k-1) if k(n+1) = k or
                           k(n-1) = k - 1; the larger                                                           (7)

Proof of (7): with one more and the same rank, the new record pushes the answer down to x_(k-1) at most, or leaves it;
with rank k + 1 it is x_(k), or up to x_(k+1). With one less and the same rank it is x_(k) or x_(k+1), with rank k - 1
x_(k-1) or x_(k). The minimum is k = 1, the maximum k = n, the second maximum k = n - 1, a quantile of share p/q
k = ceil(p n / q). (5): with one more, half the way to a neighbour at most; with one less the mean of x_(m) and a
neighbour, or of both neighbours, which is no further from x_(m) than the further one by half. (6): with one more any
value from x_(m) to x_(m+1), with one less one of both. (3), (4): a new record moves them most at a bound, or, where the
variance falls, on the mean; one that goes, at an end, or next to the mean, where the variance grows.

Figures are counted in units that do not depend on n, which is secret: half steps, steps, and for means and variances
powers of two of a step, or of its square, of which the domain has 2^31 at most.

A figure must exist with one record less, too: two records are needed, three for the second maximum, none for counts
and sums. One record that is replaced is not covered: after it has gone, another comes to a data set with other gaps.

Source: both versions of individual differential privacy (Soria-Comas et al. 2017, section 4.2) name this notion of
neighbours and go on with the other; formulas and proofs are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.refusal import TooFewRecords
from penstock.mechanisms.statistics._groups import SortedGroups

__all__ = [
    "BITS",
    "mean",
    "mean_moves",
    "median_moves",
    "on_lattice",
    "rank_moves",
    "require_records",
    "variance",
    "variance_moves",
]

Steps = NDArray[np.int64]

# The public units of a mean or a variance: so many binary digits, so that noise fits into 64 bits at any epsilon.
BITS = 31


def require_records(groups: SortedGroups, least: int) -> None:
    """Refuse a group whose figure would not exist with one record less."""
    if len(groups) and groups.sizes.min() < least:
        raise TooFewRecords.at(
            "groups",
            rule=f"must each have at least {least} records for this statistic, so that one may go",
            remedy="Merge the groups, or leave out those that are publicly known to be smaller.",
        )


def median_moves(groups: SortedGroups, high: int) -> Steps:
    """Return twice (5) or (6), in half steps."""
    require_records(groups, 2)
    sizes = groups.sizes
    lower, upper = (sizes + 1) // 2, sizes // 2 + 1
    # Where n is odd both are the middle rank, and its neighbours count; where it is even, the gap between the two.
    odd = sizes % 2
    below, above = (_padded(groups, ranks, high) for ranks in (lower - odd, upper + odd))
    at_lower, at_upper = (groups.at_ranks(ranks) for ranks in (lower, upper))
    moved: Steps = np.where(odd == 1, np.maximum(above - at_upper, at_lower - below), at_upper - at_lower)
    return moved


def rank_moves(groups: SortedGroups, rank: Callable[[Steps], Steps], high: int, *, least: int = 2) -> Steps:
    """(7); rank: k of n."""
    require_records(groups, least)
    sizes = groups.sizes
    k, with_more, with_less = rank(sizes), rank(sizes + 1), rank(sizes - 1)
    now = groups.at_ranks(k)
    up = np.where((with_more == k + 1) | (with_less == k), _padded(groups, k + 1, high) - now, 0)
    down = np.where((with_more == k) | (with_less == k - 1), now - _padded(groups, k - 1, high), 0)
    moved: Steps = np.maximum(up, down)
    return moved


def _padded(groups: SortedGroups, ranks: Steps, high: int) -> Steps:
    """Return x_(rank); the bounds 0 and high beyond both ends."""
    inside = np.clip(ranks, 1, groups.sizes)
    found: Steps = np.where(ranks < 1, 0, np.where(ranks > groups.sizes, high, groups.at_ranks(inside)))
    return found


def mean(values: Steps) -> Fraction:
    """Return the mean of one group, exactly."""
    return Fraction(int(values.sum()), len(values))


def variance(values: Steps) -> Fraction:
    """Return the variance of one group, exactly."""
    n, near = len(values), values - (int(values[0]) + int(values[-1])) // 2  # so that sums of squares fit into 64 bits
    return Fraction(n * int((near * near).sum()) - int(near.sum()) ** 2, n**2)


def mean_moves(values: Steps, low: int, high: int) -> Fraction:
    """(3) of one group."""
    n, m = len(values), mean(values)
    comes = max(high - m, m - low) / (n + 1)
    return max(comes, max(int(values[-1]) - m, m - int(values[0])) / (n - 1))


def variance_moves(values: Steps, low: int, high: int) -> Fraction:
    """(4) of one group."""
    n, m, v = len(values), mean(values), variance(values)
    after = int(np.searchsorted(values, ceil(m)))
    near = {0, n - 1, max(after - 1, 0), min(after, n - 1)}
    comes: list[Fraction] = [(n * v + Fraction(n, n + 1) * (y - m) ** 2) / (n + 1) for y in (low, high, m)]
    goes: list[Fraction] = [
        (n * v - Fraction(n, n - 1) * (x - m) ** 2) / (n - 1) for x in values[sorted(near)].tolist()
    ]
    return max(abs(changed - v) for changed in (*comes, *goes))


def on_lattice(values: list[Fraction], moves: list[Fraction], exponent: int) -> tuple[Steps, Steps]:
    """Return values in units of 2^exponent, rounded as floor(u + 1/2), and how many units cover what they move by."""
    unit = Fraction(2) ** exponent
    rounded = [floor(value / unit + Fraction(1, 2)) for value in values]
    return np.array(rounded, np.int64), np.array([ceil(move / unit) for move in moves], np.int64)
