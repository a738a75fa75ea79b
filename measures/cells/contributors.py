"""Who stands behind a cell: its records, or where units are counted its different units.

    different_i = number of different u with a record in cell i                                                   (1)
    v(u, i)     = sum of v over the records of u in cell i                                                        (2)

Every pair (u, i) that has a record is found by sorting the records by unit and cell.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.totals import Cells

__all__ = ["different", "different_in_rows", "rows_of_records", "together"]

Integers = NDArray[np.int64]


def different(output: TableOutput, cells: Cells) -> Integers:
    """(1); the number of records where each is its own contributor."""
    if output.units is None:
        return cells.counts
    places, _ = _pairs(cells.places, output.units)
    found = np.zeros_like(cells.counts)
    np.add.at(found, places, 1)
    return found


def different_in_rows(output: TableOutput, cells: Cells, units: Integers) -> Integers:
    """(1) of every row of the table, where a unit with records in several cells of a margin or group counts once."""
    rows = []
    for places, number in rows_of_records(output, cells):
        found = np.zeros(number, np.int64)
        np.add.at(found, _pairs(places, units)[0], 1)
        rows.append(found)
    return np.concatenate(rows)


def rows_of_records(output: TableOutput, cells: Cells) -> Iterator[tuple[Integers, int]]:
    """Yield for each level of the table the row of every record, counted from its first, and how many rows it has."""
    layout = output.layout
    dimensions = layout.levels[0]
    by_dimension = np.unravel_index(cells.places, layout.shape(dimensions)) if dimensions else ()
    digits = dict(zip(dimensions, by_dimension, strict=True))
    for level, start, end in zip(layout.levels, layout.starts, layout.starts[1:], strict=False):
        places = np.zeros_like(cells.places)
        for name in level:
            digit = digits[layout.dimension_of(name)]
            if name in layout.coarser:
                digit = np.array(layout.coarser[name].groups)[digit]
            places = places * len(layout.categories(name)) + digit
        yield places, end - start


def together(places: Integers, units: Integers, values: Integers) -> tuple[Integers, Integers]:
    """(2) of every pair, and the row of each; places: the row of every record."""
    found, starts = _pairs(places, units)
    order = np.lexsort((units, places))
    return found, np.add.reduceat(values[order], starts) if len(values) else values


def _pairs(places: Integers, units: Integers) -> tuple[Integers, Integers]:
    """Return the place of each different pair, and where its records begin once sorted by place and unit."""
    order = np.lexsort((units, places))
    p, u = places[order], units[order]
    begins = np.ones(len(p), np.bool_)
    begins[1:] = (p[1:] != p[:-1]) | (u[1:] != u[:-1])
    return p[begins], np.flatnonzero(begins)
