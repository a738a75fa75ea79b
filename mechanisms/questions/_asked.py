"""A question without fault, with what follows from it in public: its grid, its groups, what one change can do.

One change of the data is a record added or removed (`add_remove`), or one replaced by any other (`replace`). A unit
with up to c rows is c such changes, one after the other, so a change may cost epsilon / c (group privacy, Dwork & Roth
2014, Theorem 2.2). Under `presence` the data of a named individual are added or removed: a promise about everybody's
records added or removed is one about theirs, so questions about many are calibrated as under `add_remove`.

A record *takes part* if it satisfies every condition, belongs to a group and has a value. Under `replace`

    everybody takes part, whatever a record holds    the number of records that take part is n, and public         (1)
    otherwise                                        it is secret: a replaced record may enter, leave, or stay      (2)

(1) without conditions and groups, where the column is declared complete (missing: refuse). A value that is missing
after all counts as the lowest one then, so that (1) holds for all data. In every other case it does not take part.

Conditions on the column itself narrow its grid: t <= x < u leaves the steps q(t)..q(u), because q does not fall
(numbers.grid), and for whole numbers those up to the last below u; so noise and range follow the band that is asked
about, not the whole domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, inf, nextafter
from typing import Literal

import numpy as np

from penstock.mechanisms.columns import Column, Declared
from penstock.mechanisms.numbers.grid import Grid, grid_of
from penstock.mechanisms.questions._faults import is_about_everybody
from penstock.mechanisms.questions.query import Query, Terms

__all__ = ["Asked"]


@dataclass(frozen=True)
class Asked:
    """What all methods know of a question; it must be without fault."""

    query: Query
    declared: Declared
    terms: Terms

    @property
    def adjacency(self) -> Literal["replace", "add_remove"]:
        """Return what one change is."""
        return "replace" if self.terms.adjacency == "replace" else "add_remove"

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Return the labels of the answers."""
        if self.query.by is None:
            return ("",)
        return tuple(map(str, self.declared[self.query.by].categories or ()))

    @property
    def touched(self) -> int:
        """Return how many groups one change can touch: a replaced record may leave one and enter another."""
        return 2 if self.adjacency == "replace" and self.query.by is not None else 1

    @property
    def everybody(self) -> bool:
        """Return whether (1) holds, so that the number of records that take part is public."""
        return self.adjacency == "replace" and is_about_everybody(self.query, self.declared)

    @property
    def column(self) -> Column:
        """Return the column that the question is about."""
        return self.declared[str(self.query.of)]

    @cached_property
    def grid(self) -> Grid | None:
        """Return the public grid of the values; None for counts and categories."""
        if self.query.of is None or not self.column.numeric:
            return None
        grid = grid_of(self.column, self.query.of)
        for condition in self.query.where:
            if condition.column == self.query.of:
                grid = _narrowed(grid, condition.at_least, condition.below)
        return grid

    @property
    def numbers(self) -> Grid:
        """Return the grid of a question about numbers."""
        if self.grid is None:
            raise ValueError("a question about numbers has a grid")
        return self.grid

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that must be read, each once."""
        whose = self.terms.whose if self.query.statistic == "value" else None
        wanted = (self.query.of, *(condition.column for condition in self.query.where), self.query.by, whose)
        return tuple(dict.fromkeys(name for name in wanted if name is not None))


def _narrowed(grid: Grid, at_least: Fraction | None, below: Fraction | None) -> Grid:
    """Return the part of a grid on which numbers of a band lie; at least one step wide."""
    low, high = grid.low, grid.high
    if at_least is not None:
        low = max(low, float(ceil(at_least)) if grid.whole else _not_below(at_least))
    if below is not None:
        high = min(high, float(ceil(below) - 1) if grid.whole else _not_below(below))
    high = max(low, high)
    first, last = (int(place) for place in grid.index(np.array([low, high])))
    return Grid(grid.exponent, grid.first + first, max(1, last - first), low, high, grid.whole)


def _not_below(number: Fraction) -> float:
    """Return the least float that is not below a number."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else nextafter(nearest, inf)
