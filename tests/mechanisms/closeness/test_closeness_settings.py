from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from penstock.mechanisms.closeness import Params, chosen_facts, faults, promise
from penstock.mechanisms.closeness._expect import expect
from penstock.mechanisms.closeness._explain import advice, treatments
from penstock.mechanisms.columns import Column
from penstock.mechanisms.refusal import SettingRefused

AGE = Column(role="quasi_identifier", type="integer", domain=(0, 120))
INCOME = Column(role="confidential", type="continuous", domain=(0, 1000))
CAUSE = Column(role="confidential", type="nominal", categories=("fall", "fire", "flood"))
ONE = {"age": AGE, "income": INCOME, "weight": Column(role="weight")}
TWO = {**ONE, "cause": CAUSE}


def params(**settings: Any) -> Params:
    return Params.model_validate({"method": "buckets", "output": "anatomy", "k": 5, **settings})


def told(declared: dict[str, Column], **settings: Any) -> list[tuple[str, str]]:
    return [(fault.field, fault.rule) for fault in faults(params(**settings), declared)]


def test_sound_settings_have_no_fault() -> None:
    assert told(ONE, epsilon="1/2") == []
    assert told(ONE, t="2", output="permuted") == []
    assert told(TWO, t="2", several="joint") == []
    assert told(TWO, t="2", several="each") == []
    assert told(ONE, method="ranked") == []
    assert told(TWO, method="ranked") == []


@pytest.mark.parametrize(
    ("declared", "settings", "field", "rule"),
    [
        (ONE, {}, "epsilon", "must be given, or else t, but not both"),
        (ONE, {"epsilon": "1", "t": "2"}, "epsilon", "must be given, or else t, but not both"),
        (
            ONE,
            {"t": "1"},
            "t",
            "must give a t = e^epsilon above 1 and at most 100",
        ),
        (
            ONE,
            {"t": "101"},
            "t",
            "must give a t = e^epsilon above 1 and at most 100",
        ),
        (
            ONE,
            {"epsilon": "0"},
            "epsilon",
            "must give a t = e^epsilon above 1 and at most 100",
        ),
        (
            ONE,
            {"epsilon": "4.61"},
            "epsilon",
            "must give a t = e^epsilon above 1 and at most 100",
        ),
        (
            ONE,
            {"epsilon": "1000000"},
            "epsilon",
            "must give a t = e^epsilon above 1 and at most 100",
        ),
        (ONE, {"method": "ranked", "epsilon": "1"}, "epsilon", "must not be given under ranked"),
        (ONE, {"method": "ranked", "t": "2"}, "t", "must not be given under ranked"),
        (TWO, {"t": "2"}, "several", "must be given for more than one confidential column"),
        (ONE, {"t": "2", "several": "joint"}, "several", "must not be given for one confidential column"),
        (TWO, {"method": "ranked", "several": "each"}, "several", "must not be given under ranked"),
        (
            ONE,
            {"method": "ranked", "output": "permuted"},
            "output",
            "must be anatomy under ranked; swapping among similar values is ir_swap of probabilistic_k_anonymity",
        ),
        (
            {"income": INCOME},
            {"t": "2"},
            "method",
            "needs a quasi_identifier: groups are of records that outsiders know",
        ),
        ({"age": AGE}, {"t": "2"}, "method", "needs a confidential column"),
        ({**ONE, "group": AGE}, {"t": "2"}, "columns.group", "must not have the name of a column of the output"),
        ({**ONE, "records": AGE}, {"t": "2"}, "columns.records", "must not have the name of a column of the output"),
        (
            {**TWO, "group_cause": AGE},
            {"t": "2", "several": "each"},
            "columns.group_cause",
            "must not have the name of a column of the output",
        ),
        (
            {"age": AGE, "income": INCOME.model_copy(update={"outside": "clamp"})},
            {"t": "2"},
            "columns.income.outside",
            "must be refuse: what is not masked is promised unchanged",
        ),
        (
            {"age": AGE, "cause": CAUSE.model_copy(update={"missing": "category"})},
            {"t": "2"},
            "columns.cause.missing",
            "must be refuse for a confidential of type nominal",
        ),
        (
            {"age": AGE, "cause": CAUSE.model_copy(update={"categories": ("a | b", "c")})},
            {"t": "2"},
            "columns.cause.categories",
            "must not contain | in a category or concept, because it parts categories in labels",
        ),
        (
            {"age": AGE, "step": Column(role="confidential", type="ordinal", categories=("up to", "b"))},
            {"t": "2"},
            "columns.step.categories",
            "must not contain the word to, because it joins the ends of a range in labels",
        ),
        (
            {
                "age": AGE,
                "cause": Column(
                    role="confidential",
                    type="nominal",
                    taxonomy={"burn": ["heat"], "scald": ["heat"], "heat": []},
                    categories=("burn", "heat"),
                ),
            },
            {"t": "2"},
            "columns.cause.categories",
            "must not list a concept above another category, because a label that names it would mean both",
        ),
        (
            {
                "sex": Column(role="quasi_identifier", type="nominal", categories=("m", "f"), missing="own_group"),
                "income": INCOME,
            },
            {"t": "2"},
            "columns.sex.missing",
            "must be refuse or category",
        ),
    ],
)
def test_settings_that_do_not_fit_are_told(
    declared: dict[str, Column], settings: dict[str, Any], field: str, rule: str
) -> None:
    assert told(declared, **settings) == [(field, rule)]
    with pytest.raises(SettingRefused):
        promise(params(**settings), declared)


