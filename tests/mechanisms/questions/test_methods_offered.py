"""Which methods answer which questions, why others do not, and what is promised then."""

from __future__ import annotations

from fractions import Fraction

import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.composition import Charge
from penstock.mechanisms.questions import NAMES, Query, Terms, methods, why_not
from penstock.mechanisms.refinement.priors import Masses, Uniform
from penstock.mechanisms.refusal import SettingRefused

DECLARED = {
    "id": Column(role="identifier"),
    "x": Column(role="confidential", type="continuous", domain=(0, 10), outside="clamp"),
    "side": Column(role="quasi_identifier", type="nominal", categories=("a", "b")),
    "many": Column(role="confidential", type="nominal", categories=tuple(f"c{i}" for i in range(641))),
}
ALL = ("idp", "bdp")
BAND = ({"column": "x", "below": 5},)
ORDERED = ("median", "quantile", "minimum", "maximum")


def asked(statistic, **more):
    share = "3/4" if statistic == "quantile" else None
    return Query(statistic=statistic, of=None if statistic == "count" else "x", share=share, **more)


def offered(query, terms, **more):
    found, refused = methods(query, DECLARED, terms, **more), why_not(query, DECLARED, terms, **more)
    assert sorted((*found, *refused)) == sorted(NAMES)
    assert all(refused.values())
    return tuple(found)


def test_methods_by_statistic():
    every = Terms("replace", relaxations=ALL, records=100)
    assert offered(asked("count", where=BAND), every) == ("laplace", "staircase", "bootstrap", "refinement")
    assert offered(asked("sum"), every) == ("laplace", "staircase", "individual", "bootstrap")
    assert offered(asked("mean"), every) == ("laplace", "individual", "bootstrap", "refinement")
    for statistic in ORDERED:
        assert offered(asked(statistic), every) == ("exponential", "individual", "bootstrap", "refinement")
    value = Query(statistic="value", of="x", individual="p")
    assert offered(value, Terms("presence", whose="id", relaxations=ALL)) == ("refinement",)


def test_relaxed_methods_only_where_the_owner_accepts_them():
    assert offered(asked("sum"), Terms("replace")) == ("laplace", "staircase")
    assert offered(asked("sum"), Terms("replace", relaxations=("idp",))) == ("laplace", "staircase", "individual")
    assert offered(asked("sum"), Terms("replace", relaxations=("bdp",))) == ("laplace", "staircase", "bootstrap")


def test_what_is_not_proven_is_not_offered():
    several = Terms("replace", whose="id", rows_per_unit=2, relaxations=ALL)
    assert offered(asked("sum"), several) == ("laplace", "staircase")
    assert offered(asked("sum"), Terms("add_remove", relaxations=ALL)) == ("laplace", "staircase", "bootstrap")
    assert offered(asked("sum", by="side"), Terms("add_remove")) == ("laplace",)
    assert offered(asked("count"), Terms("add_remove", records=10)) == ("laplace", "staircase")
    assert offered(asked("count", where=BAND), Terms("replace")) == ("laplace", "staircase")
    many = Query(statistic="value", of="many", individual="p")
    assert offered(many, Terms("presence", whose="id")) == ()


def test_a_prior_that_does_not_fit_is_refused_at_its_field():
    wrong = Masses(kind="masses", masses={"11": "1"})
    for query, terms in (
        (asked("median"), Terms("replace")),
        (asked("mean"), Terms("replace")),
        (asked("count", where=BAND), Terms("replace", records=10)),
    ):
        for act in (methods, why_not):
            with pytest.raises(SettingRefused) as refused:
                act(query, DECLARED, terms, prior=wrong)
            assert [fault.field for fault in refused.value.faults] == ["prior.masses"]
    # A prior says nothing about a sum, which no method refines.
    assert offered(asked("sum"), Terms("replace"), prior=wrong) == ("laplace", "staircase")
    right = Masses(kind="masses", masses={"11": "1"})
    assert "refinement" in offered(asked("count", where=BAND), Terms("replace", records=20), prior=right)


