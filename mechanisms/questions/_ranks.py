"""Medians, quantiles and extremes by the exponential mechanism over all points of the public grid.

Score, sampler and their proofs: penstock.mechanisms.statistics, _quantiles, _extremes and _blocks. With the share p/q,
one change moves the scores of the groups it touches by at most

                               add_remove          replace         replace, by groups
    median, quantile           max(p, q - p)       q               2 max(p, q - p)   in sum                        (1)
    minimum, maximum           1                   1               2                 in sum                        (2)

Theorem. Points drawn with probability proportional to e^(-epsilon s / (2 c D)), D of (1) or (2), in every group, are
epsilon-differentially private for units of up to c rows. Proof. A draw loses at most 2 / T for each unit by which its
scores move, where T = 2 c D / epsilon (McSherry & Talwar 2007, Theorem 6); draws of groups are independent, so one
change loses 2 D / T = epsilon / c. D: a record that enters or leaves one group moves the score as one that is added or
removed, by max(p, q - p) or 1; one that stays in its group by q or 1. By groups the largest is a record that leaves one
and enters another, twice the first; for a record that stays, q <= 2 max(p, q - p) and 1 <= 2. So for medians of groups
replace costs no more than for one group.

Errors. P(s(Y) >= T (ln(R + 1) + ln(1 / gamma))) <= gamma, the rank error, holds for all data. How far the answer is
from the truth depends on how the data are spread: it is told only where everybody takes part, for data spread as a
given prior says. There the interval is {y : s(y) <= z} with the least z of enough probability: as epsilon grows low
scores gain (likelihood ratios are monotone), so z and the interval shrink. Never for extremes: all points beyond
the last record have a score of 1, so the answer lies about evenly in the gap up to the bound of the domain, if it is
wide; no prior is trusted with so few records.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.questions._asked import Asked
from penstock.mechanisms.questions._cautions import each_by_itself
from penstock.mechanisms.questions._fold import Exact
from penstock.mechanisms.questions._order import Ordered
from penstock.mechanisms.questions._words import NUMBER_NOT_KNOWN, figure, percent
from penstock.mechanisms.questions.accuracy import Expected, curve_of_errors, least_of
from penstock.mechanisms.questions.method import Answer, Method
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refinement.priors import AnyPrior, Uniform, grid_for, weights
from penstock.mechanisms.statistics import MEDIAN, Blocks, blocks_of_counts, draw_points, limit_of, score_reached

__all__ = ["Exponential", "moved_by_one_change", "rank_of", "share_of"]

_EXTREMES = ("minimum", "maximum")
Floats = NDArray[np.float64]


def share_of(asked: Asked) -> Fraction:
    """Return p/q; that of the median where none is given."""
    return asked.query.share or MEDIAN


def rank_of(asked: Asked, records: int) -> int:
    """Return which of so many records, from 1 on, the statistic is; the lower of two for a median."""
    if asked.query.statistic == "minimum":
        return 1
    if asked.query.statistic == "maximum":
        return records
    share = share_of(asked)
    return -(-records * share.numerator // share.denominator)


def moved_by_one_change(asked: Asked) -> int:
    """Return D of (1) and (2)."""
    if asked.query.statistic in _EXTREMES:
        return asked.touched
    p, q = share_of(asked).as_integer_ratio()
    if asked.adjacency == "replace" and asked.touched == 1:
        return q
    return max(p, q - p) * asked.touched


class Exponential(Method):
    """A median, quantile or extreme of each group."""

    name: ClassVar[str] = "exponential"
    # The number of scores that a draw looks at grows with 1 / epsilon.
    least_in_a_group: ClassVar[Fraction] = Fraction(1, 1024)

    def __init__(self, asked: Asked, prior: AnyPrior | None) -> None:
        super().__init__(asked)
        self._prior = prior

    def as_drawn(self) -> Method:
        return Exponential(self.asked, None)

    @property
    def sensitivity(self) -> int:
        """Return how far one unit moves the scores."""
        return moved_by_one_change(self.asked) * self.asked.terms.rows_per_unit

    @property
    def _q(self) -> int:
        return 1 if self.asked.query.statistic in _EXTREMES else share_of(self.asked).denominator

    def _targets(self, records: int) -> tuple[int, int]:
        """Return the two numbers of records that the score compares with, times q."""
        if self.asked.query.statistic in _EXTREMES:
            # Of no records the largest has the rank 0, as statistics/_extremes.py has it.
            rank = 1 if self.asked.query.statistic == "minimum" else records
            return rank - 1, rank
        target = share_of(self.asked).numerator * records
        return target, target

    def _blocks(self, ordered: Ordered, epsilon: Fraction) -> Blocks:
        """Return the blocks of one group near its statistic, where the scores are low enough to matter.

        A point with M records at it or below has a score of at least `below` - q M, one with L below it of at least
        q L - `above`; and the lowest score is 0, unless there are no records.
        """
        above, below = self._targets(ordered.size)
        limit = limit_of(self.sensitivity, epsilon)

        def between(first: int, last: int) -> Blocks:
            window = ordered.between(min(max(first, 1), ordered.size), min(max(last, 1), ordered.size))
            return blocks_of_counts(
                window.steps,
                window.times,
                self.asked.numbers.steps,
                self._q,
                above,
                below,
                before=window.before,
                outer=window.outer,
            )

        if ordered.size == 0:
            empty = np.zeros(0, np.int64)
            return blocks_of_counts(empty, empty, self.asked.numbers.steps, self._q, above, below)
        near = between(-(-(below - limit) // self._q), (above + limit) // self._q + 1)
        return replace(near, limit=limit, whole=lambda: between(1, ordered.size))

    def _draw(self, exact: Exact, epsilon: Fraction, randomness: Randomness) -> tuple[Answer, ...]:
        grid = self.asked.numbers
        blocks = (self._blocks(ordered, epsilon) for ordered in self._fold.ordered(exact))
        points = draw_points(blocks, grid.steps, self.sensitivity, epsilon, randomness)
        return tuple(grid.values(points).tolist())

    def rank_error(self, epsilon: Fraction, confidence: Fraction) -> float:
        """Return by how many records the answer misses its rank at most, with this confidence."""
        steps = self.asked.numbers.steps
        return score_reached(steps, self.sensitivity, epsilon, float(1 - confidence)) / self._q

    def _expected(self, epsilon: Fraction, records: int | None, confidence: Fraction) -> Expected:
        missed = self.rank_error(epsilon, confidence)
        told = (
            f"With probability {percent(confidence)} the answer misses its rank by less than {figure(missed)} records"
            f"{self._among(missed, records)}.",
            *each_by_itself(self.asked, confidence),
            *self._of_values(),
        )
        if not records or not self._knows_values:
            return Expected(confidence=confidence, rank_error=missed, sentences=told)
        typical = self._typical(records)
        chances = typical.chances(float(2 * self.sensitivity / epsilon))
        width = typical.half_width(chances, confidence)
        error = sqrt(float((chances * typical.errors**2).sum()))
        return Expected(
            standard_error=error,
            half_width=width,
            confidence=confidence,
            curve=curve_of_errors(typical.errors, chances),
            rank_error=missed,
            is_typical=True,
            sentences=(
                *told,
                f"For {records:,} records spread exactly as the prior says: standard error {figure(error)}, within "
                f"{figure(width)} with probability {percent(confidence)}. For others it can be far larger.",
            ),
        )

    @property
    def _knows_values(self) -> bool:
        """Return whether somebody said how the data are spread, of a number of records that is public."""
        return self._prior is not None and self.asked.everybody and self.asked.query.statistic not in _EXTREMES

    def _among(self, missed: float, records: int | None) -> str:
        """Return what a rank error means for the answer."""
        share = {"minimum": Fraction(0), "maximum": Fraction(1)}.get(self.asked.query.statistic, share_of(self.asked))
        if self.asked.everybody and records:
            off, middle = 100 * missed / records, 100 * float(share)
            low, high = max(0.0, floor(10 * (middle - off)) / 10), min(100.0, ceil(10 * (middle + off)) / 10)
            if (low, high) == (0, 100):
                return f", and there are {records:,}: it tells next to nothing"
            return f": between the percentiles {low:g} and {high:g} of {records:,}"
        few = figure(missed / float(max(share, 1 - share)))
        if self.asked.query.by is not None:
            return f"; a group with fewer than {few} records is told next to nothing about"
        return f"; if fewer than {few} records take part, it tells next to nothing"

    def _of_values(self) -> tuple[str, ...]:
        """Return why a small rank error is not a small error, where that is easily overlooked."""
        if self.asked.query.statistic not in _EXTREMES:
            return ("How far that is in values depends on how the data are spread.",)
        low, high = (f"{bound:,.15g}" for bound in (self.asked.numbers.low, self.asked.numbers.high))
        beyond, bound = ("below", low) if self.asked.query.statistic == "minimum" else ("above", high)
        return (
            f"A number {beyond} all records misses the rank by one record only, so the answer may lie anywhere between "
            f"them and {bound}; how far off that is depends on the data.",
        )

    def why_no_epsilon(self) -> str:
        if self._knows_values:
            return super().why_no_epsilon()
        if self.asked.query.statistic in _EXTREMES:
            return "how far an extreme is off depends on the data; ask for an epsilon instead"
        if self._prior is not None:
            return NUMBER_NOT_KNOWN
        return "how far it is off depends on how the data are spread; give a prior, or ask for an epsilon instead"

    def _least_epsilon(self, within: Fraction, confidence: Fraction, records: int | None) -> Fraction | None:
        if not records or not self._knows_values:
            return None
        typical = self._typical(records)

        def is_within(epsilon: Fraction) -> bool:
            chances = typical.chances(float(2 * self.sensitivity / epsilon))
            return typical.half_width(chances, confidence) <= within

        return least_of(is_within, self.least_epsilon_possible)

    def _typical(self, records: int) -> _Typical:
        """Return the scores of all points for records that lie at equal steps of the prior's probability."""
        column, name, grid = self.asked.column, str(self.asked.query.of), self.asked.numbers
        coarse = grid_for(column, name)
        values = coarse.values(np.arange(coarse.steps + 1)).astype(np.float64)
        used = weights(self._prior or Uniform(kind="uniform"), column, name).astype(np.float64)
        inside = (values >= grid.low) & (values <= grid.high)
        if not used[inside].any():  # the prior knows nothing about the band
            used, inside = np.ones_like(used), inside if inside.any() else np.ones_like(inside)
        values, used = values[inside], used[inside]
        upto = np.floor(records * np.cumsum(used) / used.sum() + 0.5)
        below = np.append(0.0, upto[:-1])
        above, under = self._targets(records)
        scores = np.maximum(np.maximum(self._q * below - above, under - self._q * upto), 0)
        truth = values[np.argmax(upto >= rank_of(self.asked, records))]
        return _Typical(scores, values - truth)

    def _settings(self, epsilon: Fraction) -> dict[str, Any]:
        return {
            "noise": "exponential",
            "score_sensitivity": self.sensitivity,
            "grid": str(self.asked.numbers.eta),
        }


@dataclass(frozen=True, slots=True, eq=False)
class _Typical:
    """Scores of points, and how far each is from the truth; in floats, for planning."""

    scores: Floats
    errors: Floats

    def chances(self, scale: float) -> Floats:
        """Return the probability of each point."""
        found = np.exp(-(self.scores - self.scores.min()) / scale)
        chances: Floats = found / found.sum()
        return chances

    def half_width(self, chances: Floats, confidence: Fraction) -> float:
        """Return the largest error among the lowest scores that are likely enough together."""
        levels, which = np.unique(self.scores, return_inverse=True)
        upto = np.cumsum(np.bincount(which, weights=chances))
        level = levels[min(int(np.searchsorted(upto, float(confidence) * (1 + 1e-9))), len(levels) - 1)]
        return float(np.abs(self.errors[self.scores <= level]).max())
