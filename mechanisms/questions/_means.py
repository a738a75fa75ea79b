"""Means with discrete Laplace noise: of a public number of records, or of a secret one.

On the grid 0..R with middle m = floor(R/2), u = x - m, h = R - m >= |u|; so R <= 2 h.

    everybody     (S + noise) / n            S the sum of x; noise of scale c R / epsilon                          (1)
    otherwise     m + (U + noise) / (N + noise),   U the sum of u, N the number of records that take part;
                  noise of scale 2 t c h / epsilon on U and 2 t c / epsilon on N, in every group                   (2)

t is the number of groups that one change can touch. Theorem. Both are epsilon-differentially private for units of up
to c rows. Proof. (1): n is public, and one replaced record moves S by at most R. (2), one change, loss in units of
epsilon / (2 t c): a record that enters or leaves a group moves N by 1 and U by at most h, so it loses 1 + 1; that
happens in t groups at most, 2 t together. A record that stays in its group moves U by at most R <= 2 h and N not at
all, so it loses 2 at most. So one change loses epsilon / c. What follows is division, and clamping to the domain.

Errors. For (2) with k records, |error| <= (|noise of U| + h |noise of N|) / (k - |noise of N|) where the bottom is
above 0. Each noise exceeds its half-width at 1 - (1 - confidence) / 2 with half of what is left over, so both hold
together with the confidence: an upper bound, whatever the mean is. k is secret, so before the draw errors are told as
functions of k. After it they follow from the noisy count, which is public then; one below 3 of its own standard errors
may be noise alone, so the error told is the width of the domain.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.noise import discrete_laplace, scale_at_least
from penstock.mechanisms.noise.totals import noisy
from penstock.mechanisms.numbers.grid import Grid
from penstock.mechanisms.questions._cautions import each_by_itself
from penstock.mechanisms.questions._fold import Exact, Ints
from penstock.mechanisms.questions._words import NUMBER_NOT_KNOWN, figure, percent
from penstock.mechanisms.questions.accuracy import Expected, LaplaceNoise, curve_of, half_width, least_of
from penstock.mechanisms.questions.method import Answer, Drawn, Method
from penstock.mechanisms.randomness import Randomness

__all__ = ["LaplaceMean", "centred_sums", "in_domain", "middle_and_reach"]

# A noisy count below this many of its standard errors may be noise alone.
_ENOUGH = 3
# For how many records errors are told as an example.
_SUPPOSED = 1000


def middle_and_reach(grid: Grid) -> tuple[int, int]:
    """Return m and h."""
    middle = grid.steps // 2
    return middle, grid.steps - middle


def centred_sums(grid: Grid, exact: Exact) -> Ints:
    """Return U of every group."""
    middle, _ = middle_and_reach(grid)
    centred: Ints = exact.table[:, 1] - middle * exact.table[:, 0]
    return centred


def in_domain(steps: NDArray[np.float64], grid: Grid) -> tuple[Answer, ...]:
    """Return places on a grid, counted in steps, as numbers of its domain."""
    return tuple(np.clip(np.ldexp(steps + grid.first, grid.exponent), grid.low, grid.high).tolist())


class LaplaceMean(Method):
    """(1) and (2)."""

    name: ClassVar[str] = "laplace"

    @property
    def each(self) -> int:
        """Return by how much epsilon is divided for each of the two noises of (2)."""
        return 2 * self.divided

    @property
    def _grid(self) -> Grid:
        return self.asked.numbers

    def epsilon_of_scale(self, scale: Fraction) -> Fraction | None:
        records = self.asked.terms.records
        if not self.asked.everybody or not records or not scale > 0:
            return None
        return self._grid.steps * self._grid.eta * self.asked.terms.rows_per_unit / records / Fraction(scale)

    def _draw(self, exact: Exact, epsilon: Fraction, randomness: Randomness) -> tuple[Answer, ...]:
        return self._drawn(exact, epsilon, randomness).values

    def _drawn(self, exact: Exact, epsilon: Fraction, randomness: Randomness) -> Drawn:
        if self.asked.everybody:
            noise = discrete_laplace(self._grid.steps, epsilon / self.divided, 1, randomness)
            sums = noisy(exact.table[:, 1], noise).astype(np.float64)
            return Drawn(in_domain(sums / exact.rows if exact.rows else np.full(1, self._grid.steps / 2), self._grid))
        middle, reach = middle_and_reach(self._grid)
        spent, groups = epsilon / self.each, len(self.groups)
        counts = noisy(exact.counts, discrete_laplace(1, spent, groups, randomness)).astype(np.float64)
        centred = noisy(centred_sums(self._grid, exact), discrete_laplace(reach, spent, groups, randomness))
        means = in_domain(middle + centred.astype(np.float64) / np.maximum(counts, 1), self._grid)
        return Drawn(means, tuple(self._error_of(epsilon, count) for count in counts.tolist()))

    def _is_noise_alone(self, epsilon: Fraction, count: float) -> bool:
        return count < max(1.0, _ENOUGH * sqrt(self._of_count(epsilon).variance))

    def _error_of(self, epsilon: Fraction, count: float) -> float:
        """Return the standard error of a group with this noisy count, which is public once it is drawn; never more than
        the width of the domain."""
        error = None if self._is_noise_alone(epsilon, count) else self.standard_error(epsilon, round(count))
        return self.widest if error is None else min(self.widest, error)

    @property
    def widest(self) -> float:
        """Return the width of the domain: no answer is farther from the truth."""
        return self._grid.high - self._grid.low

    def half_width(self, epsilon: Fraction, records: int | None, confidence: Fraction) -> float | None:
        """Return within what the error lies with this confidence; None where the number of records is unknown.

        In the unit of the mean, and never more than the width of the domain, in which every answer lies.
        """
        if not records:
            return None
        eta = float(self._grid.eta)
        if self.asked.everybody:
            return min(self.widest, half_width(self._of_sum(epsilon), confidence) / records * eta)
        together, of_count = self._both(epsilon, confidence)
        left = records - of_count
        return self.widest if left <= 0 else min(self.widest, together / left)

    def _both(self, epsilon: Fraction, confidence: Fraction) -> tuple[float, int]:
        """Return the top of the bound on the error, in the unit of the mean, and what its bottom takes from k."""
        each = 1 - (1 - confidence) / 2
        of_sum, of_count = (half_width(noise, each) for noise in (self._of_sum(epsilon), self._of_count(epsilon)))
        return (of_sum + middle_and_reach(self._grid)[1] * of_count) * float(self._grid.eta), of_count

    def standard_error(self, epsilon: Fraction, records: int | None) -> float | None:
        """Return it by the delta method, for the most unfavourable mean; None where nothing is known."""
        if not records:
            return None
        variance = self._of_sum(epsilon).variance
        if not self.asked.everybody:
            variance += middle_and_reach(self._grid)[1] ** 2 * self._of_count(epsilon).variance
        return sqrt(variance) / records * float(self._grid.eta)

    def _of_sum(self, epsilon: Fraction) -> LaplaceNoise:
        if self.asked.everybody:
            return LaplaceNoise(float(scale_at_least(self._grid.steps, epsilon / self.divided)))
        return LaplaceNoise(float(scale_at_least(middle_and_reach(self._grid)[1], epsilon / self.each)))

    def _of_count(self, epsilon: Fraction) -> LaplaceNoise:
        return LaplaceNoise(float(scale_at_least(1, epsilon / self.each)))

    def _expected(self, epsilon: Fraction, records: int | None, confidence: Fraction) -> Expected:
        if not self.asked.everybody:
            return Expected(confidence=confidence, sentences=self._by_number(epsilon, confidence))
        error, width = self.standard_error(epsilon, records), self.half_width(epsilon, records, confidence)
        if error is None or width is None or not records:
            told = "The error falls with the number of records, which is not known here."
            return Expected(confidence=confidence, sentences=(told,))
        return Expected(
            standard_error=error,
            half_width=width,
            confidence=confidence,
            curve=curve_of(self._of_sum(epsilon), float(self._grid.eta) / records),
            sentences=(
                f"Standard error {figure(error)}, within {figure(width)} with probability {percent(confidence)}.",
            ),
        )

    def _by_number(self, epsilon: Fraction, confidence: Fraction) -> tuple[str, ...]:
        """Return the errors as functions of the number of records that take part, which is secret."""
        error, width = self.standard_error(epsilon, _SUPPOSED), self.half_width(epsilon, _SUPPOSED, confidence)
        alone = self.standard_error(epsilon, 1)
        if error is None or width is None or alone is None:
            return ()
        together, taken = self._both(epsilon, confidence)
        group = "" if self.asked.query.by is None else " in the group"
        below = f"(k - {taken:,})" if taken else "k"
        return (
            f"Standard error at most about {figure(alone)} / k, and with probability {percent(confidence)} within "
            f"{figure(together)} / {below}, for k records that take part{group}; with {_SUPPOSED:,} records that is "
            f"{figure(min(self.widest, error))} and {figure(width)}. How many take part is not known before.",
            "The answer comes with a standard error from the noisy number of records. Where that is "
            f"{figure(self.widest)}, the width of the domain, there may be no records at all, and the figure says "
            "nothing.",
            *each_by_itself(self.asked, confidence),
        )

    def why_no_epsilon(self) -> str:
        if self.asked.everybody:
            return super().why_no_epsilon()
        return NUMBER_NOT_KNOWN

    def _least_epsilon(self, within: Fraction, confidence: Fraction, records: int | None) -> Fraction | None:
        if not records or not self.asked.everybody:
            return None

        def is_within(epsilon: Fraction) -> bool:
            width = self.half_width(epsilon, records, confidence)
            return width is not None and width <= within

        return least_of(is_within, self.least_epsilon_possible)

    def _settings(self, epsilon: Fraction) -> dict[str, Any]:
        reach = self._grid.steps if self.asked.everybody else middle_and_reach(self._grid)[1]
        return {"noise": "laplace", "sensitivity": reach, "grid": str(self._grid.eta)}
