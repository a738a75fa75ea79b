"""How far the published figures of a table are from the true ones.

f_i is the true figure of row i, counted and added up from the records as they are, before anything was clamped or
rounded; f'_i the published one. Counts, sums and means; a mean has no true value in a cell without records, and no
published one where it is left out, and such rows do not count. The value is that of the worst figure.

All three are in units of the mean size of the true figures, so that figures compare; lower is better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.measures.cells.exact import weighted_rows
from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.rules import NO_MISSING
from penstock.measures.cells.totals import Cells, find_cells, folded
from penstock.measures.measurement import Measurement, MeasureUndefined
from penstock.mechanisms.layout import Figure

__all__ = ["cell_error", "largest_cell_error", "margin_error", "true_sums"]

Floats = NDArray[np.float64]


def cell_error(output: TableOutput) -> Measurement:
    """Return the mean error of the cells.

        max over figures of  mean_i |f'_i - f_i| / mean_i |f_i|,   i over the cells

    Source: the average absolute distance per cell of Shlomo & Young 2006, Privacy in Statistical Databases (LNCS 4302),
    over the mean size, so that figures compare. Limits: large cells weigh most, so it says little about small ones.
    """
    cells = slice(0, output.layout.cell_rows)
    return _judged(output, "cell_error", cells, lambda errors: float(errors.mean()))


def largest_cell_error(output: TableOutput) -> Measurement:
    """Return the largest error of a cell.

        max over figures of  max_i |f'_i - f_i| / mean_i |f_i|,   i over the cells

    Source: as cell_error. Limits: a maximum over many cells is large by chance alone.
    """
    cells = slice(0, output.layout.cell_rows)
    return _judged(output, "largest_cell_error", cells, lambda errors: float(errors.max()))


def margin_error(output: TableOutput) -> Measurement:
    """Return the mean error of the margins: totals and sub-totals.

        max over figures of  mean_i |f'_i - f_i| / mean_i |f_i|,   i over the rows of all margins

    Source: as cell_error. Limits: margins that are sums of noisy cells have the noise of all of them.
    """
    margins = slice(output.layout.cell_rows, None)
    if output.layout.cell_rows == output.layout.rows:
        raise MeasureUndefined.at("margin_error", rule="needs a table with margins", remedy="Remove the gate.")
    return _judged(output, "margin_error", margins, lambda errors: float(errors.mean()))


def _judged(output: TableOutput, name: str, rows: slice, size: Callable[[Floats], float]) -> Measurement:
    cells = find_cells(output)
    parts = {}
    for figure, true in _true_figures(output, cells):
        published = output.released[figure.name].astype(np.float64)[rows]
        known = ~np.isnan(true[rows]) & ~np.isnan(published)
        scale = np.abs(true[rows][known]).mean() if known.any() else 0.0
        if scale == 0:
            raise MeasureUndefined.at(
                name,
                rule=f"needs a true {figure.name} other than 0: an error has no scale without one",
                remedy="Remove the gate.",
            )
        parts[figure.name] = size(np.abs(published - true[rows])[known]) / float(scale)
    if not parts:
        raise MeasureUndefined.at(name, rule="needs a count, a sum or a mean", remedy="Remove the gate.")
    return Measurement(
        name=name,
        value=max(parts.values()),
        direction="lower_is_better",
        n=cells.records,
        columns=tuple(parts),
        by_column=parts,
        weights=f"{output.layout.weights[0]}, in the figures" if output.layout.weights else "not used",
        missing=NO_MISSING,
    )


def _true_figures(output: TableOutput, cells: Cells) -> Iterator[tuple[Figure, Floats]]:
    """Yield every figure whose true value is known here, in all rows; NaN where there is none."""
    counts = _in_all_rows(cells, cells.counts)
    exact = weighted_rows(output, cells)
    for figure in output.layout.figures:
        if figure.name in exact:
            yield figure, exact[figure.name].values
        elif figure.statistic == "count":
            yield figure, counts
        elif figure.statistic in ("sum", "mean") and figure.column is not None:
            sums = _in_all_rows(cells, true_sums(output, cells, figure.column))
            yield (
                figure,
                sums if figure.statistic == "sum" else np.where(counts > 0, sums / np.maximum(counts, 1), np.nan),
            )


def true_sums(output: TableOutput, cells: Cells, column: str) -> Floats:
    """Return the sum of each cell's values as they were stored."""
    if output.counted is not None:
        return output.counted.measures[column].true
    values = output.original[column].astype(np.float64)
    return np.bincount(cells.places, values, len(cells.counts)).astype(np.float64, copy=False)


def _in_all_rows(cells: Cells, by_cell: NDArray[Any]) -> Floats:
    layout = cells.layout
    return np.concatenate([folded(layout, level, by_cell.astype(np.float64)) for level in layout.levels])