def test_names_that_the_output_does_not_use_are_free() -> None:
    assert told({**ONE, "group": AGE}, t="2", output="permuted") == []
    assert told({**ONE, "records": AGE}, method="ranked") == []
    nominal = CAUSE.model_copy(update={"categories": ("a | b", "c")})
    assert told({"age": AGE, "cause": nominal}, method="ranked") == []


def test_the_promise_of_closeness_says_what_it_is_and_what_it_is_not() -> None:
    found = promise(params(epsilon="1/2"), ONE)
    assert found.model == "t_close"
    assert found.adjacency == "none: not a statement about neighbouring data sets"
    assert found.parameters["t"] == "16487212707/10000000000"
    assert found.parameters["buckets"] == 2
    assert "between 1/t and t" in found.statement
    assert "This is not differential privacy." in found.statement
    assert any(limit.startswith("differential privacy") for limit in found.not_promised)
    # e = 2.71828...: the words round up, so they never promise more than the exact parameter.
    assert any("t^2 = 2.7183" in limit for limit in found.not_promised)
    assert any("does not exploit how groups were formed" in assumption for assumption in found.assumptions)


def test_the_promise_of_several_columns_is_composed() -> None:
    each = promise(params(t="3/2", several="each"), TWO)
    assert "For all 2 columns together the factor is at most t^2 = 9/4." in each.statement
    assert "the intruder holds the confidential columns independent of each other" in each.assumptions
    joint = promise(params(t="3/2", several="joint"), TWO)
    assert "bucket of income, cause together" in joint.statement
    assert "For all" not in joint.statement


def test_groups_are_secret_exactly_where_they_are_not_published() -> None:
    assert "group labels" in promise(params(t="2", output="permuted"), ONE).secret
    anatomy = promise(params(t="2"), ONE)
    assert "group labels" not in anatomy.secret
    assert "group numbers" in anatomy.public


def test_ranked_groups_promise_a_guess_and_no_closeness() -> None:
    found = promise(params(method="ranked"), ONE)
    assert found.model == "prob_k"
    assert any(limit.startswith("closeness") for limit in found.not_promised)
    assert found.parameters["scaling"] == "not used"
    assert promise(params(method="ranked"), TWO).parameters["scaling"] != "not used"


def test_settled_is_the_exact_bound() -> None:
    assert chosen_facts(params(t="5/2"), ONE, 100) == {"t": "5/2", "buckets": 3}
    assert chosen_facts(params(method="ranked"), ONE, 100) == {}
    assert params(t="5/2").bound == Fraction(5, 2)
    assert (params(t="2").model, params(method="ranked").model) == ("t_close", "prob_k")


def test_who_decides_is_told_the_number_of_groups_before_any_row_is_read() -> None:
    told = " ".join(expect(params(t="2", k=10), ONE, 30_162))
    assert "30,162 records make 3,016 groups of 10 or 11; the average risk is 0.1." in told
    assert "66.7 % of a group instead of 33.3 %" in told
    assert "not differential privacy" in told
    larger = " ".join(expect(params(t="99", k=2), ONE, 30_162))
    assert "more than k" in larger
    assert "it will be refused" in " ".join(expect(params(t="11/10"), ONE, 10))
    assert "it will be refused" in " ".join(expect(params(t="50"), ONE, 10))
    assert "as categories allow; unequal ones" in " ".join(expect(params(t="2"), {"age": AGE, "cause": CAUSE}, 300))
    assert "With equal buckets, groups of 6 records are large enough" in " ".join(expect(params(t="2"), ONE, None))
    assert "the factor is 4" in " ".join(expect(params(t="2", several="each"), TWO, None))


def test_who_decides_about_ranked_groups_is_warned() -> None:
    told = " ".join(expect(params(method="ranked", k=20), ONE, 100))
    assert "100 records make 5 groups; each holds 20 % of the records." in told
    assert "known up to the spread of its group" in told
    assert "like a sort" in told
    assert "microaggregation" in " ".join(expect(params(method="ranked"), TWO, None))


def test_every_column_of_every_table_has_its_treatment() -> None:
    assert set(treatments(params(t="2"), ONE)) == {"age", "weight", "group", "income", "records"}
    each = treatments(params(t="2", several="each"), TWO)
    assert set(each) == {"age", "weight", "group_income", "group_cause", "income", "cause", "records"}
    assert set(treatments(params(t="2", output="permuted"), ONE)) == {"age", "weight", "income"}
    assert set(treatments(params(method="ranked"), ONE)) == {"age", "weight", "group", "income"}
    assert any("intervals may overlap" in sentence for sentence in advice(params(t="2"), ONE))
    assert not any("intervals" in sentence for sentence in advice(params(method="ranked"), ONE))
