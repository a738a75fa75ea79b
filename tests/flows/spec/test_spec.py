"""The spec: typed, frozen, read from a file, described by a JSON Schema."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from pydantic import ValidationError

from penstock.flows.spec import ReleaseSpec, json_schema, load_spec, parse_spec
from penstock.mechanisms.refusal import SpecRefused
from penstock.mechanisms.registry import MECHANISMS
from tests.flows.good_specs import DP, GOOD, changed


def test_a_good_spec_is_accepted_and_frozen() -> None:
    spec = parse_spec(GOOD)
    assert spec.budget is not None
    assert spec.budget.epsilon == Fraction(1, 2)
    assert list(spec.data_columns) == ["age", "region", "income", "weight"]
    with pytest.raises(ValidationError, match="frozen"):
        spec.name = "other"  # type: ignore[misc]


def test_the_unit_is_a_row_or_the_column_that_tells_whose_record_it_is() -> None:
    assert parse_spec(GOOD).unit is None
    assert parse_spec(DP).unit == "person"


@pytest.mark.parametrize("good", [GOOD, DP])
def test_a_spec_survives_the_way_through_json(good: dict[str, Any]) -> None:
    spec = parse_spec(good)
    assert ReleaseSpec.model_validate(json.loads(spec.model_dump_json())) == spec


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
    [("${NOT_SET}/x.parquet", "must name a variable that is set"), ("gs://bucket/x", "must begin with s3://")],
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


def test_a_suite_lies_beside_its_spec_and_not_in_a_store(tmp_path: Path) -> None:
    file = tmp_path / "spec.yaml"
    file.write_text(yaml.safe_dump(changed("validate", {"suite": "s3://bucket/suite.json"})), encoding="utf-8")
    with pytest.raises(SpecRefused, match=r"validate\.suite refused: must be a local path"):
        load_spec(file)


@pytest.mark.parametrize("place", ["source/path", "publish/path"])
def test_addresses_in_an_object_store_are_taken(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONTH", "2026-10")
    file = tmp_path / "spec.yaml"
    file.write_text(yaml.safe_dump(changed(place, "s3://bucket/income/${MONTH}/")), encoding="utf-8")
    section, key = place.split("/")
    assert getattr(getattr(load_spec(file), section), key) == "s3://bucket/income/2026-10/"
    assert load_spec(file, source="s3://other/x.parquet").source.path == "s3://other/x.parquet"


@pytest.mark.parametrize("place", ["source/path", "publish/path"])
@pytest.mark.parametrize(
    "address", ["s3://user:secret-77@bucket/x", "s3://bucket/x?key=secret-77", "ftp://secret-77/x"]
)
def test_an_address_that_is_refused_is_not_quoted(
    place: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "spec.yaml"
    monkeypatch.setenv("WHERE", address)
    for written in (address, "${WHERE}"):
        file.write_text(yaml.safe_dump(changed(place, written)), encoding="utf-8")
        with pytest.raises(SpecRefused, match=r"must (not|begin with s3://)") as caught:
            load_spec(file)
        assert [fault.field for fault in caught.value.faults] == [place.replace("/", ".")]
        assert "secret-77" not in str(caught.value)
    # A deployment hands over values, which Prefect validates with the model itself.
    with pytest.raises(ValidationError) as refused:
        ReleaseSpec.model_validate(changed(place, address))
    assert "secret-77" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("absent.yaml", None, "readable file"),
        ("bad.yaml", "a: [", "line 2: must be valid YAML"),
        ("bad.json", "{", "line 1: must be valid JSON"),
        ("list.yaml", "- 1", "keys and values"),
    ],
)
def test_a_file_that_is_no_spec_is_refused(name: str, content: str | None, rule: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(SpecRefused, match=rule):
        load_spec(tmp_path / name)


@pytest.mark.parametrize("good", [GOOD, DP])
def test_the_json_schema_accepts_what_the_model_accepts(good: dict[str, Any]) -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(good, schema)
    for path, value in (
        ("colour", "red"),
        ("protect/0/colour", "red"),
        ("protect/0/mechanism", ...),
        ("protect/0/mechanism", "magic"),
        ("protect/0/k", "some"),
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(changed(path, value, good), schema)


def test_the_json_schema_calls_the_settings_of_a_mechanism_by_its_name() -> None:
    schema = json_schema()
    assert schema["properties"]["protect"]["items"]["discriminator"] == {
        "propertyName": "mechanism",
        "mapping": {name: f"#/$defs/{name}" for name in MECHANISMS},
    }
    for name in MECHANISMS:
        settings = schema["$defs"][name]
        assert settings["title"] == name
        assert "mechanism" in settings["required"]
        assert settings["properties"]["mechanism"]["const"] == name
        assert "default" not in settings["properties"]["mechanism"]
    assert "Params" not in json.dumps(schema)
