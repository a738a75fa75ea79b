"""Bootstrap differential privacy: noise that covers all data sets made of records of the actual one.

Values x of the records that take part lie between x_1 and x_k, in a group or in all; w = x_k - x_1, M = max |x|; m is
the middle of the grid, A = max |x - m|, and n the number of all records. steps(D), in the unit of the figure:

                                 bootstrap_replace                                          bootstrap_add_remove
                        everybody*      conditions           by groups
    count               (public)        1                    2                              1
    sum                 w               max(w, M)            2 M                            M                      (1)
    order statistic     w               max(w, A)            2 max(w, A)                    max(w, A)              (2)
    median, half steps  2 w, w for      2 max(w, A)          4 max(w, A)                    2 max(w, A)            (3)
                        even n
    mean                w / n           U and N with noise: 2 A / epsilon and 2 / epsilon, twice that by groups    (4)

* also where conditions hold for all n records and there are no groups: then they hold for all data sets made of them.

Proof. Data sets are made of rows of D, as many as D has, or one more or fewer. (1) by table/sensitivity.py: |x - y|
where a record stays, |x| where it enters or leaves, two of these by groups, and w <= 2 M. (2) order statistics of lists
that are not empty lie between x_1 and x_k, so they differ by at most w; of an empty list it is m, at most A away. (3)
twice as much in half steps. Where an even number n = 2 r of records stays the same, the others are c_1 .. c_(2r-1), and
the two middle values with y among them are c_r and y clamped to c_(r-1) .. c_(r+1): so their sum moves by at most w.
(4) everybody: one replaced record moves the sum by w. Otherwise as in _means.py, (2), with A in place of h: a record
that stays moves U by w <= 2 A.

A group without records is constant in all data sets made of records of D, so any size of noise is right there: it gets
the largest of all groups, so that it looks like others. Sizes have a floor (_relaxed.py).

Source: O'Keefe & Charest 2019, section 5, corrected as in table/sensitivity.py; (2) to (4) with conditions are ours. A
unit has one row: for more it is not proven.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np

from penstock.mechanisms.models import Budgeted
from penstock.mechanisms.noise.totals import noisy
from penstock.mechanisms.questions._asked import Asked
from penstock.mechanisms.questions._fold import Exact, Ints
from penstock.mechanisms.questions._individual import at_rank, order_statistic
from penstock.mechanisms.questions._means import LaplaceMean, centred_sums, in_domain, middle_and_reach
from penstock.mechanisms.questions._relaxed import Figures, Relaxed, floor_of
from penstock.mechanisms.questions._words import figure
from penstock.mechanisms.questions.accuracy import Expected
from penstock.mechanisms.questions.method import Answer
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.table.noise import cell_noise
from penstock.mechanisms.table.scales import Scales

__all__ = ["Bootstrap", "BootstrapMean", "bootstrap"]


class _Bootstrap(Relaxed):
    """What both share: their model, and what a group without records gets."""

    name: ClassVar[str] = "bootstrap"
    model: ClassVar[Budgeted] = "bdp"

    @property
    def adjacency(self) -> str:
        return f"bootstrap_{self.asked.adjacency}"

    def _all_take_part(self, exact: Exact) -> bool:
        """Return whether every data set made of records of D has the same number of records that take part."""
        alone = self.asked.adjacency == "replace" and self.asked.query.by is None
        return alone and int(exact.counts[0]) == exact.rows

    def _like_others(self, steps: list[int], sizes: list[int]) -> Ints:
        least = floor_of(self.asked)
        largest = max([least, *(each for each, size in zip(steps, sizes, strict=True) if size)])
        floored = [max(least, each) if size else largest for each, size in zip(steps, sizes, strict=True)]
        return np.array(floored, np.int64)


class Bootstrap(_Bootstrap):
    """(1) to (3)."""

    def figures(self, exact: Exact) -> Figures:
        asked = self.asked
        if asked.query.statistic == "count":
            return Figures(exact.counts, np.full(len(exact.table), asked.touched, np.int64))
        if asked.query.statistic == "sum":
            sizes = exact.counts.tolist()
            steps = [self._steps_of_sum(row, self._all_take_part(exact)) for row in exact.table.tolist()]
            return Figures(self._sums(exact), self._like_others(steps, sizes))
        values, steps, sizes = [], [], []
        for ordered in self._fold.ordered(exact):
            size = ordered.size
            values.append(order_statistic(asked, size, at_rank(ordered, asked.numbers.steps)))
            ends = (ordered.at(1), ordered.at(size)) if size else (0, 0)
            steps.append(self._steps_of_order(ends, size, exact.rows))
            sizes.append(size)
        return Figures(np.array(values, np.int64), self._like_others(steps, sizes))

    def _steps_of_sum(self, row: list[int], all_take_part: bool) -> int:
        number, _, smallest, largest = row
        if not number:
            return 0
        first, width = self.asked.numbers.first, largest - smallest
        size = max(abs(first + smallest), abs(first + largest))
        if self.asked.adjacency == "add_remove":
            return size
        if all_take_part:
            return width
        return 2 * size if self.asked.query.by is not None else max(width, size)

    def _steps_of_order(self, ends: tuple[int, int], size: int, rows: int) -> int:
        width = ends[1] - ends[0]
        middle, _ = middle_and_reach(self.asked.numbers)
        median = self.asked.query.statistic == "median"
        if self.asked.adjacency == "replace" and self.asked.query.by is None and size == rows:
            return width * (1 + size % 2) if median else width
        farthest = max(width, abs(ends[0] - middle), abs(ends[1] - middle))
        return farthest * (2 if median else 1) * self.asked.touched


class BootstrapMean(_Bootstrap):
    """(4)."""

    def figures(self, exact: Exact) -> Figures:
        """Return the sums, and steps(D) of them; where the number of records is secret, the centred ones."""
        if self.asked.everybody:
            rows = [max(0, largest - smallest) for _, _, smallest, largest in exact.table.tolist()]
            return Figures(exact.table[:, 1], self._like_others(rows, exact.counts.tolist()))
        middle, _ = middle_and_reach(self.asked.numbers)
        steps = [
            max(abs(smallest - middle), abs(largest - middle)) if number else 0
            for number, _, smallest, largest in exact.table.tolist()
        ]
        return Figures(centred_sums(self.asked.numbers, exact), self._like_others(steps, exact.counts.tolist()))

    def _draw(self, exact: Exact, epsilon: Fraction, randomness: Randomness) -> tuple[Answer, ...]:
        grid, found = self.asked.numbers, self.figures(exact)
        if self.asked.everybody:
            sums = noisy(found.values, cell_noise(Scales("from_D", epsilon, found.steps), randomness))
            return in_domain(sums / exact.rows if exact.rows else np.full(1, grid.steps / 2), grid)
        spent = epsilon / (2 * self.divided)
        ones = np.ones(len(exact.table), np.int64)
        counts = noisy(exact.counts, cell_noise(Scales("from_D", spent, ones), randomness))
        sums = noisy(found.values, cell_noise(Scales("from_D", spent, found.steps), randomness))
        return in_domain(middle_and_reach(grid)[0] + sums / np.maximum(counts, 1), grid)

    def _expected(self, epsilon: Fraction, records: int | None, confidence: Fraction) -> Expected:
        worst = LaplaceMean(self.asked)
        if not self.asked.everybody:
            told = (
                f"At most the width of the domain, {figure(worst.widest)}: nothing smaller is certain, because the "
                "number of records that take part and the size of the noise are both secret. With many records the "
                "error may be far smaller."
            )
            return Expected(worst.widest, worst.widest, confidence, is_upper_bound=True, sentences=(told,))
        return Expected(
            standard_error=worst.standard_error(epsilon, records),
            half_width=worst.half_width(epsilon, records, confidence),
            confidence=confidence,
            is_upper_bound=True,
            sentences=(
                "At most the error of Laplace noise, which is that of the worst case. The size of the noise follows "
                "the data and is secret; it may be far smaller.",
            ),
        )

    def why_no_epsilon(self) -> str:
        return LaplaceMean(self.asked).why_no_epsilon()

    def _least_epsilon(self, within: Fraction, confidence: Fraction, records: int | None) -> Fraction | None:
        return LaplaceMean(self.asked).least_epsilon(within, confidence, records)


def bootstrap(asked: Asked) -> Relaxed:
    """Return the method for a question."""
    return BootstrapMean(asked) if asked.query.statistic == "mean" else Bootstrap(asked)
