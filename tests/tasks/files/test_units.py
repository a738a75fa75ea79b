"""Units are numbered by their names alone, however these are stored."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.tasks.files.source import open_source
from penstock.tasks.files.source_files import SourceUnreadable
from penstock.tasks.files.units import unit_codes, unit_numbers
from tests.support.order import examples

TEXTS = st.text(alphabet="ab#", max_size=3).map(lambda text: text * 25) | st.sampled_from(["a", "", "b" * 64, "b" * 65])


def numbered(names: list[Any]) -> list[int]:
    """By definition: in the order of their first records, and nobody is -1."""
    known: dict[Any, int] = {}
    return [-1 if name is None else known.setdefault(name, len(known)) for name in names]


def read(folder: Path, names: pa.Array, **written: Any) -> list[int]:
    file = folder / "data.parquet"
    pq.write_table(pa.table({"who": names}), file, **written)
    found: list[int] = unit_numbers(
        open_source(str(file), {"who": Column(role="identifier")}, unit="who"), "who"
    ).tolist()
    return found


@pytest.mark.law
@given(names=st.lists(st.none() | TEXTS, max_size=30), group=st.sampled_from([1, 2, 7, 100]), how=st.integers(0, 3))
@settings(max_examples=examples(100))
def test_names_are_numbered_as_by_definition(
    tmp_path_factory: pytest.TempPathFactory, names: list[str | None], group: int, how: int
) -> None:
    kind = (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.string())[how]
    stored = pa.array(names, pa.string()).cast(kind)
    folder = tmp_path_factory.mktemp("units")
    assert read(folder, stored, row_group_size=group, use_dictionary=how != 3) == numbered(names)


def test_more_names_than_records_are_left_out(tmp_path: Path) -> None:
    """A dictionary that is larger than what refers to it, and holds a name twice."""
    names = pa.array([*[f"{place}" * 70 for place in range(50)], "7" * 70])
    stored = pa.DictionaryArray.from_arrays(pa.array([7, None, 50, 3], pa.int32()), names)
    assert read(tmp_path, stored) == [0, -1, 0, 1]


def test_whole_numbers_and_folders_are_numbered_too(tmp_path: Path) -> None:
    assert read(tmp_path, pa.array([5, 3, 5, None])) == [0, 1, 0, -1]
    for name in ("b", "a"):
        (tmp_path / "hive" / f"who={name}").mkdir(parents=True)
        pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "hive" / f"who={name}" / "data.parquet")
    source = open_source(str(tmp_path / "hive"), {"who": Column(role="identifier")}, unit="who")
    assert unit_numbers(source, "who").tolist() == [0, 0, 1, 1]


def test_no_records_have_no_numbers(tmp_path: Path) -> None:
    assert read(tmp_path, pa.array([], pa.string())) == []
    assert unit_codes(pa.chunked_array([], pa.string())).tolist() == []


def test_a_name_that_reads_like_a_digest_is_another_unit(tmp_path: Path) -> None:
    long = "x" * 65
    digest = "#" + hashlib.sha256(long.encode()).hexdigest()
    assert read(tmp_path, pa.array([long, digest, long])) == [0, 1, 0]


def test_a_damaged_file_is_unreadable(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    pq.write_table(pa.table({"who": np.arange(10_000).astype(str)}), file)
    content = bytearray(file.read_bytes())
    content[100:20_000] = bytes(19_900)
    file.write_bytes(content)
    with pytest.raises(SourceUnreadable):
        unit_numbers(open_source(str(file), {"who": Column(role="identifier")}, unit="who"), "who")
