"""Counts, sums, means and variances of a group, drawn together: the totals that they are made of get box noise.

Where the size of a group is secret, with the middle m, reach h and centre c of a column as in _moments.py,

    N = number of records,   S = sum of (x - o),   T = sum of ((x - m)^2 - c)                              (1)
    count = N,   sum = S + (a + o) N,   mean and variance from N, S and T                                  (2)

in steps of the grid a..a + R. One record that comes or goes moves (1) by at most (1, max(o, R - o), h^2 - c), of every
column at once; box noise with these half-widths keeps epsilon for all of them, and (2) does not look at the data again.
o is the middle wherever N is drawn too, else -a, and then the sum is S. So many figures share few totals, and a mean
is the quotient of its sum and count.

The box fits these totals: one record moves (N, S_1, .., S_k) by +-(1, u_1, .., u_k) with any |u_l| <= h_l, and the
convex hull of these moves is the whole box. That of (count, sum) as they are published is a parallelogram, the image of
this box by (2). Noise for the box around it, of half-widths 1 and B, is more than needed: for values between 0 and B
the sum has half of its variance by (2).

Where all records are one group and n is public, N = n has no noise, S moves by R and T by h^2.

More than six totals are divided among boxes as equal as can be, and epsilon with them; fewer boxes are better, but of
larger ones the sampler would draw nearly every attempt again. The parts of box noise have no covariance, so

    Var(sum) = Var(S) + (a + o)^2 Var(N)                                                                   (3)

Source: Soria-Comas 2013 (thesis), Theorem 3 and section 4.5; (2) and the parallelogram are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.noise.box import acceptance
from penstock.mechanisms.noise.scale import scale_at_least
from penstock.mechanisms.noise.totals import LARGEST_TOTAL, noisy
from penstock.mechanisms.numbers.grid import Grid
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.statistics._groups import SortedGroups
from penstock.mechanisms.statistics._moments import (
    Totals,
    centres,
    means,
    totals_in_units,
    variances,
    worst_mean_error,
    worst_variance_error,
)
from penstock.mechanisms.statistics._settings import Statistic
from penstock.mechanisms.table.draws import MOST_IN_A_BOX, Noise, noise_of

__all__ = ["Answer", "Together", "together"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_Kind = Literal["count", "sum", "squares"]


@dataclass(frozen=True, slots=True)
class Answer:
    """One total of (1) that gets noise. less: o of a sum, m and c of squares. half_width: how far a record moves it."""

    kind: _Kind
    of: str | None
    grid: Grid | None
    less: tuple[int, ...]
    half_width: int

    def exact(self, groups: SortedGroups) -> Integers:
        if self.kind == "count":
            return groups.sizes
        u = groups.values - self.less[0]
        return groups.totals(u if self.kind == "sum" else u * u - self.less[1])

    def facts(self, core: int) -> dict[str, Any]:
        of = {} if self.of is None else {"of": self.of}
        grid = "1" if self.grid is None else str(self.grid.eta)
        less, width = list(self.less), self.half_width
        return {"answer": self.kind, **of, "grid": grid, "less": less, "half_width": width, "core": core}


@dataclass(frozen=True)
class Together:
    """Figures of every group that are made of the same totals; boxes: the noise of so many of these, in their order.

    grids: the grid of every figure, by its name. size_public: all records are one group, and their number is known.
    """

    figures: tuple[Statistic, ...]
    grids: Mapping[str, Grid | None]
    answers: tuple[Answer, ...]
    boxes: tuple[Noise, ...]
    size_public: bool

    @cached_property
    def _place(self) -> dict[tuple[_Kind, str | None, Grid | None], int]:
        return {(answer.kind, answer.of, answer.grid): place for place, answer in enumerate(self.answers)}

    @cached_property
    def _spread(self) -> tuple[float, ...]:
        """Return the variance of every answer, in squared steps."""
        return tuple(variance for box in self.boxes for variance in box.variances)

    @property
    def attempts(self) -> float:
        """Return how many attempts the sampler needs for a group on average."""
        return sum(
            1 / float(acceptance(box.half_widths, box.inner, 1 / scale_at_least(1, box.epsilon))) for box in self.boxes
        )

    def draw(
        self, groups: Mapping[str, SortedGroups], randomness: Randomness
    ) -> dict[str, tuple[NDArray[Any], Floats]]:
        """Draw all totals once; return every figure with its standard errors, NaN where none is known.

        groups: for every figure its column on its grid.
        """
        held = {(figure.of, self.grids[figure.name]): groups[figure.name] for figure in self.figures}
        first = next(iter(held.values()))
        noise = np.concatenate([box.draw(len(first), randomness) for box in self.boxes], axis=1)
        found = [
            noisy(answer.exact(held.get((answer.of, answer.grid), first)), noise[:, place])
            for place, answer in enumerate(self.answers)
        ]
        return {figure.name: self._made(figure, found, first.sizes) for figure in self.figures}

    def _made(self, figure: Statistic, found: Sequence[Integers], sizes: Integers) -> tuple[NDArray[Any], Floats]:
        """(2)."""
        grid, name = self.grids[figure.name], figure.name
        counted = self._place.get(("count", None, None))
        count = sizes if counted is None else found[counted]
        if grid is None:
            return count, np.full(len(sizes), self.standard_error(name))
        summed = self._place["sum", figure.of, grid]
        if figure.statistic == "sum":
            values = found[summed] + _times(self._coefficient(figure), count)
            clamped = np.clip(values, -LARGEST_TOTAL, LARGEST_TOTAL)
            return totals_in_units(clamped, grid), np.full(len(sizes), self.standard_error(name))
        of_count, of_sums, *_ = self._spread_of(figure)
        totals = Totals(count.astype(np.float64), of_count, found[summed].astype(np.float64), of_sums)
        if figure.statistic == "mean":
            return means(grid, totals)
        squares = self._place["squares", figure.of, grid]
        return variances(grid, totals, found[squares].astype(np.float64), self._spread[squares])

    def _coefficient(self, figure: Statistic) -> int:
        """Return a + o of (2), the part of the count in a sum."""
        grid = self.grids[figure.name]
        return 0 if grid is None else grid.first + self.answers[self._place["sum", figure.of, grid]].less[0]

    def _spread_of(self, figure: Statistic) -> tuple[float, ...]:
        """Return the variances of N, S and T as far as the figure is made of them; 0 where N is public."""
        grid, counted = self.grids[figure.name], self._place.get(("count", None, None))
        kinds: tuple[_Kind, ...] = () if grid is None else ("sum", "squares")
        places = [self._place.get((kind, figure.of, grid)) for kind in kinds]
        of_count = 0.0 if counted is None else self._spread[counted]
        return (of_count, *(self._spread[place] for place in places if place is not None))

    def standard_error(self, name: str) -> float:
        """Return the standard error of a count or sum, in its own unit: (3)."""
        figure = self._figure(name)
        of_count, *of_sums = self._spread_of(figure)
        if figure.statistic == "count":
            return sqrt(of_count)
        grid = self.grids[name]
        return sqrt(of_sums[0] + self._coefficient(figure) ** 2 * of_count) * float(grid.eta if grid else 1)

    def worst_error(self, name: str) -> float:
        """Return the standard error of a mean or variance, times the size of the group, at its worst."""
        figure, grid = self._figure(name), self.grids[name]
        if grid is None:
            raise ValueError("a count has no mean")
        spread = self._spread_of(figure)
        return (
            worst_mean_error(grid, *spread[:2]) if figure.statistic == "mean" else worst_variance_error(grid, *spread)
        )

    def single(self, name: str) -> tuple[Noise, int] | None:
        """Return the box, and the place in it, of a figure that is one of the totals; None if it is made of several."""
        figure = self._figure(name)
        grid = self.grids[name]
        if figure.statistic == "count":
            place = self._place["count", None, None]
        elif figure.statistic == "sum" and (self.size_public or self._coefficient(figure) == 0):
            place = self._place["sum", figure.of, grid]
        else:
            return None
        for box in self.boxes:
            if place < len(box.half_widths):
                return box, place
            place -= len(box.half_widths)
        return None

    def facts(self) -> list[dict[str, Any]]:
        """Return every box as public data."""
        left = iter(self.answers)
        return [
            {
                "epsilon": str(box.epsilon),
                "answers": [answer.facts(core) for core, answer in zip(box.inner, left, strict=False)],
            }
            for box in self.boxes
        ]

    def _figure(self, name: str) -> Statistic:
        return next(figure for figure in self.figures if figure.name == name)


def together(
    figures: Sequence[Statistic],
    grid_of: Callable[[Statistic], Grid],
    epsilon: Fraction,
    *,
    size_public: bool,
    counted: bool = False,
) -> Together:
    """Return figures that are drawn together and spend epsilon in a group.

    counted: draw the number of records too, even if no figure needs it.
    """
    grids = {figure.name: None if figure.of is None else grid_of(figure) for figure in figures}
    counts = not size_public and (counted or any(figure.statistic != "sum" for figure in figures))
    answers = [Answer("count", None, None, (), 1)] if counts else []
    columns = dict.fromkeys((figure.of, grids[figure.name]) for figure in figures if figure.of is not None)
    for of, grid in columns:
        if grid is None:
            continue
        middle, reach, centre = centres(grid)
        origin = middle if counts or size_public else -grid.first
        moved = grid.steps if size_public else max(abs(origin), abs(grid.steps - origin))
        answers.append(Answer("sum", of, grid, (origin,), moved))
        if any(each.statistic == "variance" and (each.of, grids[each.name]) == (of, grid) for each in figures):
            answers.append(Answer("squares", of, grid, (middle, centre), reach**2 - (0 if size_public else centre)))
    return Together(tuple(figures), grids, tuple(answers), _boxes(answers, epsilon), size_public)


def _boxes(answers: Sequence[Answer], epsilon: Fraction) -> tuple[Noise, ...]:
    """Return boxes of as equal a number of totals as can be, each with its part of epsilon."""
    fewest = -(-len(answers) // MOST_IN_A_BOX)
    ends = [len(answers) * place // fewest for place in range(fewest + 1)]
    return tuple(
        noise_of(
            "box",
            tuple(answer.half_width for answer in answers[start:end]),
            epsilon * Fraction(end - start, len(answers)),
        )
        for start, end in pairwise(ends)
    )


def _times(coefficient: int, count: Integers) -> Integers:
    """Return the product, with the count clamped first so that nothing overflows; no number of records is as large."""
    if coefficient == 0:
        return np.zeros_like(count)
    most = LARGEST_TOTAL // abs(coefficient)
    found: Integers = coefficient * np.clip(count, -most, most)
    return found
