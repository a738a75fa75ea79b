"""The spec: typed, frozen, unknown keys refused, every fault at once."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from flows.spec import ReleaseSpec, json_schema, load_spec, parse_spec
from mechanisms.refusal import SpecRefused

GOOD: dict[str, Any] = {
    "name": "income-2026",
    "source": {
        "path": "income.parquet",
        "unit": "row",
        "columns": {
            "person": {"role": "identifier"},
            "age": {"role": "quasi_identifier", "type": "integer", "domain": [0, 120]},
            "region": {"role": "quasi_identifier", "type": "nominal", "categories": ["N", "S"]},
            "income": {"role": "confidential", "type": "continuous", "domain": [0, 500000.5]},
            "weight": {"role": "weight"},
        },
    },
    "validate": {"min_rows": 10},
    "budget": {"dataset": "income", "epsilon": "1/2"},
    "protect": [{"mechanism": "probabilistic_k_anonymity", "method": "ir_swap", "k": 5}],
    "gates": [{"measure": "record_linkage", "max": 0.04}],
    "publish": {"path": "out", "formats": ["parquet", "csv"]},
}


def changed(path: str, value: object) -> dict[str, Any]:
    """The good spec with one place changed; the value ... removes it."""
    spec = copy.deepcopy(GOOD)
    *parents, last = path.split("/")
    place: Any = spec
    for part in parents:
        place = place[int(part) if isinstance(place, list) else part]
    if value is ...:
        del place[last]
    else:
        place[int(last) if isinstance(place, list) else last] = value
    return spec


def fields_refused(raw: object) -> set[str]:
    with pytest.raises(SpecRefused) as refusal:
        parse_spec(raw)
    for fault in refusal.value.faults:
        assert fault.rule
        assert fault.remedy
    return {fault.field for fault in refusal.value.faults}


def test_a_good_spec_is_accepted_and_frozen() -> None:
    spec = parse_spec(GOOD)
    assert spec.budget is not None
    assert spec.budget.epsilon == Fraction(1, 2)
    assert list(spec.data_columns) == ["age", "region", "income", "weight"]
    with pytest.raises(ValidationError, match="frozen"):
        spec.name = "other"  # type: ignore[misc]


def test_a_spec_survives_the_way_through_json() -> None:
    spec = parse_spec(GOOD)
    assert ReleaseSpec.model_validate(json.loads(spec.model_dump_json())) == spec


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("name", "Has Spaces", "name"),
        ("name", ..., "name"),
        ("colour", "red", "colour"),
        ("source/path", ..., "source.path"),
        ("source/unit", ..., "source.unit"),
        ("source/unit", "person", "source.unit"),
        ("source/columns", {}, "source.columns"),
        ("source/columns/age/domain", [120, 0], "source.columns.age.domain"),
        ("source/columns/age/domain", ..., "source.columns.age.domain"),
        ("source/columns/age/domain", [0, float("inf")], "source.columns.age.domain.1"),
        ("source/columns/age/domain", [0.5, 9], "source.columns.age.domain"),
        ("source/columns/age/type", "number", "source.columns.age.type"),
        ("source/columns/age/type", ..., "source.columns.age.type"),
        ("source/columns/age/role", "key", "source.columns.age.role"),
        ("source/columns/age/categories", ["a", "b"], "source.columns.age.categories"),
        ("source/columns/age/missing", "own_group", "source.columns.age.missing"),
        ("source/columns/age/colour", 1, "source.columns.age.colour"),
        ("source/columns/region/categories", ..., "source.columns.region.categories"),
        ("source/columns/region/categories", ["N"], "source.columns.region.categories"),
        ("source/columns/region/categories", ["N", "N"], "source.columns.region.categories"),
        ("source/columns/region/domain", [0, 1], "source.columns.region.domain"),
        ("source/columns/person/type", "integer", "source.columns.person.type"),
        ("source/columns/person/domain", [0, 1], "source.columns.person.domain"),
        ("source/columns/weight/type", "nominal", "source.columns.weight.type"),
        ("source/columns/weight/missing", "category", "source.columns.weight.missing"),
        ("validate/min_rows", 0, "validate.min_rows"),
        ("validate/min_row", 5, "validate.min_row"),
        ("budget/epsilon", 0.5, "budget.epsilon"),
        ("budget/epsilon", "half", "budget.epsilon"),
        ("protect", [], "protect"),
        ("protect/0/mechanism", ..., "protect.0.mechanism"),
        ("protect/0/mechanism", "magic", "protect.0.mechanism"),
        ("protect/0/k", ..., "protect.0.k"),
        ("protect/0/k", 1, "protect.0.k"),
        ("protect/0/k", "5", "protect.0.k"),
        ("protect/0/method", "mdav", "protect.0.method"),
        ("protect/0/k_by_column", {"income": 2}, "protect.0.k_by_column.income"),
        ("protect/0/k_by_column", {"age": 9}, "protect.0.k_by_column.age"),
        ("protect/0/seed", 1, "protect.0.seed"),
        ("gates", [], "gates"),
        ("gates/0/measure", "luck", "gates.0.measure"),
        ("gates/0/max", ..., "gates.0.max"),
        ("gates/0/max", float("nan"), "gates.0.max"),
        ("approve", {"reviewers": 3}, "approve.reviewers"),
        ("approve", {"reviewers": 1}, "approve.allowed"),
        ("approve", {"reviewers": 2, "allowed": ["anna"]}, "approve.allowed"),
        ("approve", {"reviewers": 2, "allowed": ["anna", "Anna"]}, "approve.allowed"),
        ("approve", {"reviewers": 1, "allowed": ["an na"]}, "approve.allowed"),
        ("approve", {"reviewers": 1, "allowed": ["anna"], "within": "PT0S"}, "approve.within"),
        ("approve", {"reviewers": 1, "allowed": ["anna"], "within": "soon"}, "approve.within"),
        ("approve", {"reviewers": 0, "allowed": ["anna"]}, "approve.reviewers"),
        ("budget", {"part": "age"}, "budget.part"),
        ("budget", {"part": "nowhere"}, "budget.part"),
        ("budget", {"acknowledges": "a run"}, "budget.acknowledges"),
        ("publish/formats", ["xlsx"], "publish.formats.0"),
        ("publish/formats", ["csv", "csv"], "publish.formats"),
        ("publish/path", ..., "publish.path"),
    ],
)
def test_each_fault_is_named_by_its_field(path: str, value: object, field: str) -> None:
    assert fields_refused(changed(path, value)) == {field}


def test_all_faults_are_listed_at_once() -> None:
    raw = changed("source/columns/age/domain", [120, 0])
    raw["colour"] = "red"
    raw["gates"] = []
    raw["protect"][0]["k"] = 1
    raw["publish"]["formats"] = ["xlsx"]
    assert fields_refused(raw) == {
        "source.columns.age.domain",
        "colour",
        "gates",
        "protect.0.k",
        "publish.formats.0",
    }


def test_a_disagreement_between_sections_is_listed_beside_a_fault_inside_one() -> None:
    raw = changed("source/columns/region/role", "confidential")  # nominal columns have no ranks
    raw["gates"] = []
    assert fields_refused(raw) == {"source.columns.region.type", "gates"}


def test_two_mechanisms_without_a_composition_theorem_are_refused() -> None:
    raw = changed("protect", GOOD["protect"] * 2)
    assert fields_refused(raw) == {"protect"}


def test_an_unknown_key_gets_the_nearest_known_one() -> None:
    raw = changed("publish/formts", ["csv"])
    with pytest.raises(SpecRefused, match="Did you mean formats"):
        parse_spec(raw)


@pytest.mark.parametrize("raw", [None, [], "text", 3])
def test_what_is_not_a_mapping_is_refused(raw: object) -> None:
    assert fields_refused(raw) == {"spec"}


def test_a_file_is_read_with_paths_relative_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERE", "deep")
    file = tmp_path / "spec.yaml"
    file.write_text(yaml.safe_dump(changed("source/path", "${HERE}/data.parquet")), encoding="utf-8")
    spec = load_spec(file)
    assert spec.source.path == str(tmp_path / "deep" / "data.parquet")
    assert spec.publish.path == str(tmp_path / "out")


def test_paths_on_the_command_line_win_and_are_relative_to_the_present_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(changed("source/path", "${NOT_SET}/data.parquet")), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    spec = load_spec(file, source="other.parquet", publish="/public")
    assert spec.source.path == str(tmp_path / "other.parquet")
    assert spec.publish.path == "/public"


@pytest.mark.parametrize(
    ("path", "rule"),
    [("${NOT_SET}/x.parquet", "variable that is not set"), ("s3://bucket/x", "local path")],
)
def test_paths_that_cannot_be_resolved_are_refused(path: str, rule: str, tmp_path: Path) -> None:
    file = tmp_path / "spec.yaml"
    file.write_text(yaml.safe_dump(changed("source/path", path)), encoding="utf-8")
    with pytest.raises(SpecRefused, match=rule):
        load_spec(file)
    file.write_text(yaml.safe_dump({**changed("source/path", path), "gates": []}), encoding="utf-8")
    with pytest.raises(SpecRefused) as both:
        load_spec(file)
    assert {fault.field for fault in both.value.faults} == {"source.path", "gates"}


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("absent.yaml", None, "readable text file"),
        ("bad.yaml", "a: [", "valid YAML or JSON"),
        ("bad.json", "{", "valid YAML or JSON"),
        ("list.yaml", "- 1", "keys and values"),
    ],
)
def test_a_file_that_is_no_spec_is_refused(name: str, content: str | None, rule: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(SpecRefused, match=rule):
        load_spec(tmp_path / name)


def test_the_json_schema_accepts_what_the_model_accepts() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(GOOD, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**GOOD, "colour": "red"}, schema)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*GOOD, "columns", "role", "k"]), inner),
        max_leaves=8,
    )
)
def test_nonsense_is_refused_and_never_raises_anything_else(raw: object) -> None:
    with pytest.raises(SpecRefused):
        parse_spec(raw)
