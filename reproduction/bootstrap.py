"""Bootstrap differential privacy: its tables of rice farms. Reproduction, no guarantee."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.table.cells import Cells, build_cells
from penstock.mechanisms.table.sensitivity import BootstrapAdjacency, magnitude_table_sensitivity
from penstock.reproduction.beside_print import Row, beside, ours, printed_tables
from penstock.reproduction.computed import printed_scales, printed_sensitivities, ratios_of_accuracy, shares_of_totals
from penstock.reproduction.entry import DataSet, Given, Printed, Table
from penstock.tasks.files.source import open_source, read_source

__all__ = ["FARMS", "TABLES", "read_farms"]

# Above every value in the file; it is read and not protected.
_LARGEST = 10**9


def read_farms(path: Path) -> Cells:
    """Read the net output of rice farms by status and varieties, the cells in the order of print."""
    tables = printed_tables("bootstrap_tables")
    dimensions = {
        name: Column(role="quasi_identifier", type="nominal", categories=tuple(tables[order]))
        for name, order in (("status", "rows"), ("varieties", "columns"))
    }
    declared = dimensions | {"noutput": Column(role="confidential", type="integer", domain=(0, _LARGEST))}
    columns = read_source(open_source(str(path), declared), declared)
    return build_cells({name: columns[name] for name in dimensions}, (3, 3), {"output": columns["noutput"]})


def cells_of_farms(printed: Printed, given: Given) -> list[Row]:
    """Return the rows of bootstrap differential privacy, Table 1."""
    farms: Cells = given.data
    output = farms.measures["output"]
    figures = {"n": farms.counts, "total": output.sums, "max": output.largest, "min": output.smallest}
    return [
        row
        for name, values in figures.items()
        for row in _by_cell(values, printed["printed"][name], printed["corrected"].get(name), name)
    ]


def ranges_of_farms(printed: Printed, given: Given) -> list[Row]:
    """Return the rows of bootstrap differential privacy, Table 2."""
    farms: Cells = given.data
    return _by_cell(printed_sensitivities(farms, "output"), printed["printed"])


def shares_of_farms(printed: Printed, given: Given) -> list[Row]:
    """Return the rows of bootstrap differential privacy, Table 3."""
    farms: Cells = given.data
    return _by_cell(shares_of_totals(farms, "output"), printed["printed"])


def accuracies_of_farms(printed: Printed, given: Given) -> list[Row]:
    """Return the rows of bootstrap differential privacy, Table 4."""
    farms: Cells = given.data
    return _by_cell(ratios_of_accuracy(farms, "output"), printed["printed"])


def scales_of_farms(printed: Printed, given: Given) -> list[Row]:
    """Return the steps that a whole table of rice farms needs, and the epsilon that the printed scale loses instead."""
    farms: Cells = given.data
    steps = {
        adjacency: magnitude_table_sensitivity(farms, "output", adjacency) for adjacency in get_args(BootstrapAdjacency)
    }
    loss = steps["bootstrap_replace"] / float(printed_scales(farms, "output", "i", 1.0)[0])
    return [
        *(ours(name, steps[name], str(right)) for name, right in printed["steps"].items()),
        ours("times epsilon lost by the printed scale", loss, printed["loss_of_the_printed_scale"]),
    ]


def _by_cell(figures: NDArray[Any], printed: Any, corrected: Any = None, statistic: str = "") -> list[Row]:
    """Return one row for each cell of three by three."""
    tables = printed_tables("bootstrap_tables")
    names = [f"{status} / {kind}".lower() for status in tables["rows"] for kind in tables["columns_in_print"]]
    before, after = ([str(cell) for row in table for cell in row] for table in (printed, corrected or printed))
    return [
        beside(f"{name}, {statistic}".strip(", "), value, old, corrected=new if new != old else None)
        for name, value, old, new in zip(names, figures.tolist(), before, after, strict=True)
    ]


FARMS = DataSet(("ricefarms.parquet",), lambda folder: read_farms(folder / "ricefarms.parquet"))
_FILE = "bootstrap_tables"
TABLES = (
    Table(name="bootstrap-1", file=_FILE, key="table_1", rows=cells_of_farms, needs=FARMS),
    Table(name="bootstrap-2", file=_FILE, key="table_2", rows=ranges_of_farms, needs=FARMS),
    Table(name="bootstrap-3", file=_FILE, key="table_3", rows=shares_of_farms, needs=FARMS),
    Table(name="bootstrap-4", file=_FILE, key="table_4", rows=accuracies_of_farms, needs=FARMS),
    Table(name="bootstrap-scales", file=_FILE, key="whole_table", rows=scales_of_farms, needs=FARMS),
)
