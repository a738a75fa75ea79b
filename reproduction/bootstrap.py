"""Bootstrap differential privacy: its tables and figures of rice farms, and what a scale tells. No guarantee."""

from __future__ import annotations

from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.table.cells import Cells, build_cells
from penstock.mechanisms.table.sensitivity import BootstrapAdjacency, magnitude_table_sensitivity
from penstock.reproduction.beside_print import Row, beside, of_runs, ours, printed_tables, statement
from penstock.reproduction.computed import (
    changes_of_samples,
    printed_scales,
    printed_sensitivities,
    ratios_of_accuracy,
    released_totals,
    shares_of_totals,
)
from penstock.reproduction.entry import DataSet, Figure, Given, Printed, Table
from penstock.reproduction.pictures import Panel, figure_of
from penstock.tasks.files.source import open_source, read_source

__all__ = ["FARMS", "TABLES", "read_farms"]

_Option = Literal["one cell", "i", "ii"]

_RUNS = 1000
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


def one_cell(printed: Printed, given: Given) -> list[Row]:
    """Return what the source says of a thousand releases of each cell's total."""
    farms: Cells = given.data
    bias, spread = _relative_bias(farms), _released(farms, "one cell").std(axis=0)
    ranges = printed_sensitivities(farms, "output")
    order = "the same" if (np.argsort(spread) == np.argsort(ranges)).all() else "another"
    least = "the same cell" if np.abs(bias).mean(axis=0).argmin() == ranges.argmin() else "another cell"
    return [
        statement("order of cells by spread, and by sensitivity", printed["order"], order),
        statement("least relative bias, and least sensitivity", printed["least"], least),
        *(
            of_runs(f"{name}, relative bias, per cent", values, printed["bias"], source_runs=_RUNS)
            for name, values in zip(_cell_names(), bias.T, strict=True)
        ),
    ]


def two_options(printed: Printed, given: Given) -> list[Row]:
    """Return the scales of both options of section 5.3.2, and the cells that lose by option (i)."""
    farms: Cells = given.data
    one = printed_scales(farms, "output", "i", 1.0)
    own = printed_scales(farms, "output", "ii", 1.0)
    worse = [name for name, more in zip(_cell_names(), one > own, strict=True) if more]
    largest = int(farms.measures["output"].largest.max())
    return [
        beside("option (i), scale", int(one[0]), printed["one"]),
        beside("largest output, in place of the sensitivity", largest, printed["global"]),
        statement(
            "cells with more noise by option (i)", printed["worse"], ", ".join(worse), corrected=printed["corrected"]
        ),
        *(
            ours(f"option (ii), {name}", int(scale), right)
            for name, scale, right in zip(_cell_names(), own, printed["own"], strict=True)
        ),
    ]


def what_a_scale_tells(printed: Printed, _: Given) -> list[Row]:
    """Return what is left of an unknown value whose data set's range is known, and counts of odd numbers."""
    known, spread = printed["known"], int(changes_of_samples(printed["values"])[0].max())
    reach = range(-20, 21)
    left = [value for value in reach if max(*known, value) - min(*known, value) == spread]
    both = [pair for pair in combinations_with_replacement(reach, 2) if max(1, *pair) - min(1, *pair) == spread]
    others = [value for pair in both for value in pair]
    return [
        beside("sensitivity of the sum of 1, 2, 3", spread, printed["sensitivity"]),
        statement("1 and 2 are known: the third value", printed["third"], " or ".join(map(str, left))),
        statement("chance of a correct guess", printed["guess"], f"1/{len(left)}"),
        beside("1 is known: the least that another can be", min(others), printed["least"]),
        beside("1 is known: the most that another can be", max(others), printed["most"]),
        *(
            beside(f"number of odd values of {data}", int(changes_of_samples(data)[1].max()), right)
            for data, right in printed["odd"]
        ),
    ]


