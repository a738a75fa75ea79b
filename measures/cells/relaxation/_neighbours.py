"""How large the noise of individual differential privacy would be if one record were another.

LS(D) depends on D, and the promise compares D with D' at the noise of D. If D' were the actual data, its own noise
would be LS(D'). Where that is 0, its release would be refused or exact, so that both worlds are told apart for certain:
of (0, 0, 1) and (0, 0, 0), in a domain from 0 to 1, the median of the first has LS 1 and that of the second 0.

    order statistics    LS(D') = max(x_(u+1) - x_(l), x_(u) - x_(l-1)) / (u - l + 1)                                (1)
    sum, mean           LS(D') = max(R - x_(1), x_(n)): least without the smallest or the largest record, most R    (2)

with l <= u the ranks of which the figure is the mean. (1) looks at four ranks at most, so only records up to two ranks
from them matter, and one on either side for all that are farther out. For fixed ranks it is a maximum of functions that
are linear between the values and the points in the middle of two, so its extremes are found among these and the bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil

__all__ = ["middle_ranks", "moves_of_neighbours"]

# Ranks to either side that are looked at: those that count and what can take their place.
_NEAR = 3


def moves_of_neighbours(kind: str, share: Fraction, x: Sequence[int], steps: int) -> tuple[Fraction, Fraction] | None:
    """Return the smallest and the largest LS(D') in steps of the grid, over all D' with one record replaced; None of
    other statistics. x: sorted, from 0 to `steps`."""
    if kind in ("sum", "mean"):
        return _of_sums(x, steps)
    ranks = middle_ranks(kind, share, len(x))
    if ranks is None:
        return None
    lower, upper = ranks
    first, last = max(0, lower - 1 - _NEAR), min(len(x), upper + _NEAR)
    near = list(x[first:last])
    points = {0, steps, *near}
    for one, other in combinations(sorted(points), 2):
        points |= {(one + other) // 2, (one + other + 1) // 2}
    found = [
        _local(sorted([*near[:place], *near[place + 1 :], y]), lower - first, upper - first, steps)
        for place in range(len(near))
        for y in points
    ]
    return min(found), max(found)


def middle_ranks(kind: str, share: Fraction, n: int) -> tuple[int, int] | None:
    """Return the ranks of which an order statistic is the mean; None of other statistics."""
    if kind == "median":
        return (n + 1) // 2, n // 2 + 1
    ranks = {"minimum": 1, "maximum": n, "second_maximum": n - 1, "quantile": ceil(share * n)}
    return (ranks[kind], ranks[kind]) if kind in ranks else None


def _local(x: Sequence[int], lower: int, upper: int, steps: int) -> Fraction:
    padded = [0, *x, steps]
    return Fraction(max(padded[upper + 1] - padded[lower], padded[upper] - padded[lower - 1]), upper - lower + 1)


def _of_sums(x: Sequence[int], steps: int) -> tuple[Fraction, Fraction]:
    if len(x) == 1:
        return Fraction((steps + 1) // 2), Fraction(steps)
    least = min(max(steps - low, high) for low, high in ((x[0], x[-1]), (x[1], x[-1]), (x[0], x[-2])))
    return Fraction(least), Fraction(steps)
