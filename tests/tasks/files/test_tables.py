"""What is staged is what is read again, and what is published: every type, every missing value, every row."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.probabilistic_k_anonymity import Params, promise
from penstock.tasks.files import columns as tables
from penstock.tasks.files.columns import (
    category_codes,
    load_columns,
    read_release,
    save_columns,
    write_csv,
    write_release,
)
from tests.support.order import examples

WHOLE = Column(role="confidential", type="integer", domain=(-(2**53), 2**53), missing="own_group")
NUMBER = Column(role="confidential", type="continuous", domain=(-1e150, 1e150), missing="own_group")
TEXT = Column(role="quasi_identifier", type="nominal", categories=("N", "Süd", "a,b", 'say "E"'), missing="category")
CODE = Column(role="quasi_identifier", type="ordinal", categories=(30, 10, 20))
WEIGHT = Column(role="weight")
DECLARED = {"person": Column(role="identifier"), "n": WHOLE, "x": NUMBER, "t.1 é": TEXT, "c": CODE, "w": WEIGHT}
GUARANTEE = promise(Params(method="ir_swap", k=2), DECLARED)

Table = dict[str, np.ndarray[Any, Any]]


@st.composite
def released(draw: st.DrawFn) -> tuple[Table, np.ndarray[Any, Any], int]:
    """Protected columns, the source row of each released row, and the size of a group of rows."""
    rows = draw(st.integers(1, 24))

    def column(values: st.SearchStrategy[Any], dtype: type) -> np.ndarray[Any, Any]:
        return np.array(draw(st.lists(values, min_size=rows, max_size=rows)), dtype=dtype)

    whole = st.integers(-(2**53), 2**53)
    with_missing = draw(st.booleans())
    columns = {
        "n": column(whole | st.just(math.nan), np.float64) if with_missing else column(whole, np.int64),
        "x": column(st.floats(-1e300, 1e300) | st.just(math.nan), np.float64),
        "t.1 é": column(st.integers(-1, 3), np.int32),
        "c": column(st.integers(0, 2), np.int64),
        "w": column(st.floats(0.001, 1e6), np.float64),
    }
    origin = np.array(draw(st.permutations(range(rows))), dtype=np.int64)
    return columns, origin, draw(st.integers(1, 8))


def write(folder: Path, columns: Table, origin: np.ndarray[Any, Any], row_group: int) -> Path:
    path = folder / "data.parquet"
    with pytest.MonkeyPatch.context() as small:
        small.setattr(tables, "ROW_GROUP", row_group)
        write_release(path, columns, DECLARED, GUARANTEE, origin)
    return path


def shown(columns: Table, row: int) -> dict[str, Any]:
    """One row as a reader of the release sees it."""

    def value(name: str) -> Any:
        found, column = columns[name][row].item(), DECLARED[name]
        if column.categories is not None:
            return None if found < 0 else column.categories[found]
        if math.isnan(found):
            return None
        return int(found) if name == "n" else found

    return {name: value(name) for name in columns}


@given(released())
@settings(max_examples=examples(60), deadline=None)
def test_a_release_is_read_again_as_it_was_written_in_the_order_of_the_source(
    given: tuple[Table, np.ndarray[Any, Any], int],
) -> None:
    columns, origin, row_group = given
    with TemporaryDirectory() as folder:
        again = read_release(write(Path(folder), columns, origin, row_group), DECLARED, origin)
    assert list(again) == list(columns)
    for name, values in columns.items():
        assert np.array_equal(again[name], values, equal_nan=values.dtype.kind == "f"), name


@given(released())
@settings(max_examples=examples(60), deadline=None)
def test_released_row_i_is_source_row_origin_i_in_parquet_and_in_csv(
    given: tuple[Table, np.ndarray[Any, Any], int],
) -> None:
    columns, origin, row_group = given
    expected = [shown(columns, row) for row in origin.tolist()]
    with TemporaryDirectory() as folder:
        release = write(Path(folder), columns, origin, row_group)
        assert pq.read_table(release).to_pylist() == expected
        write_csv(release, Path(folder) / "data.csv")
        with open(Path(folder) / "data.csv", encoding="utf-8", newline="") as file:
            header, *lines = csv.reader(file)
    assert header == list(columns)
    read = {"n": int, "x": float, "t.1 é": str, "c": int, "w": float}
    parsed = [
        {name: read[name](text) if text else None for name, text in zip(header, line, strict=True)} for line in lines
    ]
    assert parsed == expected


def test_an_integer_that_is_missing_in_a_later_group_of_rows_only_becomes_a_float(tmp_path: Path) -> None:
    columns = {"n": np.array([1.0, 2**53, 3.0, math.nan])}
    again = read_release(write(tmp_path, columns, np.arange(4), 2), {"n": WHOLE}, np.arange(4))["n"]
    assert again.dtype == np.float64
    assert np.array_equal(again, columns["n"], equal_nan=True)


def test_an_integer_that_is_missing_in_the_first_group_of_rows_only_stays_a_float(tmp_path: Path) -> None:
    columns = {"n": np.array([math.nan, 2.0, 2**53, 4.0])}
    again = read_release(write(tmp_path, columns, np.arange(4), 2), {"n": WHOLE}, np.arange(4))["n"]
    assert np.array_equal(again, columns["n"], equal_nan=True)


def test_a_file_with_fewer_rows_than_the_source_is_not_read_as_one(tmp_path: Path) -> None:
    path = write(tmp_path, {"n": np.arange(3)}, np.arange(3), 2)
    with pytest.raises(ValueError, match="one row for each source row"):
        read_release(path, {"n": WHOLE}, np.arange(4))


def test_types_on_paper_are_the_declared_ones(tmp_path: Path) -> None:
    columns = {
        "n": np.array([1]),
        "x": np.array([1.0]),
        "t.1 é": np.array([0]),
        "c": np.array([0]),
        "w": np.array([1.5]),
    }
    schema = pq.read_schema(write(tmp_path, columns, np.arange(1), 2))
    assert [str(field.type) for field in schema] == [
        "int64",
        "double",
        "dictionary<values=string, indices=int32, ordered=0>",
        "int64",
        "double",
    ]


def test_whole_numbers_as_categories_are_published_as_numbers_and_not_as_codes(tmp_path: Path) -> None:
    path = write(tmp_path, {"c": np.array([2, 0, 1])}, np.arange(3), 2)
    assert pq.read_table(path)["c"].to_pylist() == [20, 30, 10]


def test_the_file_carries_the_guarantee_in_its_metadata(tmp_path: Path) -> None:
    path = write(tmp_path, {"n": np.array([1])}, np.arange(1), 2)
    assert Guarantee.model_validate_json(pq.read_schema(path).metadata[b"penstock.guarantee"]) == GUARANTEE


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8"), max_size=6),
        st.sampled_from([np.array([1, 2]), np.array([0.5, math.nan]), np.array([], np.int32)]),
        max_size=5,
    )
)
@settings(max_examples=examples(40), deadline=None)
def test_a_working_table_is_loaded_as_it_was_saved_whatever_its_columns_are_called(columns: Table) -> None:
    with TemporaryDirectory() as folder:
        save_columns(Path(folder) / "table", columns)
        again = load_columns(Path(folder) / "table")
        outside = [path for path in Path(folder).iterdir() if path.name != "table"]
    assert list(again) == list(columns)
    assert all(np.array_equal(again[name], values, equal_nan=True) for name, values in columns.items())
    assert all(again[name].dtype == values.dtype for name, values in columns.items())
    assert outside == []


# Around the ends of every type, where a number that is cut off would turn into another.
_TYPES = (np.int8, np.int16, np.int32, np.int64)
_EDGES = [sign * 2**bits + by for bits in (0, 7, 8, 15, 16, 31, 32, 62) for sign in (-1, 1) for by in (-1, 0, 1)]


@given(st.lists(st.sampled_from(_EDGES), min_size=1, max_size=4))
@settings(max_examples=examples(60), deadline=None)
def test_a_narrow_table_gives_back_every_number_in_its_type(numbers: list[int]) -> None:
    held = np.array(numbers, np.int64)
    columns = {"wide": held, "real": held.astype(np.float64), "flag": held > 0, "size": np.abs(held).astype(np.uint64)}
    with TemporaryDirectory() as folder:
        kinds = {name: values.dtype for name, values in columns.items()}
        columns["narrow"] = held.astype(least := next(k for k in _TYPES if held.astype(k).tolist() == numbers))
        save_columns(Path(folder) / "table", columns, kinds={**kinds, "narrow": np.dtype(np.int64)})
        columns["narrow"] = held
        again = load_columns(Path(folder) / "table")
        last = load_columns(Path(folder) / "table", np.array([len(held) - 1]), ("wide",))
        stored = load_columns(Path(folder) / "table", as_stored=True)
    for name, values in columns.items():
        assert again[name].dtype == values.dtype
        assert again[name].tolist() == values.tolist() == stored[name].tolist()
    assert (last["wide"].dtype, last["wide"].tolist()) == (np.int64, numbers[-1:])
    assert stored["wide"].dtype == stored["narrow"].dtype == least


def test_a_working_table_is_for_its_owner_only(tmp_path: Path) -> None:
    save_columns(tmp_path / "table", {"../../escape": np.array([1])})
    assert (tmp_path / "table").stat().st_mode & 0o077 == 0
    assert sorted(path.name for path in (tmp_path / "table").iterdir()) == ["0.column", "index.json"]


def test_a_working_table_never_holds_a_program(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="numbers only"):
        save_columns(tmp_path / "table", {"n": np.array([object()])})


def test_a_working_table_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    save_columns(tmp_path / "table", {"n": np.arange(9)})
    with (tmp_path / "table" / "0.column").open("r+b") as file:
        file.truncate(64)
    with pytest.raises(ValueError, match="is not as it was written"):
        load_columns(tmp_path / "table")


@given(st.lists(st.lists(st.sampled_from(["N", "S", "strange", None]), max_size=4), max_size=3), st.booleans())
def test_codes_point_to_the_category_or_nowhere_however_the_text_is_stored(
    chunks: list[list[str | None]], as_dictionary: bool
) -> None:
    stored = pa.chunked_array([pa.array(chunk, pa.string()) for chunk in chunks], pa.string())
    if as_dictionary:
        stored = stored.dictionary_encode()
    place = {"S": 0, "N": 1}
    expected = [place.get(text, -1) for chunk in chunks for text in chunk]  # type: ignore[arg-type]
    assert category_codes(stored, ("S", "N")).tolist() == expected


def test_some_rows_of_a_working_table_are_loaded_as_if_there_were_no_others(tmp_path: Path) -> None:
    save_columns(tmp_path / "table", {"n": np.array([5, 6, 7]), "x": np.array([0.5, 0.25, 0.125])})
    some = load_columns(tmp_path / "table", np.array([0, 2]))
    assert {name: values.tolist() for name, values in some.items()} == {"n": [5, 7], "x": [0.5, 0.125]}
