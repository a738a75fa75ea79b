"""Figures of every group with differential privacy: what each measures, how far one record moves it, how it is drawn.

One change of the data is, inside one group,

    replace       a record replaced by any other: all records are one group and their number n is public
    add_remove    a record added or removed: the size of the group is secret                         (1)

and costs epsilon there. By kind of figure, with values v between -B and B on the grid of R steps:

    count                       discrete Laplace or staircase noise of sensitivity 1
    sum                         the same of sensitivity B; under replace R
    mean, variance              box noise (_moments.py)
    several of these            box noise for all totals that they are made of (_together.py)
    median, quantile            exponential mechanism (_quantiles.py)
    minimum, maximum, second    exponential mechanism (_extremes.py)

A replacement inside a group whose size is secret is a removal and an addition, so it costs 2 epsilon; one that changes
its group costs epsilon in each of two groups. So half of epsilon in every group is right for both, and no more is
needed however many groups there are (_mechanism.py). Staircase and box noise of twice the sensitivity and all of
epsilon would not do: two groups that move by B each would cost epsilon each.

noise: auto draws several counts, sums, means and variances together, with their epsilons added, unless shares were
given or each by itself has smaller errors: the sum of their variances, each in units of the most that one record can
add, for means and variances of the worst case and times the squared size of the group. Where that would take minutes,
because there are many groups and epsilon is large, each is drawn by itself.

All but the draws follows from public facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from penstock.mechanisms.statistics._moments import Moments, centres, moments_of, totals_in_units
from penstock.mechanisms.statistics._quantiles import MEDIAN, Adjacency, quantile, score_sensitivity
from penstock.mechanisms.statistics._settings import (
    NoiseSetting,
    Params,
    Statistic,
    epsilons,
    figure_grid,
    is_added_up,
    layout,
    prints_number,
)
from penstock.mechanisms.statistics._together import Together, together
from penstock.mechanisms.table.draws import Noise, best_kind, noise_of

__all__ = [
    "Asked",
    "Drawn",
    "Extreme",
    "Plan",
    "Quantile",
    "Question",
    "Shared",
    "Spread",
    "Total",
    "planned",
    "questions",
]

# What is drawn together must be better by a hundredth to be worth the longer explanation, as in a table.
_WORTH_IT = 0.99
# About a minute and a half: at a large epsilon nearly every attempt to draw six totals is drawn again.
_MOST_ATTEMPTS = 10**8


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
    def relative_variance(self) -> float:
        return self.noise.variances[0] / self.largest**2

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
        return {"noise": self.noise.kind, "grid": str(self.step), **self.noise.facts()}

    def stated_errors(self) -> dict[str, float]:
        """Return the errors in the unit of the figure, and in units of the most that one record can add."""
        return _stated(self.standard_error, self.largest * self.step)


@dataclass(frozen=True, slots=True)
class Spread:
    """A mean or a variance."""

    moments: Moments

    @property
    def relative_variance(self) -> float:
        return (self.moments.worst_error() / _reach(self.moments.grid, squared=self.moments.squared)) ** 2

    def draw(self, groups: SortedGroups, randomness: Randomness) -> Drawn:
        return Drawn(*self.moments.draw(groups, randomness))

    def facts(self) -> dict[str, Any]:
        return {"noise": "box", "grid": str(self.moments.grid.eta), **self.moments.noise.facts()}


@dataclass(frozen=True, slots=True)
class Shared:
    """A count, sum, mean or variance that is drawn together with others."""

    figure: Statistic
    grid: Grid | None
    together: Together

    @property
    def relative_variance(self) -> float:
        if self.figure.statistic in ("count", "sum"):
            return (self.standard_error / float(self._largest)) ** 2
        squared = self.figure.statistic == "variance"
        return 0.0 if self.grid is None else (self.worst_error / _reach(self.grid, squared=squared)) ** 2

    @property
    def standard_error(self) -> float:
        return self.together.standard_error(self.figure.name)

    @property
    def worst_error(self) -> float:
        return self.together.worst_error(self.figure.name)

    @property
    def _largest(self) -> Fraction:
        return Fraction(1) if self.grid is None else largest_of(self.grid) * self.grid.eta

    def half_width(self, level: float) -> float | None:
        """Return the least w that the noise of a count or sum exceeds with probability 1 - level, if that is known."""
        single = self.together.single(self.figure.name)
        if single is None:
            return None
        noise, place = single
        return noise.half_width(place, level) * float(1 if self.grid is None else self.grid.eta)

    def facts(self) -> dict[str, Any]:
        return {"noise": "box", "grid": "1" if self.grid is None else str(self.grid.eta)}

    def stated_errors(self) -> dict[str, float]:
        """Return the errors in the unit of the figure, and in units of the most that one record can add."""
        return _stated(self.standard_error, self._largest)


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
# The same, and those that are drawn by what all of them are drawn together with.
Asked = Question | Shared

_EXTREMES = {"minimum": (1, False), "maximum": (1, True), "second_maximum": (2, True)}


@dataclass(frozen=True, slots=True)
class Plan:
    """How every figure is drawn, by name in their order: by itself, or all of `together` at once."""

    asked: Mapping[str, Asked]
    together: Together | None

    @property
    def alone(self) -> dict[str, Question]:
        return {name: each for name, each in self.asked.items() if not isinstance(each, Shared)}


def planned(params: Params, declared: Declared) -> Plan:
    """Return how figures of settings without fault are drawn; what a change costs in a group is `epsilons(params)`."""
    alone = questions(params, declared)
    figures = [figure for figure in params.figures if is_added_up(figure)]
    candidates = [*_drawn_together(params, declared, figures)]
    if params.noise == "auto" and candidates:
        by_themselves = sum(_relative_variance(alone[figure.name]) for figure in figures)
        most = _MOST_ATTEMPTS / layout(params, declared).rows
        candidates = [each for each in candidates if _size(each) < _WORTH_IT * by_themselves and each.attempts <= most]
    if not candidates:
        return Plan(alone, None)
    best = min(candidates, key=_size)
    shared = {figure.name: Shared(figure, best.grids[figure.name], best) for figure in figures}
    return Plan({name: shared.get(name, question) for name, question in alone.items()}, best)


def _drawn_together(params: Params, declared: Declared, figures: Sequence[Statistic]) -> Iterator[Together]:
    """Yield the ways to draw these figures together that the settings allow."""
    several = len(figures) > 1 and not params.shares
    if params.noise != "box" and not (params.noise == "auto" and several):
        return
    spent, size_public = epsilons(params), prints_number(params)
    epsilon = sum((spent[figure.name] for figure in figures), Fraction(0))
    # Sums alone need no count; but drawn with one they are less noisy where all values have the same sign.
    for counted in (False, True) if all(each.statistic == "sum" for each in figures) and not size_public else (False,):
        yield together(
            figures, lambda each: figure_grid(each, declared), epsilon, size_public=size_public, counted=counted
        )


def _size(drawn: Together) -> float:
    return sum(Shared(figure, drawn.grids[figure.name], drawn).relative_variance for figure in drawn.figures)


def _relative_variance(question: Question) -> float:
    return question.relative_variance if isinstance(question, Total | Spread) else 0.0


def questions(params: Params, declared: Declared) -> dict[str, Question]:
    """Return every figure of settings without fault by itself, by name, with what it spends alone."""
    within: Adjacency = "replace" if prints_number(params) else "add_remove"
    spent = epsilons(params)
    return {
        figure.name: _question(figure, declared, spent[figure.name], within, params.noise) for figure in params.figures
    }


def _question(
    figure: Statistic, declared: Declared, epsilon: Fraction, within: Adjacency, noise: NoiseSetting
) -> Question:
    if figure.of is None:
        return Total(None, 1, _noise_alone(noise, 1, epsilon))
    grid = figure_grid(figure, declared)
    if figure.statistic == "sum":
        largest = largest_of(grid)
        return Total(grid, largest, _noise_alone(noise, grid.steps if within == "replace" else largest, epsilon))
    if figure.statistic in ("mean", "variance"):
        squared, known = figure.statistic == "variance", within == "replace"
        return Spread(moments_of(grid, epsilon, squared=squared, size_public=known))
    if figure.statistic in _EXTREMES:
        return Extreme(grid, *_EXTREMES[figure.statistic], epsilon)
    return Quantile(grid, figure.share or MEDIAN, epsilon, within)


def _noise_alone(noise: NoiseSetting, sensitivity: int, epsilon: Fraction) -> Noise:
    if noise in ("laplace", "staircase"):
        return noise_of(noise, (sensitivity,), epsilon)
    return noise_of(best_kind((sensitivity,), epsilon, (Fraction(1),), together=False), (sensitivity,), epsilon)


def largest_of(grid: Grid) -> int:
    """Return the most that one record adds to a sum, in steps."""
    return max(abs(grid.first), abs(grid.first + grid.steps))


def _reach(grid: Grid, *, squared: bool) -> float:
    """Return how far a value, or the square of one, lies from the middle of its domain at most."""
    reach = float(centres(grid)[1] * grid.eta)
    return reach**2 if squared else reach


def _stated(standard_error: float, largest: Fraction) -> dict[str, float]:
    return {"standard_error": standard_error, "expected_error": standard_error / float(largest)}


def _on_the_grid(index: NDArray[np.int64], grid: Grid) -> Drawn:
    return Drawn(grid.values(index).astype(np.float64), np.full(len(index), np.nan))


def _chosen(grid: Grid, sensitivity: int) -> dict[str, Any]:
    return {"noise": "exponential", "grid": str(grid.eta), "score_sensitivity": sensitivity}
