"""Figures of every group with individual differential privacy: the exact figure and noise that follows the data.

    released = f(D) + N,   N discrete Laplace of scale LS_f(D) / epsilon                             (1)

LS_f(D) is how far f moves when one record of the group is replaced by any other (_local.py); the group keeps its size,
which is public. For several records protected together the scale is the largest LS_i / epsilon_i (_several.py).
f is a whole number of public units:

    sum                        steps of the grid
    mean                       the sum in steps, divided by n after the noise
    median                     half steps
    minimum, maximum, ...      steps; a quantile of share p/q is the value of rank ceil(p n / q)
    variance (population's)    q(V) = floor(V / d + 1/2),   |q(V) - q(W)| <= ceil(|V - W| / d)       (2)

d is a power of two, about a millionth of R^2 / n, the most that one of n values between 0 and R can move the variance.
By (2) rounding costs nothing but the rounding up of LS / d. Everything is clamped to an interval that is known from the
declared domain and n, which does not look at the data.

A scale of 0 would release the exact figure, so it is refused. Scales are as secret as the data: the median's is a gap
between two records.

Source: Soria-Comas, Domingo-Ferrer, Sánchez & Megías 2017, section 6, with scale LS / epsilon, where Proposition 1
prints its inverse; (2) and the variance are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.noise.totals import LARGEST_TOTAL
from penstock.mechanisms.numbers.grid import Grid
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refusal import ScaleZero, TooFewRecords
from penstock.mechanisms.statistics import _local as local
from penstock.mechanisms.statistics._groups import SortedGroups
from penstock.mechanisms.statistics._moments import totals_in_units
from penstock.mechanisms.statistics._quantiles import MEDIAN
from penstock.mechanisms.statistics._settings import Statistic
from penstock.mechanisms.statistics._several import ONE_RECORD, largest_moves
from penstock.mechanisms.statistics._variance import variance_moves
from penstock.mechanisms.table.noise import cell_noise
from penstock.mechanisms.table.scales import Scales

__all__ = ["Exact", "between", "exact_figure", "rank_of", "released"]

Steps = NDArray[np.int64]

# About this many binary digits lie between d and the most that one record moves a variance.
_DIGITS = 20


@dataclass(frozen=True, slots=True, eq=False)
class Exact:
    """f of every group, how far one record moves it, the public interval it lies in, and what a unit of it is worth.

    steps: the scale of the noise, times epsilon; for one record the move itself.
    lattice: d of a variance is 2^lattice squared steps, that of a mean of secret size 2^lattice steps; None for others.
    """

    values: Steps
    steps: Steps
    lowest: Steps
    highest: Steps
    in_units: Callable[[Steps], NDArray[Any]]
    lattice: Steps | None = None


def exact_figure(
    figure: Statistic,
    grid: Grid,
    groups: SortedGroups,
    fractions: Sequence[Fraction] = ONE_RECORD,
    *,
    bounded: bool = True,
) -> Exact:
    """Return the figure of groups that hold its column on its grid; refuse a group that is too small.

    fractions: epsilon_1 / epsilon_i for every number i of records that are protected together. bounded: whether the
    column has a domain; without one, a group is refused whose public size lets a figure meet a bound.
    """
    if figure.statistic == "variance":
        return _variance(grid, groups, fractions)

    def moves(found: Callable[..., Steps], *ranks: Steps) -> Steps:
        low, high = (0, grid.steps) if bounded else (None, None)
        return largest_moves(lambda i: found(groups, *ranks, low=low, high=high, replaced=i), fractions)

    if figure.statistic in ("sum", "mean"):
        steps = moves(local.sum_of_values)
        if figure.statistic == "sum":
            largest = np.full(len(groups), LARGEST_TOTAL)
            exact = groups.totals(groups.values + grid.first)
            return Exact(exact, steps, -largest, largest, lambda found: totals_in_units(found, grid))
        return between(groups.totals(groups.values), steps, groups.sizes, grid)
    middle = (groups.sizes + 1) // 2, groups.sizes // 2 + 1
    ranks = rank_of(figure, groups.sizes)
    if not bounded:
        _require_both_sides(groups, middle if figure.statistic == "median" else (ranks, ranks), len(fractions))
    if figure.statistic == "median":
        steps = moves(local.median_in_half_steps)
        lower, upper = (groups.at_ranks(each) for each in middle)
        return between(lower + upper, steps, np.full(len(groups), 2), grid)
    steps = moves(local.order_statistics, ranks)
    return between(groups.at_ranks(ranks), steps, np.ones(len(groups), np.int64), grid)


def released(exact: Exact, name: str, epsilon: Fraction, randomness: Randomness) -> NDArray[Any]:
    """(1) in the unit of the figure, clamped to its public interval."""
    if local.without_noise(exact.steps).any():
        raise ScaleZero.at(
            name,
            rule="must depend on single records in every group; in one it does not, and would be printed exactly",
            remedy="Merge groups, choose another figure, or use model: dp.",
        )
    # For each group by itself the promise is that of from_D.
    noise = cell_noise(Scales("from_D", epsilon, exact.steps), randomness)
    return exact.in_units(exact.values + np.clip(noise, exact.lowest - exact.values, exact.highest - exact.values))


def rank_of(figure: Statistic, sizes: Steps) -> Steps:
    """Return the rank of an order statistic in groups of these sizes."""
    if figure.statistic == "minimum":
        return np.ones_like(sizes)
    if figure.statistic == "maximum":
        return sizes
    if figure.statistic == "second_maximum":
        return sizes - 1
    share = figure.share or MEDIAN
    return -(-sizes * int(share.numerator) // int(share.denominator))


def between(values: Steps, steps: Steps, parts: Steps, grid: Grid) -> Exact:
    """Return a figure that lies on the grid, counted in these parts of a step."""

    def in_units(found: Steps) -> NDArray[np.float64]:
        points = np.ldexp(found / parts + grid.first, grid.exponent)
        return np.clip(points, grid.low, grid.high)

    return Exact(values, steps, np.zeros_like(values), grid.steps * parts, in_units)


def _require_both_sides(groups: SortedGroups, ranks: tuple[Steps, Steps], replaced: int) -> None:
    """Refuse groups whose figure would meet a bound if so many records are replaced: that depends on their sizes."""
    lower, upper = ranks
    if bool(((lower <= replaced) | (upper > groups.sizes - replaced)).any()):
        raise TooFewRecords.at(
            "groups",
            rule="must have records on both sides of the figures of a column without a domain, in every group, as many "
            "as are protected together",
            remedy="Merge groups, ask for a figure further inside, or declare the domain from public knowledge.",
        )


def _variance(grid: Grid, groups: SortedGroups, fractions: Sequence[Fraction]) -> Exact:
    one = local.population_variance(groups, low=0, high=grid.steps)
    u = groups.values - grid.steps // 2
    sizes, sums, squares = (each.tolist() for each in (groups.sizes, groups.totals(u), groups.totals(u * u)))
    values, steps, highest, exponents = [], [], [], []
    for group, (n, total, square) in enumerate(zip(sizes, sums, squares, strict=True)):
        exponent = (grid.steps**2).bit_length() - n.bit_length() - _DIGITS
        d = Fraction(2) ** exponent
        values.append(floor(Fraction(n * square - total**2, n**2) / d + Fraction(1, 2)))
        # What several records move is rounded up by (2) before the list of epsilons makes it less: proven so only.
        moves = [one[group], *(variance_moves(groups[group], 0, grid.steps, i) for i in range(2, len(fractions) + 1))]
        steps.append(max(ceil(ceil(move / d) * fraction) for move, fraction in zip(moves, fractions, strict=True)))
        highest.append(ceil(Fraction(grid.steps**2, 4) / d))
        exponents.append(exponent)
    lattice = np.array(exponents, np.int64)

    def in_units(found: Steps) -> NDArray[np.float64]:
        squared = np.ldexp(found.astype(np.float64), lattice + 2 * grid.exponent)
        return np.clip(squared, 0, (grid.high - grid.low) ** 2 / 4)

    found, moved, most = (np.array(each, np.int64) for each in (values, steps, highest))
    return Exact(found, moved, np.zeros_like(found), most, in_units, lattice)