PROMISES = [
    ("laplace", "sum", "replace", "dp", "replace"),
    ("laplace", "sum", "add_remove", "dp", "add_remove"),
    ("laplace", "sum", "presence", "dp", "add_remove"),
    ("staircase", "sum", "presence", "dp", "add_remove"),
    ("exponential", "median", "replace", "dp", "replace"),
    ("individual", "median", "replace", "idp", "from_D"),
    ("bootstrap", "median", "replace", "bdp", "bootstrap_replace"),
    ("bootstrap", "mean", "add_remove", "bdp", "bootstrap_add_remove"),
    ("bootstrap", "mean", "presence", "bdp", "bootstrap_add_remove"),
    ("refinement", "mean", "replace", "dp", "replace"),
    ("refinement", "mean", "presence", "dp", "add_remove"),
]


@pytest.mark.parametrize(("name", "statistic", "adjacency", "model", "word"), PROMISES)
def test_a_promise_names_a_model_and_adjacency_that_the_ledger_counts(name, statistic, adjacency, model, word):
    method = methods(asked(statistic), DECLARED, Terms(adjacency, relaxations=ALL, records=9))[name]
    assert (method.name, method.model, method.adjacency) == (name, model, word)
    promise = method.guarantee(Fraction(1, 4))
    assert (promise.model, promise.adjacency, promise.unit) == (model, word, "row")
    assert promise.parameters["epsilon"] == "1/4"
    assert promise.parameters["method"] == name
    assert promise.postprocessing == ("any" if model == "dp" else "data_independent_only")
    Charge(model=model, epsilon=Fraction(promise.parameters["epsilon"]), adjacency=word, unit=promise.unit)
    secret_size = "size of the noise" in promise.secret
    assert secret_size == (model != "dp")
    covers = any("calibrated for records added or removed" in each for each in promise.not_promised)
    assert covers == (adjacency == "presence" and model == "dp")
    assert any("figures of x as collected" in each for each in promise.not_promised)


def test_a_promise_about_one_individual_says_what_a_replaced_value_loses_and_names_nobody():
    query = Query(statistic="value", of="side", individual="Jane")
    method = methods(query, DECLARED, Terms("presence", whose="id"))["refinement"]
    promise = method.guarantee(Fraction(1, 2))
    assert (promise.adjacency, promise.unit) == ("presence", "individual")
    assert "if their value is replaced by another, by a factor of at most e^1." in promise.statement
    assert "Jane" not in promise.model_dump_json()


def test_refinement_promises_for_any_two_data_sets_where_there_is_one_group():
    said = "any two data sets"
    one = methods(asked("mean"), DECLARED, Terms("replace"))["refinement"].guarantee(Fraction(1))
    groups = methods(asked("mean", by="side"), DECLARED, Terms("replace"))["refinement"].guarantee(Fraction(1))
    assert said in one.statement
    assert said not in groups.statement


def test_units_of_several_rows_are_individuals():
    promise = methods(asked("sum"), DECLARED, Terms("replace", "id", 3))["laplace"].guarantee(Fraction(1))
    assert (promise.unit, promise.parameters["rows_per_unit"]) == ("individual", 3)
    assert "individual's records (all of them together, by equally many others)" in promise.statement
    assert "hiding how many records an individual has, up to 3" in promise.not_promised
    one = methods(asked("sum"), DECLARED, Terms("add_remove", "id"))["laplace"].guarantee(Fraction(1))
    assert (one.unit, one.parameters["rows_per_unit"]) == ("individual", 1)


def test_the_number_of_records_is_public_or_secret_as_the_terms_say():
    public = methods(asked("mean"), DECLARED, Terms("replace"))["laplace"].guarantee(Fraction(1))
    some = methods(asked("mean", where=BAND), DECLARED, Terms("replace"))["laplace"].guarantee(Fraction(1))
    secret = methods(asked("mean"), DECLARED, Terms("add_remove"))["laplace"].guarantee(Fraction(1))
    assert "number of records" in public.public
    assert "number of records that take part" not in public.secret
    assert "number of records that take part" in some.secret
    assert "number of records" not in secret.public


def test_groups_are_the_declared_categories_and_columns_those_that_are_read():
    query = asked("mean", by="side", where=BAND)
    method = methods(query, DECLARED, Terms("replace"), prior=Uniform(kind="uniform"))["laplace"]
    assert method.groups == ("a", "b")
    assert method.columns == ("x", "side")
    assert methods(asked("mean"), DECLARED, Terms("replace"))["laplace"].groups == ("",)
