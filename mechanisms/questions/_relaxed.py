"""What individual and bootstrap differential privacy share: a figure and noise whose size follows the data.

    released = f(D) + N,   N discrete Laplace of scale steps(D) / epsilon in every group,   steps(D) >= 1            (1)

f is a whole number of public parts of a step: steps for sums and order statistics, half steps for medians, and
d = 2^-k steps for means, q(v) = floor(v / d + 1/2). Everything is clamped to a public interval.

Why steps(D) is never 0. Where no record that the promise speaks of moves f, its sensitivity is 0, and noise of that
size would print f exactly. To refuse then would answer a question about the data; so the size has a floor, one step of
the public grid (one part for a mean by its local sensitivity, which is never so small while there are records).
Theorem. With steps(D) = max(floor, sensitivity(D)), or anything larger that D alone decides, (1) keeps epsilon. Proof.
Both promises compare two data sets with noise of the size that the actual one gets. That size is a constant in the
comparison; if f differs by at most sensitivity(D) <= steps(D), the loss is at most epsilon (noise.laplace, (2)). A
larger constant loses less.

What the floor does not do: noise of one step is small, so an answer that is nearly exact tells that the records near it
are many and equal. What the size of the noise reveals is outside both promises, and they say so.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import inf, sqrt
from typing import Any

import numpy as np

from penstock.mechanisms.noise import scale_at_least
from penstock.mechanisms.noise.totals import LARGEST_TOTAL
from penstock.mechanisms.questions._additive import moved_by_one_change, totals
from penstock.mechanisms.questions._asked import Asked
from penstock.mechanisms.questions._cautions import each_by_itself
from penstock.mechanisms.questions._fold import Exact, Ints
from penstock.mechanisms.questions._means import in_domain
from penstock.mechanisms.questions._words import figure, percent
from penstock.mechanisms.questions.accuracy import Expected, LaplaceNoise, half_width, least_of
from penstock.mechanisms.questions.method import Answer, Method
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.statistics import totals_in_units
from penstock.mechanisms.table.noise import cell_noise
from penstock.mechanisms.table.scales import Scales

__all__ = ["ORDERED", "Figures", "Relaxed", "floor_of", "middle_point", "parts_of_a_step", "rounded"]

ORDERED = ("median", "quantile", "minimum", "maximum")
# Means are whole numbers of this many parts of the whole grid, about.
_PARTS_OF_THE_GRID = 2**40


def parts_of_a_step(asked: Asked) -> int:
    """Return into how many parts f divides a step of the grid: 1/d."""
    if asked.query.statistic == "median":
        return 2
    if asked.query.statistic == "mean":
        return 1 << max(0, _PARTS_OF_THE_GRID.bit_length() - asked.numbers.steps.bit_length() - 1)
    return 1


def rounded(number: Fraction, parts: int) -> int:
    """Return q of a number of steps."""
    doubled = 2 * parts * number.numerator + number.denominator
    return doubled // (2 * number.denominator)


def floor_of(asked: Asked) -> int:
    """Return the least size of the noise, in parts."""
    return parts_of_a_step(asked) if asked.query.statistic == "median" else 1


def middle_point(asked: Asked) -> int:
    """Return what a mean or order statistic of no records is, in parts: the middle of the grid."""
    return asked.numbers.steps // 2 * parts_of_a_step(asked)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Figures:
    """f of every group, and how large its noise is at epsilon 1, both in parts of a step."""

    values: Ints
    steps: Ints


class Relaxed(Method):
    """(1)."""

    @abstractmethod
    def figures(self, exact: Exact) -> Figures:
        """Return f and steps(D); as secret as the data."""

    def worst_steps(self, records: int | None) -> int:
        """Return the largest that steps(D) can be, whatever the data are; records: as far as their number is public."""
        asked = self.asked
        if asked.query.statistic in ("count", "sum"):
            return moved_by_one_change(asked)
        whole = asked.numbers.steps * parts_of_a_step(asked)
        if asked.everybody and records:
            if asked.query.statistic == "mean":
                return -(-whole // records)
            if asked.query.statistic == "median" and records % 2 == 0:
                return whole // 2
        return whole * asked.touched

    @property
    def _part(self) -> float:
        """Return what one part is worth in the unit of the answer."""
        asked = self.asked
        return 1.0 if asked.grid is None else float(asked.grid.eta / parts_of_a_step(asked))

    def _draw(self, exact: Exact, epsilon: Fraction, randomness: Randomness) -> tuple[Answer, ...]:
        found = self.figures(exact)
        noise = cell_noise(Scales("from_D", epsilon, found.steps), randomness)
        if self.asked.query.statistic in ("count", "sum"):
            low, high = -LARGEST_TOTAL, LARGEST_TOTAL
            drawn = found.values + np.clip(noise, low - found.values, high - found.values)
            return tuple(totals_in_units(drawn, self.asked.grid).tolist())
        grid, parts = self.asked.numbers, parts_of_a_step(self.asked)
        drawn = found.values + np.clip(noise, -found.values, grid.steps * parts - found.values)
        if parts == 1:
            return tuple(grid.values(drawn).tolist())
        return in_domain(drawn / parts, grid)

    def _worst(self, epsilon: Fraction, records: int | None) -> LaplaceNoise:
        return LaplaceNoise(float(scale_at_least(max(floor_of(self.asked), self.worst_steps(records)), epsilon)))

    def _expected(self, epsilon: Fraction, records: int | None, confidence: Fraction) -> Expected:
        noise = self._worst(epsilon, records)
        error, width = self._at_most(sqrt(noise.variance)), self._at_most(half_width(noise, confidence))
        return Expected(
            standard_error=error,
            half_width=width,
            confidence=confidence,
            is_upper_bound=True,
            sentences=(
                f"Standard error at most {figure(error)}, within {figure(width)} with probability at least "
                f"{percent(confidence)}: those of the worst case. The size of the noise follows the data and is "
                "secret; it may be far smaller.",
                *(each_by_itself(self.asked, confidence) if width < self._at_most(inf) else ()),
            ),
        )

    def _at_most(self, parts: float) -> float:
        """Return an error in the unit of the answer, which lies in the domain unless it is a count or a sum."""
        error = parts * self._part
        if self.asked.query.statistic in ("count", "sum"):
            return error
        return min(error, self.asked.numbers.high - self.asked.numbers.low)

    def _least_epsilon(self, within: Fraction, confidence: Fraction, records: int | None) -> Fraction | None:
        def is_within(epsilon: Fraction) -> bool:
            return self._at_most(half_width(self._worst(epsilon, records), confidence)) <= within

        return least_of(is_within, self.least_epsilon_possible)

    def _settings(self, epsilon: Fraction) -> dict[str, Any]:
        grid = {} if self.asked.grid is None else {"grid": str(self.asked.grid.eta)}
        return {"noise": "laplace", **grid}

    def _sums(self, exact: Exact) -> Ints:
        return totals(self.asked, exact)
