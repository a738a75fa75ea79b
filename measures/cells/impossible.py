"""The check of cells that a table declares impossible, found here once more from its promise and layout.

    impossible cell      has, in every dimension that one combination names, one of the categories named there   (1)
    impossible row       of a level: all cells that it adds up are impossible                                    (2)
    impossible_cells_are_zero    no record is in (1), nothing was drawn for (2), its figures are 0, with standard
                         error 0, and a mean has no value there; everywhere else something was drawn

The last is in scales_suffice (_noise.py): a row that is not (2) needs steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.totals import Recounted, folded
from penstock.measures.checks import Check, verdict
from penstock.mechanisms.columns import Columns
from penstock.mechanisms.layout import Layout, error_of

__all__ = ["IMPOSSIBLE", "figures_in_rows", "impossible_cells", "impossible_cells_are_zero", "impossible_rows"]

Places = NDArray[np.bool_]

IMPOSSIBLE = "impossible"
_UNDEFINED = ("mean", "mean_sampling_error")


def impossible_cells(layout: Layout, combinations: Sequence[Mapping[str, Sequence[object]]]) -> Places:
    """(1), by cell. Raise ValueError where a combination does not fit the layout."""
    shape = layout.shape(layout.cube)
    found = np.zeros(shape, np.bool_)
    for combination in combinations:
        if len(combination) < 2:
            raise ValueError("a combination is of two categories at least")
        inside = np.ones((1,) * len(shape), np.bool_)
        for name, named in combination.items():
            axis = layout.cube.index(name)
            chosen = np.zeros(shape[axis], np.bool_)
            chosen[[layout.dimensions[name].index(str(category)) for category in named]] = True
            inside = inside & chosen.reshape([size if axis == place else 1 for place, size in enumerate(shape)])
        found |= inside
    return found.ravel()


def impossible_rows(layout: Layout, combinations: Sequence[Mapping[str, Sequence[object]]]) -> Places:
    """(2), by row of the table."""
    cells = impossible_cells(layout, combinations)
    return np.concatenate([folded(layout, level, cells, np.logical_and) for level in layout.levels])


def figures_in_rows(layout: Layout, columns: Columns, rows: Places) -> Iterator[str]:
    """Yield the columns of figures and standard errors that are not 0 in these rows; where a mean is, it has none."""
    for figure in layout.figures:
        for name in (figure.name, *((error_of(figure.name),) if layout.has_error(figure) else ())):
            values = columns[name][rows]
            right = np.isnan(values) if figure.kind in _UNDEFINED else values == 0
            if not bool(right.all()):
                yield name


def impossible_cells_are_zero(table: Recounted) -> Check:
    output = table.output
    combinations = output.guarantee.parameters[IMPOSSIBLE]
    cells, rows = (find(output.layout, combinations) for find in (impossible_cells, impossible_rows))
    broken = [*figures_in_rows(output.layout, output.released, rows), *_drawn(output, rows)]
    if bool(table.cells.counts[cells].any()):
        broken.append("records")
    return verdict(
        "impossible_cells_are_zero",
        "every figure of a combination that is declared impossible is exactly 0, with nothing drawn for it, and no "
        "record has one",
        "every one is",
        "a figure is not 0, noise was drawn for one, or a record has such a combination",
        dict.fromkeys(broken),
    )


def _drawn(output: TableOutput, rows: Places) -> Iterator[str]:
    """Yield the measures for which noise was drawn in these rows."""
    starts = output.layout.starts
    for entry in output.chosen["measured"]:
        level = output.layout.levels.index(tuple(entry["level"]))
        here = rows[starts[level] : starts[level + 1]]
        for measure in entry["measures"]:
            stored: list[NDArray[Any]] = [output.hidden[f"{part} {level} {measure}"] for part in ("noised", "steps")]
            if any(bool(each[here].any()) for each in stored):
                yield measure
