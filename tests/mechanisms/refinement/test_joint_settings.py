"""What links columns, what is stated of those that are answered together, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from pydantic import ValidationError

from penstock.mechanisms.columns import Column
from penstock.mechanisms.combinations import MOST_COMBINATIONS, linked
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refinement import MECHANISM, Params, chosen_facts, faults, promise, protect
from penstock.mechanisms.refinement._mechanism import asked
from penstock.mechanisms.refinement.axes import Line
from penstock.mechanisms.refinement.refine import MOST_WEIGHT
from penstock.mechanisms.refusal import SettingRefused
from penstock.mechanisms.stated import RefinementChosen, RefinementParameters, is_stated
from tests.mechanisms.refinement.linked import (
    DECLARED,
    EVEN,
    IMPOSSIBLE,
    MASSES,
    N,
    only,
    params,
    sample,
)


# What links columns.
@pytest.mark.parametrize(
    ("pairs", "groups"),
    [
        ([], []),
        (["ab"], ["ab"]),
        (["ba", "ab"], ["ab"]),
        (["ab", "bc"], ["abc"]),
        (["cd", "ab"], ["ab", "cd"]),
        (["ab", "cd", "bd"], ["abcd"]),
        (["ac", "bd"], ["ac", "bd"]),
        (["bc", "acd"], ["abcd"]),
        (["de", "ab", "cb", "ed"], ["abc", "de"]),
    ],
)
def test_columns_are_linked_also_through_others(pairs, groups):
    found = linked([{name: ["x"] for name in pair} for pair in pairs], tuple("abcde"))
    assert ["".join(group) for group in found] == groups


def test_epsilon_of_linked_columns_is_the_sum_of_theirs():
    shares = {"age": "1/10", "kin": "2/10", "sex": "1/10", "school": "1/10", "plant": "3/10", "cause": "2/10"}
    chosen = params(shares=shares, rows_per_unit=2, impossible=[*IMPOSSIBLE, {"plant": "oak", "cause": "fall"}])
    one, other = asked(chosen, DECLARED).joint
    assert (list(one.parts), one.epsilon) == (["kin", "sex", "school"], Fraction(3, 2) * Fraction(4, 10))
    assert (list(other.parts), other.epsilon) == (["plant", "cause"], Fraction(3, 2) * Fraction(5, 10))
    assert list(asked(chosen, DECLARED).alone) == ["age"]
    first, second = promise(chosen, DECLARED).parameters["joint"]
    assert (first["columns"], first["epsilon"]) == (["kin", "sex", "school"], "3/5")
    assert second == {
        "columns": ["plant", "cause"],
        "epsilon": "3/4",
        "impossible": [{"plant": ["oak"], "cause": ["fall"]}],
    }
    assert promise(chosen, DECLARED).parameters["epsilon_by_column"] == {"age": "3/20"}


def test_a_larger_share_makes_its_column_more_exact():
    names, even = ("kin", "school"), [{"kin": "child", "school": 4}]

    def errors(share):
        shares = {"kin": str(share), "school": str(1 - share)}
        [joint] = chosen_facts(params(names, shares=shares, impossible=even), only(*names), N)["joint"]
        return [facts["expected_error"] for facts in joint["answers"].values()]

    little, much = errors(Fraction(1, 20)), errors(Fraction(19, 20))
    assert little[0] > 1.3 * much[0]
    assert 1.3 * little[1] < much[1]


@pytest.mark.parametrize("wide", [1, 7, 2**31])
def test_distances_in_larger_numbers_count_for_no_more(wide):
    names, given = ("kin", "cause"), [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    chosen = [{"kin": "child", "cause": "fire"}]
    one = params(names, impossible=chosen, distances={"kin": given, "cause": [[0, 1], [1, 0]]})
    other = params(names, impossible=chosen, distances={"kin": given, "cause": [[0, wide], [wide, 0]]})
    found = [asked(each, only(*names)).joint[0].refined for each in (one, other)]
    assert all(found[0].masses(true) == found[1].masses(true) for true in range(6))


# What is stated.
@pytest.mark.parametrize("adjacency", ["replace", "presence"])
def test_what_is_stated_has_its_form_and_is_known_before_any_record_is_seen(adjacency):
    chosen = params(adjacency=adjacency, impossible=[*IMPOSSIBLE, {"plant": "oak", "cause": "fall"}])
    facts = [protect(sample(seed=seed), DECLARED, chosen, seeded(seed)).chosen for seed in (1, 2)]
    assert facts[0] == facts[1] == chosen_facts(chosen, DECLARED, N)
    assert is_stated(RefinementChosen, facts[0])
    assert is_stated(RefinementParameters, promise(chosen, DECLARED).parameters)
    one, other = facts[0]["joint"]
    assert one["impossible"] == [
        {"kin": ["husband"], "sex": ["female"]},
        {"kin": ["wife"], "sex": ["male"]},
        {"kin": ["child"], "school": [3, 4]},
    ]
    assert one["points"] == len(one["weights"]) == 24
    assert [each["share"] for each in one["answers"].values()] == ["1/3"] * 3
    assert one["answers"]["kin"]["declared"] == {
        "prior": MASSES["kin"] | {"masses": {"husband": "3/10", "wife": "3/10", "child": "2/5"}}
    }
    assert other["weights"] == [
        int(not (plant == "oak" and cause == "fall"))
        for plant in DECLARED["plant"].categories
        for cause in ("fall", "fire")
    ]


def test_the_promise_says_what_is_answered_together_and_what_that_does_not_hide():
    promised = promise(params(), DECLARED)
    assert "kin, sex, school: one such draw for all of them together" in promised.statement
    assert "impossible combinations" in promised.public
    assert any("priors, impossible combinations, domains" in each for each in promised.assumptions)
    assert any("hiding each of kin, sex, school by its own share" in limit for limit in promised.not_promised)
    assert promised.audit.count("possible_combinations") == 1
    assert list(promised.parameters["priors"]) == list(DECLARED)


def test_people_who_choose_and_people_who_use_are_told():
    told = MECHANISM.expect(params(), DECLARED, None)
    assert any(
        each.startswith("kin, sex, school are answered together") and "12 of 24 combinations" in each for each in told
    )
    for name in DECLARED:
        assert sum(each.startswith(f"{name}: ") for each in told) == 1
    # Children, 4/10, have the first two schools only: those have 7/10 instead of 1/2.
    [school] = [each for each in told if each.startswith("school: ")]
    assert school.endswith("moves 20% of its prior to other values.")
    treated = MECHANISM.treatments(params(), DECLARED)
    assert list(treated) == list(DECLARED)
    assert "the values of kin, sex, school together" in treated["sex"]
    assert "in place of each value" in treated["plant"]
    advice = MECHANISM.advice(params(), DECLARED)
    assert any(each.startswith("kin, sex, school were drawn together") for each in advice)


@pytest.mark.parametrize("epsilon", ["1", "6"])
def test_the_expected_error_is_what_simulation_shows(epsilon):
    """Truths spread as the joint prior; 40,000 answers show a root mean square to 3 %."""
    names = ("kin", "sex", "school")
    chosen, declared = params(names, epsilon=epsilon), only(*names)
    [joint] = asked(chosen, declared).joint
    weights = joint.refined.axis.weights
    rng = np.random.default_rng(1)
    codes = np.unravel_index(rng.choice(len(weights), 40_000, p=weights / weights.sum()), (3, 2, 4))
    columns = dict(zip(names, codes, strict=True))
    released = protect(columns, declared, chosen, seeded(1)).columns
    for name, facts in joint.facts()["answers"].items():
        axis = joint.parts[name].refined.axis
        apart = np.abs(columns[name] - released[name])
        apart = apart / 3 if isinstance(axis, Line) else apart > 0
        found = np.sqrt(np.mean(apart**2.0))
        assert found == pytest.approx(facts["expected_error"], rel=0.03)
        assert found != pytest.approx(1.2 * facts["expected_error"], rel=0.03)


# What is refused.
PAIR = {"kin": "husband", "sex": "female"}
MANY = {
    name: Column(role="confidential", type="ordinal", categories=tuple(f"c{place}" for place in range(size)))
    for name, size in (("x", 32), ("y", 20), ("z", 21))
}
FINE = {"kind": "masses", "masses": {"c0": f"1/{2**30 - 1}", "c1": f"{2**30 - 2}/{2**30 - 1}"}}
REFUSED = {
    "unknown column": ([PAIR, {"kin": "wife", "sxe": "male"}], "impossible.1.sxe", "declared column that is released"),
    "numbers": ([{"kin": "child", "age": ["30"]}], "impossible.0.age", "must be a column of categories"),
    "unknown category": ([{"kin": ["child", "uncle"], "sex": "male"}], "impossible.0.kin", "must name declared"),
    "one column": ([{"kin": "child"}], "impossible.0", "must name at least two columns"),
    "no column": ([{}], "impossible.0", "must name at least two columns"),
    "nothing left": (
        [{"kin": ["husband", "wife", "child"], "sex": "male"}, {"sex": "female", "cause": ["fall", "fire"]}],
        "impossible", "must leave a combination of kin, sex, cause",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_combinations_that_do_not_fit_are_refused_before_any_row_is_read(case):
    impossible, field, rule = REFUSED[case]
    chosen = params(impossible=impossible)
    found = faults(chosen, DECLARED)
    assert [fault.field for fault in found] == [field]
    assert rule in found[0].rule
    for refused in (promise, lambda p, d: chosen_facts(p, d, 9), lambda p, d: protect({}, d, p, seeded(1))):
        with pytest.raises(SettingRefused) as refusal:
            refused(chosen, DECLARED)
        assert list(refusal.value.faults) == found
        assert refusal.value.code == "setting-refused"


def test_as_many_combinations_as_can_be_compared_may_be_linked_and_not_more():
    def found(*names):
        impossible = [dict.fromkeys(names, "c0")]
        chosen = Params(epsilon="1", adjacency="replace", priors=dict.fromkeys(names, EVEN), impossible=impossible)
        return faults(chosen, {name: MANY[name] for name in names})

    assert MOST_COMBINATIONS == 32 * 20
    assert found("x", "y") == []
    [fault] = found("x", "z")
    assert (fault.field, fault.got) == ("impossible", "672")
    assert "at most 640 combinations" in fault.rule
    assert [fault.got for fault in found("x", "y", "z")] == ["13440"]


def test_a_product_of_a_thousand_columns_is_refused_without_writing_out_its_digits():
    declared = {f"x{place}": MANY["x"] for place in range(1000)}
    chosen = Params(
        epsilon="1",
        adjacency="replace",
        priors=dict.fromkeys(declared, EVEN),
        impossible=[dict.fromkeys(declared, "c0")],
    )
    [fault] = faults(chosen, declared)
    assert (fault.field, fault.got) == ("impossible", "more than 1,000,000,000,000")


def test_masses_whose_products_are_too_fine_are_refused():
    declared = {name: MANY[name] for name in ("x", "y")}

    def found(prior):
        priors = {"x": FINE, "y": prior}
        return faults(
            Params(epsilon="1", adjacency="replace", priors=priors, impossible=[{"x": "c2", "y": "c2"}]), declared
        )

    [fault] = found(FINE)
    assert fault.field == "impossible"
    assert "a denominator of at most 2^40" in fault.rule
    assert found({"kind": "masses", "masses": {"c0": "1/1000", "c1": "999/1000"}}) == []


def test_weights_that_add_up_to_the_most_that_is_allowed_overflow_nothing():
    """The product of both is 2^40 and a common divisor is taken out of it."""
    half = {"kind": "masses", "masses": {"c0": f"1/{2**20}", "c1": f"{2**20 - 1}/{2**20}"}}
    declared = {name: MANY[name] for name in ("x", "y")}
    chosen = Params(
        epsilon="64", adjacency="replace", priors={"x": half, "y": half}, impossible=[{"x": "c2", "y": "c2"}]
    )
    [joint] = asked(chosen, declared).joint
    assert int(joint.refined.axis.weights.sum()) == MOST_WEIGHT
    truths = np.arange(640, dtype=np.int64).repeat(5)
    drawn = joint.refined.draw(truths, seeded(1))
    assert set(drawn.tolist()) <= {0, 1, 20, 21}
    excluded = chosen.model_copy(update={"impossible": [{"x": ["c0"], "y": ["c0", "c1"]}]})
    [less] = asked(excluded, declared).joint
    assert sorted(set(less.refined.axis.weights.tolist())) == [0, 1, 2**20 - 1]


def test_faults_of_priors_are_told_beside_those_of_combinations():
    chosen = params(
        priors={**dict.fromkeys(DECLARED, EVEN), "sex": {"kind": "masses", "masses": {"male": "1/2"}}},
        impossible=[PAIR, {"kin": "child"}],
    )
    assert [fault.field for fault in faults(chosen, DECLARED)] == ["priors.sex.masses", "impossible.1"]
    unfit = chosen.model_copy(update={"impossible": [{"kin": ["husband"], "sex": ["female"]}]})
    assert [fault.field for fault in faults(unfit, DECLARED)] == ["priors.sex.masses"]


@pytest.mark.parametrize(
    "impossible",
    [
        "kin", {"kin": "child"}, ["kin"], [{"kin": [], "sex": "male"}], [{"kin": 1.5, "sex": "male"}],
        [{"kin": True, "sex": "male"}], [{"kin": None, "sex": "male"}], [{"kin": [["child"]], "sex": "male"}],
        [PAIR] * 641,
    ],
)  # fmt: skip
def test_what_is_no_combination_cannot_be_said(impossible):
    with pytest.raises(ValidationError):
        params(impossible=impossible)


def test_one_category_may_stand_for_a_list_and_whole_numbers_for_themselves():
    one = params(impossible=[{"kin": "child", "school": 4}])
    assert one == params(impossible=[{"kin": ["child"], "school": ["4"]}])
