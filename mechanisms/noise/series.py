"""Sums of a polynomial over a geometric distribution.

    sum_i b^i P(i) = sum_j c_j (1 - b)^-(j+1),   c_j = the j-th backward difference of P at -1    (1)

because P(i) = sum_j c_j C(i + j, j) (Newton) and sum_i b^i C(i + j, j) = (1 - b)^-(j+1). Exact in fractions, however
slowly the series itself converges.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

__all__ = ["geometric_sum"]


def geometric_sum(polynomial: Callable[[int], Fraction], degree: int, one_minus_b: Fraction) -> Fraction:
    """(1) for a polynomial of this degree and 0 < b < 1."""
    differences = [polynomial(-1 - j) for j in range(degree + 1)]
    total, power = Fraction(0), one_minus_b
    while differences:
        total += differences[0] / power
        power *= one_minus_b
        differences = [nearer - farther for nearer, farther in pairwise(differences)]
    return total
