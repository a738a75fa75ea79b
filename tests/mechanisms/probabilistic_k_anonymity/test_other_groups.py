"""Groups by taxonomy, groups of variable size, and groups in which values differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.mechanism import ByColumn
from penstock.mechanisms.microaggregation.diverse import TooFewValues
from penstock.mechanisms.microaggregation.space import MOST_PAIRS
from penstock.mechanisms.probabilistic_k_anonymity import MECHANISM, Params, faults, promise, protect
from penstock.mechanisms.probabilistic_k_anonymity._expect import expect
from penstock.mechanisms.probabilistic_k_anonymity._explain import advice, treatments
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import SettingRefused
from penstock.mechanisms.stated import is_stated

TREE = {
    **{f"burn{i}": ["heat"] for i in range(4)},
    **{f"cut{i}": ["edge"] for i in range(4)},
    "heat": ["harm"],
    "edge": ["harm"],
    "harm": [],
}
INJURY = Column(role="quasi_identifier", type="nominal", taxonomy=TREE)
AGE = Column(role="quasi_identifier", type="integer", domain=(0, 120))
STATUS = Column(role="confidential", type="nominal", categories=("yes", "no"), missing="category")
INCOME = Column(role="confidential", type="continuous", domain=(0, 100))
DECLARED = {"injury": INJURY, "age": AGE, "status": STATUS}


def settings(**chosen: Any) -> Params:
    return Params.model_validate({"method": "mdav_id", "k": 4, **chosen})


def rules(params: Params, declared: dict[str, Column]) -> dict[str, str]:
    return {fault.field: fault.rule for fault in faults(params, declared)}


def injuries(*names: str) -> np.ndarray:
    return np.array(names, dtype=object)


EIGHT = {
    "injury": injuries("burn0", "cut0", "burn1", "cut1", "burn2", "cut2", "burn3", "cut3"),
    "age": np.full(8, 40),
    "status": injuries("yes", "no", "yes", "no", "yes", "no", "yes", None),
}


def test_groups_by_taxonomy_keep_concepts_together_and_get_the_one_above() -> None:
    found = protect(EIGHT, DECLARED, settings(scaling="taxonomy"), seeded(1))
    assert found.columns["injury"].tolist() == ["heat", "edge"] * 4
    assert found.columns["status"].tolist() == EIGHT["status"].tolist()
    assert "heat" in (MECHANISM.released_columns(settings(scaling="taxonomy"), DECLARED)["injury"].categories or ())


def test_without_taxonomies_all_injuries_are_as_far_apart() -> None:
    found = protect(EIGHT, DECLARED, settings(), seeded(1))
    assert set(found.columns["injury"].tolist()) <= set(INJURY.categories or ())
    assert MECHANISM.released_columns(settings(), DECLARED)["injury"] == INJURY


def test_under_a_swap_similar_injuries_exchange_values_and_none_changes() -> None:
    for seed in range(20):
        found = protect(EIGHT, DECLARED, settings(method="mdav_swap", scaling="taxonomy"), seeded(seed))
        assert found.columns["injury"].tolist() == EIGHT["injury"].tolist()
        assert found.columns["status"][::2].tolist() == ["yes"] * 4


def test_missing_injuries_are_a_category_far_from_all_others() -> None:
    declared = {**DECLARED, "injury": INJURY.model_copy(update={"missing": "category"})}
    columns = {name: np.concatenate((values, values[:2])) for name, values in EIGHT.items()}
    columns["injury"][[0, 8]] = None
    found = protect(columns, declared, settings(k=2, scaling="taxonomy"), seeded(1))
    released = found.columns["injury"]
    assert released[0] is released[8] is None
    assert None not in released[1:8]
    assert None is not released[9]


def test_gain_decides_how_large_groups_become() -> None:
    ages = np.array([0, 1, 2, 3, 50, 51, 52, 100, 101, 102])
    columns = {"injury": injuries(*["burn0"] * 10), "age": ages, "status": injuries(*["yes"] * 10)}
    two = {"method": "mdav_id", "k": 3, "groups": "v_mdav"}
    loose = protect(columns, DECLARED, settings(**two, gain="11/10"), seeded(1)).groups["age"]
    assert sorted(np.bincount(loose).tolist()) == [3, 3, 4]
    assert len(set(loose[:4].tolist())) == 1
    stated = promise(settings(**two, gain="11/10"), DECLARED).parameters
    assert (stated["groups"], stated["gain"]) == ("v_mdav", "11/10")
    assert is_stated(MECHANISM.stated, stated)


def test_groups_whose_values_are_alike_join_the_nearest_one() -> None:
    ages = np.array([10, 11, 30, 31, 100, 101])
    columns = {
        "injury": injuries(*["burn0"] * 6),
        "age": ages,
        "status": injuries("yes", "yes", "yes", "no", "yes", "no"),
    }
    found = protect(columns, DECLARED, settings(k=2, diversity=2), seeded(1))
    groups = found.groups["age"]
    assert groups.tolist() in ([0, 0, 0, 0, 1, 1], [1, 1, 1, 1, 0, 0])
    said = promise(settings(k=2, diversity=2), DECLARED)
    assert said.parameters["diversity"] == 2
    assert "at least 2 different values of each of: status" in said.statement
    assert "values_differ_in_groups" in said.audit
    assert not any("where all are equal" in limit for limit in said.not_promised)
    assert is_stated(MECHANISM.stated, said.parameters)


def test_a_swap_says_which_groups_its_promise_is_about() -> None:
    said = promise(settings(method="mdav_swap", diversity=2), DECLARED)
    assert "not on whose they are" in said.statement
    assert "values_differ_in_groups" in said.audit


def test_no_value_is_no_value_that_differs() -> None:
    columns = {name: values[:4] for name, values in EIGHT.items()} | {"status": injuries("yes", None, "yes", None)}
    with pytest.raises(TooFewValues, match=r"status refused: needs at least diversity = 2 different values"):
        protect(columns, DECLARED, settings(k=2, diversity=2), seeded(1))


@pytest.mark.parametrize(
    ("chosen", "field", "rule"),
    [
        ({"method": "ir_swap", "scaling": "taxonomy"}, "scaling", "must not be taxonomy under ir_swap"),
        ({"method": "ir_swap", "groups": "v_mdav", "gain": "1"}, "groups", "must be mdav under ir_swap"),
        ({"method": "ir_swap", "diversity": 2}, "diversity", "must not be given under ir_swap"),
        ({"groups": "v_mdav"}, "gain", "must be given for v_mdav"),
        ({"gain": "1/5"}, "gain", "must not be given without v_mdav"),
        ({"diversity": 3}, "diversity", "must be at most the 2 different values of status"),
    ],
)
def test_what_does_not_fit_is_refused_before_any_row_is_read(chosen: dict[str, Any], field: str, rule: str) -> None:
    assert rule in rules(settings(**chosen), DECLARED)[field]
    with pytest.raises(SettingRefused):
        promise(settings(**chosen), DECLARED)


def test_a_taxonomy_must_be_declared_and_no_larger_than_its_tables_may_be() -> None:
    plain = {"age": AGE, "status": STATUS}
    assert rules(settings(scaling="taxonomy"), plain)["scaling"] == "needs a nominal quasi_identifier with a taxonomy"
    wide = {"root": [], **{f"leaf{i}": ["root"] for i in range(4100)}}
    large = {"injury": Column(role="quasi_identifier", type="nominal", taxonomy=wide), "status": STATUS}
    assert f"at most {MOST_PAIRS:,} pairs" in rules(settings(scaling="taxonomy"), large)["columns.injury.taxonomy"]
    assert not faults(settings(), large)


def test_values_must_be_there_to_differ() -> None:
    declared = {"injury": INJURY, "age": AGE}
    assert "needs a confidential column" in rules(settings(diversity=2), declared)["diversity"]


def test_specs_from_before_there_was_a_choice_keep_their_form() -> None:
    assert set(settings().model_dump()) == {"mechanism", "method", "k", "k_by_column", "scaling"}


def test_plan_and_advice_say_what_the_choice_means() -> None:
    by_taxonomy = settings(scaling="taxonomy")
    assert any("quadratic" in line and "n u / k" in line for line in expect(by_taxonomy, DECLARED, 10**6))
    assert any("concept above several categories" in line for line in expect(by_taxonomy, DECLARED, None))
    assert not any("concept above" in line for line in expect(settings(), DECLARED, None))
    assert "Groups have 4 to 10 records." in expect(settings(k=4, groups="v_mdav", gain="1/5"), DECLARED, None)
    variable = settings(groups="v_mdav", gain="1/5", diversity=2)
    said = expect(variable, DECLARED, 1000)
    assert not any("Groups have" in line for line in said)
    assert any("grows with n^2" in line for line in said)
    assert any("at most 250 groups" in line for line in said)
    assert any("join others" in line for line in said)
    said = expect(settings(diversity=2), DECLARED, 10**6)
    assert any("joining is at worst quadratic" in line and "at most about" in line.split("joining")[1] for line in said)
    assert "by its taxonomy" not in treatments(settings(), DECLARED)["injury"]
    assert "in its taxonomy" in treatments(by_taxonomy, DECLARED)["injury"]
    assert any("concept above several categories" in line for line in advice(by_taxonomy, DECLARED))
    assert "log2(1 + u / v)" in promise(by_taxonomy, DECLARED).parameters["scaling"]["injury"]


def test_groups_of_whole_records_need_all_of_them_together() -> None:
    assert isinstance(MECHANISM.in_parts, ByColumn)
    assert MECHANISM.in_parts.needs_all(settings(groups="v_mdav", gain="1")) is not None


def test_joining_follows_what_groups_hold_and_not_who_holds_it() -> None:
    """The released distribution is compared in tests/laws; here the groups themselves, with many records."""
    rng = np.random.default_rng(5)
    columns = {"age": rng.integers(0, 120, 200), "income": rng.integers(0, 3, 200).astype(float)}
    declared = {"age": AGE, "income": INCOME}
    plain = protect(columns, declared, settings(k=3), seeded(1)).groups["age"]
    params = settings(k=3, diversity=3)
    before = protect(columns, declared, params, seeded(1)).groups["age"]
    assert before.max() < plain.max()
    moved = dict(columns)
    order = np.lexsort((rng.random(200), plain))
    moved["income"] = np.empty(200)
    moved["income"][np.argsort(plain, kind="stable")] = columns["income"][order]
    assert (protect(moved, declared, params, seeded(1)).groups["age"] == before).all()
