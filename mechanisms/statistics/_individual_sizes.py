"""Figures of groups whose size is secret, with individual differential privacy: what gets the noise, and of what scale.

Under `from_D_add_remove` (_come_and_go.py), with counts of records, which are public under the other adjacencies; and
counts of the records of one category under all of them: i replaced records change such a count by min(i, n) at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.noise.totals import LARGEST_TOTAL
from penstock.mechanisms.numbers.grid import Grid
from penstock.mechanisms.statistics import _come_and_go as moved
from penstock.mechanisms.statistics._groups import SortedGroups
from penstock.mechanisms.statistics._individual import Exact, between, rank_of
from penstock.mechanisms.statistics._moments import totals_in_units
from penstock.mechanisms.statistics._settings import Statistic
from penstock.mechanisms.statistics._several import largest_moves

__all__ = ["exact_count", "exact_figure_of_secret_size"]

Steps = NDArray[np.int64]


def exact_count(figure: Statistic, groups: SortedGroups, fractions: Sequence[Fraction], *, size_public: bool) -> Exact:
    """Return the number of records, or of those of one category, whose values are 1 and the others 0."""
    if size_public:
        # Of few records the count itself may move by less, but this much is public.
        steps = largest_moves(lambda i: np.minimum(i, groups.sizes), fractions)
    else:
        steps = np.ones_like(groups.sizes)
    exact = groups.sizes if figure.category is None else groups.totals(groups.values)
    return _total(exact, steps, None)


def exact_figure_of_secret_size(figure: Statistic, grid: Grid, groups: SortedGroups) -> Exact:
    """Return the figure of groups that hold its column on its grid; refuse a group that is too small."""
    if figure.statistic == "sum":
        largest = max(abs(grid.first), abs(grid.first + grid.steps))
        return _total(groups.totals(groups.values + grid.first), np.full(len(groups), largest), grid)
    if figure.statistic in ("mean", "variance"):
        return _moment(figure.statistic == "variance", grid, groups)
    if figure.statistic == "median":
        lower, upper = (groups.at_ranks(ranks) for ranks in _middle(groups))
        steps = moved.median_moves(groups, grid.steps)
        return between(lower + upper, steps, np.full(len(groups), 2), grid)
    least = 3 if figure.statistic == "second_maximum" else 2
    steps = moved.rank_moves(groups, lambda sizes: rank_of(figure, sizes), grid.steps, least=least)
    return between(groups.at_ranks(rank_of(figure, groups.sizes)), steps, np.ones(len(groups), np.int64), grid)


def _middle(groups: SortedGroups) -> tuple[Steps, Steps]:
    moved.require_records(groups, 2)
    return (groups.sizes + 1) // 2, groups.sizes // 2 + 1


def _total(exact: Steps, steps: Steps, grid: Grid | None) -> Exact:
    largest = np.full(len(exact), LARGEST_TOTAL)
    return Exact(exact, steps, -largest, largest, lambda found: totals_in_units(found, grid))


def _moment(squared: bool, grid: Grid, groups: SortedGroups) -> Exact:
    """Return means in powers of two of a step, or variances in powers of two of a squared one."""
    moved.require_records(groups, 2)
    widest = grid.steps**2 if squared else grid.steps
    exponent = widest.bit_length() - moved.BITS - (2 if squared else 0)
    each = [groups[group] for group in range(len(groups))]
    figure, moves = (moved.variance, moved.variance_moves) if squared else (moved.mean, moved.mean_moves)
    values, steps = moved.on_lattice([figure(x) for x in each], [moves(x, 0, grid.steps) for x in each], exponent)
    most = int(Fraction(widest, 4 if squared else 1) / Fraction(2) ** exponent) + 1

    def in_units(found: Steps) -> NDArray[np.float64]:
        if squared:
            points, low, high = np.ldexp(found, exponent + 2 * grid.exponent), 0.0, (grid.high - grid.low) ** 2 / 4
        else:
            points, low, high = np.ldexp(np.ldexp(found, exponent) + grid.first, grid.exponent), grid.low, grid.high
        clipped: NDArray[np.float64] = np.clip(points, low, high)
        return clipped

    lattice = np.full(len(groups), exponent, np.int64)
    return Exact(values, steps, np.zeros_like(values), np.full(len(groups), most), in_units, lattice)
