"""Why DuckDB does not read for questions, as long as it is so; ours reads the same files."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.questions import Query, Terms, methods
from penstock.mechanisms.randomness import seeded
from penstock.tasks.files.source import open_source
from penstock.tasks.questions.reading import evaluate

DECLARED = {
    "x": Column(role="quasi_identifier", type="integer", domain=(0, 2**40)),
    "s": Column(role="quasi_identifier", type="nominal", categories=("a", "b")),
}
LARGE = 0x1122334455


def counted(file: Path, **condition: object) -> list[int]:
    (column,) = {"x", "s"} & {str(condition["column"])}
    declared = {column: DECLARED[column]}
    method = methods(Query.model_validate({"statistic": "count", "where": [condition]}), declared, Terms("add_remove"))
    source = open_source(str(file), declared)
    return evaluate(source, method["laplace"], declared, Terms("add_remove"), seeded(1)).counts.tolist()


def test_it_believes_a_footer_that_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    pq.write_table(pa.table({"x": [1, 2, 3, LARGE]}), file, use_dictionary=False, compression="none")
    content = file.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    largest = LARGE.to_bytes(8, "little")
    file.write_bytes(content[:footer] + content[footer:].replace(largest, (3).to_bytes(8, "little")))
    assert duckdb.execute("select count(*) from read_parquet(?) where x >= 100", [str(file)]).fetchall() == [(0,)]
    assert counted(file, column="x", at_least=100) == [1]


def test_a_text_that_is_not_utf8_stops_it(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    places = pa.array([0, 1, 3], pa.int32()).buffers()[1]
    texts = pa.Array.from_buffers(pa.string(), 2, [None, places, pa.py_buffer(b"a\xff\xfe")])
    pq.write_table(pa.table({"s": texts}), file)
    with pytest.raises(duckdb.Error, match="xFF"):
        duckdb.execute("select count(*) from read_parquet(?) where s = 'a'", [str(file)]).fetchall()
    assert counted(file, column="s", is_in=("a",)) == [1]


def test_it_checks_no_checksum_of_a_page(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    numbers = pa.table({"x": list(range(1000))})
    pq.write_table(numbers, file, write_page_checksum=True, use_dictionary=False, compression="none")
    content = bytearray(file.read_bytes())
    content[content.index((500).to_bytes(8, "little"))] ^= 1
    file.write_bytes(content)
    assert duckdb.execute("select sum(x) from read_parquet(?)", [str(file)]).fetchall() == [(sum(range(1000)) + 1,)]
