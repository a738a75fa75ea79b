"""One part of the records of a table, counted again for all checks and measures at once."""

from __future__ import annotations

from penstock.measures.cells.counted import Counted, CountedMeasure
from penstock.measures.cells.errors import true_sums
from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.rules import contributions
from penstock.measures.cells.totals import COUNT, add_up, find_cells
from penstock.measures.clamping import clamped_by_cell

__all__ = ["count_part", "summed_columns"]


def summed_columns(output: TableOutput) -> tuple[str, ...]:
    """Return the columns whose values are added up."""
    return tuple(name for name in output.guarantee.parameters["measures"] if name != COUNT)


def count_part(output: TableOutput) -> Counted:
    """Count and measure the records of `output.original`, which are a part of those of the table."""
    cells = find_cells(output)
    measures = {}
    for name in summed_columns(output):
        found = add_up(output, cells, name)
        sizes, first, second = contributions(output, cells, name)
        true, (clamped, bias) = true_sums(output, cells, name), clamped_by_cell(output, cells, name)
        measures[name] = CountedMeasure(
            found.sums, found.smallest, found.largest, sizes, first, second, true, clamped, bias
        )
    return Counted(cells.records, cells.counts, measures)
