"""Every reason why a question cannot be asked, by its field; found without data."""

from __future__ import annotations

from fractions import Fraction

import pytest
from pydantic import ValidationError

from penstock.mechanisms.columns import Column
from penstock.mechanisms.questions import (
    MOST_CONDITIONS,
    MOST_GROUPS,
    Condition,
    Query,
    Terms,
    canonical,
    faults,
    methods,
)
from penstock.mechanisms.refusal import SettingRefused

DECLARED = {
    "id": Column(role="identifier"),
    "w": Column(role="weight"),
    "x": Column(role="confidential", type="continuous", domain=(-10, 10)),
    "far": Column(role="confidential", type="continuous", domain=(1e9, 1e9 + 1)),
    "thin": Column(role="confidential", type="continuous", domain=(2**52, 2**52 + 1)),
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
    "region": Column(role="quasi_identifier", type="nominal", categories=("north", "south")),
    "code": Column(role="quasi_identifier", type="nominal", categories=(1, 2, 3)),
    "many": Column(role="quasi_identifier", type="nominal", categories=tuple(f"c{i}" for i in range(MOST_GROUPS + 1))),
}
OPEN = Terms("add_remove")
PERSON = Terms("presence", whose="id")


def fields(query, terms=OPEN):
    return [fault.field for fault in faults(Query(**query), DECLARED, terms)]


SOUND = [
    {"statistic": "count"},
    {"statistic": "sum", "of": "x"},
    {"statistic": "quantile", "of": "x", "share": "0.9"},
    {"statistic": "mean", "of": "x", "by": "region"},
    {"statistic": "mean", "of": "x", "where": [{"column": "x", "at_least": "-5/2", "below": 10}]},
    {"statistic": "mean", "of": "x", "where": [{"column": "x", "at_least": -10}]},
    {"statistic": "count", "where": [{"column": "code", "is_in": ["1", "3"]}, {"column": "age", "below": 18}]},
]


@pytest.mark.parametrize("query", SOUND)
def test_a_sound_question_has_no_fault(query):
    assert fields(query) == []


FAULTS = [
    ({"statistic": "count", "of": "x"}, "of"),
    ({"statistic": "sum"}, "of"),
    ({"statistic": "sum", "of": "nothing"}, "of"),
    ({"statistic": "sum", "of": "id"}, "of"),
    ({"statistic": "sum", "of": "w"}, "of"),
    ({"statistic": "median", "of": "region"}, "of"),
    ({"statistic": "sum", "of": "far"}, "columns.far.domain"),
    ({"statistic": "median", "of": "thin"}, "columns.thin.domain"),
    ({"statistic": "mean", "of": "x", "share": "1/2"}, "share"),
    ({"statistic": "quantile", "of": "x"}, "share"),
    ({"statistic": "quantile", "of": "x", "share": 1}, "share"),
    ({"statistic": "quantile", "of": "x", "share": 0}, "share"),
    ({"statistic": "quantile", "of": "x", "share": "1/1000001"}, "share"),
    ({"statistic": "count", "by": "nothing"}, "by"),
    ({"statistic": "count", "by": "age"}, "by"),
    ({"statistic": "count", "by": "id"}, "by"),
    ({"statistic": "count", "by": "many"}, "by"),
    ({"statistic": "count", "individual": "p"}, "individual"),
    ({"statistic": "count", "where": [{"column": "nothing", "at_least": 1}]}, "where.0.column"),
    ({"statistic": "count", "where": [{"column": "id", "is_in": ["p"]}]}, "where.0.column"),
    ({"statistic": "count", "where": [{"column": "w", "at_least": 1}]}, "where.0.column"),
    ({"statistic": "count", "where": [{"column": "age"}]}, "where.0.at_least"),
    ({"statistic": "count", "where": [{"column": "age", "at_least": 121}]}, "where.0.at_least"),
    ({"statistic": "count", "where": [{"column": "age", "at_least": -1}]}, "where.0.at_least"),
    ({"statistic": "count", "where": [{"column": "age", "below": 0}]}, "where.0.below"),
    ({"statistic": "count", "where": [{"column": "age", "below": 121}]}, "where.0.below"),
    ({"statistic": "count", "where": [{"column": "age", "at_least": 9, "below": 9}]}, "where.0.below"),
    ({"statistic": "count", "where": [{"column": "age", "below": 9, "is_in": ["1"]}]}, "where.0.is_in"),
    ({"statistic": "count", "where": [{"column": "region"}]}, "where.0.is_in"),
    ({"statistic": "count", "where": [{"column": "region", "is_in": []}]}, "where.0.is_in"),
    ({"statistic": "count", "where": [{"column": "region", "is_in": ["east"]}]}, "where.0.is_in"),
    ({"statistic": "count", "where": [{"column": "region", "is_in": ["north", "north"]}]}, "where.0.is_in"),
    ({"statistic": "count", "where": [{"column": "region", "is_in": ["north"], "below": 1}]}, "where.0.below"),
    ({"statistic": "count", "where": [{"column": "region", "is_in": ["north"], "at_least": 1}]}, "where.0.at_least"),
    ({"statistic": "count", "where": [{"column": "age", "below": 9}] * (MOST_CONDITIONS + 1)}, "where"),
]


