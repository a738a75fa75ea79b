"""How far a statistic moves when i of the n records of a group are replaced, counted again for the check of the noise.

Sorted values x on a grid from 0 to R, followed by i times R and preceded by i times 0; rank k is then at place k + i:

    rank k     max(x at k + i more places - x, x - x at i places less)
    median     the same with the sum of both middle ranks, which are one where n is odd
    count      as many as can gain or lose what is counted: min(i, max(c, n - c)), c the records that are counted
    sum, mean  max(sum of R - the i lowest, sum of the i highest)
    variance   n S of every window of i neighbours that goes to 0 or to R, in all i + 1 ways, and of every window of
               n - i that may stay: all of them are looked at
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["moves_of_several"]


def moves_of_several(kind: str, share: Fraction, x: list[int], steps: int, replaced: int) -> Fraction:
    """Return the move in steps, half steps for a median, squared steps for a variance."""
    n = len(x)
    if kind == "count":
        return Fraction(min(replaced, max(sum(x), n - sum(x))))
    if kind in ("sum", "mean"):
        return Fraction(max(sum(steps - value for value in x[:replaced]), sum(x[-replaced:])))
    if kind == "variance":
        return _variance_moves(np.array(x), steps, min(replaced, n))
    padded = [0] * replaced + x + [steps] * replaced
    if kind == "median":
        places = [(n - 1) // 2, n // 2]
    else:
        places = [{"minimum": 1, "maximum": n, "second_maximum": n - 1}.get(kind, ceil(share * n)) - 1]
    lowest, now, highest = (sum(padded[place + shift] for place in places) for shift in (0, replaced, 2 * replaced))
    return Fraction(max(highest - now, now - lowest))


def _variance_moves(x: NDArray[np.int64], steps: int, replaced: int) -> Fraction:
    n, kept = len(x), len(x) - replaced
    # n times a sum of squares of all but a few, and of the few that are new.
    exactly: NDArray[Any] = x if 4 * n * (n + replaced) * steps**2 < 2**63 else x.astype(object)
    sums, squares = (np.append(0, np.cumsum(each)) for each in (exactly, exactly * exactly))
    total, square = sums[-1], squares[-1]
    now = n * square - total**2
    gone, gone_squares = (each[replaced:] - each[: kept + 1] for each in (sums, squares))
    widest = max(
        int((n * (square - gone_squares + p * steps**2) - (total - gone + p * steps) ** 2).max())
        for p in range(replaced + 1)
    )
    narrowest = Fraction(0)
    if kept:
        stay, stay_squares = (each[kept:] - each[: replaced + 1] for each in (sums, squares))
        narrowest = Fraction(int((kept * stay_squares - stay**2).min()), kept)
    return max(Fraction(widest - int(now), n), Fraction(int(now), n) - narrowest) / n
