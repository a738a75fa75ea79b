"""Individual differential privacy: noise that follows how far one record of the actual data moves the figure.

Sorted values x_1 <= ... <= x_k take part, of n records; all on the grid, from a to b. One record of D is replaced by
any other. What then takes part is one of

    stays     [a, x_1 .. x_(k-1)]  to  [x_2 .. x_k, b]      where k >= 1                                           (1)
    leaves    [x_1 .. x_(k-1)]     to  [x_2 .. x_k]         where k >= 1; not where everybody takes part           (2)
    enters    [a, x_1 .. x_k]      to  [x_1 .. x_k, b]      where k < n; not where everybody takes part            (3)

Theorem. For sums, means and order statistics f, and any rounding of them that does not fall, |f - f(D)| is largest,
over all replacements of a kind, at one of the two lists that stand in its line. Proof. Lists of one line have one
length. Put in order, every list of the line lies, place by place, between the two that are named: to leave out another
than the largest, or to put in another than a, lowers no place; the same at the other end. f does not fall when a place
rises, so f lies between its values at the ends, and |f - f(D)| is largest at one of them.

    one group      steps(D) = max over (1), (2), (3)                                                               (4)
    by groups      steps_g(D) = max(over (1), 2 times over (2) and (3))                                            (5)

(5): a record that changes its group moves two of them; each loses at most epsilon / 2. One that stays loses epsilon.
The median counts two ranks, both in one list; a mean or order statistic of no records is the middle of the grid.

Source: Soria-Comas, Domingo-Ferrer, Sánchez & Megías 2017, sections 6.1 and 6.2, where everybody takes part;
conditions, groups and the theorem are ours. Noise: _relaxed.py. A unit has one row: for more it is not proven.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import ClassVar

import numpy as np

from penstock.mechanisms.models import Budgeted
from penstock.mechanisms.questions._asked import Asked
from penstock.mechanisms.questions._fold import Exact
from penstock.mechanisms.questions._order import Ordered
from penstock.mechanisms.questions._ranks import rank_of
from penstock.mechanisms.questions._relaxed import (
    ORDERED,
    Figures,
    Relaxed,
    floor_of,
    middle_point,
    parts_of_a_step,
    rounded,
)

__all__ = ["Individual", "order_statistic"]

# A list of values as its length and what lies at a rank, from 1 on.
AtRank = Callable[[int], int]


def order_statistic(asked: Asked, size: int, at: AtRank) -> int:
    """Return f of a list, in parts of a step."""
    if size == 0:
        return middle_point(asked)
    if asked.query.statistic == "median":
        return at((size + 1) // 2) + at(size // 2 + 1)
    return at(rank_of(asked, size))


def at_rank(ordered: Ordered, highest: int) -> AtRank:
    """Return x_k by its rank, where x_0 = a = 0 and x_(n+1) = b."""

    def at(rank: int) -> int:
        if rank < 1:
            return 0
        return highest if rank > ordered.size else ordered.at(rank)

    return at


class Individual(Relaxed):
    """A figure with noise of the size that the actual data call for."""

    name: ClassVar[str] = "individual"
    model: ClassVar[Budgeted] = "idp"

    @property
    def adjacency(self) -> str:
        return "from_D"

    def figures(self, exact: Exact) -> Figures:
        if self.asked.query.statistic in ORDERED:
            moves = [self._moves_of_order(ordered, exact.rows) for ordered in self._fold.ordered(exact)]
        else:
            of = self._moves_of_sum if self.asked.query.statistic == "sum" else self._moves_of_mean
            moves = [of(row, exact.rows) for row in exact.table.tolist()]
        values = self._sums(exact).tolist() if self.asked.query.statistic == "sum" else [value for value, _, _ in moves]
        touched, least = self.asked.touched, floor_of(self.asked)
        steps = [max(least, stays, touched * changes) for _, stays, changes in moves]
        return Figures(np.array(values, np.int64), np.array(steps, np.int64))

    def _moves(self, size: int, rows: int, f: Callable[[int, int], int]) -> tuple[int, int, int]:
        """Return f(D), and how far it moves by (1), and by (2) or (3); f takes a shift and a length.

        The list with shift s and length l is x_(1+s) .. x_(l+s), where x_0 = a and x_(k+1) = b.
        """
        truth = f(0, size)

        def farthest(*lists: tuple[int, int]) -> int:
            return max(abs(f(shift, length) - truth) for shift, length in lists)

        stays = farthest((-1, size), (1, size)) if size else 0
        changes = 0
        if not self.asked.everybody:
            if size:
                changes = farthest((0, size - 1), (1, size - 1))
            if size < rows:
                changes = max(changes, farthest((-1, size + 1), (0, size + 1)))
        return truth, stays, changes

    def _moves_of_order(self, ordered: Ordered, rows: int) -> tuple[int, int, int]:
        at = at_rank(ordered, self.asked.numbers.steps)
        return self._moves(
            ordered.size, rows, lambda shift, length: order_statistic(self.asked, length, lambda rank: at(rank + shift))
        )

    def _moves_of_mean(self, row: list[int], rows: int) -> tuple[int, int, int]:
        size, sums = row[0], self._sums_of_lists(row)
        parts, empty = parts_of_a_step(self.asked), middle_point(self.asked)

        def mean(shift: int, length: int) -> int:
            return rounded(Fraction(sums(shift, length), length), parts) if length else empty

        return self._moves(size, rows, mean)

    def _moves_of_sum(self, row: list[int], rows: int) -> tuple[int, int, int]:
        sums, first = self._sums_of_lists(row), self.asked.numbers.first
        return self._moves(row[0], rows, lambda shift, length: sums(shift, length) + first * length)

    def _sums_of_lists(self, row: list[int]) -> Callable[[int, int], int]:
        """Return the sum of the list with a shift and a length, in steps; row: number, sum, smallest, largest."""
        size, total, smallest, largest = row
        highest = self.asked.numbers.steps

        def left_out_or_added(shift: int, length: int) -> Iterator[int]:
            if shift == 1:
                yield -smallest
            if length + shift < size:
                yield -largest
            if length + shift > size:
                yield highest  # and x_0 = a adds 0

        return lambda shift, length: total + sum(left_out_or_added(shift, length))
