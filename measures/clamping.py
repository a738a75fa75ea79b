"""What clamping took away: how many values lay beyond their bounds, and by how much each total is off because of it.

    clamped = number of values x with x < low or x > high                                                         (1)
    bias_i  = sum over the records of cell i of (x moved to the nearest bound) - x                                 (2)

Bounds are those of the declared domain, and in a table also those of the cell. (2) is the total that counts less the
total that was read; noise comes on top of it, and no standard error covers it. Both reveal confidential data
and never leave the confidential side: readers learn that values may have been clamped, not whether or how far.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.measures.cells.errors import true_sums
from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.totals import Cells, cell_limits, find_cells
from penstock.mechanisms.columns import Column, Columns, Declared

__all__ = ["CellBias", "Clamped", "clamped_by_cell", "clamped_columns", "clamped_totals"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Nobody reads a longer list; the largest come first.
_MOST_CELLS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CellBias:
    """One cell, by the category of each dimension: its total as it was read, and (2); None where it is not finite."""

    cell: Mapping[str, str]
    true: float | None
    bias: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clamped:
    """A column that may be clamped: (1) and the number of values, and where it is added up (2), in all and by cell.

    biased: how many cells have a bias; cells: those with the largest.
    """

    column: str
    values: int
    clamped: int
    true: float | None = None
    bias: float | None = None
    biased: int = 0
    cells: tuple[CellBias, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; confidential."""
        return asdict(self)


def clamped_columns(original: Columns, declared: Declared, names: Sequence[str]) -> list[Clamped]:
    """(1) of the columns of records that may be clamped."""
    return [
        Clamped(column=name, values=len(original[name]), clamped=_beyond(original[name], *declared[name].bounds))
        for name in names
        if declared[name].outside == "clamp"
    ]


def clamped_totals(output: TableOutput) -> list[Clamped]:
    """(1) and (2) of the columns of a table that may be clamped."""
    cells = find_cells(output)
    figures = [figure for figure in output.layout.figures if figure.column is not None]
    added = {figure.column for figure in figures if figure.statistic in ("sum", "mean")}
    found = []
    for name in dict.fromkeys([*(str(figure.column) for figure in figures), *output.layout.weights]):
        if not _may_be_clamped(output, name):
            continue
        number, bias = clamped_by_cell(output, cells, name)
        counted = Clamped(column=name, values=cells.records, clamped=int(number.sum()))
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is left out
            true = true_sums(output, cells, name)
            found.append(_with_totals(counted, output, true, bias) if name in added else counted)
    return found


def clamped_by_cell(output: TableOutput, cells: Cells, column: str) -> tuple[Integers, Floats]:
    """(1) and (2) of every cell."""
    if output.counted is not None:
        counted = output.counted.measures[column]
        return counted.clamped, counted.bias
    values = output.original[column].astype(np.float64)
    low, high = _limits(output, output.declared[column], column)
    change = np.clip(values, low[cells.places], high[cells.places]) - values
    number = np.bincount(cells.places[change != 0], minlength=len(cells.counts)).astype(np.int64, copy=False)
    return number, np.bincount(cells.places, change, len(cells.counts)).astype(np.float64, copy=False)


def _limits(output: TableOutput, column: Column, name: str) -> tuple[Floats, Floats]:
    """Return the bounds of every cell, in the unit of the column."""
    low, high = column.bounds
    lows, highs = np.full(output.layout.cells, low), np.full(output.layout.cells, high)
    if name in output.guarantee.parameters.get("bounds", {}):
        tighter = cell_limits(output, name)
        lows, highs = np.maximum(lows, tighter[0]), np.minimum(highs, tighter[1])
    return lows, highs


def _may_be_clamped(output: TableOutput, name: str) -> bool:
    return output.declared[name].outside == "clamp" or name in output.guarantee.parameters.get("bounds", {})


def _with_totals(counted: Clamped, output: TableOutput, true: Floats, bias: Floats) -> Clamped:
    layout = output.layout
    dimensions = layout.cube
    worst = np.argsort(-np.abs(bias), kind="stable")[:_MOST_CELLS]
    places = zip(*np.unravel_index(worst, layout.shape(dimensions)), strict=True) if dimensions else [()]
    named = [dict(zip(dimensions, digits, strict=True)) for digits in places]
    return Clamped(
        column=counted.column,
        values=counted.values,
        clamped=counted.clamped,
        true=_finite(true.sum()),
        bias=_finite(bias.sum()),
        biased=int(np.count_nonzero(bias)),
        cells=tuple(
            CellBias(
                cell={name: layout.dimensions[name][int(digit)] for name, digit in digits.items()},
                true=_finite(true[row]),
                bias=_finite(bias[row]),
            )
            for row, digits in zip(worst.tolist(), named, strict=True)
            if bias[row] != 0
        ),
    )


def _beyond(values: NDArray[Any], low: float, high: float) -> int:
    return int(np.count_nonzero((values < low) | (values > high)))


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
