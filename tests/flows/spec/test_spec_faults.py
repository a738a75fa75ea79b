"""A refused spec: every fault at once, each with field, rule and remedy."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.flows.spec import json_schema, parse_spec
from penstock.flows.spec._faults import _WRITTEN
from penstock.measures.registry import MEASURES, measure_names, public_measures
from penstock.mechanisms.refusal import Fault, SpecRefused
from penstock.mechanisms.registry import MECHANISMS
from tests.flows.good_specs import DP, GOOD, TABLE, changed


def faults_of(raw: object) -> tuple[Fault, ...]:
    with pytest.raises(SpecRefused) as refusal:
        parse_spec(raw)
    for fault in refusal.value.faults:
        assert fault.rule
        assert fault.remedy
    return refusal.value.faults


def fields_refused(raw: object) -> set[str]:
    return {fault.field for fault in faults_of(raw)}


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
        ("protect/0", 5, "protect.0"),
        ("protect/0/mechanism", ["magic"], "protect.0.mechanism"),
        ("protect/0/epsilon", "1", "protect.0.epsilon"),
        ("gates/0/measure", "expected_error", "gates.0.measure"),
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
        ("publish/formats", ["csv", "sdmx"], "publish.formats"),
        ("publish/formats", ["sdmx"], "publish.formats"),
        ("gates/0/measure", "cell_error", "gates.0.measure"),
        ("publish/path", ..., "publish.path"),
    ],
)
def test_each_fault_is_named_by_its_field(path: str, value: object, field: str) -> None:
    assert fields_refused(changed(path, value)) == {field}


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("source/unit", "row", "protect.0.rows_per_unit"),
        ("source/unit", "age", "source.unit"),
        ("source/unit", "nobody", "source.unit"),
        ("source/columns/weight", {"role": "weight"}, "source.columns.weight.role"),
        ("source/columns/age/missing", "category", "source.columns.age.missing"),
        ("source/columns/injury/taxonomy", {"burn": ["any"], "cut": []}, "source.columns.injury.taxonomy"),
        ("source/columns/injury/taxonomy", "injuries.json", "source.columns.injury.taxonomy"),
        ("protect/0/epsilon", ..., "protect.0.epsilon"),
        ("protect/0/epsilon", "0", "protect.0.epsilon"),
        ("protect/0/epsilon", 0.5, "protect.0.epsilon"),
        ("protect/0/adjacency", ..., "protect.0.adjacency"),
        ("protect/0/adjacency", "add_remove", "protect.0.adjacency"),
        ("protect/0/k", ..., "protect.0.k"),
        ("protect/0/k", 0, "protect.0.k"),
        ("protect/0/k", "some", "protect.0.k"),
        ("protect/0/method", "ir_swap", "protect.0.method"),
        ("protect/0/order", "natural", "protect.0.order"),
        ("protect/0/shares", {"age": "1"}, "protect.0.shares"),
        ("protect/0/shares", {"age": 0.5}, "protect.0.shares.age"),
        ("protect/0/rows_per_unit", ..., "protect.0.rows_per_unit"),
        ("protect/0/rows_per_unit", 0, "protect.0.rows_per_unit"),
        ("gates/0/measure", "record_linkage", "gates.0.measure"),
        ("gates/0/measure", "mean_change", "gates.0.measure"),
    ],
)
def test_each_fault_under_differential_privacy_is_named_by_its_field(path: str, value: object, field: str) -> None:
    assert fields_refused(changed(path, value, DP)) == {field}


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("protect/0/epsilon", ..., "protect.0.epsilon"),
        ("protect/0/dimensions", ["nowhere"], "protect.0.dimensions"),
        ("protect/0/model", "bdp", "protect.0.acknowledges"),
        ("protect/0/bounds", {"loss": [{"cells": {"injury": ["burn"]}}]}, "protect.0.bounds.loss.0.domain"),
        ("protect/0/rows_per_unit", 2, "protect.0.rows_per_unit"),
        ("source/unit", "person", "protect.0.rows_per_unit"),
        ("gates/0/measure", "mean_change", "gates.0.measure"),
        ("gates/0/measure", "smallest_frequency", "gates.0.measure"),
        ("gates/0/measure", "cell_error", "gates.0.measure"),
    ],
)
def test_each_fault_of_a_table_is_named_by_its_field(path: str, value: object, field: str) -> None:
    assert field in fields_refused(changed(path, value, TABLE))


def test_a_relaxation_cannot_be_gated_on_an_error_that_is_secret() -> None:
    relaxed = copy.deepcopy(TABLE)
    relaxed["protect"][0] |= {"model": "idp", "adjacency": "from_D", "acknowledges": ["idp"]}
    assert fields_refused(relaxed) == {"gates.0.measure"}
    relaxed["gates"][0] = {"measure": "privacy_loss", "max": 1}
    parse_spec(relaxed)


def test_an_exact_table_is_gated_on_the_data_and_not_on_what_noise_would_be() -> None:
    exact = copy.deepcopy(TABLE)
    del exact["budget"]
    exact["protect"][0] = {"mechanism": "table", "dimensions": ["injury"], "model": "k_anon", "k": 3}
    assert fields_refused(exact) == {"gates.0.measure"}
    exact["gates"][0] = {"measure": "mean_change", "max": 1}
    assert fields_refused(exact) == {"gates.0.measure"}
    exact["gates"][0] = {"measure": "smallest_frequency", "min": 3}
    parse_spec(exact)
    exact["source"]["unit"] = "person"  # k counts persons then
    parse_spec(exact)


def test_the_column_of_a_part_has_one_category() -> None:
    part = changed("source/columns/injury/categories", ["burn"], TABLE)
    assert fields_refused(part) == {"source.columns.injury.categories"}
    part["budget"]["part"] = "injury"
    assert parse_spec(part).part == "burn"


def test_under_differential_privacy_only_public_measures_decide_whether_a_release_appears() -> None:
    for measure in measure_names():
        needed = dict.fromkeys(MEASURES[measure].needs, 0)
        raw = changed("gates/0", {"measure": measure, "max": 100, **needed}, DP)
        if measure in public_measures():
            parse_spec(raw)
        else:
            (fault,) = faults_of(raw)
            assert fault.field == "gates.0.measure"
            assert (
                "must be public: whether a release appears would otherwise tell about the confidential data"
                in fault.rule
            )
            assert "Gate on expected_error" in fault.remedy


@pytest.mark.parametrize(
    ("k", "rule"), [("some", "must be a whole number or 'auto'"), (0, "must be at least 1 or 'auto'")]
)
def test_a_setting_that_is_a_number_or_a_word_gets_one_rule(k: object, rule: str) -> None:
    (fault,) = faults_of(changed("protect/0/k", k, DP))
    assert (fault.rule, fault.got) == (rule, repr(k))


@pytest.mark.parametrize("named", [..., "magic", None, 3, ["probabilistic_k_anonymity"]])
def test_a_spec_must_name_a_mechanism_that_exists(named: object) -> None:
    (fault,) = faults_of(changed("protect/0/mechanism", named))
    assert fault.rule == f"must be one of {', '.join(MECHANISMS)}"


def test_no_fault_of_a_unit_a_gate_or_a_mechanism_hides_another() -> None:
    raw = changed("source/unit", "age", DP)
    raw["protect"][0] |= {"shares": {"age": "1"}, "rows_per_unit": None}
    raw["gates"] = [{"measure": "expected_error"}, {"measure": "sse", "max": 1}]
    assert fields_refused(raw) == {
        "source.unit",
        "protect.0.shares",
        "protect.0.rows_per_unit",
        "gates.0.max",
        "gates.1.measure",
    }


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


@pytest.mark.parametrize("good", [GOOD, DP])
def test_an_output_that_is_there_twice_is_refused(good: dict[str, Any]) -> None:
    twice = fields_refused(changed("protect", good["protect"] * 2, good))
    assert twice >= {"protect.0.name", "protect.1.name", "protect.1.columns"}


def test_an_unknown_key_gets_the_nearest_known_one() -> None:
    (fault,) = faults_of(changed("publish/formts", ["csv"]))
    assert fault.remedy == "Did you mean formats? Otherwise remove it."


def test_an_unknown_key_is_never_taken_for_one_that_may_not_stand_there() -> None:
    (fault,) = faults_of(changed("publish/columms", ["csv"]))
    assert fault.remedy == "Remove it."
    (fault,) = faults_of(changed("publish/columns", ["csv"]))
    assert fault.remedy == "It belongs elsewhere in a spec: move it there, or remove it."
    (fault,) = faults_of(changed("protect/0/epsilonn", "1", DP))
    assert fault.remedy == "Did you mean epsilon? Otherwise remove it."
    for key, remedy in (
        ("epsilonn", "Remove it."),
        ("epsilon", "It belongs elsewhere in a spec: move it there, or remove it."),
    ):
        (fault,) = faults_of(changed(f"protect/0/{key}", "1", GOOD))  # probabilistic k-anonymity has none
        assert (fault.rule, fault.remedy) == ("must be a known key", remedy)
    (fault,) = faults_of(changed("source/columns/age/doman", [0, 1]))
    assert fault.remedy == "Did you mean domain? Otherwise remove it."


@pytest.mark.parametrize(
    ("given", "got"), [([True, False], "True"), (["a", 1], "'a'"), ([1.5], "1.5"), ([None], "None")]
)
def test_categories_of_several_kinds_have_one_fault(given: list[Any], got: str) -> None:
    (fault,) = faults_of(changed("source/columns/region/categories", given))
    assert (fault.field, fault.got) == ("source.columns.region.categories", got)
    assert ("YAML reads yes" in fault.remedy) == any(each is True for each in given)


def test_how_a_text_must_be_written_is_said_in_words() -> None:
    found: list[str] = []
    json.loads(json.dumps(json_schema()), object_hook=lambda part: found.append(part.get("pattern", "")) or part)
    assert {pattern for pattern in found if isinstance(pattern, str)} - {""} <= set(_WRITTEN)
    (fault,) = faults_of(changed("name", "Hello World"))
    assert fault.rule.startswith("must be lower case letters, digits")
    assert fault.got == "'Hello World'"


@pytest.mark.parametrize("publish", ["/data/in", "/data/in/", "/data/in/out"])
def test_bundles_do_not_appear_inside_the_source(publish: str) -> None:
    raw = changed("source/path", "/data/in")
    raw["publish"]["path"] = publish
    assert fields_refused(raw) == {"publish.path"}
    raw["publish"]["path"] = "/data/in-public"
    parse_spec(raw)


@pytest.mark.parametrize("key", ["int", "tuple[x", "literal[x", "constrained-int"])
def test_an_unknown_key_may_have_any_name(key: str) -> None:
    assert fields_refused(changed(key, 1)) == {key}
    assert fields_refused(changed(f"protect/0/{key}", 1)) == {f"protect.0.{key}"}


@pytest.mark.parametrize("raw", [None, [], "text", 3])
def test_what_is_not_a_mapping_is_refused(raw: object) -> None:
    assert fields_refused(raw) == {"spec"}


NESTED = ["columns", "unit", "role", "mechanism", "k", "shares", "measure"]


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*GOOD, *NESTED]), inner),
        max_leaves=8,
    )
)
def test_nonsense_is_refused_and_never_raises_anything_else(raw: object) -> None:
    with pytest.raises(SpecRefused):
        parse_spec(raw)


PRIVATE: dict[str, Any] = {
    **GOOD,
    "source": {
        **GOOD["source"],
        "columns": {"priors": {"role": "confidential", "type": "integer", "domain": [0, 9]}},
    },
    "budget": {"dataset": "d", "epsilon": "2"},
    "gates": [{"measure": "privacy_loss", "max": 1}],
}


@pytest.mark.parametrize(
    ("prior", "field", "rule"),
    [
        ({"kind": "gaussian"}, "kind", "must be one of masses, uniform, histogram, distribution"),
        ({}, "kind", "must be given"),
        ({"kind": "uniform", "x": 1}, "x", "must be a known key"),
        ({"kind": "histogram", "bounds": 5, "masses": []}, "bounds", "must be a list"),
        (
            {"kind": "distribution", "name": "levy_stable"},
            "name",
            "must be a distribution of scipy.stats whose distribution function has a closed form or is a special "
            "function",
        ),
    ],
)
def test_a_fault_of_a_prior_is_told_at_the_keys_that_somebody_wrote(prior: object, field: str, rule: str) -> None:
    protect = {"mechanism": "refinement", "epsilon": "1", "adjacency": "replace", "priors": {"priors": prior}}
    with pytest.raises(SpecRefused) as refused:
        parse_spec({**PRIVATE, "protect": [protect]})
    [fault] = refused.value.faults
    assert (fault.field, fault.rule) == (f"protect.0.priors.priors.{field}", rule)


@pytest.mark.parametrize(
    ("impossible", "field", "rule"),
    [
        ({"a": "b"}, "", "must be a list"),
        (["a"], ".0", "must hold keys and values"),
        ([{"a": [], "b": "c"}], ".0.a", "must have at least 1 item"),
        ([{"a": "c", "b": ["c", 0.5]}], ".0.b.1", "must be a valid string"),
        ([{"a": True, "b": "c"}], ".0.a.0", "must be a valid string"),
    ],
)
def test_a_fault_of_a_combination_is_told_at_the_keys_that_somebody_wrote(
    impossible: object, field: str, rule: str
) -> None:
    protect = {"mechanism": "refinement", "epsilon": "1", "adjacency": "replace", "priors": {}}
    with pytest.raises(SpecRefused) as refused:
        parse_spec({**PRIVATE, "protect": [{**protect, "impossible": impossible}]})
    [fault] = refused.value.faults
    assert (fault.field, rule in fault.rule) == (f"protect.0.impossible{field}", True), fault


def test_a_column_called_priors_keeps_its_place_in_a_fault() -> None:
    raw = copy.deepcopy({**PRIVATE, "protect": GOOD["protect"]})
    raw["source"]["columns"]["priors"]["domain"] = [0, "x"]
    with pytest.raises(SpecRefused) as refused:
        parse_spec(raw)
    assert "source.columns.priors.domain.1" in {fault.field for fault in refused.value.faults}
