"""Local sensitivity of the population variance: how far it moves when i records are replaced by any others.

    V = S / n,   S = sum of (x - mean)^2;   i of n sorted values between a and b are replaced, h = n - i are kept

    up      max over p = 0..i and over windows of i neighbours in rank of S(kept, a (i - p) times, b p times)    (1)
    down    min over j = 0..i of S(x_(j+1), ..., x_(j+h)), whose mean the others take                            (2)
    LS_i    max((1) - S, S - (2)) / n                                                                            (3)

(1): S is convex in each value, so each replaced one goes to a bound. S of m values, one of them t and the others Z, is
S(Z) + (m-1)/m (t - mean Z)^2, convex in t: of three values of which the outer two are replaced and the inner one
stays, keeping one of the outer two instead is no worse. So the replaced ones are neighbours in rank. Which: moving the
window up by one place, from x_(s) on, keeps x_(s) and replaces x_(s+i). That is no loss if x_(s) + x_(s+i) <= 2 z, else
no gain, z the mean of what is there before and after. x_(s) + x_(s+i) does not fall with s and z does not grow, so the
best s is found by halving. (2): the h values nearest to the mean c of those kept have no larger sum of (x - c)^2, and S
is at most that; they are neighbours. A mean need not lie on the grid, so (2) may be a little less than can be reached:
(3) is never too small.

For i = 1 it is (7) of _local.py for the population. Work: i^2 log n for each number i.

Source: ours, for Definition 6 of the second version of individual differential privacy (Soria-Comas et al. 2017).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = ["variance_moves"]

Steps = NDArray[np.int64]


def variance_moves(values: Steps, low: int, high: int, replaced: int) -> Fraction:
    """Return (3) of sorted values between the bounds, in squared steps."""
    n, i = len(values), min(replaced, len(values))
    if (high - low) ** 2 * n >= 2**63:
        raise ValueError("the grid is too fine for a sum of so many squares in 64 bits")
    middle = (low + high) // 2
    found = _Sums(values - middle, low - middle, high - middle)
    now = found.spread(0, n)
    up = max(Fraction(each, n) for each in found.widest(i))
    down = min(Fraction(found.spread(j, j + n - i), n - i) for j in range(i + 1)) if i < n else Fraction(0)
    return max(up - Fraction(now, n), Fraction(now, n) - down) / n


class _Sums:
    """Sums of values, and of their squares, from any place to any other."""

    def __init__(self, values: Steps, low: int, high: int) -> None:
        self._values, self._low, self._high = values, low, high
        self._sums = np.append(0, np.cumsum(values))
        self._squares = np.append(0, np.cumsum(values * values))

    def spread(self, first: int, last: int) -> int:
        """Return m S of the m values from one place to another."""
        total, square = self._between(first, last)
        return (last - first) * square - total**2

    def widest(self, i: int) -> Iterator[int]:
        """Yield n times (1) for each p."""
        n, (total, square) = len(self._values), self._between(0, len(self._values))
        for p in range(i + 1):
            new, new_square = (i - p) * self._low + p * self._high, (i - p) * self._low**2 + p * self._high**2
            first = self._best_window(i, total + new)
            gone, gone_square = self._between(first, first + i)
            yield n * (square - gone_square + new_square) - (total - gone + new) ** 2

    def _best_window(self, i: int, with_new: int) -> int:
        """Return the first place whose window is as good as the next one, for all values and new ones of this total."""
        n = len(self._values)
        first, last = 0, n - i
        while first < last:
            s = (first + last) // 2
            others = with_new - self._between(s, s + i + 1)[0]
            if (int(self._values[s]) + int(self._values[s + i])) * (n - 1) >= 2 * others:
                last = s
            else:
                first = s + 1
        return first

    def _between(self, first: int, last: int) -> tuple[int, int]:
        return int(self._sums[last] - self._sums[first]), int(self._squares[last] - self._squares[first])
