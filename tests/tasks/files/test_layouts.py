"""Released tables as files: what is written is read again, and what a manifest claims is looked for in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.layout import TOTAL, Figure, Layout
from penstock.mechanisms.table import Params, layout, promise
from penstock.tasks.files.tables import read_table, write_table
from penstock.tasks.outputs._cell_claims import LayoutClaim, table_faults

DECLARED = {
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S")),
    "size": Column(role="quasi_identifier", type="ordinal", categories=(1, 2, 3)),
    "loss": Column(role="confidential", type="continuous", domain=(0, 10)),
}
PARAMS = Params(dimensions=("region", "size"), sums=("loss",), means=("loss",), model="k_anon", k=2)
DRAWN = layout(PARAMS, DECLARED)


def good_columns() -> dict[str, np.ndarray]:
    counts, sums = np.array([[2, 3, 0], [4, 2, 5]]), np.array([[1.5, 2.25, 0.0], [8.5, 0.125, 3.0]])

    def all_levels(cells):
        return np.concatenate([cells.ravel(), cells.sum(1), cells.sum(0), [cells.sum()]])

    columns = {"count": all_levels(counts), "loss_sum": all_levels(sums)}
    with np.errstate(invalid="ignore"):
        columns["loss_mean"] = columns["loss_sum"] / columns["count"]
    return {**DRAWN.codes(), **columns}


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    columns = good_columns()
    write_table(tmp_path / "t.parquet", columns, DRAWN, promise(PARAMS, DECLARED))
    read = read_table(tmp_path / "t.parquet", DRAWN)
    assert list(read) == list(DRAWN.columns)
    for name in DRAWN.columns:
        np.testing.assert_array_equal(read[name], columns[name])
    stored = pq.read_table(tmp_path / "t.parquet")
    assert stored["size"].to_pylist()[-1] == TOTAL
    assert stored["loss_mean"].null_count == 1  # of the empty cell


@given(st.data())
def test_every_layout_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, data) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), max_size=3))
    dimensions = {f"d{place}": tuple(f"c{code}" for code in range(size)) for place, size in enumerate(sizes)}
    levels = (tuple(dimensions), *(((),) if sizes else ()))
    drawn = Layout("t", dimensions, levels, (Figure("count", "count", None, True),), False)
    values = data.draw(st.lists(st.integers(-(2**62), 2**62), min_size=drawn.rows, max_size=drawn.rows))
    columns = {**drawn.codes(), "count": np.array(values, np.int64)}
    path = tmp_path_factory.mktemp("t") / "t.parquet"
    write_table(path, columns, drawn, promise(PARAMS, DECLARED))
    read = read_table(path, drawn)
    assert all((read[name] == columns[name]).all() for name in drawn.columns)


def as_text(columns: dict[str, np.ndarray]) -> pa.Table:
    """As it would be read from CSV."""
    labelled = {name: np.array(DRAWN.labels(name), object)[columns[name]].tolist() for name in DRAWN.dimensions}
    figures = {
        name: [None if np.isnan(value) else str(value) for value in columns[name].tolist()]
        for name in DRAWN.columns
        if name not in labelled
    }
    return pa.table({**labelled, **figures}, schema=pa.schema([(name, pa.string()) for name in DRAWN.columns]))


def changed(name: str, row: int, value: object) -> pa.Table:
    table = as_text(good_columns())
    column = table[name].to_pylist()
    column[row] = value
    return table.set_column(table.column_names.index(name), name, pa.array(column, pa.string()))


def test_a_sound_table_has_no_fault() -> None:
    assert list(table_faults(as_text(good_columns()), DRAWN, 2)) == []


@pytest.mark.parametrize(
    ("name", "row", "value", "k", "rule"),
    [
        ("region", 0, "S", 2, "in its order of region"),
        ("size", 3, "9", 2, "in its order of size"),
        ("count", -1, "17", 2, "totals of count that are the sums"),
        ("loss_sum", 6, "3.76", 2, "totals of loss_sum that are the sums"),
        ("count", 0, "2", 3, "a cell of fewer than 3 records"),
    ],
)
def test_what_contradicts_the_layout_is_a_fault(name: str, row: int, value: str, k: int, rule: str) -> None:
    assert any(rule in fault for fault in table_faults(changed(name, row, value), DRAWN, k))


@pytest.mark.parametrize(
    ("levels", "sound"),
    [([["region"], []], True), ([[], ["region"]], False), ([["region"], ["nowhere"]], False)],
)
def test_a_layout_has_its_cells_first_and_margins_of_its_dimensions(levels: list[list[str]], sound: bool) -> None:
    claim = LayoutClaim.model_validate(
        {
            "table": "t",
            "dimensions": [{"name": "region", "categories": ["N", "S"]}],
            "levels": levels,
            "figures": [{"name": "count", "statistic": "count", "column": None, "whole": True}],
            "errors": False,
        }
    )
    assert claim.is_sound is sound