@pytest.mark.parametrize(("query", "field"), FAULTS)
def test_a_fault_is_found_at_its_field(query, field):
    assert fields(query) == [field]
    with pytest.raises(SettingRefused) as refused:
        methods(Query(**query), DECLARED, OPEN)
    assert refused.value.code == "setting-refused"
    assert [fault.field for fault in refused.value.faults] == [field]


TERMS = [
    (Terms("bootstrap"), "terms.adjacency"),
    (Terms("replace", whose="id", rows_per_unit=0), "terms.rows_per_unit"),
    (Terms("replace", whose="id", rows_per_unit=10_001), "terms.rows_per_unit"),
    (Terms("replace", rows_per_unit=2), "terms.rows_per_unit"),
    (Terms("replace", relaxations=("tdp",)), "terms.relaxations"),
    (Terms("replace", records=-1), "terms.records"),
    (Terms("replace", records=2**32), "terms.records"),
]


@pytest.mark.parametrize(("terms", "field"), TERMS)
def test_terms_have_faults_too(terms, field):
    assert fields({"statistic": "sum", "of": "x"}, terms) == [field]


def test_the_number_of_all_records_is_public_where_records_are_replaced():
    assert fields({"statistic": "count"}, Terms("replace")) == ["statistic"]
    assert fields({"statistic": "count"}, Terms("presence")) == []
    assert fields({"statistic": "count", "by": "region"}, Terms("replace")) == []
    assert fields({"statistic": "count", "where": [{"column": "age", "below": 9}]}, Terms("replace")) == []


VALUES = [
    ({}, PERSON, ["individual"]),
    ({"individual": "p"}, Terms("presence"), ["terms.whose"]),
    ({"individual": "p"}, Terms("replace", whose="id"), ["terms.adjacency"]),
    ({"individual": "p"}, Terms("presence", whose="id", rows_per_unit=2), ["terms.rows_per_unit"]),
    ({"individual": "p", "by": "region"}, PERSON, ["by"]),
    ({"individual": "p", "where": [{"column": "age", "below": 9}]}, PERSON, ["where"]),
    ({"individual": "p"}, PERSON, []),
    ({"individual": 17}, PERSON, []),
]


@pytest.mark.parametrize(("given", "terms", "expected"), VALUES)
def test_a_question_about_one_individual_needs_presence_and_a_unit(given, terms, expected):
    assert fields({"statistic": "value", "of": "x", **given}, terms) == expected
    assert fields({"statistic": "value", "of": "region", **given}, terms) == expected


def test_several_faults_are_told_together():
    query = {"statistic": "quantile", "of": "id", "by": "age", "where": [{"column": "region", "is_in": ["east"]}]}
    assert fields(query, Terms("replace", rows_per_unit=2)) == [
        "terms.rows_per_unit",
        "share",
        "of",
        "by",
        "where.0.is_in",
    ]


def test_a_query_is_data_and_nothing_else():
    with pytest.raises(ValidationError):
        Query(statistic="count", sql="drop table")
    with pytest.raises(ValidationError):
        Query(statistic="variance", of="x")
    with pytest.raises(ValidationError):
        Condition(column="x", at_least=0.1)  # a float is not the number written
    with pytest.raises(ValidationError):
        Condition(column="x", at_least="1e5")
    with pytest.raises(ValidationError):
        Condition(column="x", at_least="--5")
    with pytest.raises(ValidationError):
        Condition(column="x", at_least=True)
    assert Condition(column="x", at_least="-0.5").at_least == Fraction(-1, 2)
    assert Condition(column="x", at_least=-3).at_least == -3
    query = Query(statistic="mean", of="x", where=[{"column": "x", "below": "-1/3"}])
    assert Query.model_validate_json(query.model_dump_json()) == query
    assert hash(query) == hash(Query.model_validate(query.model_dump()))


def test_the_same_question_in_another_order_has_one_form():
    north, young = {"column": "region", "is_in": ["north", "south"]}, {"column": "age", "below": "18"}
    south = {"column": "region", "is_in": ["south", "north"]}
    forms = {
        canonical(Query(statistic="count", where=where))
        for where in ([north, young], [young, south], [young, north, {"column": "age", "below": "36/2"}, young])
    }
    assert len(forms) == 1
    assert canonical(Query(statistic="count", where=[young])) not in forms
    assert canonical(forms.copy().pop()) in forms
