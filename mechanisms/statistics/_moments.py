"""Means and variances with differential privacy: counts and sums with noise drawn together, then divided.

On the grid 0..R of a column, with middle m = floor(R/2), u = x - m, h = R - m >= |u| and c = floor(h^2/2):

    N = number of records,   S = sum of u,   T = sum of (u^2 - c)          in one group              (1)
    mean = m + S / N,   variance = T / N + c - (S / N)^2                   in steps of the grid      (2)

Where the size of the group is secret, a record that comes or goes moves (N, S, T) by at most (1, h, h^2 - c) in each
place. Where all records are one group and n is public, N is not drawn, and a record that is replaced moves S by R
and T by h^2 at most: u is between -m and h, u^2 between 0 and h^2. Box noise with these half-widths keeps epsilon for
all of them together (mechanisms.noise.box), and (2), clamped to what is possible, does not look at the data again.

Standard errors by the delta method, in the noisy values, with a = S / N and the variances v of the noise:

    mean        sqrt(v_S + a^2 v_N) / N                                                              (3)
    variance    sqrt(v_T + 4 a^2 v_S + (T / N - 2 a^2)^2 v_N) / N                                    (4)

because the parts of box noise have no covariance: it is symmetric in each of them. N is taken as 1 where it is smaller;
where it is not clearly larger than its own noise (three standard errors) no error is stated.

Source: ours. Subtracting m and c halves S and T and so the noise; Soria-Comas 2013 (thesis), section 4.5, for the
noise. Floats occur only after the noise was added.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.noise.scale import require_epsilon
from penstock.mechanisms.noise.totals import noisy
from penstock.mechanisms.numbers.grid import Grid
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.statistics._groups import SortedGroups
from penstock.mechanisms.table.draws import Noise, noise_of

__all__ = [
    "Moments",
    "Totals",
    "centres",
    "means",
    "moments_of",
    "totals_in_units",
    "variances",
    "worst_mean_error",
    "worst_variance_error",
]

Floats = NDArray[np.float64]

_CLEARLY = 3


def totals_in_units(steps: NDArray[np.int64], grid: Grid | None) -> NDArray[Any]:
    """Return sums in the unit of their column, whole numbers where its values are steps; counts have no grid."""
    if grid is None or (grid.whole and grid.exponent == 0):
        return steps
    return np.ldexp(steps.astype(np.float64), grid.exponent)


@dataclass(frozen=True, slots=True)
class Totals:
    """N and S of every group with noise, and the variances of the noise; of_count is 0 where N is public."""

    count: Floats
    of_count: float
    sums: Floats
    of_sums: float


def means(grid: Grid, found: Totals) -> tuple[Floats, Floats]:
    """Return the means of (2) and their errors (3), NaN where none is known."""
    middle, _, _ = centres(grid)
    n = np.maximum(found.count, 1)
    about = found.sums / n
    points = np.ldexp(about + middle + grid.first, grid.exponent)
    errors = np.sqrt(found.of_sums + about**2 * found.of_count) / n * float(grid.eta)
    return np.clip(points, grid.low, grid.high), _where_clear(errors, found)


def variances(grid: Grid, found: Totals, squares: Floats, of_squares: float) -> tuple[Floats, Floats]:
    """Return the variances of (2) and their errors (4), NaN where none is known; squares: T with noise."""
    _, _, centre = centres(grid)
    n = np.maximum(found.count, 1)
    about, square = found.sums / n, squares / n
    widest = (grid.high - grid.low) ** 2 / 4
    values = np.clip(np.ldexp(square + centre - about**2, 2 * grid.exponent), 0, widest)
    slope = square - 2 * about**2
    spread = of_squares + 4 * about**2 * found.of_sums + slope**2 * found.of_count
    return values, _where_clear(np.sqrt(spread) / n * float(grid.eta) ** 2, found)


def _where_clear(errors: Floats, found: Totals) -> Floats:
    return np.where(found.count > _CLEARLY * sqrt(found.of_count), errors, np.nan)


def worst_mean_error(grid: Grid, of_count: float, of_sums: float) -> float:
    """Return the standard error of a group's mean, times its size, for the most unfavourable mean."""
    _, reach, _ = centres(grid)
    return sqrt(of_sums + reach**2 * of_count) * float(grid.eta)


def worst_variance_error(grid: Grid, of_count: float, of_sums: float, of_squares: float) -> float:
    """Return the standard error of a group's variance, times its size, for the most unfavourable mean and spread."""
    _, reach, centre = centres(grid)
    # |T / N - 2 a^2| with a^2 <= mean square <= h^2: from -c - 2 a^2 + a^2 at least to h^2 - c at most.
    slope = reach**2 + centre
    return sqrt(of_squares + 4 * reach**2 * of_sums + slope**2 * of_count) * float(grid.eta) ** 2


@dataclass(frozen=True, slots=True)
class Moments:
    """The mean or the variance of every group. size_public: all records are one group, and their number is known."""

    grid: Grid
    squared: bool
    size_public: bool
    noise: Noise

    def draw(self, groups: SortedGroups, randomness: Randomness) -> tuple[Floats, Floats]:
        """Draw the figures; return them, and their standard errors as far as they are known."""
        middle, _, centre = centres(self.grid)
        u = groups.values - middle
        exact = [] if self.size_public else [groups.sizes]
        exact.append(groups.totals(u))
        if self.squared:
            exact.append(groups.totals(u * u - centre))
        drawn = self.noise.draw(len(groups), randomness)
        found = [noisy(total, drawn[:, place]).astype(np.float64) for place, total in enumerate(exact)]
        if self.size_public:
            found.insert(0, groups.sizes.astype(np.float64))
        of_count, of_sums, *of_squares = self._spread()
        totals = Totals(found[0], of_count, found[1], of_sums)
        return variances(self.grid, totals, found[2], *of_squares) if self.squared else means(self.grid, totals)

    def worst_error(self) -> float:
        """Return the standard error of a group, times its size, for the most unfavourable mean or spread."""
        spread = self._spread()
        return worst_variance_error(self.grid, *spread) if self.squared else worst_mean_error(self.grid, *spread)

    def _spread(self) -> tuple[float, ...]:
        return (0.0, *self.noise.variances) if self.size_public else self.noise.variances


def moments_of(grid: Grid, epsilon: Fraction, *, squared: bool, size_public: bool) -> Moments:
    """Return moments with the half-widths that follow from the grid, and the best core for them."""
    _, reach, centre = centres(grid)
    widths = [grid.steps, reach**2] if size_public else [1, reach, reach**2 - centre]
    if not squared:
        widths.pop()
    return Moments(grid, squared, size_public, noise_of("box", tuple(widths), require_epsilon(epsilon)))


def centres(grid: Grid) -> tuple[int, int, int]:
    """Return the middle m, the reach h and the centre c of (1)."""
    middle = grid.steps // 2
    reach = grid.steps - middle
    return middle, reach, reach**2 // 2
