"""What a released table looks like. All of it is known before any record is read, so it tells nothing about the data.

A table has one row for each declared cell, the empty ones included, and then one for each cell of its margins:

    rows = levels in turn;  within a level, the cells of its dimensions, the last dimension fastest              (1)

The first level has every dimension. A dimension that a level does not have takes the category TOTAL there, which is
what SDMX calls a total. A level may keep a coarser level of a dimension instead, under a name of its own: groups of its
categories, such as the sections of activities, which stand in the column of the dimension. Every figure has a column,
and where the model lets it be published a second one with its standard error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from math import prod

import numpy as np
from numpy.typing import NDArray

__all__ = ["TOTAL", "Coarser", "Figure", "Layout", "error_of"]

TOTAL = "_T"


def error_of(figure: str) -> str:
    """Return the name of the column with the standard error of a figure."""
    return f"{figure}_standard_error"


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of every row.

    statistic: count, sum, mean, median and the like. column: what it is about; None for a count of records.
    whole: whether it is a whole number by its nature.
    """

    name: str
    statistic: str
    column: str | None
    whole: bool

    @property
    def kind(self) -> str:
        """Return the statistic, whether records are weighted or not."""
        return self.statistic.removeprefix("weighted_")

    @property
    def is_error(self) -> bool:
        """Return whether it is an error of another figure: of sampling, or of noise and sampling together."""
        return self.statistic.endswith(("_sampling_error", "_combined_error"))

    @property
    def adds_up(self) -> bool:
        """Return whether its total is the sum of its cells."""
        return self.kind in ("count", "sum")


@dataclass(frozen=True, slots=True)
class Coarser:
    """A coarser level of a dimension: the labels of its groups and, for each category, the place of its group. No group
    is without a category."""

    dimension: str
    labels: tuple[str, ...]
    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The rows and columns of one table.

    dimensions: the categories of each, as text. levels: the dimensions of the cells, then of each margin, where the
    name of a coarser level may stand for its dimension. coarser: these levels, for each dimension from coarse to fine.
    errors: whether standard errors are published. weights: columns of weights, and of strata, that the figures are made
    with. counted: columns of which the records of one category are counted, and which are no dimensions.
    tables: of linked tables the dimensions of each. They have their levels in common: first the cells of each table,
    then the margins. No level has every dimension then (penstock.mechanisms.linked_layout).
    """

    name: str
    dimensions: Mapping[str, tuple[str, ...]]
    levels: tuple[tuple[str, ...], ...]
    figures: tuple[Figure, ...]
    errors: bool
    weights: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    coarser: Mapping[str, Coarser] = field(default_factory=dict)

    @property
    def cube(self) -> tuple[str, ...]:
        """Return the dimensions of which every level keeps some: those of the cells, or of the cells of all tables."""
        return tuple(self.dimensions) if self.tables else self.levels[0]

    @property
    def cells(self) -> int:
        """Return the number of cells of the cube."""
        return prod(self.shape(self.cube))

    @property
    def cell_rows(self) -> int:
        """Return how many rows are cells of a table; the rows after them are margins."""
        return self.starts[len(self.tables) or 1]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return all columns, in the order of the file."""
        pairs = (
            (figure.name, error_of(figure.name)) if self.has_error(figure) else (figure.name,)
            for figure in self.figures
        )
        return (*self.dimensions, *(name for pair in pairs for name in pair))

    def has_error(self, figure: Figure) -> bool:
        """Return whether the standard error of a figure stands beside it; an error has none of its own."""
        return self.errors and not figure.is_error

    def dimension_of(self, name: str) -> str:
        """Return the dimension of which a level keeps something by this name."""
        return self.coarser[name].dimension if name in self.coarser else name

    def categories(self, name: str) -> tuple[str, ...]:
        """Return the categories of a dimension, or the groups of a coarser level."""
        return self.coarser[name].labels if name in self.coarser else self.dimensions[name]

    def shape(self, level: tuple[str, ...]) -> tuple[int, ...]:
        """Return the number of categories of each dimension of a level."""
        return tuple(len(self.categories(name)) for name in level)

    @property
    def starts(self) -> tuple[int, ...]:
        """Return the first row of each level, and the number of all rows."""
        return (0, *accumulate(prod(self.shape(level)) for level in self.levels))

    @property
    def rows(self) -> int:
        return self.starts[-1]

    def labels(self, dimension: str) -> tuple[str, ...]:
        """Return the categories of a dimension, then the groups of its coarser levels, TOTAL last where a margin needs
        it."""
        coarser = (each.labels for each in self.coarser.values() if each.dimension == dimension)
        known = (*self.dimensions[dimension], *(label for labels in coarser for label in labels))
        everywhere = all(dimension in map(self.dimension_of, level) for level in self.levels)
        return known if everywhere else (*known, TOTAL)

    @property
    def first_labels(self) -> dict[str, int]:
        """Return where the labels of each dimension and each coarser level begin among those of the dimension."""
        after = {name: len(categories) for name, categories in self.dimensions.items()}
        first = dict.fromkeys(self.dimensions, 0)
        for name, each in self.coarser.items():
            first[name] = after[each.dimension]
            after[each.dimension] += len(each.labels)
        return first

    def codes(self) -> dict[str, NDArray[np.int32]]:
        """Return for each dimension the place of every row's category among its labels."""
        first, last = self.first_labels, {name: len(self.labels(name)) - 1 for name in self.dimensions}
        parts: dict[str, list[NDArray[np.int32]]] = {name: [] for name in self.dimensions}
        for level in self.levels:
            shape = self.shape(level)
            places = np.indices(shape, np.int32).reshape(len(shape), prod(shape))
            kept = {self.dimension_of(name): places[axis] + first[name] for axis, name in enumerate(level)}
            for name, codes in parts.items():
                codes.append(kept[name] if name in kept else np.full(prod(shape), last[name], np.int32))
        return {name: np.concatenate(codes) for name, codes in parts.items()}
