"""A draft decides nothing about privacy, shows no rare value, and is refused until a person has reviewed it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.flows.spec import parse_spec
from penstock.mechanisms.refusal import SpecRefused
from penstock.records.files.outside_values import first_unfit
from penstock.tasks.draft._values import MOST_CATEGORIES, RARE_BELOW
from penstock.tasks.draft.spec import draft_spec
from penstock.tasks.files.source import SourceUnreadable
from tests.support.order import examples


def draft(path: Path, **columns: Any) -> dict[str, Any]:
    pq.write_table(pa.table(columns), path)
    return dict(yaml.safe_load(draft_spec(path)))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "Income Survey 2026.parquet"


def test_columns_are_guessed_from_how_they_are_stored(file: Path) -> None:
    columns = draft(
        file,
        age=[30] * 40,
        income=[1.5] * 40,
        price=pa.array([1] * 40, pa.decimal128(5, 2)),
        region=["N", "S"] * 20,
        large=pa.array(["N", "S"] * 20, pa.large_string()),
        coded=pa.array(["N", "S"] * 20).dictionary_encode(),
        person=[f"p{row}" for row in range(20)] * 2,
    )["source"]["columns"]
    assert columns["age"]["type"] == "integer"
    assert columns["income"]["type"] == columns["price"]["type"] == "continuous"
    assert columns["region"] == columns["large"] == columns["coded"]
    assert columns["region"] == {"role": "quasi_identifier", "type": "nominal", "categories": ["N", "S"]}


def test_a_column_with_many_different_values_is_taken_for_an_identifier(file: Path) -> None:
    many = [f"p{row}" for row in range(MOST_CATEGORIES + 1)] * RARE_BELOW
    few = [f"p{row % MOST_CATEGORIES}" for row in range(len(many))]
    columns = draft(file, many=many, few=few)["source"]["columns"]
    assert columns["many"] == {"role": "identifier"}
    assert len(columns["few"]["categories"]) == MOST_CATEGORIES


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 2 * RARE_BELOW), min_size=1), st.booleans())
@settings(max_examples=examples(30), deadline=None)
def test_no_value_that_fewer_than_ten_records_hold_is_listed(counts: dict[str, int], with_missing: bool) -> None:
    names = {letter: f"value-of-{letter}" for letter in counts}
    values: list[str | None] = [names[letter] for letter, count in counts.items() for _ in range(count)]
    if with_missing:
        values += [None] * RARE_BELOW
    with TemporaryDirectory() as folder:
        path = Path(folder) / "data.parquet"
        pq.write_table(pa.table({"region": values}), path)
        text = draft_spec(path)
    listed = yaml.safe_load(text)["source"]["columns"]["region"]["categories"]
    assert listed == sorted(names[letter] for letter, count in counts.items() if count >= RARE_BELOW)
    assert not any(names[letter] in text for letter, count in counts.items() if count < RARE_BELOW)
    incomplete = with_missing or len(listed) < len(counts)
    assert ("rare values are not listed" in text) == incomplete


def test_no_bound_is_taken_from_the_data(file: Path) -> None:
    text = draft_spec_of(file, {"age": [17, 4711] * 20, "income": [0.125, 8150.5] * 20})
    assert "4711" not in text
    assert "8150" not in text
    assert all(
        column["domain"] == [0, 0]
        for column in yaml.safe_load(text)["source"]["columns"].values()
        if "domain" in column
    )


def draft_spec_of(path: Path, columns: dict[str, Any]) -> str:
    pq.write_table(pa.table(columns), path)
    return draft_spec(path)


def test_every_decision_is_marked_and_refused_until_it_is_made(file: Path) -> None:
    raw = draft(file, age=[30] * 40, income=[1.5] * 40, region=["N"] * 40)
    with pytest.raises(SpecRefused) as refused:
        parse_spec(raw)
    assert {fault.field for fault in refused.value.faults} == {
        "source.columns.age.domain",
        "source.columns.income.domain",
        "source.columns.region.categories",
        "protect.0.k",
    }
    raw["source"]["columns"]["age"]["domain"] = [0, 120]
    raw["source"]["columns"]["income"]["domain"] = [0, 1_000_000]
    raw["source"]["columns"]["region"]["categories"] = ["N", "S"]
    raw["protect"][0]["k"] = 5
    with pytest.raises(SpecRefused, match="must allow what can happen:"):
        parse_spec(raw)
    raw["gates"][0]["max"] = 1
    assert parse_spec(raw).name == "income-survey-2026"
    unchanged = draft_spec(file)
    assert sum("REVIEW" in line for line in unchanged.splitlines()[3:]) == 3 + 5  # columns, and the settings below them


def test_a_column_that_a_release_cannot_hold_is_named_and_left_out(file: Path) -> None:
    columns = {"born": pa.array([0] * 40, pa.timestamp("ms")), "member": [True] * 40, "age": [30] * 40}
    text = draft_spec_of(file, columns)
    assert list(yaml.safe_load(text)["source"]["columns"]) == ["age"]
    assert '# "born": stored as timestamp[ms]' in text
    assert '# "member": stored as bool' in text


# Control characters are refused, see tests/attacks/test_drafts_from_hostile_names.py.
_FIT = st.characters(codec="utf-8").filter(lambda sign: first_unfit(sign) is None)


@given(st.lists(st.text(_FIT, min_size=1, max_size=8), min_size=1, max_size=4, unique=True))
@settings(max_examples=examples(60), deadline=None)
def test_column_names_survive_whatever_they_are(names: list[str]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "data.parquet"
        pq.write_table(pa.table({name: [1.0] for name in names}), path)
        assert list(yaml.safe_load(draft_spec(path))["source"]["columns"]) == names


@given(st.lists(st.text(_FIT, min_size=1, max_size=8), min_size=1, max_size=4, unique=True))
@settings(max_examples=examples(60), deadline=None)
def test_categories_survive_whatever_they_are(names: list[str]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "data.parquet"
        pq.write_table(pa.table({"region": names * RARE_BELOW}), path)
        assert yaml.safe_load(draft_spec(path))["source"]["columns"]["region"]["categories"] == sorted(names)


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("data", "data"),
        ("Größe (neu)", "gr--e--neu"),
        ("__", "release"),
        ("x" * 200, "x" * 80),
        ("-a-", "a"),
        ("2026", "2026"),
    ],
)
def test_the_name_is_made_of_what_a_name_may_hold(tmp_path: Path, stem: str, name: str) -> None:
    assert draft(tmp_path / f"{stem}.parquet", age=[1.0])["name"] == name


def test_a_folder_with_hive_parts_is_drafted_with_their_columns(tmp_path: Path) -> None:
    for region in ("N", "S"):
        (tmp_path / "survey" / f"region={region}").mkdir(parents=True)
        pq.write_table(pa.table({"age": [1.0] * 20}), tmp_path / "survey" / f"region={region}" / "part.parquet")
    raw = yaml.safe_load(draft_spec(tmp_path / "survey"))
    assert list(raw["source"]["columns"]) == ["age", "region"]
    assert raw["source"]["columns"]["region"]["categories"] == ["N", "S"]


@pytest.mark.parametrize("content", [None, b"age,income\n1,2\n", b""])
def test_what_is_not_parquet_is_refused(file: Path, content: bytes | None) -> None:
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SourceUnreadable, match="Parquet"):
        draft_spec(file)


def test_a_file_with_two_columns_of_one_name_is_refused(file: Path) -> None:
    pq.write_table(pa.table([pa.array(["a"] * 20), pa.array(["b"] * 20)], names=["region", "region"]), file)
    with pytest.raises(SourceUnreadable):
        draft_spec(file)


def test_weights_and_missing_values_are_pointed_out(file: Path) -> None:
    text = draft_spec_of(file, {"fnlwgt": [3] * 40, "income": [1.5, None] * 20, "age": [30] * 40})
    columns = yaml.safe_load(text)["source"]["columns"]
    assert columns["fnlwgt"] == {"role": "weight"}
    remarks = {line.split(":")[0].strip().strip('"'): line for line in text.splitlines() if "role:" in line}
    assert "missing rule" in remarks["income"]
    assert "missing rule" not in remarks["age"]


def test_replicate_weights_units_and_tables_are_hinted_at(file: Path) -> None:
    people = [f"person {number}" for number in range(80)]
    text = draft_spec_of(file, {"person_id": people, "weight": [1.5] * 80, "rw1": [1.5] * 80, "rw": [1.5] * 80})
    columns = yaml.safe_load(text)["source"]["columns"]
    assert columns["rw1"] == {"role": "weight"}
    assert columns["rw"]["role"] == "confidential"
    assert "weight.replicates" in text
    assert "[0, largest weight], from public knowledge" in text
    assert "unit: row  # REVIEW: row, if nobody has two; else the identifier that tells whose each is" in text
    assert '("person_id")' in text
    assert "# - {mechanism: table, table: by_region" in text
    assert "  unit: row\n" in draft_spec_of(file, {"age": [30] * 40})
