"""Working tables in parts, draws that are made once, and columns that are swapped one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms import probabilistic_k_anonymity as pka
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded, system
from penstock.mechanisms.refusal import TooFewRecords
from penstock.tasks.files.columns import load_columns
from penstock.tasks.parts._drawn_once import DrawnBefore, draw_once
from penstock.tasks.parts.ingest import ReadOrder, read_part
from penstock.tasks.parts.swap import Columns, DrawDamaged, SwapOrder, swap_columns, swap_one
from penstock.tasks.parts.working_copy import (
    Part,
    SourceTooLarge,
    StoredColumn,
    cut,
    left_for_data,
    rows_at_once,
    save_whole,
    slices,
    text_bytes,
)

INCOME = Column(role="confidential", type="continuous", domain=(0, 1000))
AGE = Column(role="quasi_identifier", type="integer", domain=(0, 120))
DECLARED = {"age": AGE, "income": INCOME}


def parts_of(folder: Path, lengths: list[int], **columns: np.ndarray) -> list[Part]:
    parts, start = [], 0
    for place, rows in enumerate(lengths):
        part = Part("nowhere", (0,), rows, folder / str(place))
        save_whole(part.folder, {name: values[start : start + rows] for name, values in columns.items()})
        parts.append(part)
        start += rows
    return parts


def people(rows: int) -> dict[str, np.ndarray]:
    return {"age": np.arange(rows) % 90, "income": np.round(np.linspace(0, 999, rows)[::-1], 1)}


@given(st.lists(st.integers(1, 7), min_size=1, max_size=5), st.integers(0, 40), st.integers(0, 40))
def test_any_rows_of_a_column_in_parts_are_those_of_the_whole(tmp_path_factory, lengths, start, stop):
    values = np.arange(sum(lengths)) * 3
    parts = parts_of(tmp_path_factory.mktemp("parts"), lengths, v=values)
    column = StoredColumn([part.folder for part in parts], "v")
    assert len(column) == len(values)
    assert column[start:stop].tolist() == values[start:stop].tolist()
    assert column[:].dtype == values.dtype


def test_a_missing_whole_number_in_one_part_makes_the_column_floating_point(tmp_path):
    save_whole(tmp_path / "0", {"v": np.array([1, 2])})
    save_whole(tmp_path / "1", {"v": np.array([np.nan, 4.0])})
    column = StoredColumn([tmp_path / "0", tmp_path / "1"], "v")
    np.testing.assert_array_equal(column[:], [1.0, 2.0, np.nan, 4.0])


def test_a_column_that_is_too_short_or_not_there_is_refused(tmp_path):
    save_whole(tmp_path / "0", {"v": np.arange(5)})
    (tmp_path / "0" / "0.column").write_bytes(b"\0" * 8)
    with pytest.raises(ValueError, match="is not as it was written"):
        StoredColumn([tmp_path / "0"], "v")[:]
    with pytest.raises(ValueError, match="every column"):
        StoredColumn([tmp_path / "0"], "w")


def test_a_working_table_that_is_there_already_stays(tmp_path):
    save_whole(tmp_path / "0", {"v": np.arange(5)})
    save_whole(tmp_path / "0", {"v": np.arange(5)})
    assert [path.name for path in tmp_path.iterdir()] == ["0"]
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Not a directory"):
        save_whole(tmp_path / "file", {"v": np.arange(5)})


def test_parts_are_whole_row_groups_of_one_file_and_hold_every_row_once(tmp_path):
    (tmp_path / "source").mkdir()
    for place, rows in enumerate((70, 0, 130)):
        table = pa.table({"income": np.arange(rows) * 1.0, "age": np.arange(rows) % 90})
        pq.write_table(table, tmp_path / "source" / f"{place}.parquet", row_group_size=50)
    dataset = ds.dataset(tmp_path / "source")
    per_row = left_for_data(10**8) // rows_at_once(10**8, DECLARED)
    kept = 10**8 - left_for_data(10**8)
    parts = cut(dataset, DECLARED, tmp_path, kept + 100 * (per_row + 1))
    assert [(Path(part.file).name, part.row_groups, part.rows) for part in parts] == [
        ("0.parquet", (0, 1), 70),
        ("2.parquet", (0, 1), 100),
        ("2.parquet", (2,), 30),
    ]
    with pytest.raises(SourceTooLarge, match="row group"):
        cut(dataset, DECLARED, tmp_path, kept + 49 * per_row)
    part = parts[2]
    order = ReadOrder(str(tmp_path / "source"), DECLARED, ("income",), part, b"key")
    assert read_part(order).sums.records == 30
    assert list(load_columns(part.folder)) == ["income"]
    assert load_columns(part.folder)["income"].tolist() == list(range(100, 130))
    assert "key" not in repr(order)


def test_long_names_of_categories_leave_room_for_fewer_rows():
    short, long = (Column(role="quasi_identifier", type="nominal", categories=(name, "x")) for name in ("N", "ä" * 500))
    assert text_bytes({"region": short, "age": AGE}) == 1
    assert text_bytes({"region": long, "age": AGE}) == 1000
    assert rows_at_once(10**9, {"region": short}) > 4 * rows_at_once(10**9, {"region": long})
    assert rows_at_once(None, {"region": short}) == rows_at_once(None, {"region": long})


def test_rows_are_cut_into_slices():
    assert slices(7, 3) == [slice(0, 3), slice(3, 6), slice(6, 7)]
    assert slices(0, 3) == []


def test_a_draw_is_made_once_and_found_again(tmp_path):
    made = []

    def draw():
        made.append(1)
        return {"place": len(made)}

    assert draw_once(tmp_path, "a", draw) == draw_once(tmp_path, "a", draw) == {"place": 1}
    assert len(made) == 1


def test_a_draw_that_was_begun_and_not_finished_is_refused(tmp_path):
    def dies():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        draw_once(tmp_path, "a", dies)
    with pytest.raises(DrawnBefore, match="must not draw twice, and a worker was lost while it drew"):
        draw_once(tmp_path, "a", dict)


def test_one_column_by_itself_is_drawn_as_among_the_others():
    columns, params = people(60), pka.Params(method="ir_swap", k=7)
    together = pka.protect(columns, DECLARED, params, seeded(3))
    (own,) = seeded(3).streams(1)
    values, labels = pka.swap_column(columns["income"], INCOME, "income", 7, own)
    assert values.tolist() == together.columns["income"].tolist()
    assert labels.tolist() == together.groups["income"].tolist()


def swapped(folder: Path, rows: int = 60, k: int = 7):
    parts = parts_of(folder, [rows // 3, rows - rows // 3], **people(rows))
    params = pka.Params(method="ir_swap", k=k)
    columns = Columns(parts, pka.released_columns(params, DECLARED), pka.group_sizes(params, DECLARED), pka.swap_column)
    return swap_columns(columns, folder / "attempt", folder / "secrets", address=None, randomness=system())


def test_columns_swapped_one_by_one_hold_the_values_of_their_groups(tmp_path):
    found, before = swapped(tmp_path), people(60)
    hidden = load_columns(tmp_path / "secrets")
    origin, labels = hidden["origin"], hidden["group income"]
    assert sorted(origin) == list(range(60))
    assert found.masked == ("income",)
    assert found.columns["age"][:].tolist() == before["age"][origin].tolist()
    after = np.empty(60)
    after[origin] = found.columns["income"][:]
    assert np.bincount(labels).min() >= 7
    for group in np.unique(labels):
        assert sorted(after[labels == group]) == sorted(before["income"][labels == group])


def test_too_few_records_for_a_group_are_refused(tmp_path):
    with pytest.raises(TooFewRecords):
        swapped(tmp_path, rows=6)


@pytest.mark.parametrize("damaged", ["released-1", "groups-1", "released-0"])
def test_a_column_that_is_not_what_its_worker_wrote_is_refused(tmp_path, monkeypatch, damaged):
    def damages(name, work, orders, address):
        for order in orders:
            work(order)
        path = orders[0].attempt / damaged / "0.column"
        path.write_bytes(path.read_bytes()[::-1])

    monkeypatch.setattr("penstock.tasks.parts.swap.spread", damages)
    with pytest.raises(DrawDamaged, match="as its worker wrote it"):
        swapped(tmp_path)


def test_a_column_that_is_released_as_it_is_may_be_written_again(tmp_path):
    swapped(tmp_path)
    folders = (tmp_path / "0", tmp_path / "1")
    swap_one(SwapOrder(folders, "age", AGE, None, 0, tmp_path / "attempt", tmp_path / "secrets", pka.swap_column))
