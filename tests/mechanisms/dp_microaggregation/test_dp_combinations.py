"""Blocks whose columns are drawn together: what is possible, stated, told, expected and refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from penstock.mechanisms.columns import Column
from penstock.mechanisms.combinations import MOST_COMBINATIONS
from penstock.mechanisms.dp_microaggregation import MECHANISM, Params, chosen_facts, faults, promise, protect, settle
from penstock.mechanisms.dp_microaggregation._joint import MOST_CANDIDATES
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import SettingRefused
from penstock.mechanisms.stated import BlocksChosen, BlocksParameters, is_stated

TREE = {"oak": ["tree"], "ash": ["tree"], "rose": ["plant"], "tree": ["plant"], "plant": []}
DECLARED = {
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 100)),
    "kin": Column(role="quasi_identifier", type="nominal", categories=("husband", "wife", "child")),
    "sex": Column(role="quasi_identifier", type="nominal", categories=("f", "m")),
    "plant": Column(role="confidential", type="nominal", taxonomy=TREE),
    "school": Column(role="confidential", type="ordinal", categories=(1, 2, 3)),
}
SPOUSES = [{"kin": "husband", "sex": "f"}, {"kin": "wife", "sex": "m"}]
N = 400


def params(*names: str, **settings: Any) -> Params:
    return Params.model_validate({"epsilon": "1", "adjacency": "replace", "k": 20, "impossible": SPOUSES, **settings})


def only(*names: str) -> dict[str, Column]:
    return {name: DECLARED[name] for name in names}


def sample(declared: dict[str, Column] = DECLARED, records: int = N, seed: int = 1) -> dict[str, np.ndarray]:
    """Codes, and numbers: any combination, impossible ones too."""
    chance = np.random.default_rng(seed)
    return {name: chance.integers(0, len(each.categories or range(101)), records) for name, each in declared.items()}


@pytest.mark.parametrize("order", ["auto", "snake", "lexicographic", "corner", "corners_in_turn"])
def test_no_block_comes_back_impossible_though_records_are(order: str) -> None:
    columns = sample()
    assert ((columns["kin"] == 0) & (columns["sex"] == 0)).any()
    for seed in range(20):
        released = protect(columns, DECLARED, params(order=order, epsilon="1/100", k=5), seeded(seed)).columns
        assert not ((released["kin"] == 0) & (released["sex"] == 0)).any()
        assert not ((released["kin"] == 1) & (released["sex"] == 1)).any()
    separate = protect(columns, DECLARED, params(order=order, epsilon="1/100", k=5, impossible=[]), seeded(1)).columns
    assert ((separate["kin"] == 0) & (separate["sex"] == 0)).any()


def test_a_concept_is_possible_where_it_stands_for_something_that_is() -> None:
    """Men have no tree: so oak, ash and tree do not go with them, and plant does, because of the rose."""
    declared = only("plant", "sex")
    chosen = params(impossible=[{"plant": ["oak", "ash"], "sex": "m"}], epsilon="1/1000", k=1)
    released = protect(sample(declared), declared, chosen, seeded(1)).columns
    found = set(zip(released["plant"].tolist(), released["sex"].tolist(), strict=True))
    names = MECHANISM.released_columns(chosen, declared)["plant"].categories or ()
    assert {(names[plant], "fm"[sex]) for plant, sex in found} == {
        *((name, "f") for name in TREE),
        ("rose", "m"),
        ("plant", "m"),
    }


def test_text_comes_back_as_text() -> None:
    declared = only("kin", "sex")
    columns = {
        name: np.array(declared[name].categories, dtype=object)[codes] for name, codes in sample(declared).items()
    }
    released = protect(columns, declared, params(), seeded(1)).columns
    assert set(zip(released["kin"], released["sex"], strict=True)) <= {
        ("husband", "m"),
        ("wife", "f"),
        ("child", "f"),
        ("child", "m"),
    }


def test_without_noise_a_block_is_the_possible_combination_nearest_to_its_records() -> None:
    declared = only("kin", "sex")
    kin, sex = np.array([0, 0, 0, 1, 2]), np.array([1, 1, 0, 0, 0])
    chosen = params(k=5, epsilon="1000000000", order="corner")
    released = protect({"kin": kin, "sex": sex}, declared, chosen, seeded(1)).columns
    # Most are husbands and most are f; a husband who is m differs in 2 + 3 places, a child or wife who is f in 4 + 2.
    assert set(released["kin"]) == {0}
    assert set(released["sex"]) == {1}


def test_what_is_stated_has_its_form_and_is_known_before_any_record_is_seen() -> None:
    chosen = params(impossible=[*SPOUSES, {"plant": "oak", "school": [1, 3]}])
    facts = [protect(sample(seed=seed), DECLARED, chosen, seeded(seed)).chosen for seed in (1, 2)]
    assert facts[0] == facts[1] == chosen_facts(chosen, DECLARED, N)
    assert is_stated(BlocksChosen, facts[0])
    parameters = promise(chosen, DECLARED).parameters
    assert is_stated(BlocksParameters, parameters)
    one, other = facts[0]["parts"][0]["joint"]
    assert (one["columns"], one["combinations"], one["declared"]) == (["kin", "sex"], 4, {"kin": 3, "sex": 2})
    assert one["impossible"] == [{"kin": ["husband"], "sex": ["f"]}, {"kin": ["wife"], "sex": ["m"]}]
    # Five concepts and three schools: only the leaf oak is bound to a school.
    assert (other["columns"], other["combinations"]) == (["plant", "school"], 13)
    assert other["declared"] == {"plant": 3, "school": 3}
    assert parameters["impossible"] == [*one["impossible"], *other["impossible"]]
    columns = facts[0]["parts"][0]["columns"]
    for joint in (one, other):
        for name, weight in joint["weights"].items():
            assert Fraction(columns[name]["scale"]) * weight == Fraction(joint["scale"])


def test_settings_without_combinations_state_what_they_did() -> None:
    chosen = params(impossible=[])
    assert "impossible" not in chosen.model_dump()
    assert "impossible" not in promise(chosen, DECLARED).parameters
    assert "joint" not in chosen_facts(chosen, DECLARED, N)["parts"][0]


def test_the_promise_and_the_advice_name_what_is_drawn_together() -> None:
    promised = promise(params(), DECLARED)
    assert "kin, sex: one draw for a block for all of them together" in promised.statement
    assert "impossible combinations" in promised.public
    assert any("impossible combinations, domains" in each for each in promised.assumptions)
    assert promised.audit.count("possible_combinations") == 1
    assert any(each.startswith("kin, sex are drawn together, from 4 of 6") for each in told(params()))
    treated = MECHANISM.treatments(params(), DECLARED)
    assert treated["kin"].endswith("drawn together with sex")
    assert "together" not in treated["plant"]
    assert any(each.startswith("kin, sex were drawn together") for each in MECHANISM.advice(params(), DECLARED))


def told(chosen: Params) -> tuple[str, ...]:
    return MECHANISM.expect(chosen, DECLARED, N)


@pytest.mark.parametrize("epsilon", ["1", "10"])
def test_the_error_that_is_expected_for_these_records_is_what_they_show(epsilon: str) -> None:
    """100 releases of 20 blocks show a root mean square to 5 %.

    Where noise decides, that is also what is foretold of evenly spread records; with little of it much depends on which
    records share a block.
    """
    declared, chosen = only("kin", "sex", "school"), params(epsilon=epsilon)
    (part,) = settle(chosen, declared, N)
    many = sample(declared, 4 * N)
    (joint,) = part.choice.joints
    kept = np.flatnonzero(joint.linked.are_possible(list(many.values())))[:N]
    columns = {name: values[kept] for name, values in many.items()}
    levels = list(columns.values())
    blocks = part.choice.order.cut(levels, [each.axis for each in part.attributes.values()], part.choice.k)
    expected = dict(zip(joint.linked.names, joint.expected_errors(levels, blocks, 1), strict=True))
    wrong = dict.fromkeys(expected, 0.0)
    for seed in range(100):
        released = protect(columns, declared, chosen, seeded(seed))
        assert released.origin is not None
        for name in wrong:
            wrong[name] += float(np.mean(released.columns[name] != columns[name][released.origin])) / 100
    assert {name: math.sqrt(each) for name, each in wrong.items()} == pytest.approx(expected, rel=0.05)
    if epsilon == "1":
        known_before = dict(zip(part.attributes, part.choice.errors, strict=True))
        assert {name: known_before[name] for name in expected} == pytest.approx(expected, rel=0.05)


def test_what_is_drawn_together_is_expected_to_err_otherwise_than_apart() -> None:
    declared = only("kin", "sex", "school")
    together, apart = (settle(params(epsilon="10", impossible=each), declared, N)[0] for each in (SPOUSES, []))
    assert together.choice.order == apart.choice.order
    assert together.choice.errors[2] == pytest.approx(apart.choice.errors[2], rel=0.1)
    assert together.choice.errors[1] != pytest.approx(apart.choice.errors[1], rel=0.1)


def test_errors_are_foretold_where_hardly_anything_is_possible() -> None:
    """13 of 4,096 combinations are left, and none of the ten points that are looked at has one: all of them count."""
    names = [f"c{place}" for place in range(12)]
    declared = {
        name: Column(role="confidential", type="nominal", categories=tuple(f"{i}" for i in range(2))) for name in names
    }
    impossible = [{one: "1", other: "1"} for one in names for other in names if one < other]
    (part,) = settle(params(impossible=impossible, k=2), declared, 10)
    assert part.facts()["joint"][0]["combinations"] == 13
    assert all(0 < error < 1 for error in part.choice.errors)


@pytest.mark.parametrize(
    ("impossible", "field", "rule"),
    [
        ([{"kin": "wife"}], "impossible.0", "must name at least two columns"),
        ([{"kin": "wife", "shoe": "x"}], "impossible.0.shoe", "must be a declared column that is released"),
        ([{"kin": "wife", "sex": "x"}], "impossible.0.sex", "must name declared categories"),
        ([{"plant": "tree", "sex": "f"}], "impossible.0.plant", "must name declared categories"),
        ([{"kin": "wife", "age": "5"}], "impossible.0.age", "must be a column of categories"),
        (
            [{"kin": ["husband", "wife", "child"], "sex": ["f", "m"]}],
            "impossible",
            "must leave a combination of kin, sex that is possible",
        ),
    ],
)
def test_what_is_no_combination_is_refused(impossible: Any, field: str, rule: str) -> None:
    chosen = params(impossible=impossible)
    found = faults(chosen, DECLARED)
    assert [each.field for each in found if rule in each.rule] == [field]
    for refused in (promise, lambda p, d: settle(p, d, N), lambda p, d: protect(sample(), d, p, seeded(1))):
        with pytest.raises(SettingRefused):
            refused(chosen, DECLARED)


def test_rows_of_marginals_are_no_combinations() -> None:
    (found,) = faults(params(mode="marginals"), DECLARED)
    assert (found.field, found.rule[:36]) == ("impossible", "must not be given for marginals, who")


def test_more_candidates_than_can_be_drawn_are_refused_with_their_number() -> None:
    declared = {
        name: Column(role="confidential", type="nominal", categories=tuple(f"{i}" for i in range(size)))
        for name, size in (("a", 64), ("b", 64), ("c", 2))
    }
    fits, too_many = params(impossible=[{"a": "1", "b": "1"}]), params(impossible=[{"a": "1", "b": "1", "c": "1"}])
    assert MOST_CANDIDATES == 64 * 64
    assert faults(fits, declared) == []
    (found,) = faults(too_many, declared)
    assert (found.field, found.got) == ("impossible", "8,192")


def test_no_more_combinations_are_listed_than_can_be_looked_at() -> None:
    with pytest.raises(ValidationError):
        params(impossible=[SPOUSES[0]] * (MOST_COMBINATIONS + 1))


def test_scores_fit_into_64_bits_for_any_number_of_records() -> None:
    (part,) = settle(params(k=2**40, epsilon="1/1000000"), DECLARED, 2**44)
    joint = part.choice.joints[0]
    largest = 2**44 * sum(
        weight * int(each.scores.max()) for weight, each in zip(joint.weights, joint.parts, strict=True)
    )
    assert largest <= 2**62
