"""Reading Parquet: what is accepted, how missing values are read, what is refused and how."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.refusal import (
    ColumnDuplicated,
    ColumnMissing,
    ColumnTypeWrong,
    Refusal,
    TableEmpty,
    ValueMissing,
    ValueOutsideDomain,
)
from penstock.tasks.files.fingerprint import Fingerprint
from penstock.tasks.files.source import SourceUnreadable, count_rows, open_source, read_source

AGE = Column(role="quasi_identifier", type="integer", domain=(0, 120))
INCOME = Column(role="confidential", type="continuous", domain=(0, 1e6))
REGION = Column(role="quasi_identifier", type="nominal", categories=("N", "S", "01"))
GRADE = Column(role="quasi_identifier", type="ordinal", categories=(1, 2, 3))
DECLARED = {"id": Column(role="identifier"), "age": AGE, "income": INCOME, "region": REGION, "grade": GRADE}


def table(**changes: Any) -> pa.Table:
    columns: dict[str, Any] = {
        "id": ["a", "b", "c"],
        "age": pa.array([30, 40, 50], pa.int32()),
        "income": [1.0, 2.5, 3.0],
        "region": ["N", "S", "01"],
        "grade": [1, 2, 3],
        "secret": ["x", "y", "z"],
    }
    columns.update(changes)
    return pa.table({name: values for name, values in columns.items() if values is not None})


def read(path: Path, declared: dict[str, Column] = DECLARED) -> dict[str, np.ndarray[Any, Any]]:
    return read_source(open_source(str(path), declared), declared)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data.parquet"


def test_only_named_columns_are_read_and_identifiers_are_not(file: Path) -> None:
    pq.write_table(table(), file)
    columns = read(file)
    assert list(columns) == ["age", "income", "region", "grade"]
    assert columns["age"].dtype == np.int64
    assert columns["region"].tolist() == [0, 1, 2]
    assert columns["grade"].tolist() == [0, 1, 2]


def test_a_folder_of_files_is_read_as_one_table(tmp_path: Path) -> None:
    for part in range(3):
        pq.write_table(table(), tmp_path / f"part-{part}.parquet")
    (tmp_path / "_SUCCESS").touch()
    columns = read(tmp_path)
    assert len(columns["age"]) == 9
    assert count_rows(open_source(str(tmp_path), DECLARED)) == 9


def test_hive_folders_become_columns_of_their_declared_type(tmp_path: Path) -> None:
    for region in ("N", "01"):
        folder = tmp_path / f"region={region}" / "grade=2"
        folder.mkdir(parents=True)
        pq.write_table(table(region=None, grade=None), folder / "data.parquet")
    columns = read(tmp_path)
    assert sorted(columns["region"].tolist()) == [0, 0, 0, 2, 2, 2]
    assert set(columns["grade"].tolist()) == {1}


def test_text_may_be_stored_as_dictionary_or_large_string(file: Path) -> None:
    for stored in (pa.dictionary(pa.int8(), pa.string()), pa.large_string()):
        pq.write_table(table(region=pa.array(["N", "S", "S"]).cast(stored)), file)
        assert read(file)["region"].tolist() == [0, 1, 1]


@pytest.mark.parametrize("bad", [None, float("nan"), float("inf"), float("-inf")])
def test_missing_and_infinite_numbers_follow_the_missing_rule(bad: float | None, file: Path) -> None:
    pq.write_table(table(income=pa.array([1.0, bad, 3.0], pa.float64())), file)
    with pytest.raises(ValueMissing, match="income"):
        read(file)
    own_group = INCOME.model_copy(update={"missing": "own_group"})
    assert np.isnan(read(file, {**DECLARED, "income": own_group})["income"]).tolist() == [False, True, False]


def test_missing_integers_and_categories_follow_the_missing_rule(file: Path) -> None:
    pq.write_table(table(age=[30, None, 50], region=["N", None, "S"]), file)
    with pytest.raises(ValueMissing) as refusal:
        read(file)
    assert {fault.field for fault in refusal.value.faults} == {"source.columns.age", "source.columns.region"}
    lenient = {
        **DECLARED,
        "age": AGE.model_copy(update={"missing": "category"}),
        "region": REGION.model_copy(update={"missing": "category"}),
    }
    columns = read(file, lenient)
    assert columns["age"].dtype == np.float64
    assert np.isnan(columns["age"]).tolist() == [False, True, False]
    assert columns["region"].tolist() == [0, -1, 1]


def test_whole_numbers_stored_as_floats_are_integers(file: Path) -> None:
    pq.write_table(table(age=[30.0, 40.0, 50.0]), file)
    assert read(file)["age"].dtype == np.int64
    pq.write_table(table(age=[30.0, 40.5, 50.0]), file)
    with pytest.raises(ValueOutsideDomain, match="whole numbers"):
        read(file)


def test_decimals_are_continuous(file: Path) -> None:
    pq.write_table(table(income=pa.array([1, 2, 3], pa.decimal128(10, 2))), file)
    assert read(file)["income"].tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("changes", "refused", "field"),
    [
        ({"age": None}, ColumnMissing, "source.columns.age"),
        ({"age": ["30", "40", "50"]}, ColumnTypeWrong, "source.columns.age.type"),
        ({"income": [True, False, True]}, ColumnTypeWrong, "source.columns.income.type"),
        ({"region": [1, 2, 3]}, ColumnTypeWrong, "source.columns.region.type"),
        ({"grade": ["1", "2", "3"]}, ColumnTypeWrong, "source.columns.grade.type"),
        ({"age": [30, 40, 121]}, ValueOutsideDomain, "source.columns.age"),
        ({"age": [-1, 40, 50]}, ValueOutsideDomain, "source.columns.age"),
        ({"income": [1.0, 2.0, 1e6 + 1]}, ValueOutsideDomain, "source.columns.income"),
        ({"region": ["N", "S", "E"]}, ValueOutsideDomain, "source.columns.region"),
        ({"grade": [1, 2, 4]}, ValueOutsideDomain, "source.columns.grade"),
    ],
)
def test_bad_tables_are_refused_by_field(
    changes: dict[str, Any], refused: type[Refusal], field: str, file: Path
) -> None:
    pq.write_table(table(**changes), file)
    with pytest.raises(refused) as refusal:
        read(file)
    assert [fault.field for fault in refusal.value.faults] == [field]
    assert refusal.value.kind == "data"
    assert all(fault.got in ("", "'string'", "'bool'", "'int64'") for fault in refusal.value.faults)


def test_weights_must_be_positive(file: Path) -> None:
    declared = {**DECLARED, "weight": Column(role="weight")}
    pq.write_table(table(weight=[1.0, 2.0, 0.5]), file)
    assert read(file, declared)["weight"].tolist() == [1.0, 2.0, 0.5]
    pq.write_table(table(weight=[1.0, 0.0, 0.5]), file)
    with pytest.raises(ValueOutsideDomain, match="above 0"):
        read(file, declared)


def test_a_duplicate_column_is_refused(file: Path) -> None:
    doubled = pa.Table.from_arrays([*table().columns, pa.array([1, 2, 3])], names=[*table().column_names, "age"])
    pq.write_table(doubled, file)
    with pytest.raises(ColumnDuplicated, match="age"):
        read(file)


def test_a_column_that_is_both_a_folder_and_stored_is_refused(tmp_path: Path) -> None:
    for region, stored in (("north", table().drop_columns(["region"])), ("south", table())):
        (tmp_path / f"region={region}").mkdir()
        pq.write_table(stored, tmp_path / f"region={region}" / "data.parquet")
    with pytest.raises(ColumnDuplicated) as refusal:
        read(tmp_path)
    assert [(fault.field, fault.got) for fault in refusal.value.faults] == [("source.columns.region", "")]


@pytest.mark.parametrize(
    ("name", "first", "second", "refused"),
    [
        ("income", pa.float32(), pa.float64(), True),
        ("income", pa.float64(), pa.float32(), True),
        ("age", pa.int64(), pa.int32(), True),
        ("age", pa.int64(), pa.float64(), True),
        ("region", pa.string(), pa.large_string(), False),
        ("region", pa.dictionary(pa.int8(), pa.string()), pa.string(), False),
        ("region", pa.large_string(), pa.dictionary(pa.int32(), pa.string()), False),
    ],
)
def test_every_file_stores_a_column_in_the_same_type(
    tmp_path: Path, name: str, first: pa.DataType, second: pa.DataType, refused: bool
) -> None:
    place, whole = table().column_names.index(name), table()
    for number, stored in enumerate((first, second)):
        other = whole.set_column(place, name, whole[name].cast(stored, safe=False))
        pq.write_table(other, tmp_path / f"{number}.parquet")
    if not refused:
        assert len(read(tmp_path)[name]) == 2 * whole.num_rows
        return
    with pytest.raises(ColumnTypeWrong, match="must be stored in the same type in every file") as refusal:
        read(tmp_path)
    assert [fault.field for fault in refusal.value.faults] == [f"source.columns.{name}.type"]


def test_an_empty_table_is_refused(file: Path) -> None:
    pq.write_table(table().slice(0, 0), file)
    with pytest.raises(TableEmpty):
        read(file)


def test_a_file_in_the_folder_that_lacks_a_column_is_refused(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "a.parquet")
    pq.write_table(table(income=None), tmp_path / "b.parquet")
    with pytest.raises(ColumnMissing, match="income"):
        read(tmp_path)


def test_what_is_not_parquet_is_refused(tmp_path: Path, file: Path) -> None:
    file.write_text("age,income\n1,2\n", encoding="utf-8")
    with pytest.raises(SourceUnreadable):
        read(file)
    with pytest.raises(SourceUnreadable):
        read(tmp_path / "absent.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceUnreadable, match="must hold at least one Parquet file"):
        read(tmp_path / "empty")


def test_a_truncated_file_is_refused(file: Path) -> None:
    pq.write_table(table(), file)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SourceUnreadable):
        read(file)


def test_a_file_with_damaged_pages_is_refused(file: Path) -> None:
    pq.write_table(table(), file, compression="snappy")
    damaged = bytearray(file.read_bytes())
    damaged[4:200] = bytes(196)
    file.write_bytes(bytes(damaged))
    with pytest.raises(SourceUnreadable):
        read(file)


def test_columns_that_are_not_used_refuse_nothing_and_are_not_kept(file: Path) -> None:
    pq.write_table(table(income=[1.0, None, 2e6], region=["N", None, "elsewhere"]), file)
    dataset = open_source(str(file), DECLARED, unit="id")
    assert list(read_source(dataset, DECLARED, used=("age", "grade"))) == ["age", "grade"]
    with pytest.raises(ValueMissing, match="income"):
        read_source(dataset, DECLARED, used=("age", "income"))
    seen = Fingerprint(b"key")
    assert list(read_source(dataset, DECLARED, used=("age",), unit="id", fingerprint=seen)) == ["id", "age"]
    every = Fingerprint(b"key")
    for name in ("age", "income", "region", "grade"):
        every.add(name, dataset.to_table().column(name))
    assert seen.sums() == every.sums()


def test_a_folder_that_may_not_be_looked_into_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", forbidden)
    with pytest.raises(SourceUnreadable, match="Check the path"):
        open_source(str(file), DECLARED)


def test_escaped_names_of_hive_folders_are_decoded(tmp_path: Path) -> None:
    folder = tmp_path / "re%67ion=%30%31" / "grade=2"
    folder.mkdir(parents=True)
    pq.write_table(table(region=None, grade=None), folder / "data.parquet")
    assert read(tmp_path)["region"].tolist() == [2, 2, 2]


def test_a_hive_folder_whose_name_is_not_of_the_declared_type_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "grade=high"
    folder.mkdir()
    pq.write_table(table(grade=None), folder / "data.parquet")
    with pytest.raises(SourceUnreadable, match="complete Parquet"):
        read(tmp_path)


def test_hive_folders_give_numbers_too(tmp_path: Path) -> None:
    for age in (30, 41):
        (tmp_path / f"age={age}" / "income=2.5").mkdir(parents=True)
        pq.write_table(table(age=None, income=None), tmp_path / f"age={age}" / "income=2.5" / "data.parquet")
    columns = read(tmp_path)
    assert sorted(set(columns["age"].tolist())) == [30, 41]
    assert set(columns["income"].tolist()) == {2.5}


def clamped(**changes: Any) -> dict[str, Column]:
    given = {"age": AGE, "income": INCOME, **changes}
    return {name: column.model_copy(update={"outside": "clamp"}) for name, column in given.items()}


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.float64()])
def test_numbers_outside_the_domain_are_read_as_they_are_where_they_will_be_clamped(
    kind: pa.DataType, file: Path
) -> None:
    pq.write_table(table(age=pa.array([-7, 40, 127], kind), income=[-1.0, 2.5, 1e300]), file)
    columns = read(file, clamped())
    assert columns["age"].tolist() == [-7, 40, 127]
    assert columns["age"].dtype == np.int64
    assert columns["income"].tolist() == [-1.0, 2.5, 1e300]
    assert AGE.clamped(columns["age"]) is columns["age"]
    assert clamped()["age"].clamped(columns["age"]).tolist() == [0, 40, 120]
    assert clamped()["income"].clamped(columns["income"]).tolist() == [0.0, 2.5, 1e6]


@pytest.mark.parametrize("far", [pa.array([0, 120, 2**64 - 1], pa.uint64()), pa.array([0.0, 120.0, 1e300])])
def test_whole_numbers_beyond_64_bits_are_read_as_floats_and_clamped_exactly(far: pa.Array, file: Path) -> None:
    pq.write_table(table(age=far, income=[1, 2, 3]), file)
    found = read(file, clamped())["age"]
    assert found.tolist() == [0, 120, float(far[2].as_py())]
    assert clamped()["age"].clamped(found).tolist() == [0, 120, 120]


def test_numbers_of_a_type_without_a_sign_are_clamped_to_a_bound_below_zero(file: Path) -> None:
    below = clamped(age=AGE.model_copy(update={"domain": (-9, -2)}))
    pq.write_table(table(age=pa.array([0, 200, 7], pa.uint8()), income=[1, 2, 3]), file)
    found = read(file, below)["age"]
    assert found.tolist() == [0, 200, 7]
    assert below["age"].clamped(found).tolist() == [-2, -2, -2]


@pytest.mark.parametrize("bad", [None, float("nan"), float("inf")])
def test_clamping_makes_no_value_of_a_missing_one(bad: float | None, file: Path) -> None:
    pq.write_table(table(income=pa.array([1.0, bad, 1e9], pa.float64())), file)
    with pytest.raises(ValueMissing, match="income"):
        read(file, clamped())
    lenient = INCOME.model_copy(update={"missing": "category", "outside": "clamp"})
    found = read(file, {"income": lenient})["income"]
    assert np.array_equal(found, [1.0, np.nan, 1e9], equal_nan=True)
    assert np.array_equal(lenient.clamped(found), [1.0, np.nan, 1e6], equal_nan=True)


def test_clamping_does_not_round(file: Path) -> None:
    pq.write_table(table(age=[30.0, 40.0, 120.5]), file)
    with pytest.raises(ValueOutsideDomain, match="whole numbers"):
        read(file, clamped())


def units(path: Path) -> np.ndarray[Any, Any]:
    return read_source(open_source(str(path), DECLARED, unit="id"), DECLARED, unit="id")["id"]


@pytest.mark.parametrize(
    "whose",
    [
        ["b", "a", "b"],
        pa.array([7, -7, 7], pa.int64()),
        pa.array(["b", "a", "b"], pa.large_string()),
        pa.array(["b", "a", "b"]).dictionary_encode(),
        pa.array([2**64 - 1, 0, 2**64 - 1], pa.uint64()),
    ],
)
def test_whose_record_it_is_becomes_a_number_and_nothing_else(whose: Any, file: Path) -> None:
    pq.write_table(table(id=whose), file)
    found = units(file)
    assert found.dtype == np.int64
    assert found.tolist() == [0, 1, 0]
    assert "id" not in read(file)


def test_a_unit_has_one_number_in_all_files_and_groups_of_rows(tmp_path: Path) -> None:
    for part, whose in enumerate((["a", "b", "c"], ["c", "a", "d"], ["d", "d", "b"])):
        pq.write_table(table(id=whose), tmp_path / f"{part}.parquet", row_group_size=1)
    assert units(tmp_path).tolist() == [0, 1, 2, 2, 0, 3, 3, 3, 1]


def test_a_unit_has_one_number_although_a_dictionary_names_it_twice(file: Path) -> None:
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int32()), pa.array(["a", "b", "a"]))
    pq.write_table(table(id=twice), file)
    assert units(file).tolist() == [0, 1, 0]


def test_a_hive_folder_may_tell_whose_records_they_are(tmp_path: Path) -> None:
    for whose in ("a", "b"):
        (tmp_path / f"id={whose}").mkdir()
        pq.write_table(table(id=None), tmp_path / f"id={whose}" / "data.parquet")
    assert units(tmp_path).tolist() == [0, 0, 0, 1, 1, 1]


def test_a_record_that_does_not_tell_whose_it_is_is_refused(file: Path) -> None:
    pq.write_table(table(id=["a", None, "b"]), file)
    with pytest.raises(ValueMissing, match=r"source\.columns\.id refused: must tell of every record whose it is"):
        units(file)
    assert len(read(file)["age"]) == 3


@pytest.mark.parametrize(("whose", "refused"), [([1.0, 2.0, 1.0], ColumnTypeWrong), (None, ColumnMissing)])
def test_a_unit_that_cannot_be_told_apart_is_refused_before_any_row_is_read(
    whose: Any, refused: type[Refusal], file: Path
) -> None:
    pq.write_table(table(id=whose), file)
    with pytest.raises(refused, match=r"source\.columns\.id"):
        open_source(str(file), DECLARED, unit="id")
    open_source(str(file), DECLARED)
