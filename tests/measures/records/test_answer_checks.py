"""Correct answers pass every check whatever was drawn, and each way to break them is found."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measures.checks import RecheckImpossible
from penstock.mechanisms import refinement
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from tests.measures.judged_columns import number, ordinal, rechecked
from tests.measures.records.answers import DECLARED, Answers
from tests.mechanisms.refinement.by_definition import exponential
from tests.support.order import examples

both = pytest.mark.parametrize("adjacency", ["replace", "presence"])


@both
def test_correct_answers_pass(adjacency):
    assert Answers(adjacency).failed() == set()


def test_columns_may_be_read_only():
    fixed = Answers()
    for side in (fixed.original, fixed.released):
        for values in side.values():
            values.setflags(write=False)
    assert fixed.failed() == set()


BELOW, ABOVE = exponential(Fraction(1, 3))


@pytest.mark.parametrize(
    ("adjacency", "factors", "kept"),
    [
        ("replace", (Fraction(1), BELOW * (1 - Fraction(1, 10**40))), True),
        ("replace", (Fraction(1), ABOVE), False),
        ("replace", (1 / ABOVE, Fraction(1)), False),
        ("replace", (Fraction(5, 6), Fraction(5, 6) * BELOW * (1 - Fraction(1, 10**40))), True),
        ("replace", (Fraction(5, 6), Fraction(5, 6) * ABOVE), False),
        ("replace", (1 / BELOW, BELOW), False),  # the calibration of the thesis: twice epsilon
        ("presence", (1 / BELOW, BELOW * (1 - Fraction(1, 10**40))), False),
        ("presence", (1 / (BELOW * (1 - Fraction(1, 10**40))), BELOW * (1 - Fraction(1, 10**40))), True),
        ("presence", (Fraction(1), ABOVE), False),
        ("presence", (1 / ABOVE, Fraction(1)), False),
        ("replace", (Fraction(11, 10), Fraction(12, 10)), False),  # the lower one above 1
        ("replace", (Fraction(8, 10), Fraction(9, 10)), False),  # the upper one below 1
    ],
)
@pytest.mark.parametrize("name", list(DECLARED))
def test_a_factor_that_is_a_trifle_too_large_is_found(adjacency, factors, kept, name):
    output = Answers(adjacency)
    output.facts(name)["factors"] = [str(factor) for factor in factors]
    assert output.failed() == (set() if kept else {"factors_bounded"})


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**60), Fraction(1, 10**9)])
def test_the_prior_itself_may_be_drawn_whatever_epsilon_is(epsilon):
    output = Answers()
    for name in DECLARED:
        output.facts(name).update(epsilon=str(epsilon), factors=["1", "1"])
    assert output.failed() == set()
    output.facts("age")["factors"] = ["1", str(1 + 2 * epsilon)]
    assert output.failed() == {"factors_bounded"}


def with_delta(adjacency, delta="1/100", **of_columns):
    """Each column moves what its delta allows; its factors are 7/8 and 6/5."""
    output = Answers(adjacency)
    loss = Fraction(8, 7) if adjacency == "presence" else 1 + Fraction(6, 5) / Fraction(7, 8)
    for name, own in {"age": "1/300", "region": "1/300", "income": "1/300", **of_columns}.items():
        cost = (1 if adjacency == "presence" else 2) if name == "region" else loss  # its factors are 1 and 1
        output.facts(name).update(delta=own, moved=str(Fraction(own) / cost))
    if delta is not None:
        output.chosen["delta"] = delta
    parameters = {**output.guarantee.parameters, **({} if delta is None else {"delta": delta})}
    output.guarantee = output.guarantee.model_copy(update={"parameters": parameters})
    return output


def failed(output):
    return {check.name for check in output.checks() if not check.passed}


@both
def test_answers_that_move_what_delta_allows_pass_and_a_trifle_more_is_found(adjacency):
    assert failed(with_delta(adjacency)) == set()
    for name in ("age", "income"):
        output = with_delta(adjacency)
        output.facts(name)["moved"] = str(Fraction(output.facts(name)["moved"]) + Fraction(1, 10**40))
        assert failed(output) == {"delta_spent"}


def test_the_shares_of_the_thesis_are_found():
    output = with_delta("replace")
    output.facts("age")["moved"] = str(Fraction(output.facts("age")["delta"]) / 2)
    assert failed(output) == {"delta_spent"}
    output = with_delta("presence")
    output.facts("age")["moved"] = output.facts("age")["delta"]
    assert failed(output) == {"delta_spent"}


@both
def test_columns_that_spend_more_than_delta_together_are_found(adjacency):
    assert failed(with_delta(adjacency, delta="1/100")) == set()
    assert failed(with_delta(adjacency, income="1/299")) == {"delta_spent"}
    output = with_delta(adjacency)
    output.guarantee = output.guarantee.model_copy(
        update={"unit": "individual", "parameters": {**output.guarantee.parameters, "rows_per_unit": 2}}
    )
    assert "delta_spent" in failed(output)


@pytest.mark.parametrize("wrong", [{"delta": "-1/9"}, {"moved": "-1"}, {"moved": "much"}, {"moved": None}])
def test_a_delta_that_makes_no_sense_cannot_be_checked(wrong):
    output = with_delta("replace")
    output.facts("age").update(wrong)
    with pytest.raises(RecheckImpossible):
        output.checks()


def without(output, *fields):
    for field in fields:
        del output.facts("age")[field]
    return output


def test_delta_is_stated_for_every_column_and_together_as_it_is_promised():
    wrong = [without(with_delta("replace"), "moved"), without(with_delta("replace"), "delta", "moved")]
    wrong += [with_delta("replace", delta=None), Answers(), with_delta("replace"), with_delta("replace")]
    wrong[3].facts("age")["moved"] = "1/1000000"
    wrong[4].chosen["delta"] = "1/101"
    wrong[5].chosen["epsilon"] = "1/2"
    for output in wrong:
        with pytest.raises(RecheckImpossible):
            output.checks()


def test_a_smaller_epsilon_than_the_factors_need_is_found():
    output = Answers()
    output.facts("age")["epsilon"] = str(Fraction(math.log(48 / 35)) - Fraction(1, 10**9))
    assert output.failed() == {"factors_bounded"}
    output.facts("age")["epsilon"] = str(Fraction(math.log(48 / 35)) + Fraction(1, 10**9))
    assert output.failed() == set()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("age", -1),
        ("age", 101),
        ("region", -1),
        ("region", 2),  # declared, and excluded by the prior
        ("region", 4),
        ("income", -0.25),
        ("income", 100.25),
        ("income", 0.125),
        ("income", np.nan),
        ("income", np.inf),
    ],
)
@pytest.mark.parametrize("place", [0, 3])
def test_an_answer_outside_what_is_public_is_found(name, value, place):
    output = Answers()
    output.released[name][place] = value
    assert output.failed() == {"possible_answers"}


def test_a_bound_that_lies_off_the_grid_may_be_answered():
    output = Answers()
    output.declared["income"] = number(0.1, 99.9)
    output.released["income"] = np.array([0.1, 99.9, 17.5, 0.25])
    assert output.failed() == set()


def test_whole_numbers_on_a_coarse_grid_are_checked():
    output = Answers()
    output.facts("age")["grid"] = "4"
    assert output.failed() == {"possible_answers"}
    output.released["age"] = np.array([20, 100, 36, 0])
    assert output.failed() == set()


@pytest.mark.parametrize("grid", ["3", "1/3", "3/4", "1/1000"])
def test_a_grid_that_is_no_power_of_two_is_found(grid):
    output = Answers()
    output.released["income"] = np.array([0.0, 100.0, 0.0, 100.0])
    assert output.failed() == set()
    output.facts("income")["grid"] = grid
    assert output.failed() == {"possible_answers"}


@pytest.mark.parametrize(("name", "kind"), [("age", np.float64), ("region", np.float64), ("income", np.int64)])
def test_answers_stored_as_another_type_are_found(name, kind):
    output = Answers()
    output.released["income"] = np.array([0.0, 100.0, 17.0, 3.0])
    output.released[name] = output.released[name].astype(kind)
    assert output.failed() == {"possible_answers"}


def test_categories_as_text_are_not_what_is_staged():
    output = Answers()
    output.released["region"] = np.array(list("abcd"))[output.released["region"]]
    assert output.failed() == {"possible_answers"}


@pytest.mark.parametrize("weights", [None, "1203", [1, 2, 3], [1, 2, 0, 3, 0], [0, 2, 0, 3]])
def test_weights_that_do_not_speak_of_every_category_are_found(weights):
    output = Answers()
    output.facts("region")["weights"] = weights
    assert output.failed() == {"possible_answers"}


def test_a_column_left_out_is_found():
    output = Answers()
    del output.released["income"]
    assert output.failed() == {"possible_answers"}


def test_a_column_that_is_too_short_cannot_be_checked():
    output = Answers()
    output.released["income"] = output.released["income"][:-1]
    with pytest.raises(RecheckImpossible):
        output.checks()


@pytest.mark.parametrize("name", ["id", "shoe_size"])
def test_an_identifier_or_an_undeclared_column_is_found(name):
    output = Answers()
    output.declared["id"] = Column(role="identifier")
    output.released[name] = np.arange(4)
    assert output.failed() == {"identifiers_absent"}


def test_exactly_epsilon_may_be_spent_and_not_a_fraction_more():
    assert Answers(epsilon="1").failed() == set()
    assert Answers(epsilon=str(1 - Fraction(1, 10**12))).failed() == {"epsilon_spent"}


@pytest.mark.parametrize("name", list(DECLARED))
def test_every_column_is_charged(name):
    output = Answers()
    output.facts(name)["epsilon"] = str(Fraction(1, 3) + Fraction(1, 10**12))
    assert output.failed() == {"epsilon_spent"}


def test_every_record_of_a_unit_is_charged():
    assert Answers(rows_per_unit=2, epsilon="2").failed() == set()
    assert Answers(rows_per_unit=2, epsilon="1").failed() == {"epsilon_spent"}
    assert Answers(rows_per_unit=3, epsilon="2").failed() == {"epsilon_spent"}


def test_what_is_found_names_columns_and_no_values():
    output = Answers()
    output.released["income"][0] = 3.1
    found = {check.name: check.found for check in output.checks()}
    assert found["possible_answers"].endswith(": income")
    assert not any(character.isdigit() for text in found.values() for character in text)


BROKEN = {
    "nothing stated": lambda output: output.chosen.clear(),
    "no facts": lambda output: output.chosen.update(answers=None),
    "a column without facts": lambda output: output.chosen["answers"].pop("age"),
    "facts of another column": lambda output: output.chosen["answers"].update(more=output.facts("age")),
    "no mapping": lambda output: output.chosen["answers"].update(age=3),
    "no factors": lambda output: output.facts("age").pop("factors"),
    "one factor": lambda output: output.facts("age").update(factors=["1"]),
    "three factors": lambda output: output.facts("age").update(factors=["1", "1", "1"]),
    "factors in words": lambda output: output.facts("age").update(factors=["low", "high"]),
    "a factor of 0": lambda output: output.facts("age").update(factors=["0", "1"]),
    "a factor below 0": lambda output: output.facts("age").update(factors=["-1", "1"]),
    "a factor divided by 0": lambda output: output.facts("age").update(factors=["1/0", "1"]),
    "no epsilon": lambda output: output.facts("age").pop("epsilon"),
    "epsilon of 0": lambda output: output.facts("age").update(epsilon="0"),
    "no grid": lambda output: output.facts("age").pop("grid"),
    "grid of nothing": lambda output: output.facts("age").update(grid=None),
    "grid of 0": lambda output: output.facts("age").update(grid="0"),
    "no promised epsilon": lambda output: output.guarantee.parameters.pop("epsilon"),
    "promised epsilon of 0": lambda output: output.guarantee.parameters.update(epsilon="0"),
    "no number of records": lambda output: output.guarantee.parameters.pop("rows_per_unit"),
    "no record of a unit": lambda output: output.guarantee.parameters.update(rows_per_unit=0),
    "records in words": lambda output: output.guarantee.parameters.update(rows_per_unit="two"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_facts_that_make_no_sense_cannot_be_checked(case):
    output = Answers(rows_per_unit=1)
    assert output.failed() == set()
    BROKEN[case](output)
    with pytest.raises(RecheckImpossible) as refusal:
        output.checks()
    assert refusal.value.faults[0].field == "settled"


def test_a_promise_that_names_a_check_nobody_runs_is_refused():
    output = Answers()
    output.guarantee = output.guarantee.model_copy(update={"audit": (*output.guarantee.audit, "block_sizes")})
    with pytest.raises(RecheckImpossible) as refusal:
        output.checks()
    assert refusal.value.faults[0].field == "guarantee.audit"


REGIONS = {"all": [], "west": ["all"], "east": ["all"], "a": ["west"], "b": ["east"], "c": ["east"]}


@settings(max_examples=examples(80, at_first=25))
@given(
    st.integers(0, 10**6),
    st.integers(1, 60),
    st.sampled_from(["replace", "presence"]),
    st.sampled_from([f"1/{10**29}", "1/1000000000", "1/100", "1", "64"]),
    st.sampled_from([None, 3]),
)
def test_real_outputs_pass_whatever_was_drawn(seed, n, adjacency, epsilon, rows_per_unit):
    rng = np.random.default_rng(seed)
    declared = {
        "id": Column(role="identifier"),
        "age": Column(role="quasi_identifier", type="integer", domain=(0, 10**6)),
        "region": Column.model_validate({"role": "quasi_identifier", "type": "nominal", "taxonomy": REGIONS}),
        "rank": ordinal(4),
        "income": number(0.1, 99.7),
    }
    columns = {
        "age": rng.integers(-5, 10**6 + 5, n),
        "region": rng.integers(0, 3, n),
        "rank": rng.integers(0, 4, n),
        "income": rng.uniform(-50, 150, n),  # clamped by the mechanism
    }
    priors = {
        "age": {"kind": "distribution", "name": "norm", "parameters": {"loc": 40, "scale": 10**5}},
        "region": {"kind": "uniform"},
        "rank": {"kind": "masses", "masses": {"a": "1/7", "d": "6/7"}},
        "income": {"kind": "histogram", "bounds": [10, 20, 90], "masses": ["1/2", "1/2"]},
    }
    params = refinement.Params(epsilon=epsilon, adjacency=adjacency, priors=priors, rows_per_unit=rows_per_unit)
    output = refinement.protect(columns, declared, params, seeded(seed))
    checks = rechecked(columns, output.columns, declared, output.guarantee, output.masked, {}, output.chosen)
    assert [check for check in checks if not check.passed] == []
    assert {check.name for check in checks} == set(output.guarantee.audit)
