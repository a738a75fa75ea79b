"""The data description for questions: what it refuses, at which field, and what it leaves to the form of tables."""

from __future__ import annotations

import copy
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from penstock.flows.forms._table_protections import DifferentialPrivacy
from penstock.flows.forms.table import spec_of_tables
from penstock.flows.spec.data_description import description_schema, load_description, resolve_keys
from penstock.mechanisms.refusal import SpecRefused

EXAMPLES = sorted((Path(__file__).parents[3] / "deployments" / "examples" / "data").glob("*.yaml"))

GOOD: dict[str, Any] = {
    "name": "survey",
    "source": {
        "path": "survey.parquet",
        "unit": "row",
        "columns": {
            "person": {"role": "identifier"},
            "age": {"role": "quasi_identifier", "type": "integer", "domain": [0, 120]},
            "sex": {"role": "quasi_identifier", "type": "nominal", "categories": ["F", "M"]},
        },
    },
    "budget": {"dataset": "survey"},
    "questions": {"adjacency": "replace"},
}


def changed(**places: Any) -> dict[str, Any]:
    """The good description with some places set, or taken out by ... (Ellipsis)."""
    raw = copy.deepcopy(GOOD)
    for place, value in places.items():
        *path, last = place.split("__")
        part = raw
        for each in path:
            part = part.setdefault(each, {})
        if value is ...:
            del part[last]
        else:
            part[last] = value
    return raw


def test_a_good_one_is_read(tmp_path: Path) -> None:
    found = resolve_keys(changed(questions__each="1/10", questions__publish="out"), tmp_path)
    assert found.source.path == str(tmp_path / "survey.parquet")
    assert found.questions.publish == str(tmp_path / "out")
    assert (found.questions.each, found.questions.most, found.whose) == (Fraction(1, 10), None, None)


def test_a_source_given_beside_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.yaml").write_text(yaml.safe_dump(GOOD), encoding="utf-8")
    for given in ("other.parquet", Path("other.parquet")):
        assert load_description(tmp_path / "data.yaml", source=given).source.path == str(tmp_path / "other.parquet")
    with pytest.raises(SpecRefused) as refused:
        load_description(tmp_path / "data.yaml", source=5)
    assert refused.value.faults[0].field == "source.path"


@pytest.mark.parametrize(
    ("places", "fields"),
    [
        ({"questions": ...}, ["questions"]),
        ({"budget": ...}, ["budget"]),
        ({"budget__epsilon": "1"}, ["budget.epsilon"]),
        ({"budget__dataset": ...}, ["budget.dataset"]),
        ({"questions__adjacency": ...}, ["questions.adjacency"]),
        ({"questions__adjacency": "from_D"}, ["questions.adjacency"]),
        ({"questions__ech": "1/10"}, ["questions.ech"]),
        ({"questions__each": 0.1}, ["questions.each"]),
        ({"questions__each": "0"}, ["questions.each"]),
        ({"questions__each": "1", "questions__most": "1/2"}, ["questions.each"]),
        ({"questions__relaxations": ["idp", "idp"]}, ["questions.relaxations"]),
        ({"questions__relaxations": ["k_anon"]}, ["questions.relaxations.0"]),
        ({"questions__rows_per_unit": 2}, ["questions.rows_per_unit"]),
        ({"source__unit": "person"}, ["questions.rows_per_unit"]),
        ({"source__unit": "age", "questions__rows_per_unit": 1}, ["source.unit"]),
        ({"questions__publish": "s3://"}, ["questions.publish"]),
        ({"source__path": "${NOT_SET_ANYWHERE}/x"}, ["source.path"]),
        ({"protect": []}, ["protect"]),
        ({"gates": []}, ["gates"]),
    ],
)
def test_faults_name_their_field(places: dict[str, Any], fields: list[str], tmp_path: Path) -> None:
    with pytest.raises(SpecRefused) as refused:
        resolve_keys(changed(**places), tmp_path)
    assert refused.value.code == "spec-refused"
    assert [fault.field for fault in refused.value.faults] == fields


@pytest.mark.parametrize("place", ["", "/", "/answers"])
def test_answers_are_not_published_inside_the_source(place: str, tmp_path: Path) -> None:
    raw = changed(source__path="data", questions__publish=f"data{place}")
    with pytest.raises(SpecRefused) as refused:
        resolve_keys(raw, tmp_path)
    assert [fault.field for fault in refused.value.faults] == ["questions.publish"]


def test_sections_of_tables_are_not_looked_into(tmp_path: Path) -> None:
    raw = changed(tables={"dp": {}}, publish={"path": "${NOT_SET_ANYWHERE}"}, validate={"min_rows": 5}, approve={})
    assert resolve_keys(raw, tmp_path).name == "survey"


def test_the_form_of_tables_does_not_look_into_questions(tmp_path: Path) -> None:
    raw = changed(tables={"dp": {"gates": [{"measure": "privacy_loss", "max": 1}]}}, publish={"path": "out"})
    file = tmp_path / "data.yaml"
    file.write_text(yaml.safe_dump(raw), encoding="utf-8")
    asked = {"table": "t", "dimensions": ["sex"], "count": True, "sums": [], "means": [], "margins": "none"}
    protection = DifferentialPrivacy(epsilon="1", adjacency="replace")
    spec = spec_of_tables(file, [(asked, protection)], formats=["parquet"])
    assert spec.name == "survey-t"
    assert load_description(file).name == "survey"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_fit_their_schema_and_are_read(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_DATA", "/data")
    jsonschema.validate(yaml.safe_load(example.read_text(encoding="utf-8")), description_schema())
    assert load_description(example).questions.adjacency == "replace"


def test_every_key_is_described() -> None:
    schema = description_schema()
    for model in (schema, *schema["$defs"].values()):
        assert all(facts.get("description") for facts in model["properties"].values())


def test_a_column_without_a_domain_has_no_questions(tmp_path: Path) -> None:
    given = {"role": "confidential", "type": "continuous", "resolution": "0.01"}
    with pytest.raises(SpecRefused, match=r"source\.columns\.pay\.resolution refused: must not stand in place of a"):
        resolve_keys(changed(source__columns__pay=given), tmp_path)
