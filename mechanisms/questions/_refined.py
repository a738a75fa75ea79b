"""Answers drawn from a public prior that was sharpened around the truth: knowledge refinement.

    statistic of many    factors a_u / a_d <= e^(epsilon / g): refine.by_value                                     (1)
    value of one         factors a_u <= e^epsilon, a_d >= e^-epsilon: refine.by_presence; where the individual is
                         absent or has no value, the answer is a draw from the prior itself                        (2)

Theorem. (a) A draw by (1) with g = 1 is epsilon-differentially private for any two data sets, neighbours or not. By
groups, with g = min(groups, t c), it is for units of up to c rows, where one change of a row touches t groups. (b) A
draw by (2) is under `presence` of the individual, and loses at most 2 epsilon where their value is replaced.
Proof. Every answer has between a_d and a_u times its prior probability, whatever the truth is (refine, (b)), and so has
a draw from the prior, with which a group without records is answered. (a) Two truths differ by a_u / a_d at most. A
unit touches at most g groups, the others keep their truths, and draws are independent. (b) Against a draw from the
prior the ratio is at most max(a_u, 1 / a_d); between two values, by way of the prior, twice that in logarithms.

Numbers are answered on the grid of their prior, at most 2^16 steps; what the truth is rounded to on the way costs
nothing, because the promise holds for every truth. Categories are answered by their distances (refinement.axes).

Errors, averaged over the prior. A ball of prior mass p around the truth gets the refined mass

    min(a_u p, 1 - a_d (1 - p))                                                                                    (3)

Proof. A ball with p <= p_u lies inside r*, where the factor is a_u, and p <= p_u exactly if the first term is the
smaller one; a larger ball holds inside and shell, so its complement has the factor a_d. (3) grows with epsilon, as a_u
grows and a_d falls.

Source: Soria-Comas 2013 (thesis), chapter 5, corrected as in refinement.refine.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property, lru_cache
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.numbers.grid import Grid
from penstock.mechanisms.questions._asked import Asked
from penstock.mechanisms.questions._cautions import each_by_itself
from penstock.mechanisms.questions._fold import Exact
from penstock.mechanisms.questions._individual import at_rank, order_statistic
from penstock.mechanisms.questions._relaxed import parts_of_a_step
from penstock.mechanisms.questions._words import figure, percent
from penstock.mechanisms.questions.accuracy import Curve, Expected, curve_of_errors, least_of
from penstock.mechanisms.questions.method import Answer, Method
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refinement.axes import Axis, Line, axis_of
from penstock.mechanisms.refinement.priors import AnyPrior, Uniform, digest_of, faults_of, grid_for, weights
from penstock.mechanisms.refinement.refine import UNIT, Factors, Refined, by_presence, by_value
from penstock.mechanisms.refusal import Fault

__all__ = ["MOST_CATEGORIES", "Refinement", "answered_column", "prior_faults"]

# Every category is compared with every other.
MOST_CATEGORIES = 640
# Curves are means over at most this many truths, spread as the prior is; a picture has this many bars.
_TRIED, _BARS = 65, 101
# A draw from the prior itself.
_UNREFINED = Factors(UNIT, UNIT)

Floats = NDArray[np.float64]
UNIFORM = Uniform(kind="uniform")


def answered_column(asked: Asked) -> Column:
    """Return the column whose values the answers can be; for counts the numbers from 0 to that of all records."""
    if asked.query.statistic == "count":
        return Column(role="confidential", type="integer", domain=(0, max(1, asked.terms.records or 1)))
    return asked.column


def prior_faults(prior: AnyPrior | None, asked: Asked) -> list[Fault]:
    """Return what is wrong with a prior for a question, under the field `prior`."""
    name = asked.query.statistic if asked.query.of is None else asked.query.of
    found = () if prior is None else faults_of(prior, answered_column(asked), name)
    return [Fault(each.field.replace(f"priors.{name}", "prior", 1), each.rule, each.remedy, each.got) for each in found]


@lru_cache(maxsize=1024)
def _factors(epsilon: Fraction, of_one: bool) -> Factors:
    """Return the factors of (1) or (2); e^epsilon takes a while to bound."""
    return by_presence(epsilon) if of_one else by_value(epsilon)


class Refinement(Method):
    """(1) and (2)."""

    name: ClassVar[str] = "refinement"
    draws_from_prior: ClassVar[bool] = True

    def __init__(self, asked: Asked, prior: AnyPrior | None) -> None:
        super().__init__(asked)
        self.prior = prior or UNIFORM
        self._column = answered_column(asked)
        self._is_value = asked.query.statistic == "value"

    @property
    def adjacency(self) -> str:
        return "presence" if self._is_value else self.asked.adjacency

    @property
    def divided(self) -> int:
        """Return g: how many groups one unit can touch."""
        return min(len(self.groups), self.asked.touched * self.asked.terms.rows_per_unit)

    @cached_property
    def axis(self) -> Axis:
        """Return the points that an answer can be, with the weights of the prior."""
        return axis_of(weights(self.prior, self._column, self._name), self._column)

    @cached_property
    def _grid(self) -> Grid | None:
        return grid_for(self._column, self._name) if self._column.numeric else None

    @property
    def _name(self) -> str:
        return self.asked.query.of or self.asked.query.statistic

    def refined(self, epsilon: Fraction) -> Refined:
        """Return the prior with its factors."""
        return Refined(self.axis, _factors(epsilon / (1 if self._is_value else self.divided), self._is_value))

    def _draw(self, exact: Exact, epsilon: Fraction, randomness: Randomness) -> tuple[Answer, ...]:
        truths = self._truths(exact)
        known = np.array([truth is not None for truth in truths], np.bool_)
        points = np.array([0 if truth is None else truth for truth in truths], np.int64)
        drawn = np.empty(len(points), np.int64)
        drawn[known] = self.refined(epsilon).draw(points[known], randomness)
        drawn[~known] = Refined(self.axis, _UNREFINED).draw(points[~known], randomness)
        if self._grid is not None:
            return tuple(self._grid.values(drawn).tolist())
        return tuple(str((self._column.categories or ())[point]) for point in drawn.tolist())

    def _truths(self, exact: Exact) -> list[int | None]:
        """Return the point of the truth of every group; None where there is none."""
        if self._is_value:
            return [None if exact.value is None else self._point(exact.value)]
        if self.asked.query.statistic == "count":
            return [self._point(count) for count in exact.counts.tolist()]
        grid, parts = self.asked.numbers, parts_of_a_step(self.asked)
        if self.asked.query.statistic == "mean":
            steps = [row[1] / row[0] if row[0] else None for row in exact.table.tolist()]
        else:
            steps = [
                order_statistic(self.asked, each.size, at_rank(each, grid.steps)) / parts if each.size else None
                for each in self._fold.ordered(exact)
            ]
        eta = float(grid.eta)
        return [None if step is None else self._point((grid.first + step) * eta) for step in steps]

    def _point(self, value: float) -> int:
        return int(value) if self._grid is None else int(self._grid.index(np.array([value], np.float64))[0])

    @cached_property
    def _mass(self) -> Floats:
        used = self.axis.weights.astype(np.float64)
        mass: Floats = used / used.sum()
        return mass

    def within(self, epsilon: Fraction, distance: int) -> float:
        """Return P(the answer is at most so far from the truth), for a truth spread as the prior: the mean of (3)."""
        factors = self.refined(epsilon).factors
        up, down = factors.up / UNIT, factors.down / UNIT
        balls = self._balls(distance)
        return float((self._mass * np.minimum(up * balls, 1 - down * (1 - balls))).sum())

    def _balls(self, distance: int) -> Floats:
        """Return the prior mass of the ball around every point."""
        if isinstance(self.axis, Line):
            before = np.append(0.0, np.cumsum(self._mass))
            points = np.arange(len(self._mass))
            behind, first = np.minimum(points + distance + 1, len(points)), np.maximum(points - distance, 0)
            return np.asarray(before[behind] - before[first], np.float64)
        regions = self.axis.regions(np.arange(len(self._mass)), 0)
        near = np.array([regions.steps_beyond(place)[0] <= distance for place in range(len(self._mass))])
        return np.asarray(near @ self._mass, np.float64)

    def _half_width(self, epsilon: Fraction, confidence: Fraction) -> int:
        return bisect_left(
            range(self.axis.widest), True, key=lambda apart: self.within(epsilon, apart) >= float(confidence)
        )

    def _expected(self, epsilon: Fraction, records: int | None, confidence: Fraction) -> Expected:
        if self._grid is None:
            return self._expected_category(epsilon, confidence)
        eta, points = float(self._grid.eta), len(self._mass)
        answers, errors = np.zeros(points), np.zeros(2 * points - 1)
        truths = self._typical_truths()
        for truth, chances in self._chances(epsilon, truths):
            answers += chances / len(truths)
            errors[points - 1 - truth : 2 * points - 1 - truth] += chances / len(truths)
        apart = np.arange(1 - points, points).astype(np.float64) * eta
        error = sqrt(float((errors * apart**2).sum()))
        width = self._half_width(epsilon, confidence) * eta
        return Expected(
            standard_error=error,
            half_width=width,
            confidence=confidence,
            curve=curve_of_errors(apart, errors),
            answers=self._curve_of_answers(answers),
            is_typical=True,
            sentences=(
                f"{self._averaged}: root mean square error {figure(error)}, within {figure(width)} with probability "
                f"{percent(confidence)}. Where the prior is wrong errors can be larger; the promise holds all the "
                "same.",
                *(each_by_itself(self.asked, confidence) if width < (points - 1) * eta else ()),
            ),
        )

    @property
    def _averaged(self) -> str:
        """Return what its errors are means over; whoever is not in the data has no truth to be near to."""
        averaged = "veraged over true values that are distributed as the prior says"
        return f"For an individual who is in the data, a{averaged}" if self._is_value else f"A{averaged}"

    def _expected_category(self, epsilon: Fraction, confidence: Fraction) -> Expected:
        right = self.within(epsilon, 0)
        chances = np.zeros(len(self._mass))
        for truth, of_truth in self._chances(epsilon, np.arange(len(self._mass))):
            chances += self._mass[truth] * of_truth
        told = (
            f"{self._averaged}, the answer is right with probability {right:.3g}; always guessing the likeliest "
            f"category is right with probability {float(self._mass.max()):.3g}."
        )
        return Expected(
            confidence=confidence,
            answers=Curve("answer", tuple(map(float, range(len(self._mass)))), tuple(chances.tolist())),
            is_typical=True,
            sentences=(told,),
        )

    def _typical_truths(self) -> NDArray[np.int64]:
        """Return points at equal steps of the prior's probability."""
        shares = (np.arange(_TRIED) + 0.5) / _TRIED
        return np.minimum(np.searchsorted(np.cumsum(self._mass), shares), len(self._mass) - 1).astype(np.int64)

    def _chances(self, epsilon: Fraction, truths: NDArray[np.int64]) -> Iterator[tuple[int, Floats]]:
        """Yield each truth with the refined probability of every point, in floats."""
        refined = self.refined(epsilon)
        regions = refined.axis.regions(truths, refined.threshold)
        up, down = refined.factors.up / UNIT, refined.factors.down / UNIT
        for place, truth in enumerate(truths.tolist()):
            inside, shell = (float(each[place]) / refined.total for each in (regions.inside, regions.shell))
            between = (1 - up * inside - down * (1 - inside - shell)) / shell
            _, beyond = regions.steps_beyond(place)
            yield truth, np.where(beyond < 0, up, np.where(beyond > 0, down, between)) * self._mass

    def _curve_of_answers(self, chances: Floats) -> Curve:
        values = np.zeros(0) if self._grid is None else self._grid.values(np.arange(len(chances))).astype(np.float64)
        bars = np.array_split(np.arange(len(chances)), min(_BARS, len(chances)))
        return Curve(
            "answer",
            tuple(float(values[bar].mean()) for bar in bars),
            tuple(float(chances[bar].sum()) for bar in bars),
        )

    def _least_epsilon(self, within: Fraction, confidence: Fraction, records: int | None) -> Fraction | None:
        distance = int(within) if self._grid is None else int(within / self._grid.eta)
        distance = min(distance, self.axis.widest)
        return least_of(
            lambda each: self.within(each, distance) >= float(confidence) * (1 + 1e-9), self.least_epsilon_possible
        )

    def _settings(self, epsilon: Fraction) -> dict[str, Any]:
        factors = self.refined(epsilon).factors
        return {
            "prior": self.prior.kind,
            "prior_digest": digest_of(self.axis.weights),
            "factors": [str(Fraction(factors.down, UNIT)), str(Fraction(factors.up, UNIT))],
            **({} if self._grid is None else {"grid": str(self._grid.eta)}),
        }