def totals_of_cells(_: Printed, given: Given) -> list[Figure]:
    """Draw Figures 1 and 2."""
    farms: Cells = given.data
    return [
        _boxes("Figure 1", "net output, kg", "A thousand noisy totals of each cell.", _released(farms, "one cell")),
        _boxes(
            "Figure 2",
            "relative bias, per cent",
            "The relative bias of a thousand noisy totals of each cell.",
            _relative_bias(farms),
        ),
    ]


def totals_of_tables(_: Printed, given: Given) -> list[Figure]:
    """Draw Figure 3."""
    farms: Cells = given.data
    texts: dict[_Option, str] = {
        "i": "A thousand noisy totals of each cell of a whole table: the same noise for every cell.",
        "ii": "A thousand noisy totals of each cell of a whole table, with noise by the range of each cell.",
    }
    return [
        _boxes(f"Figure 3, option ({option})", "net output, kg", text, _released(farms, option))
        for option, text in texts.items()
    ]


def _released(farms: Cells, option: _Option) -> NDArray[np.float64]:
    return released_totals(farms, "output", option, 1.0, _RUNS, seed=("one cell", "i", "ii").index(option))


def _relative_bias(farms: Cells) -> NDArray[np.float64]:
    totals = farms.measures["output"].sums
    bias: NDArray[np.float64] = 100 * (_released(farms, "one cell") - totals) / totals
    return bias


def _boxes(title: str, y: str, alternative: str, values: NDArray[np.float64]) -> Figure:
    quantiles = np.percentile(values, (2.5, 25, 50, 75, 97.5), axis=0).T.tolist()
    spread = dict(zip(_cell_names(), map(tuple, quantiles), strict=True))
    return figure_of(
        title,
        f"{alternative} Boxes span the middle half, lines the middle 95 %; cells are status / varieties.",
        [Panel(y=y, boxes=spread)],
        columns=("cell", "2.5 %", "25 %", "median", "75 %", "97.5 %"),
        numbers=[(name, *numbers) for name, numbers in spread.items()],
    )


def _cell_names() -> list[str]:
    tables = printed_tables("bootstrap_tables")
    return [f"{status} / {kind}".lower() for status in tables["rows"] for kind in tables["columns_in_print"]]


def _by_cell(figures: NDArray[Any], printed: Any, corrected: Any = None, statistic: str = "") -> list[Row]:
    """Return one row for each cell of three by three."""
    before, after = ([str(cell) for row in table for cell in row] for table in (printed, corrected or printed))
    return [
        beside(f"{name}, {statistic}".strip(", "), value, old, corrected=new if new != old else None)
        for name, value, old, new in zip(_cell_names(), figures.tolist(), before, after, strict=True)
    ]


FARMS = DataSet(("ricefarms.parquet",), lambda folder: read_farms(folder / "ricefarms.parquet"))
_FILE = "bootstrap_tables"
TABLES = (
    Table(name="bootstrap-1", file=_FILE, key="table_1", rows=cells_of_farms, needs=FARMS),
    Table(name="bootstrap-2", file=_FILE, key="table_2", rows=ranges_of_farms, needs=FARMS),
    Table(name="bootstrap-3", file=_FILE, key="table_3", rows=shares_of_farms, needs=FARMS),
    Table(name="bootstrap-4", file=_FILE, key="table_4", rows=accuracies_of_farms, needs=FARMS),
    Table(
        name="bootstrap-cells",
        file=_FILE,
        key="one_cell",
        rows=one_cell,
        needs=FARMS,
        runs=_RUNS,
        criterion="within chance, or with what is said of the figures",
        figures=totals_of_cells,
    ),
    Table(name="bootstrap-options", file=_FILE, key="options", rows=two_options, needs=FARMS, figures=totals_of_tables),
    Table(name="bootstrap-leak", file=_FILE, key="leak", rows=what_a_scale_tells),
    Table(name="bootstrap-scales", file=_FILE, key="whole_table", rows=scales_of_farms, needs=FARMS),
)
