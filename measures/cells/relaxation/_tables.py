"""Counts and totals of tables: what every cell needs under differential privacy, beside the steps that were used.

    replaced         2 B_i, a record leaves one cell and enters another; without dimensions high - low
    added, removed   B_i
    in its cell      high_i - low_i                                                                                 (1)

low_i, high_i the declared bounds of a value in cell i, B_i the larger of both from 0; a count has the bounds 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from penstock.measures.cells._promise import Entry, Promise, read_promise
from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.relaxation._cells import Detail, Numbers, figure_found, named
from penstock.measures.cells.relaxation._outside import alone, outside
from penstock.measures.cells.relaxation.found import FigureFound, Relaxation
from penstock.measures.cells.totals import COUNT, Measured, Recounted, recounted
from penstock.mechanisms.numbers.rounded import figure_text

__all__ = ["needed_in_domain", "tables_found"]

Integers = NDArray[np.int64]
Places = NDArray[np.bool_]

_DIGITS = 9


def tables_found(output: TableOutput) -> Relaxation:
    """Return what is found of every measure of a table that was drawn."""
    promise = read_promise(output)
    table = recounted(output, promise.measures)
    held = output.counted is None and promise.model == "bdp"
    is_outside, figures = np.zeros(len(table.cells.places), np.bool_), []
    for entry in promise.entries:
        for measure in entry.measures:
            own = _outside(promise, table, measure) if held else None
            if own is not None:
                is_outside |= own
            figures.append(_figure(promise, table, entry, measure, own))
    return Relaxation(
        model=promise.model,
        records=table.cells.records,
        outside=int(is_outside.sum()) if held else None,
        figures=tuple(figures),
    )


def needed_in_domain(adjacency: str, low: Integers, high: Integers, *, is_one_row: bool) -> Integers:
    """(1)."""
    size = np.maximum(np.abs(low), np.abs(high))
    if adjacency == "bootstrap_add_remove":
        return size
    if adjacency == "bootstrap_within_cell" or is_one_row:
        found: Integers = high - low
        return found
    return 2 * size


def _outside(promise: Promise, table: Recounted, measure: str) -> Places:
    """Return the records outside; of a count those that are alone, where an empty cell would be printed as 0."""
    places = table.cells.places
    if measure != COUNT:
        return outside(table.measured[measure].values, places)
    if promise.empty_cells == "zero":
        return alone(places, len(table.cells.counts))
    return np.zeros(len(places), np.bool_)


def _figure(promise: Promise, table: Recounted, entry: Entry, measure: str, own: Places | None) -> FigureFound:
    output, counts, found = table.output, table.cells.counts, table.measured[measure]
    cells = len(counts)
    column = output.declared.get(measure)
    is_bounded = measure == COUNT or (column is not None and column.resolution is None)
    needed = needed_in_domain(promise.adjacency, found.low, found.high, is_one_row=promise.is_one_row)
    numbers = Numbers(
        name=measure,
        what="number of records" if measure == COUNT else f"total of {measure}",
        tells=_says(promise, measure),
        epsilon=entry.epsilon,
        counts=counts,
        drawn=np.asarray(output.hidden[f"steps {entry.level} {measure}"]),
        unit=np.full(cells, 2.0**found.exponent),
        declared=needed.astype(np.float64) if is_bounded else None,
        outside=None if own is None else np.bincount(table.cells.places[own], minlength=cells).astype(np.int64),
    )
    return figure_found(numbers, named(output.layout, output.layout.cube), _details(promise, measure, found, numbers))


def _says(promise: Promise, measure: str) -> str:
    zeros = " Cells without records are shown as such." if promise.empty_cells == "zero" else ""
    if measure == COUNT:
        return f"Nothing: it is the same for all data.{zeros}"
    if promise.model == "idp":
        return "It follows from the value farthest from 0 or from a bound, anywhere in the table, and the bounds."
    if promise.scale == "per_cell":
        return f"In every cell it follows from the value that is farthest from 0.{zeros}"
    if promise.scale == "public_membership":
        return f"In every cell it follows from the distance between the smallest and the largest value.{zeros}"
    if promise.adjacency == "bootstrap_add_remove":
        return f"In all cells it follows from the one value that is farthest from 0.{zeros}"
    if promise.adjacency == "bootstrap_within_cell":
        return f"In all cells it follows from the widest range of values in any cell.{zeros}"
    return (
        "In all cells it follows from the sum of the two values farthest from 0 in different cells, or from the widest "
        f"range of any cell.{zeros}"
    )


def _details(promise: Promise, measure: str, found: Measured, numbers: Numbers) -> Callable[[int], Detail]:
    unit, counts = 2.0**found.exponent, numbers.counts
    ranges = found.largest - found.smallest

    def text(steps: int) -> str:
        return figure_text(steps * unit, _DIGITS)

    def of_table() -> str:
        sizes = np.sort(found.sizes[counts > 0])
        if promise.adjacency == "bootstrap_add_remove":
            return f"The value farthest from 0 in the table is {text(int(sizes[-1]))} from it."
        if promise.adjacency == "bootstrap_within_cell" or len(sizes) < 2 or ranges.max() >= sizes[-2:].sum():
            return f"The widest range of values in any cell is {text(int(ranges.max()))}."
        return f"The values farthest from 0 in two cells add up to {text(int(sizes[-2:].sum()))}."

    def of_individuals() -> str:
        filled, used = counts > 0, int(numbers.drawn.max())
        if used <= np.maximum(found.high - found.smallest, found.largest - found.low)[filled].max():
            return f"Some value lies {text(used)} from the opposite bound of its cell."
        return f"A value, taken from 0, and the largest bound of another cell add up to {text(used)}."

    whole = ""
    if measure != COUNT and promise.model == "idp":
        whole = of_individuals()
    elif measure != COUNT and promise.scale == "one":
        whole = of_table()

    def detail(cell: int) -> Detail:
        if measure == COUNT:
            return Detail("Nothing.")
        if whole:
            return Detail(whole)
        if not counts[cell]:
            return Detail("Nothing: it has no records, and noise as the widest of the others.")
        if promise.scale == "per_cell":
            return Detail(f"The value farthest from 0 is {text(int(found.sizes[cell]))} from it.")
        return Detail(f"The smallest and the largest value are {text(int(ranges[cell]))} apart.")

    return detail
