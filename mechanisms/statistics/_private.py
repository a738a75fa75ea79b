"""Figures of every group with differential privacy: what each measures, how far one record moves it, how it is drawn.

One change of the data is, inside one group,

    replace       a record replaced by any other: all records are one group and their number n is public
    add_remove    a record added or removed: the size of the group is secret                         (1)

and costs epsilon there. By kind of figure, with values v between -B and B on the grid of R steps:

    count                       discrete Laplace noise, 1 / epsilon
    sum                         discrete Laplace noise, B / epsilon; under replace R / epsilon
    mean, variance              box noise (_moments.py)
    median, quantile            exponential mechanism (_quantiles.py)
    minimum, maximum, second    exponential mechanism (_extremes.py)

A replacement inside a group whose size is secret is a removal and an addition, so it costs 2 epsilon; one that changes
its group costs epsilon in each of two groups. So half of epsilon in every group is right for both, and no more is
needed however many groups there are (_mechanism.py).

All but the draws follows from public facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Declared
from penstock.mechanisms.noise.totals import noisy
from penstock.mechanisms.numbers.grid import Grid
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.statistics._blocks import score_reached
from penstock.mechanisms.statistics._extremes import SCORE_SENSITIVITY, kth_largest, kth_smallest
from penstock.mechanisms.statistics._groups import SortedGroups
from penstock.mechanisms.statistics._moments import Moments, moments_of, totals_in_units
from penstock.mechanisms.statistics._quantiles import MEDIAN, Adjacency, quantile, score_sensitivity
from penstock.mechanisms.statistics._settings import Params, Statistic, epsilons, figure_grid
from penstock.mechanisms.table.draws import Noise, noise_of

__all__ = ["Drawn", "Extreme", "Quantile", "Question", "Spread", "Total", "questions"]


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """The figures of all groups and their standard errors, NaN where none is known."""

    values: NDArray[Any]
    errors: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Total:
    """A count, or a sum where there is a grid; largest: the most that one record adds, in steps."""

    grid: Grid | None
    largest: int
    noise: Noise

    @property
    def step(self) -> Fraction:
        return Fraction(1) if self.grid is None else self.grid.eta

    @property
    def standard_error(self) -> float:
        return sqrt(self.noise.variances[0]) * float(self.step)

    def draw(self, groups: SortedGroups, randomness: Randomness) -> Drawn:
        exact = groups.sizes if self.grid is None else groups.totals(groups.values + self.grid.first)
        found = noisy(exact, self.noise.draw(len(groups), randomness)[:, 0])
        return Drawn(totals_in_units(found, self.grid), np.full(len(groups), self.standard_error))

    def facts(self) -> dict[str, Any]:
        return {"noise": "laplace", "grid": str(self.step), **self.noise.facts()}

    def stated_errors(self) -> dict[str, float]:
        """Return the errors in the unit of the figure, and in units of the most that one record can add."""
        return {
            "standard_error": self.standard_error,
            "expected_error": self.standard_error / float(self.largest * self.step),
        }


@dataclass(frozen=True, slots=True)
class Spread:
    """A mean or a variance."""

    moments: Moments

    def draw(self, groups: SortedGroups, randomness: Randomness) -> Drawn:
        return Drawn(*self.moments.draw(groups, randomness))

    def facts(self) -> dict[str, Any]:
        return {"noise": "box", "grid": str(self.moments.grid.eta), **self.moments.noise.facts()}


@dataclass(frozen=True, slots=True)
class Quantile:
    """A median or another quantile."""

    grid: Grid
    share: Fraction
    epsilon: Fraction
    adjacency: Adjacency

    def draw(self, groups: SortedGroups, randomness: Randomness) -> Drawn:
        found = quantile(groups, self.grid.steps, self.share, self.epsilon, self.adjacency, randomness)
        return _on_the_grid(found, self.grid)

    def facts(self) -> dict[str, Any]:
        return _chosen(self.grid, score_sensitivity(self.share, self.adjacency))

    def rank_error(self, gamma: float) -> float:
        """Return by how many records the answer misses its rank at most, with probability 1 - gamma."""
        sensitivity = score_sensitivity(self.share, self.adjacency)
        return score_reached(self.grid.steps, sensitivity, self.epsilon, gamma) / self.share.denominator


@dataclass(frozen=True, slots=True)
class Extreme:
    """The k-th largest value, or the k-th smallest."""

    grid: Grid
    k: int
    largest: bool
    epsilon: Fraction

    def draw(self, groups: SortedGroups, randomness: Randomness) -> Drawn:
        kth = kth_largest if self.largest else kth_smallest
        return _on_the_grid(kth(groups, self.grid.steps, self.k, self.epsilon, randomness), self.grid)

    def facts(self) -> dict[str, Any]:
        return _chosen(self.grid, SCORE_SENSITIVITY)

    def rank_error(self, gamma: float) -> float:
        """Return by how many records the answer misses its rank at most, with probability 1 - gamma."""
        return score_reached(self.grid.steps, SCORE_SENSITIVITY, self.epsilon, gamma)


# Each draws its figure for groups that hold its column on its grid, and states the kind and size of its noise.
Question = Total | Spread | Quantile | Extreme

_EXTREMES = {"minimum": (1, False), "maximum": (1, True), "second_maximum": (2, True)}


def questions(params: Params, declared: Declared) -> Mapping[str, Question]:
    """Return every figure of settings without fault, by name; what a change costs in a group is `epsilons(params)`."""
    within: Adjacency = "replace" if params.adjacency == "replace" and not params.groups else "add_remove"
    spent = epsilons(params)
    return {figure.name: _question(figure, declared, spent[figure.name], within) for figure in params.figures}


def _question(figure: Statistic, declared: Declared, epsilon: Fraction, within: Adjacency) -> Question:
    if figure.of is None:
        return Total(None, 1, noise_of("laplace", (1,), epsilon))
    grid = figure_grid(figure, declared)
    if figure.statistic == "sum":
        largest = max(abs(grid.first), abs(grid.first + grid.steps))
        noise = noise_of("laplace", (grid.steps if within == "replace" else largest,), epsilon)
        return Total(grid, largest, noise)
    if figure.statistic in ("mean", "variance"):
        squared, known = figure.statistic == "variance", within == "replace"
        return Spread(moments_of(grid, epsilon, squared=squared, size_public=known))
    if figure.statistic in _EXTREMES:
        return Extreme(grid, *_EXTREMES[figure.statistic], epsilon)
    return Quantile(grid, figure.share or MEDIAN, epsilon, within)


def _on_the_grid(index: NDArray[np.int64], grid: Grid) -> Drawn:
    return Drawn(grid.values(index).astype(np.float64), np.full(len(index), np.nan))


def _chosen(grid: Grid, sensitivity: int) -> dict[str, Any]:
    return {"noise": "exponential", "grid": str(grid.eta), "score_sensitivity": sensitivity}
