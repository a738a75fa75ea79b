"""Reading for a question: codes and numbers as declared, whatever files, groups of rows and types hold them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.questions import Method, Query, Terms, methods
from penstock.mechanisms.randomness import seeded
from penstock.tasks.files.source import open_source
from penstock.tasks.questions.reading import evaluate

DECLARED = {
    "who": Column(role="identifier"),
    "sex": Column(role="quasi_identifier", type="nominal", categories=("F", "M")),
    "code": Column(role="quasi_identifier", type="nominal", categories=(3, 1, 2)),
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 100)),
    "pay": Column(role="confidential", type="continuous", domain=(0, 10)),
}
ROWS = 60
TERMS = Terms("add_remove")


def table(kind: str = "plain") -> pa.Table:
    rows = range(ROWS)
    sexes = pa.array([("F", "M", "other", None)[row % 4] for row in rows])
    return pa.table(
        {
            "who": [f"p{row % 7}" for row in rows],
            "sex": sexes.dictionary_encode() if kind == "dictionary" else sexes,
            "code": pa.array([row % 4 for row in rows], pa.int16() if kind == "dictionary" else pa.int64()),
            "age": pa.array(
                [None if row % 5 == 0 and kind == "plain" else row for row in rows],
                pa.uint64() if kind == "dictionary" else pa.int64(),
            ),
            "pay": pa.array([row / 10 for row in rows], pa.float32() if kind == "dictionary" else pa.float64()),
        }
    )


def method(terms: Terms = TERMS, **query: object) -> Method:
    found = methods(Query.model_validate(query), DECLARED, terms)
    return found.get("laplace") or found["exponential"]


def counts(path: Path, chosen: Method, terms: Terms = TERMS) -> list[int]:
    exact = evaluate(open_source(str(path), DECLARED, unit=terms.whose), chosen, DECLARED, terms, seeded(1))
    return [int(each) for each in exact.counts]


@pytest.mark.parametrize("kind", ["plain", "dictionary"])
@pytest.mark.parametrize("group", [7, 1000], ids=["many groups of rows", "one"])
def test_counts_are_exact(kind: str, group: int, tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    pq.write_table(table(kind), file, row_group_size=group)
    assert counts(file, method(statistic="count")) == [ROWS]
    assert counts(file, method(statistic="count", by="sex")) == [15, 15]
    assert counts(file, method(statistic="count", by="code")) == [15, 15, 15]
    in_band = method(statistic="count", where=[{"column": "age", "at_least": 10, "below": 20}])
    assert counts(file, in_band) == [8 if kind == "plain" else 10]


def test_hive_folders_are_columns(tmp_path: Path) -> None:
    pq.write_to_dataset(table(), tmp_path / "all", partition_cols=["sex"])
    assert counts(tmp_path / "all", method(statistic="count", by="sex")) == [15, 15]
    assert counts(tmp_path / "all", method(statistic="count", where=[{"column": "sex", "is_in": ["F"]}])) == [15]


def test_an_empty_source_has_no_records(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    pq.write_table(table().slice(0, 0), file)
    assert counts(file, method(statistic="count")) == [0]
    terms = Terms("add_remove", whose="who", rows_per_unit=2)
    assert counts(file, method(terms, statistic="count"), terms) == [0]


def test_one_name_is_one_unit_in_whatever_groups_of_rows_and_types_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    terms = Terms("add_remove", whose="who", rows_per_unit=1)
    numbers = [row % 7 for row in range(ROWS)]
    for whose in (
        pa.array(numbers, pa.uint8()),
        pa.array([f"p{number}" for number in numbers], pa.large_string()),
        pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(["a", "b", "a", "c", "b", "", "d"])),
    ):
        pq.write_table(table().set_column(0, "who", whose), file, row_group_size=9)
        wanted = 5 if pa.types.is_dictionary(whose.type) else 7
        assert counts(file, method(terms, statistic="count"), terms) == [wanted]


@pytest.mark.parametrize("kind", ["text", "dictionary", "number"])
def test_the_value_of_an_individual_is_found_by_name(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    names = pa.array([None if row == 3 else row for row in range(ROWS)], pa.int32())
    whose = names if kind == "number" else names.cast(pa.string())
    whose = whose.dictionary_encode() if kind == "dictionary" else whose
    pq.write_table(table().set_column(0, "who", whose), file, row_group_size=9)
    terms = Terms("presence", whose="who")
    for individual, wanted in (("17", 1.7), (17, 1.7), ("3", None), ("p", None)):
        query = Query(statistic="value", of="pay", individual=individual)
        chosen = methods(query, DECLARED, terms)["refinement"]
        source = open_source(str(file), DECLARED, unit="who")
        assert evaluate(source, chosen, DECLARED, terms, seeded(1)).value == wanted


def test_each_unit_counts_as_often_as_it_may(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    pq.write_table(table(), file, row_group_size=7)
    for most in (1, 3, 100):
        terms = Terms("add_remove", whose="who", rows_per_unit=most)
        wanted = sum(min(most, len(range(unit, ROWS, 7))) for unit in range(7))
        assert counts(file, method(terms, statistic="count"), terms) == [wanted]


def test_records_of_nobody_take_no_part(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    whose = pa.array([None if row % 2 else f"p{row}" for row in range(ROWS)])
    pq.write_table(table().set_column(0, "who", whose), file)
    terms = Terms("add_remove", whose="who", rows_per_unit=5)
    assert counts(file, method(terms, statistic="count"), terms) == [ROWS // 2]


def test_the_largest_unsigned_numbers_do_not_become_negative(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    large = table("dictionary").set_column(3, "age", pa.array([2**64 - 1] * ROWS, pa.uint64()))
    pq.write_table(large, file)
    assert counts(file, method(statistic="count", where=[{"column": "age", "at_least": 100}])) == [ROWS]
