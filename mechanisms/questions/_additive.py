"""Counts and sums with whole-number noise of a public size: discrete Laplace and staircase.

In steps of the grid, values between a and b, B = max(|a|, |b|), R = b - a. How far one change moves the answers (L1):

                            add_remove      replace, everybody      replace        replace, by groups
    count                   1               public                  1              2                               (1)
    sum                     B               R                       max(B, R)      2 B                             (2)

Proof. A record added or removed moves one group by 1, or by its value, at most B. Replaced: where everybody takes part,
y - x, at most R. Otherwise it may enter or leave as well, which moves by 1 or B; or it stays, by 0 or R. With groups it
may leave one and enter another, 1 + 1 or B + B, and 2 B >= R. Each bound is reached: all are tight.

Theorem. Discrete Laplace noise of scale c D / epsilon on every group, D of (1) or (2), is epsilon-differentially
private for units of up to c rows. Proof. One change moves the vector of groups by at most D in L1, c changes by c D;
noise.laplace, (2).
Theorem. Staircase noise of sensitivity c D and epsilon on one group is. Proof. The same with noise.staircase, (2): a
move by up to its sensitivity crosses one step. Calibrated to c D at once it is smaller than with D at epsilon / c.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from penstock.mechanisms.noise import discrete_laplace, scale_at_least, staircase
from penstock.mechanisms.noise.accuracy import best_step, grid_staircase_variance
from penstock.mechanisms.noise.staircase import MOST_ATTEMPTS
from penstock.mechanisms.noise.totals import LARGEST_TOTAL, noisy
from penstock.mechanisms.questions._asked import Asked
from penstock.mechanisms.questions._cautions import each_by_itself
from penstock.mechanisms.questions._fold import Exact, Ints
from penstock.mechanisms.questions._words import figure
from penstock.mechanisms.questions.accuracy import (
    Expected,
    LaplaceNoise,
    SpreadOfNoise,
    StaircaseNoise,
    curve_of,
    half_width,
    is_held,
    least_of,
    scan_for_least,
)
from penstock.mechanisms.questions.method import Answer, Method
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.statistics import totals_in_units

__all__ = ["Laplace", "Staircase", "largest_value", "moved_by_one_change", "totals"]


def largest_value(asked: Asked) -> int:
    """Return B."""
    grid = asked.numbers
    return max(abs(grid.first), abs(grid.first + grid.steps))


def moved_by_one_change(asked: Asked) -> int:
    """Return D of (1) and (2)."""
    if asked.query.statistic == "count":
        return asked.touched
    if asked.adjacency == "add_remove":
        return largest_value(asked)
    if asked.everybody:
        return asked.numbers.steps
    if asked.query.by is None:
        return max(largest_value(asked), asked.numbers.steps)
    return 2 * largest_value(asked)


def totals(asked: Asked, exact: Exact) -> Ints:
    """Return the exact counts or sums of all groups, in steps; clamped to 62 bits, which moves no two further apart."""
    if asked.query.statistic == "count":
        return exact.counts
    first = asked.numbers.first
    sums = [int(steps) + first * int(number) for number, steps in exact.table[:, :2].tolist()]
    return np.array([min(max(each, -LARGEST_TOTAL), LARGEST_TOTAL) for each in sums], np.int64)


class _Additive(Method):
    """Noise of a public size on counts or sums."""

    @property
    def sensitivity(self) -> int:
        """Return how far one unit moves the answers, in steps."""
        return moved_by_one_change(self.asked) * self.asked.terms.rows_per_unit

    @property
    def unit(self) -> float:
        """Return what a step is worth in the unit of the answer."""
        return 1.0 if self.asked.grid is None else float(self.asked.grid.eta)

    @abstractmethod
    def spread(self, epsilon: Fraction) -> SpreadOfNoise:
        """Return the distribution of the noise of one group."""

    @abstractmethod
    def _noise(self, groups: int, epsilon: Fraction, randomness: Randomness) -> Ints: ...

    def _draw(self, exact: Exact, epsilon: Fraction, randomness: Randomness) -> tuple[Answer, ...]:
        found = noisy(totals(self.asked, exact), self._noise(len(self.groups), epsilon, randomness))
        return tuple(totals_in_units(found, self.asked.grid).tolist())

    def _expected(self, epsilon: Fraction, records: int | None, confidence: Fraction) -> Expected:
        noise = self.spread(epsilon)
        error, width = sqrt(noise.variance) * self.unit, half_width(noise, confidence) * self.unit
        each = "" if self.asked.query.by is None else " in each group"
        return Expected(
            standard_error=error,
            half_width=width,
            confidence=confidence,
            curve=curve_of(noise, self.unit),
            sentences=(
                f"Standard error {figure(error)}{each}; with probability {float(confidence):.4g} the answer is within "
                f"{figure(width)} of the truth. The noise is the same whatever the data are.",
                *each_by_itself(self.asked, confidence),
                *self._compared(epsilon, error),
            ),
        )

    def _compared(self, epsilon: Fraction, error: float) -> Iterator[str]:
        """Yield when this noise pays, where there is one to compare it with."""
        yield from ()

    def _is_within(self, epsilon: Fraction, within: Fraction, confidence: Fraction) -> bool:
        steps = int(within / Fraction(self.unit))
        return half_width(self.spread(epsilon), confidence) <= steps


class Laplace(_Additive):
    """Counts and sums with discrete Laplace noise."""

    name: ClassVar[str] = "laplace"

    def spread(self, epsilon: Fraction) -> SpreadOfNoise:
        return LaplaceNoise(float(scale_at_least(self.sensitivity, epsilon)))

    def epsilon_of_scale(self, scale: Fraction) -> Fraction | None:
        if not scale > 0:
            return None
        return self.sensitivity * Fraction(self.unit) / Fraction(scale)

    def _noise(self, groups: int, epsilon: Fraction, randomness: Randomness) -> Ints:
        return discrete_laplace(self.sensitivity, epsilon, groups, randomness)

    def _least_epsilon(self, within: Fraction, confidence: Fraction, records: int | None) -> Fraction | None:
        return least_of(lambda each: self._is_within(each, within, confidence), self.least_epsilon_possible)

    def _settings(self, epsilon: Fraction) -> dict[str, Any]:
        return {"noise": "laplace", "sensitivity": self.sensitivity, "grid": str(Fraction(self.unit))}


class Staircase(_Additive):
    """The count or sum of one group, with staircase noise of the least variance."""

    name: ClassVar[str] = "staircase"

    def step(self, epsilon: Fraction) -> int:
        """Return the step of least variance among those that can be drawn in bounded time."""
        wide, rate = self.sensitivity, float(epsilon)
        near = {best_step(wide, rate), min(wide, 4 * wide // MOST_ATTEMPTS + 1)}
        drawn = [step for step in sorted(near) if self._attempts(step, rate) <= MOST_ATTEMPTS / 2]
        return min(drawn, key=lambda step: grid_staircase_variance(wide, step, rate))

    def _attempts(self, step: int, rate: float) -> float:
        b = np.exp(-rate)
        return float(1 / ((1 - b) * (2 * step - 1) / (2 * self.sensitivity) + b))

    def spread(self, epsilon: Fraction) -> SpreadOfNoise:
        return StaircaseNoise(self.sensitivity, self.step(epsilon), float(epsilon))

    def _noise(self, groups: int, epsilon: Fraction, randomness: Randomness) -> Ints:
        return staircase(self.sensitivity, self.step(epsilon), epsilon, groups, randomness)

    def _compared(self, epsilon: Fraction, error: float) -> Iterator[str]:
        laplace = sqrt(LaplaceNoise(float(scale_at_least(self.sensitivity, epsilon))).variance) * self.unit
        same = "about the same" if error > 0.98 * laplace else figure(laplace)
        yield (
            f"Laplace noise at this epsilon has a standard error that is {same}: staircase noise pays for sums at a "
            "large epsilon."
        )

    def _is_within(self, epsilon: Fraction, within: Fraction, confidence: Fraction) -> bool:
        steps = int(within / Fraction(self.unit))
        return is_held(self.spread(epsilon).outside(steps), confidence)

    def _least_epsilon(self, within: Fraction, confidence: Fraction, records: int | None) -> Fraction | None:
        # The best step is a whole number, and where it changes the tail may grow a little: each epsilon is tried.
        return scan_for_least(lambda each: self._is_within(each, within, confidence), self.least_epsilon_possible)

    def _settings(self, epsilon: Fraction) -> dict[str, Any]:
        return {
            "noise": "staircase",
            "sensitivity": self.sensitivity,
            "step": self.step(epsilon),
            "grid": str(Fraction(self.unit)),
        }
