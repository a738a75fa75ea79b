"""Two readers of one library: which of them reads follows from schema, address and size, and both read the same."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from penstock.mechanisms.columns import Column
from penstock.tasks.files.source import open_source
from penstock.tasks.questions import _batches
from penstock.tasks.questions._batches import batches

NAMES = ("side", "v", "v.x", 'a"b', "nul\0", "größe", "Side")
DECLARED = {
    "side": Column(role="quasi_identifier", type="nominal", categories=("a", "b")),
    **{name: Column(role="confidential", type="integer", domain=(0, 9)) for name in NAMES[1:]},
}
ROWS, TEXT = 50, pa.string()


def table(kind: pa.DataType, text: pa.DataType = TEXT) -> pa.Table:
    texts = pa.array([("a", "b", "c", None)[row % 4] for row in range(ROWS)], text)
    numbers = {
        name: pa.array([None if row == place else row for row in range(ROWS)], kind) for place, name in enumerate(NAMES)
    }
    return pa.table(numbers | {"side": texts})


def both(dataset: ds.Dataset, columns: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[pa.Table, pa.Table, int]:
    """Read with each reader; return both, and how many groups of rows were read at once."""
    parts = [part for fragment in dataset.get_fragments() for part in fragment.split_by_row_group()]
    schema = pa.schema([dataset.schema.field(name) for name in columns])
    taken = sum(_batches._at_once(dataset, part, columns) is not None for part in parts)

    def read() -> pa.Table:
        found = [batch for part in parts for batch in batches(dataset, part, columns, 7)]
        assert max(batch.num_rows for batch in found) <= 7
        return pa.Table.from_batches([batch.select(columns) for batch in found]).cast(schema)

    first = read()
    with monkeypatch.context() as patch:
        patch.setattr(_batches, "_MOST_AT_ONCE", 0)
        second = read()
    return first, second, taken


@pytest.mark.parametrize(
    "text", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
@pytest.mark.parametrize("kind", [pa.int64(), pa.uint8(), pa.float32(), pa.decimal128(20, 2)])
def test_both_readers_read_the_same(
    kind: pa.DataType, text: pa.DataType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("plain.parquet", "*[a]{b}?'\"; --.parquet"):
        pq.write_table(table(kind, text), tmp_path / name, row_group_size=20)
        dataset = open_source(str(tmp_path / name), DECLARED)
        for columns in (["v"], ["side", "v"], ["v.x", "Side", "side"], list(NAMES)):
            first, second, _ = both(dataset, columns, monkeypatch)
            assert first.equals(second)
            assert first.num_rows == ROWS


def test_a_group_of_a_local_file_is_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "data.parquet"
    pq.write_table(table(pa.int64()), file, row_group_size=20)
    dataset = open_source(str(file), DECLARED)
    assert both(dataset, ["side", "v.x"], monkeypatch)[2] == 3
    monkeypatch.setattr(_batches, "_MOST_AT_ONCE", 19)
    assert both(dataset, ["side", "v.x"], monkeypatch)[2] == 1


def test_a_column_inside_another_is_not_taken_for_one_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = pa.array([{"x": -1, "side": "b"}] * ROWS)
    numbers = pa.array(range(ROWS), pa.int64())
    pq.write_table(pa.table({"v": inside, "v.x": numbers, "w": numbers}), tmp_path / "data.parquet")
    dataset = open_source(str(tmp_path / "data.parquet"), {"v.x": DECLARED["v.x"], "w": DECLARED["v"]})
    for columns, at_once in ((["v.x"], 0), (["w", "v.x"], 0), (["w"], 1)):
        first, second, taken = both(dataset, columns, monkeypatch)
        assert first.equals(second)
        assert first.column(0).to_pylist() == list(range(ROWS))
        assert taken == at_once


def test_files_of_several_types_and_folders_are_left_to_the_other_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = {name: DECLARED[name] for name in ("side", "v")}
    for place, text in enumerate((pa.dictionary(pa.int8(), pa.string()), pa.string())):
        pq.write_table(table(pa.int64(), text), tmp_path / f"{place}.parquet")
    first, second, taken = both(open_source(str(tmp_path), declared), ["side", "v"], monkeypatch)
    assert first.equals(second)
    assert taken == 0
    pq.write_to_dataset(table(pa.int64()), tmp_path / "hive", partition_cols=["side"])
    first, second, taken = both(open_source(str(tmp_path / "hive"), declared), ["side", "v"], monkeypatch)
    assert first.equals(second)
    assert taken == 0


def test_a_store_is_left_to_the_other_reader(tmp_path: Path) -> None:
    pq.write_table(table(pa.int64()), tmp_path / "data.parquet")
    elsewhere = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    dataset = ds.dataset("data.parquet", filesystem=elsewhere, format="parquet")
    (part,) = next(iter(dataset.get_fragments())).split_by_row_group()
    assert _batches._at_once(dataset, part, ["side"]) is None


@pytest.mark.parametrize("most", [0, 1 << 21])
def test_both_readers_notice_a_page_that_is_not_as_it_was_written(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_batches, "_MOST_AT_ONCE", most)
    file = tmp_path / "data.parquet"
    flat = pa.table({"w": pa.array(range(1000), pa.int64())})
    pq.write_table(flat, file, write_page_checksum=True, use_dictionary=False, compression="none")
    content = bytearray(file.read_bytes())
    content[content.index((500).to_bytes(8, "little"))] ^= 1
    file.write_bytes(content)
    dataset = open_source(str(file), {"w": DECLARED["v"]})
    (part,) = next(iter(dataset.get_fragments())).split_by_row_group()
    with pytest.raises(OSError, match="CRC checksum"):
        list(batches(dataset, part, ["w"], 100))
