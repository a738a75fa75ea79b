"""Public bounds of a measure in every cell, in whole steps of its grid, and values clamped to them.

    v(x) = floor(x / eta + 1/2),   eta a power of two that depends on the declared domain alone                (1)
    low_i <= v <= high_i,   B_i = max(|low_i|, |high_i|)   in cell i                                           (2)
    B of a margin cell = the largest B of its cells                                                            (3)

By (2) no record adds more than B_i to cell i, whatever it is, and that is all that the noise of differential privacy
rests on. Bounds are declared, never read from the data; a tight one biases the totals of cells with larger values.

Tables use a finer grid than microdata. With W the width of the domain and of 0, it has 2^29 to 2^30 + 2 steps of W, or
steps of 1 for whole numbers: so totals of 2^31 records fit into 62 bits, what a value loses by (1) is less than a
billionth of W, and whole numbers lose nothing up to W = 2^30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

from penstock.mechanisms.columns import Bound, Column, Declared, reach_faults
from penstock.mechanisms.numbers.grid import Grid, grid_of
from penstock.mechanisms.refusal import Fault

__all__ = ["TABLE_STEPS", "CellBounds", "Limits", "bound_faults", "limits_of", "table_grid"]

TABLE_STEPS = 2**30

Integers = NDArray[np.int64]


class CellBounds(BaseModel):
    """Bounds that hold in some cells."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cells: dict[StrictStr, tuple[StrictStr | StrictInt, ...]] = Field(
        min_length=1, description="Which cells: for some dimensions the categories that are meant."
    )
    domain: tuple[Bound, Bound] = Field(description="Lowest and highest possible value there, from public knowledge.")


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """low_i, high_i of (2), one for each cell, signed, in steps of the grid."""

    low: Integers
    high: Integers

    @property
    def largest(self) -> Integers:
        """Return B_i."""
        return np.maximum(np.abs(self.low), np.abs(self.high))


def table_grid(column: Column, name: str, finest: int = TABLE_STEPS) -> Grid:
    """Return the grid on which a column is added up, of about `finest` steps or fewer."""
    low, high = column.domain or column.bounds
    # With 0 inside the domain, no point's number exceeds the number of steps, however far from 0 the values are.
    around = grid_of(column.model_copy(update={"domain": (min(low, 0), max(high, 0))}), name, finest=finest)
    first = floor(Fraction(low) / around.eta)
    steps = ceil(Fraction(high) / around.eta) - first
    return replace(around, first=first, steps=steps, low=float(low), high=float(high))


def limits_of(
    column: Column,
    name: str,
    entries: Sequence[CellBounds],
    dimensions: Mapping[str, Sequence[object]],
    finest: int = TABLE_STEPS,
) -> Limits:
    """Return the bounds of one measure; the first entry that a cell fits counts, else the domain of the column."""
    grid = table_grid(column, name, finest)
    shape = tuple(len(categories) for categories in dimensions.values())
    low, high = np.full(shape, grid.first), np.full(shape, grid.first + grid.steps)
    for entry in reversed(entries):
        where = np.ix_(
            *(
                [place for place, category in enumerate(categories) if category in entry.cells.get(axis, categories)]
                for axis, categories in dimensions.items()
            )
        )
        low[where] = floor(Fraction(entry.domain[0]) / grid.eta)
        high[where] = ceil(Fraction(entry.domain[1]) / grid.eta)
    return Limits(low.ravel(), high.ravel())


def bound_faults(
    bounds: Mapping[str, Sequence[CellBounds]], dimensions: Sequence[str], summed: Sequence[str], declared: Declared
) -> Iterator[Fault]:
    """Yield faults of bounds of single cells; summed: the columns that are added up."""
    for name, entries in bounds.items():
        if name not in summed:
            yield Fault(f"bounds.{name}", "must be a column that is added up", "Name it in sums or means.", repr(name))
            continue
        lowest, highest = declared[name].bounds
        for place, entry in enumerate(entries):
            field = f"bounds.{name}.{place}"
            low, high = entry.domain
            if not lowest <= low < high <= highest:
                rule = "must go from a lower to a higher value, inside the domain of the column"
                yield Fault(f"{field}.domain", rule, "Correct one of them.", repr(list(entry.domain)))
            yield from reach_faults(f"{field}.domain", entry.domain)
            for dimension, categories in entry.cells.items():
                known = declared[dimension].categories or () if dimension in dimensions else ()
                if not categories or not set(categories) <= set(known):
                    rule = "must name dimensions of this table and some of their categories"
                    yield Fault(f"{field}.cells", rule, "Correct the names.", repr({dimension: list(categories)}))
