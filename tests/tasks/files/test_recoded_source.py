"""Columns that are made of stored ones while they are read."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.recode import stored_names
from penstock.mechanisms.refusal import ColumnMissing, ColumnTypeWrong, ValueMissing, ValueOutsideDomain
from penstock.tasks.files.fingerprint import Fingerprint, digest_of_values, key_of_values
from penstock.tasks.files.source import open_source, read_source

KEY = b"k" * 32
AGE = Column(role="confidential", type="integer", domain=(0, 120))
QUASI: dict[str, Any] = {"role": "quasi_identifier"}
BAND = Column(**QUASI, type="ordinal", recode={"of": "age", "bands": [0, 18, 65, 120]})
ZONE = Column(**QUASI, type="nominal", recode={"of": "region", "groups": {"land": ["N", "S"], "sea": ["01"]}})
GRADE = Column(**QUASI, type="nominal", recode={"groups": {"low": [1, 2], "high": [3]}})
COPY = Column(role="confidential", type="continuous", domain=(0, 10), recode={"of": "age"}, outside="clamp")


def table(**changes: Any) -> pa.Table:
    columns: dict[str, Any] = {
        "age": pa.array([0, 17, 18, 64, 65, 120], pa.int32()),
        "region": ["N", "S", "01", "N", "S", "01"],
        "grade": [1, 2, 3, 1, 2, 3],
    }
    return pa.table({name: values for name, values in (columns | changes).items() if values is not None})


def read(path: Path, declared: dict[str, Column]) -> dict[str, list[Any]]:
    found = read_source(open_source(str(path), declared), declared)
    return {name: values.tolist() for name, values in found.items()}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data.parquet"


def test_bands_groups_and_copies_are_made_of_what_is_stored(file: Path) -> None:
    pq.write_table(table(), file)
    declared = {"band": BAND, "age": AGE, "zone": ZONE, "grade": GRADE, "capped": COPY}
    assert read(file, declared) == {
        "band": [0, 0, 1, 1, 2, 2],
        "age": [0, 17, 18, 64, 65, 120],
        "zone": [0, 0, 1, 0, 0, 1],
        "grade": [0, 0, 1, 0, 0, 1],
        "capped": [0, 17, 18, 64, 65, 120],
    }


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.float32(), pa.float64(), pa.decimal128(21, 2)])
def test_any_numbers_have_bands(kind: pa.DataType, file: Path) -> None:
    pq.write_table(table(age=pa.array([0, 17, 18, 64, 65, 120]).cast(kind)), file)
    assert read(file, {"band": BAND}) == {"band": [0, 0, 1, 1, 2, 2]}


def test_decimals_are_the_nearest_doubles(file: Path) -> None:
    """pyarrow's own way makes 2,661 of these too large, so that a record would lie in the wrong band."""
    hundredths = [Decimal(place) / 100 for place in range(-20_000, 20_000)]
    pq.write_table(pa.table({"v": pa.array(hundredths, pa.decimal128(12, 2))}), file)
    value = Column(role="confidential", type="continuous", domain=(-200, 200))
    bands = Column(**QUASI, type="ordinal", recode={"of": "v", "bands": [-200, -0.35, 0.35, 200]})
    found = read(file, {"v": value, "band": bands})
    assert found["v"] == [float(each) for each in hundredths]
    assert found["band"] == [0 if each < -0.35 else 1 if each < 0.35 else 2 for each in found["v"]]


@pytest.mark.parametrize("far", [pa.array([2**53 + 1], pa.int64()), pa.array([2**64 - 1], pa.uint64())])
def test_whole_numbers_beyond_the_last_band_are_outside_however_far(far: pa.Array, file: Path) -> None:
    pq.write_table(pa.table({"v": far}), file)
    with pytest.raises(ValueOutsideDomain):
        read(file, {"v": Column(**QUASI, type="ordinal", recode={"bands": [0, 5, 2**53 - 1]})})


@pytest.mark.parametrize("recode", [None, {"groups": {"x": [1, 257], "y": [3, 2**70], "z": [-(2**70)]}}])
def test_a_category_that_the_stored_type_cannot_hold_never_occurs(recode: Any, file: Path) -> None:
    pq.write_table(pa.table({"v": pa.array([1, 3, 1], pa.int8())}), file)
    listed = None if recode else (257, 1, 2**70, 3)
    column = Column(**QUASI, type="nominal", recode=recode, categories=listed)
    assert read(file, {"v": column})["v"] == ([0, 1, 0] if recode else [1, 3, 1])


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.string_view()])
def test_any_texts_have_groups(kind: pa.DataType, file: Path) -> None:
    pq.write_table(table(region=pa.array(["N", "S", "01", None, "S", "01"]).cast(kind)), file)
    declared = {"zone": ZONE.model_copy(update={"missing": "category"})}
    assert read(file, declared) == {"zone": [0, 0, 1, -1, 0, 1]}


