"""What a gate may ask of its measure: accepted, shown in its rule, and refused where it means nothing."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from penstock.measures import Gate, MeasureUndefined, measure
from penstock.measures.asked import NOTHING, Asked, asked_of
from penstock.measures.possible import impossible, unfit
from penstock.measures.registry import MEASURES
from penstock.mechanisms.columns import Column
from penstock.mechanisms.possible import Possible
from penstock.mechanisms.registry import MECHANISMS
from tests.measures.judged_columns import nominal, number

DECLARED = {
    "age": number(0, 100, role="quasi_identifier"),
    "income": number(),
    "rent": number(),
    "ill": nominal(3),
}
TREE = {"root": [], "A": ["root"], "B": ["root"], "a": ["A"], "b": ["B"]}
SWAP = MECHANISMS["probabilistic_k_anonymity"].params.model_validate({"method": "mdav_swap", "k": 3})
AVERAGE = MECHANISMS["probabilistic_k_anonymity"].params.model_validate({"method": "mdav_id", "k": 3})


def faults_of(**settings):
    with pytest.raises(ValidationError) as refused:
        Gate(**settings)
    [error] = refused.value.errors()
    return {fault.field: fault.rule for fault in error["ctx"]["faults"]}


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"measure": "informed_linkage", "knows": 1}, "informed_linkage (knows 1) at most 0.1"),
        ({"measure": "informed_linkage", "knows": ["income"]}, "informed_linkage (knows income) at most 0.1"),
        (
            {"measure": "informed_linkage", "knows": ["income", "ill"], "finds": ["rent"]},
            "informed_linkage (knows income, ill; finds rent) at most 0.1",
        ),
        ({"measure": "own_value_probability", "of": "confidential"}, "own_value_probability (of confidential) at most"),
        ({"measure": "sse", "scaling": "taxonomy"}, "sse (scaling taxonomy) at most 0.1"),
        ({"measure": "record_linkage"}, "record_linkage at most 0.1"),
    ],
)
def test_what_is_asked_stands_in_the_rule(settings, rule):
    assert rule in Gate(**settings, max=0.1).rule


@pytest.mark.parametrize("name", sorted(set(Asked.model_fields)))
def test_each_setting_belongs_to_a_measure_and_is_refused_of_others(name):
    value = {"knows": 1, "finds": ["rent"], "of": "confidential", "scaling": "taxonomy"}[name]
    takes = [each for each in MEASURES.values() if name in each.takes]
    assert takes
    for each in MEASURES.values():
        settings = {"measure": each.name, "max": 1, **dict.fromkeys(each.needs, 1), name: value}
        if name in each.takes:
            assert getattr(Gate(**settings), name) is not None
        else:
            assert faults_of(**settings) == {name: f"must not be given for {each.name}"}


def test_what_the_intruder_knows_must_be_said():
    assert faults_of(measure="informed_linkage", max=1) == {"knows": "must be given for informed_linkage"}


@pytest.mark.parametrize("wrong", [{"knows": -1}, {"knows": 1.0}, {"knows": "income"}, {"knows": []}, {"of": "all"}])
def test_settings_of_another_type_are_refused(wrong):
    name = "informed_linkage" if "knows" in wrong else "own_value_probability"
    with pytest.raises(ValidationError):
        Gate(measure=name, max=1, **wrong)
    with pytest.raises(MeasureUndefined, match="must be one of the settings of measures"):
        asked_of(name, wrong)


def test_settings_of_a_function_are_refused_as_those_of_a_gate():
    columns = {"income": [1.0, 2.0]}
    with pytest.raises(MeasureUndefined, match=r"sse\.knows refused: must not be given for sse"):
        measure("sse")(columns, columns, {"income": number()}, knows=1)
    with pytest.raises(MeasureUndefined, match=r"informed_linkage\.knows refused: must be given"):
        measure("informed_linkage")(columns, columns, {"income": number()}, finds=("income",))
    with pytest.raises(MeasureUndefined, match=r"sse\.colour refused: must be one of the settings"):
        measure("sse")(columns, columns, {"income": number()}, colour="red")
    assert asked_of("sse", {}) == NOTHING
    assert not NOTHING.said


@pytest.mark.parametrize(
    ("settings", "field", "rule"),
    [
        ({"knows": 3}, "knows", "must leave a confidential column to be found: at most 2 of 3 here"),
        ({"knows": 2, "finds": ["rent", "ill"]}, "knows", "must leave a confidential column to be found: at most 1"),
        ({"knows": ["income", "rent", "ill"]}, "knows", "must leave a confidential column to be found"),
        ({"knows": ["age"]}, "knows", "must name confidential columns of the output"),
        ({"knows": ["income", "income"]}, "knows", "must not name a column twice"),
        ({"knows": 1, "finds": ["age"]}, "finds", "must name confidential columns of the output"),
        ({"knows": ["rent"], "finds": ["rent"]}, "finds", "must name other columns than those that are known"),
    ],
)
def test_what_these_columns_have_no_answer_to_is_refused_before_any_row_is_read(settings, field, rule):
    gate = Gate(measure="informed_linkage", max=0.1, **settings)
    [fault] = impossible({4: gate}, SWAP, DECLARED)
    assert (fault.field, rule in fault.rule) == (f"gates.4.{field}", True)
    assert list(unfit({4: gate}, DECLARED)) == [fault]


def test_too_many_choices_of_known_columns_are_refused():
    many = {f"c{place}": number() for place in range(20)}
    [fault] = unfit({0: Gate(measure="informed_linkage", max=0.1, knows=10)}, many)
    assert fault.rule == "must leave at most 1,000 choices of columns to be tried"
    assert not list(unfit({0: Gate(measure="informed_linkage", max=0.1, knows=2)}, many))


@pytest.mark.parametrize("given", ["income", True, 1.0, [], {"income": 1}])
def test_what_is_known_is_a_number_or_a_list_of_names(given):
    with pytest.raises(ValidationError, match="must be a number of columns, or a list of their names"):
        Gate.model_validate({"measure": "informed_linkage", "max": 1, "knows": given})


@pytest.mark.parametrize(
    ("name", "which"),
    [
        ("emd_closeness", "confidential column"),
        ("record_linkage", "column that is judged"),
        ("sse", "column that is judged"),
    ],
)
def test_distances_in_a_taxonomy_need_one(name, which):
    gate = {0: Gate(measure=name, max=1, scaling="taxonomy")}
    [fault] = unfit(gate, DECLARED)
    assert fault.rule == f"must be given only where a {which} has a taxonomy"
    tree = Column(role="confidential", type="nominal", taxonomy=TREE)
    assert not list(unfit(gate, {**DECLARED, "where": tree}))


@pytest.mark.parametrize("name", ["emd_closeness", "record_linkage", "sse"])
def test_a_taxonomy_of_columns_that_are_not_judged_is_none(name):
    """The run judges what a swap moves, and had refused after the swap what its plan allowed."""
    gate = {0: Gate(measure=name, max=1, scaling="taxonomy")}
    keys = {**DECLARED, "where": Column(role="quasi_identifier", type="nominal", taxonomy=TREE)}
    moved = {**DECLARED, "where": Column(role="confidential", type="nominal", taxonomy=TREE)}
    assert [fault.field for fault in impossible(gate, SWAP, keys)] == ["gates.0.scaling"]
    assert not list(impossible(gate, SWAP, moved))
    # mdav_id masks the quasi-identifiers, and leaves confidential values to be compared in their classes.
    of_classes = name == "emd_closeness"
    assert bool(list(impossible(gate, AVERAGE, keys))) == of_classes
    assert bool(list(impossible(gate, AVERAGE, moved))) != of_classes


def test_earth_is_moved_in_a_tree_only_and_the_plan_says_so():
    twice = {"root": [], "A": ["root"], "B": ["root"], "a": ["A", "B"], "b": ["B"]}
    columns = {**DECLARED, "where": Column(role="confidential", type="nominal", taxonomy=twice)}
    [fault] = impossible({0: Gate(measure="emd_closeness", max=1, scaling="taxonomy")}, SWAP, columns)
    assert fault.rule == "must be given only where no concept above a confidential column has two parents"
    assert not list(impossible({0: Gate(measure="emd_closeness", max=1)}, SWAP, columns))


def test_confidential_values_are_asked_about_only_where_there_are_any():
    keys = {"age": DECLARED["age"]}
    [fault] = impossible({0: Gate(measure="own_value_probability", max=1, of="confidential")}, AVERAGE, keys)
    assert fault.rule == "must be given only where there is a confidential column"


def test_a_confidential_value_may_be_asked_about_where_nothing_was_swapped():
    """Without `of`, mdav_id has no value of own_value_probability."""
    [fault] = impossible({0: Gate(measure="own_value_probability", max=1)}, AVERAGE, DECLARED)
    assert "so it has no value here" in fault.rule
    assert not list(impossible({0: Gate(measure="own_value_probability", max=1, of="confidential")}, AVERAGE, DECLARED))


@pytest.mark.parametrize(("params", "most"), [(SWAP, 3), (AVERAGE, 3)])
def test_diversity_is_bounded_by_what_is_declared(params, most):
    found = MECHANISMS["probabilistic_k_anonymity"].possible("l_diversity", params, DECLARED, None)
    assert isinstance(found, Possible)
    assert (found.low, found.high) == (1, most)
    without = {name: column for name, column in DECLARED.items() if name != "ill"}
    assert MECHANISMS["probabilistic_k_anonymity"].possible("l_diversity", SWAP, without, None).high == 5
    assert "a confidential column" in str(
        MECHANISMS["probabilistic_k_anonymity"].possible("emd_closeness", AVERAGE, {"age": DECLARED["age"]}, None)
    )
