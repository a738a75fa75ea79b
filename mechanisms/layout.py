"""What a released table looks like. All of it is known before any record is read, so it tells nothing about the data.

A table has one row for each declared cell, the empty ones included, and then one for each cell of its margins:

    rows = levels in turn;  within a level, the cells of its dimensions, the last dimension fastest              (1)

The first level has every dimension. A dimension that a level does not have takes the category TOTAL there, which is
what SDMX calls a total. Every figure has a column, and where the model lets it be published a second one with its
standard error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from math import prod

import numpy as np
from numpy.typing import NDArray

__all__ = ["TOTAL", "Figure", "Layout", "error_of"]

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
class Layout:
    """The rows and columns of one table.

    dimensions: the categories of each, as text. levels: the dimensions of the cells, then of each margin.
    errors: whether standard errors are published. weights: columns of weights, and of strata, that the figures are made
    with.
    tables: of linked tables the dimensions of each. They have their levels in common: first the cells of each table,
    then the margins. No level has every dimension then (penstock.mechanisms.linked_layout).
    """

    name: str
    dimensions: Mapping[str, tuple[str, ...]]
    levels: tuple[tuple[str, ...], ...]
    figures: tuple[Figure, ...]
    errors: bool
    weights: tuple[str, ...] = ()
    tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

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

    def shape(self, level: tuple[str, ...]) -> tuple[int, ...]:
        """Return the number of categories of each dimension of a level."""
        return tuple(len(self.dimensions[name]) for name in level)

    @property
    def starts(self) -> tuple[int, ...]:
        """Return the first row of each level, and the number of all rows."""
        return (0, *accumulate(prod(self.shape(level)) for level in self.levels))

    @property
    def rows(self) -> int:
        return self.starts[-1]

    def labels(self, dimension: str) -> tuple[str, ...]:
        """Return the categories of a dimension, TOTAL last where a margin needs it."""
        everywhere = all(dimension in level for level in self.levels)
        return self.dimensions[dimension] if everywhere else (*self.dimensions[dimension], TOTAL)

    def codes(self) -> dict[str, NDArray[np.int32]]:
        """Return for each dimension the place of every row's category among its labels."""
        parts: dict[str, list[NDArray[np.int32]]] = {name: [] for name in self.dimensions}
        for level in self.levels:
            shape = self.shape(level)
            places = np.indices(shape, np.int32).reshape(len(shape), prod(shape))
            for name, categories in self.dimensions.items():
                total = np.full(prod(shape), len(categories), np.int32)
                parts[name].append(places[level.index(name)] if name in level else total)
        return {name: np.concatenate(codes) for name, codes in parts.items()}
