"""How far a statistic moves when one record comes or goes, counted again for the check of the noise.

All figures but the variance do not fall when a value grows. So they are furthest away when the smallest or the largest
record goes, or when one comes at a bound: each figure is made again by its definition for these four. A variance also
when one comes at the mean, and when any record goes. Steps of the grid from 0 to R; half steps for a median, and
squared ones for a variance. A sum, of values and not of steps, moves by the largest value of the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil

from penstock.measures.checks import RecheckImpossible

__all__ = ["moves_of_one_more_or_less"]

_Values = Sequence[int]
_Figure = Callable[[_Values, Fraction], Fraction]


def _median(x: _Values, _share: Fraction) -> Fraction:
    return Fraction(x[(len(x) - 1) // 2] + x[len(x) // 2])


_FIGURES: dict[str, _Figure] = {
    "mean": lambda x, _: Fraction(sum(x), len(x)),
    "median": _median,
    "minimum": lambda x, _: Fraction(x[0]),
    "maximum": lambda x, _: Fraction(x[-1]),
    "second_maximum": lambda x, _: Fraction(x[-2]),
    "quantile": lambda x, share: Fraction(x[ceil(share * len(x)) - 1]),
}


def moves_of_one_more_or_less(kind: str, share: Fraction, x: list[int], steps: int) -> Fraction:
    """Return the move of any figure but a count or a sum; refuse records that would leave no figure behind."""
    if len(x) < (3 if kind == "second_maximum" else 2):
        raise RecheckImpossible.at(
            "source", rule="must have enough records in every group for its figures", remedy="Report this defect."
        )
    if kind == "variance":
        return _variance_moves(x, steps)
    figure = _FIGURES[kind]
    now = figure(x, share)
    return max(abs(figure(other, share) - now) for other in ([0, *x], [*x, steps], x[1:], x[:-1]))


def _variance_moves(x: list[int], steps: int) -> Fraction:
    n, total, square = len(x), sum(x), sum(value * value for value in x)

    def variance(records: int, added: Fraction, squared: Fraction) -> Fraction:
        return squared / records - (added / records) ** 2

    now = variance(n, Fraction(total), Fraction(square))
    comes = [variance(n + 1, total + y, square + y * y) for y in (Fraction(0), Fraction(steps), Fraction(total, n))]
    goes = [variance(n - 1, Fraction(total - own), Fraction(square - own * own)) for own in set(x)]
    return max(abs(other - now) for other in (*comes, *goes))