@pytest.mark.parametrize(
    ("changes", "refusal", "field"),
    [
        ({"age": [0, 1, 2, 3, 4, 121]}, ValueOutsideDomain, "source.columns.band"),
        ({"age": [-1, 1, 2, 3, 4, 5]}, ValueOutsideDomain, "source.columns.band"),
        ({"age": [None, 1, 2, 3, 4, 5]}, ValueMissing, "source.columns.band"),
        ({"age": [0.0, 1.0, 2.0, 3.0, 4.0, np.nan]}, ValueMissing, "source.columns.band"),
        ({"age": [0.0, 1.0, 2.0, 3.0, 4.0, np.inf]}, ValueMissing, "source.columns.band"),
        ({"age": list("abcdef")}, ColumnTypeWrong, "source.columns.band.type"),
        ({"age": None}, ColumnMissing, "source.columns.band"),
        ({"region": list("NSNSNX")}, ValueOutsideDomain, "source.columns.zone"),
        ({"region": [1, 2, 3, 4, 5, 6]}, ColumnTypeWrong, "source.columns.zone.type"),
        ({"region": ["land"] * 6}, ValueOutsideDomain, "source.columns.zone"),
        ({"grade": ["1", "2", "3", "1", "2", "3"]}, ColumnTypeWrong, "source.columns.grade.type"),
        ({"grade": [1, 2, 3, 4, 1, 2]}, ValueOutsideDomain, "source.columns.grade"),
    ],
)
def test_what_fits_no_band_or_group_is_refused_without_its_value(
    changes: dict[str, Any], refusal: Any, field: str, file: Path
) -> None:
    pq.write_table(table(**changes), file)
    with pytest.raises(refusal) as caught:
        read(file, {"band": BAND, "zone": ZONE, "grade": GRADE})
    assert [fault.field for fault in caught.value.faults] == [field]


def test_folders_are_recoded_too(tmp_path: Path) -> None:
    for region, age in (("N", 17), ("01", 18)):
        folder = tmp_path / f"region={region}" / f"age={age}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"grade": [1]}), folder / "data.parquet")
    found = read(tmp_path, {"zone": ZONE, "band": BAND, "grade": GRADE})
    assert sorted(zip(found["zone"], found["band"], strict=True)) == [(0, 0), (1, 1)]


def digest(path: Path, declared: dict[str, Column]) -> str:
    fingerprint = Fingerprint(key_of_values(KEY))
    read_source(open_source(str(path), declared), declared, fingerprint=fingerprint)
    return digest_of_values(KEY, stored_names(declared), [fingerprint.sums()])


def test_records_are_known_by_what_is_stored_whatever_is_made_of_it(file: Path) -> None:
    """Otherwise bands of one's own would be other records, with a budget of their own."""
    pq.write_table(table(), file)
    plain = digest(file, {"age": AGE, "region": Column(**QUASI, type="nominal", categories=("N", "S", "01"))})
    assert digest(file, {"band": BAND, "zone": ZONE}) == plain
    assert digest(file, {"band": BAND, "age": AGE, "zone": ZONE, "capped": COPY}) == plain
    pq.write_table(table(age=[0, 17, 18, 64, 65, 119]), file)
    assert digest(file, {"band": BAND, "zone": ZONE}) != plain


TEXTS = Column(**QUASI, type="nominal", recode={"of": "year", "groups": {"a": ["2020"], "b": ["2021"]}})
WHOLE = Column(**QUASI, type="nominal", recode={"of": "year", "groups": {"a": [2020], "b": [2021]}})
SPANS = Column(**QUASI, type="ordinal", recode={"of": "year", "bands": [2000, 2020.5, 2030]})


def years(folder: Path, *names: str) -> str:
    for name in names:
        (folder / f"year={name}").mkdir()
        pq.write_table(pa.table({"x": [1]}), folder / f"year={name}" / "data.parquet")
    return str(folder)


@pytest.mark.parametrize("first", [True, False])
def test_several_columns_of_one_folder_are_numbers_in_whatever_order(tmp_path: Path, first: bool) -> None:
    made = {"spans": SPANS, "whole": WHOLE} if first else {"whole": WHOLE, "spans": SPANS}
    read = read_source(open_source(years(tmp_path, "2020", "2021"), made), made)
    assert {name: values.tolist() for name, values in read.items()} == {"spans": [0, 1], "whole": [0, 1]}


@pytest.mark.parametrize("other", [WHOLE, SPANS])
@pytest.mark.parametrize("first", [True, False])
def test_columns_of_one_folder_that_need_texts_and_numbers_are_refused(
    tmp_path: Path, other: Column, first: bool
) -> None:
    made = {"texts": TEXTS, "other": other} if first else {"other": other, "texts": TEXTS}
    with pytest.raises(ColumnTypeWrong, match=r"columns\.texts\.type refused: must be read as numbers, as other"):
        open_source(years(tmp_path, "2020", "2021"), made)
