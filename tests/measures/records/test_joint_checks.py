"""Columns answered together: correct ones pass, and each way to break their combinations, prior or promise is found."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measures.checks import RecheckImpossible
from penstock.mechanisms import refinement
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from tests.measures.judged_columns import nominal, number, ordinal, promise, rechecked
from tests.support.order import examples

CHECKS = ("factors_bounded", "possible_answers", "possible_combinations", "epsilon_spent", "identifiers_absent")
DECLARED = {
    "kin": nominal(3, role="quasi_identifier"),
    "school": Column(role="quasi_identifier", type="ordinal", categories=(1, 2)),
    "income": number(0, 100),
}
# kin a cannot have school 2. Products of [1, 2, 0] and [3, 1]: 3, 1, 6, 2, 0, 0.
JOINT = {
    "columns": ["kin", "school"],
    "answers": {"school": {"share": "1/2", "weights": [3, 1]}, "kin": {"share": "1/2", "weights": [1, 2, 0]}},
    "impossible": [{"kin": ["a"], "school": [2]}],
    "epsilon": "2/3",
    "factors": ["7/8", "6/5"],
    "weights": [3, 0, 6, 2, 0, 0],
}
INCOME = {"epsilon": "1/3", "factors": ["7/8", "6/5"], "grid": "1/4"}


class Together:
    """A correct release that a test may break before it is checked."""

    def __init__(self, adjacency="replace"):
        self.released = {
            "kin": np.array([0, 1, 1, 0]),
            "school": np.array([0, 0, 1, 0]),
            "income": np.array([0.0, 100.0, 17.25, 0.25]),
        }
        self.original = {name: values.copy() for name, values in self.released.items()}
        self.chosen = {
            "records": 4,
            "epsilon": "1",
            "answers": {"income": dict(INCOME)},
            "joint": [copy.deepcopy(JOINT)],
        }
        stated = {"columns": ["kin", "school"], "epsilon": "2/3", "impossible": copy.deepcopy(JOINT["impossible"])}
        parameters = {"mechanism": "refinement", "epsilon": "1", "joint": [stated]}
        self.guarantee = promise("dp", CHECKS, **parameters).model_copy(update={"adjacency": adjacency})

    @property
    def joint(self):
        return self.chosen["joint"][0]

    @property
    def promised(self):
        return self.guarantee.parameters["joint"][0]

    def checks(self):
        masked = tuple(self.released)
        return rechecked(self.original, self.released, DECLARED, self.guarantee, masked, {}, self.chosen)

    def failed(self):
        checks = self.checks()
        assert tuple(check.name for check in checks) == CHECKS
        return {check.name for check in checks if not check.passed}


@pytest.mark.parametrize("adjacency", ["replace", "presence"])
def test_correct_answers_pass(adjacency):
    assert Together(adjacency).failed() == set()


@pytest.mark.parametrize("place", range(4))
def test_an_impossible_combination_is_found_in_whatever_record_it_stands(place):
    output = Together()
    output.released["kin"][place], output.released["school"][place] = 0, 1
    assert output.failed() == {"possible_combinations"}


def test_an_impossible_combination_is_found_though_its_weight_says_that_it_can_be():
    """What was released is compared with the combinations, and the weights with their products."""
    output = Together()
    output.joint["weights"] = [3, 1, 6, 2, 0, 0]
    assert output.failed() == {"possible_combinations"}
    output.released["kin"][0], output.released["school"][0] = 0, 1
    assert output.failed() == {"possible_combinations"}


@pytest.mark.parametrize(("name", "code", "found"), [
    ("kin", 2, {"possible_answers", "possible_combinations"}),  # its prior excludes it
    ("kin", 3, {"possible_answers", "possible_combinations"}),
    ("school", -1, {"possible_answers", "possible_combinations"}),
])  # fmt: skip
def test_an_answer_that_a_column_excludes_is_found(name, code, found):
    output = Together()
    output.released[name][1] = code
    assert output.failed() == found


@pytest.mark.parametrize("weights", [
    [6, 0, 12, 4, 0, 0], [30, 0, 60, 20, 0, 0], [3 * 2**200, 0, 6 * 2**200, 2**201, 0, 0],
])  # fmt: skip
def test_weights_may_be_any_multiple_of_the_products(weights):
    output = Together()
    output.joint["weights"] = weights
    assert output.failed() == set()


@pytest.mark.parametrize("weights", [
    None, "300620", [3, 0, 6, 2, 0], [3, 0, 6, 2, 0, 0, 0], [3, 0, 6, 3, 0, 0], [3, 0, 6, 2, 1, 0], [0] * 6,
    [3, 0, 6, 2, 0, -1], [3, 0, 6, 0, 0, 0], [3.0, 0, 6, 2, 0, 0],
])  # fmt: skip
def test_weights_that_are_not_the_products_are_found(weights):
    output = Together()
    output.joint["weights"] = weights
    assert output.failed() == {"possible_combinations"}


@pytest.mark.parametrize("own", [None, [1, 2], [1, 3, 0], [1, 2, 1]])
def test_weights_of_a_column_that_do_not_fit_are_found(own):
    output = Together()
    output.joint["answers"]["kin"]["weights"] = own
    assert "possible_combinations" in output.failed()


BROKEN_COMBINATIONS = {
    "another one": [{"kin": ["b"], "school": [2]}],
    "one more": [{"kin": ["a"], "school": [2]}, {"kin": ["b"], "school": [2]}],
    "none": [],
    "an unknown category": [{"kin": ["z"], "school": [2]}],
    "no list": None,
    "no mapping": ["kin"],
    "no categories": [{"kin": None, "school": [2]}],
}


@pytest.mark.parametrize("case", BROKEN_COMBINATIONS)
def test_combinations_that_do_not_fit_the_weights_or_the_promise_are_found(case):
    output = Together()
    output.joint["impossible"] = BROKEN_COMBINATIONS[case]
    assert output.failed() == {"possible_combinations"}
    output.promised["impossible"] = BROKEN_COMBINATIONS[case]  # the promise says the same, and the weights do not
    assert output.failed() == {"possible_combinations"}


@pytest.mark.parametrize("change", [
    {"columns": ["school", "kin"]}, {"epsilon": "1/3"}, {"impossible": []}, {"more": 1},
])  # fmt: skip
def test_a_promise_that_states_something_else_is_found(change):
    output = Together()
    output.promised.update(change)
    assert output.failed() == {"possible_combinations"}


def test_a_promise_that_states_nothing_of_it_is_found():
    output = Together()
    del output.guarantee.parameters["joint"]
    assert output.failed() == {"possible_combinations"}


def test_codes_of_another_type_and_columns_left_out_are_found():
    output = Together()
    output.released["kin"] = output.released["kin"].astype(float)
    assert output.failed() == {"possible_answers", "possible_combinations"}
    del output.released["kin"]
    assert output.failed() == {"possible_answers", "possible_combinations"}


def test_the_epsilon_of_columns_answered_together_is_charged_once_and_wholly():
    output = Together()
    output.joint["epsilon"] = output.promised["epsilon"] = str(Fraction(2, 3) + Fraction(1, 10**12))
    assert output.failed() == {"epsilon_spent"}


@pytest.mark.parametrize(("adjacency", "factors"), [("replace", ["2/3", "3/2"]), ("presence", ["2/3", "2"])])
def test_factors_beyond_the_sum_of_the_shares_are_found(adjacency, factors):
    """e^(2/3) is 1.948: between 3/2 and 2, and below the 9/4 by which the first two differ."""
    output = Together(adjacency)
    output.joint["factors"] = factors
    assert output.failed() == {"factors_bounded"}
    [found] = [check.found for check in output.checks() if not check.passed]
    assert found.endswith(": kin, school")


def test_what_is_found_names_columns_and_no_values():
    output = Together()
    output.released["school"][0] = 1
    found = {check.name: check.found for check in output.checks()}
    assert found["possible_combinations"].endswith(": kin, school")
    assert not any(character.isdigit() for text in found.values() for character in text)


NO_SENSE = {
    "no list": lambda output: output.chosen.update(joint=3),
    "no mapping": lambda output: output.chosen.update(joint=["kin"]),
    "no columns": lambda output: output.joint.pop("columns"),
    "no answers": lambda output: output.joint.pop("answers"),
    "facts of a column in words": lambda output: output.joint["answers"].update(kin="even"),
    "a column twice": lambda output: output.chosen["joint"].append(copy.deepcopy(JOINT)),
    "a column alone too": lambda output: output.chosen["answers"].update(kin=dict(INCOME, weights=[1, 2, 0])),
    "a column left out": lambda output: output.joint["columns"].pop(),
    "a column of numbers": lambda output: (
        output.joint["columns"].append("income"), output.joint["answers"].update(income={"weights": [1]}),
        output.chosen["answers"].clear(),
    ),
    "no factors": lambda output: output.joint.pop("factors"),
    "one factor": lambda output: output.joint.update(factors=["1"]),
    "a factor of 0": lambda output: output.joint.update(factors=["0", "1"]),
    "no epsilon": lambda output: output.joint.pop("epsilon"),
    "epsilon of 0": lambda output: output.joint.update(epsilon="0"),
    "nothing stated of it": lambda output: output.chosen.pop("joint"),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_SENSE)
def test_facts_that_make_no_sense_cannot_be_checked(case):
    output = Together()
    NO_SENSE[case](output)
    with pytest.raises(RecheckImpossible) as refusal:
        output.checks()
    assert refusal.value.faults[0].field == "settled"


def test_a_promise_that_names_the_check_where_nothing_was_answered_together_is_refused():
    output = Together()
    for name in ("kin", "school"):
        output.chosen["answers"][name] = {**INCOME, "grid": None, "weights": JOINT["answers"][name]["weights"]}
    del output.chosen["joint"]
    with pytest.raises(RecheckImpossible) as refusal:
        output.checks()
    assert refusal.value.faults[0].field == "guarantee.audit"


@settings(max_examples=examples(80, at_first=25))
@given(
    st.integers(0, 10**6),
    st.integers(1, 60),
    st.sampled_from(["replace", "presence"]),
    st.sampled_from(["1/1000000000", "1/100", "1", "64"]),
    st.sampled_from([None, 3]),
)
def test_real_outputs_pass_whatever_was_drawn(seed, n, adjacency, epsilon, rows_per_unit):
    rng = np.random.default_rng(seed)
    declared = {"a": nominal(3), "b": ordinal(4), "c": nominal(2), "d": nominal(3), "e": ordinal(2), "f": number(0, 9)}
    columns = {
        name: rng.integers(0, len(column.categories), n) if column.categories else rng.uniform(0, 9, n)
        for name, column in declared.items()
    }
    priors = {name: {"kind": "uniform"} for name in declared}
    priors["b"] = {"kind": "masses", "masses": {"a": "1/7", "c": "2/7", "d": "4/7"}}
    impossible = [
        {"a": "a", "b": ["c", "d"]},
        {"b": "a", "c": "b"},
        {"d": "a", "e": "b"},
        {"a": "b", "b": "a", "c": "a"},
    ]
    params = refinement.Params(
        epsilon=epsilon, adjacency=adjacency, priors=priors, rows_per_unit=rows_per_unit, impossible=impossible
    )
    output = refinement.protect(columns, declared, params, seeded(seed))
    checks = rechecked(columns, output.columns, declared, output.guarantee, output.masked, {}, output.chosen)
    assert [check for check in checks if not check.passed] == []
    assert {check.name for check in checks} == set(output.guarantee.audit) == set(CHECKS)
