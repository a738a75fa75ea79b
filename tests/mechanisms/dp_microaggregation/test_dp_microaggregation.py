from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from pydantic import ValidationError

from penstock.mechanisms.columns import Column
from penstock.mechanisms.dp_microaggregation import Params, faults, promise, protect, released_columns, settle
from penstock.mechanisms.dp_microaggregation import _attributes as attributes
from penstock.mechanisms.randomness import seeded, system
from penstock.mechanisms.refusal import SettingRefused, TooFewRecords, ValueMissing

UNIT = Column(role="confidential", type="continuous", domain=(0, 1))
AGE = Column(role="quasi_identifier", type="integer", domain=(0, 100))
TREE = {"oak": ["tree"], "ash": ["tree"], "rose": ["plant"], "tree": ["plant"], "plant": []}
PLANT = Column(role="confidential", type="nominal", taxonomy=TREE)
CODE = Column(role="confidential", type="nominal", categories=("a", "b", "c"))
# Noise of this size is 0 with a probability that no test will live to see otherwise.
SILENT = "1000000000"


def params(**settings):
    return Params(**{"epsilon": "1", "adjacency": "replace", "k": 5, **settings})


def uniform(n, names, seed=1):
    rng = np.random.default_rng(seed)
    return {name: rng.random(n) for name in names}


def aligned(protected, name):
    values = np.empty_like(protected.columns[name])
    values[protected.origin] = protected.columns[name]
    return values


def test_without_noise_a_block_is_its_mean_on_the_grid():
    values = np.array([3, 1, 2, 10, 30, 21, 22])
    protected = protect({"age": values}, {"age": AGE}, params(epsilon=SILENT, k=3), seeded(1))
    assert aligned(protected, "age").tolist() == [2, 2, 2, 21, 21, 21, 21]  # (10 + 30 + 21 + 22) / 4 = 20.75
    assert protected.columns["age"].dtype == np.int64


def test_a_mean_between_two_points_is_rounded_up():
    protected = protect({"age": np.array([1, 2])}, {"age": AGE}, params(epsilon=SILENT, k=2), seeded(1))
    assert protected.columns["age"].tolist() == [2, 2]


def test_without_noise_a_block_of_categories_is_its_most_central_concept():
    values = np.array(["oak", "ash", "oak", "rose", "rose", "rose"], dtype=object)
    declared = {"plant": PLANT}
    protected = protect({"plant": values}, declared, params(epsilon=SILENT, k=3), seeded(1))
    assert aligned(protected, "plant").tolist() == ["oak"] * 3 + ["rose"] * 3
    assert released_columns(params(), declared)["plant"].categories == ("rose", "oak", "ash", "plant", "tree")


def test_a_block_of_siblings_can_come_back_as_their_parent():
    siblings = {f"leaf{i}": ["tree"] for i in range(9)} | {"moss": ["plant"], "tree": ["plant"], "plant": []}
    column = Column(role="confidential", type="nominal", taxonomy=siblings)
    values = np.array([f"leaf{i}" for i in range(9)], dtype=object)
    protected = protect({"plant": values}, {"plant": column}, params(epsilon=SILENT, k=9), seeded(1))
    assert set(protected.columns["plant"]) == {"tree"}


def test_a_released_list_begins_with_the_declared_categories_whatever_their_order():
    listed = Column(role="confidential", type="nominal", taxonomy=TREE, categories=("tree", "ash", "rose"))
    released = released_columns(params(), {"plant": listed})["plant"].categories
    assert released[:3] == ("tree", "ash", "rose")
    assert set(released) == set(TREE)


def test_the_noise_is_stated_in_the_unit_of_the_column():
    (part,) = settle(params(k=10, order="corner"), {"age": AGE, "code": CODE}, 100)
    stated = part.facts()["columns"]
    assert stated["age"]["noise_error"] == pytest.approx(2**0.5 * 2000 / 10)  # D = 10 widths of 100, epsilon 1/2
    assert stated["code"]["noise_error"] is None


def test_values_outside_the_domain_are_clamped():
    values = np.array([-50, 500, 500])
    protected = protect({"age": values}, {"age": AGE}, params(epsilon=SILENT, k=1), seeded(1))
    assert aligned(protected, "age").tolist() == [0, 100, 100]


@pytest.mark.parametrize(("noise", "end"), [(2**63 - 1, 100), (-(2**63 - 1), 0)])
def test_the_largest_noise_there_is_ends_at_a_bound(noise, end, monkeypatch):
    monkeypatch.setattr(attributes, "discrete_laplace", lambda _, __, size, ___: np.full(size, noise))
    protected = protect({"age": np.arange(100)}, {"age": AGE}, params(k=10), seeded(1))
    assert set(protected.columns["age"]) == {end}


def test_rows_come_in_random_order():
    columns, declared = {"age": np.arange(100)}, {"age": AGE}
    released = [protect(columns, declared, params(epsilon=SILENT, k=1), seeded(seed)) for seed in (1, 2)]
    assert all(sorted(each.columns["age"].tolist()) == list(range(100)) for each in released)
    first, second = (each.columns["age"].tolist() for each in released)
    assert first != second
    assert list(range(100)) not in (first, second)


def test_rows_of_marginals_mean_nothing():
    twins = np.arange(100)
    columns, declared = {"age": twins, "height": twins}, {"age": AGE, "height": AGE}
    chosen = params(epsilon=SILENT, k=1, mode="marginals")
    protected = protect(columns, declared, chosen, seeded(1))
    assert sorted(protected.columns["age"]) == sorted(protected.columns["height"]) == list(range(100))
    assert (protected.columns["age"] == protected.columns["height"]).sum() < 20
    together = protect(columns, declared, params(epsilon=SILENT, k=1, order="lexicographic"), seeded(1))
    assert together.columns["age"].tolist() == together.columns["height"].tolist()


def test_sensitivities_shares_and_scales_are_those_of_the_theorem():
    declared = {"age": AGE, "height": AGE}
    chosen = params(epsilon="1/2", k=10, order="corner", shares={"age": "1/4", "height": "3/4"})
    (part,) = settle(chosen, declared, 105)
    assert part.choice.blocks == 10
    assert part.choice.sensitivities == (1000, 1000)
    assert part.epsilons == (Fraction(1, 8), Fraction(3, 8))
    facts = part.facts()
    assert Fraction(facts["columns"]["age"]["scale"]) == 8000
    assert Fraction(facts["columns"]["height"]["scale"]) == Fraction(8000, 3)
    assert facts["columns"]["age"]["grid"] == "1"


def test_a_unit_with_several_rows_divides_epsilon_among_them():
    (one,) = settle(params(), {"age": AGE}, 50)
    (three,) = settle(params(rows_per_unit=3), {"age": AGE}, 50)
    assert three.epsilons[0] * 3 == one.epsilons[0]
    promised = promise(params(rows_per_unit=3), {"age": AGE})
    assert promised.unit == "individual"
    assert promised.parameters["epsilon"] == "1"
    assert any("how many records" in limit for limit in promised.not_promised)


def test_marginals_have_the_width_of_the_domain_as_sensitivity_and_each_its_own_blocks():
    declared = {"age": AGE, "x": UNIT}
    parts = settle(params(mode="marginals", k="auto"), declared, 1000)
    assert [tuple(part.attributes) for part in parts] == [("age",), ("x",)]
    assert parts[0].choice.sensitivities == (100,)
    assert parts[1].choice.sensitivities == (2**20,)
    assert all(part.epsilons == (Fraction(1, 2),) for part in parts)


def test_the_settled_facts_depend_on_the_number_of_records_only():
    declared, chosen = {"x": UNIT, "y": UNIT}, params(k="auto")
    one = protect(uniform(500, "xy", seed=1), declared, chosen, seeded(1))
    two = protect(
        {name: values * 0.01 for name, values in uniform(500, "xy", seed=2).items()}, declared, chosen, seeded(2)
    )
    assert one.chosen == two.chosen


def test_auto_prefers_the_snake_and_finds_the_block_size_of_the_formula():
    declared = {"x": UNIT, "y": UNIT}
    (part,) = settle(params(k="auto"), declared, 30162)
    assert part.choice.order.name == "snake"
    formula = (24 * 4 * 3) ** 0.25 * np.sqrt(30162)
    assert 0.7 * formula < part.choice.k < 1.4 * formula


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_expected_error_is_what_simulation_shows(m):
    names = "xyz"[:m]
    declared, columns = dict.fromkeys(names, UNIT), uniform(2000, names)
    chosen = params(k="auto")
    expected = [error for part in settle(chosen, declared, 2000) for error in part.choice.errors]
    squares = np.zeros(m)
    for seed in range(40):
        protected = protect(columns, declared, chosen, seeded(seed))
        squares += [np.mean((aligned(protected, name) - columns[name]) ** 2) for name in names]
    # 40 releases of 2,000 records show a root mean square to a few per cent; 15 % is far outside chance.
    assert np.sqrt(squares / 40) == pytest.approx(expected, rel=0.15)


def test_the_expected_error_of_categories_is_what_simulation_shows():
    declared, chosen = {"code": CODE}, params(k=20, epsilon="1/5")
    codes = np.random.default_rng(0).integers(0, 3, 300)
    (part,) = settle(chosen, declared, 300)
    wrong = 0
    for seed in range(200):
        protected = protect({"code": codes}, declared, chosen, seeded(seed))
        wrong += np.mean(aligned(protected, "code") != codes)
    assert np.sqrt(wrong / 200) == pytest.approx(part.choice.errors[0], rel=0.1)


def test_a_release_draws_from_the_operating_system_and_varies():
    columns, declared = {"age": np.arange(100)}, {"age": AGE}
    released = {tuple(np.sort(protect(columns, declared, params(), system()).columns["age"])) for _ in range(5)}
    assert len(released) == 5


def test_the_promise_names_what_it_rests_on():
    promised = promise(params(epsilon="1/3"), {"age": AGE, "x": UNIT})
    assert (promised.model, promised.adjacency, promised.unit) == ("dp", "replace", "row")
    assert promised.parameters["epsilon"] == "1/3"
    assert promised.parameters["shares"] == {"age": "1/2", "x": "1/2"}
    assert "(1/3)-differential privacy" in promised.statement
    assert any("public knowledge" in assumption for assumption in promised.assumptions)
    marginal = promise(params(mode="marginals"), {"age": AGE})
    assert any("relation between columns" in limit for limit in marginal.not_promised)


REFUSED = {
    "add_remove": (
        params(adjacency="add_remove"),
        {"age": AGE},
        "adjacency",
        "must be replace: one record more can make one block more, which shows, so no other adjacency is proven",
    ),
    "no column": (params(), {"id": Column(role="identifier")}, "columns", "must have at least one column"),
    "weight": (params(), {"age": AGE, "w": Column(role="weight")}, "columns.w.role", "no declared bounds"),
    "missing": (
        params(),
        {"c": CODE.model_copy(update={"missing": "category"})},
        "columns.c.missing",
        "must be refuse",
    ),
    "natural for two": (
        params(order="natural"),
        {"a": AGE, "b": AGE},
        "order",
        "must not be natural for several columns",
    ),
    "snake of marginals": (params(order="snake", mode="marginals"), {"a": AGE}, "order", "natural for marginals"),
    "too many corners": (
        params(order="corners_in_turn"),
        {f"c{i}": AGE for i in range(9)},
        "order",
        "must not be used for more than 8 columns",
    ),
    "a share missing": (params(shares={"a": "1"}), {"a": AGE, "b": AGE}, "shares", "must be one for each of a, b"),
    "a share of 0": (params(shares={"a": "1", "b": "0"}), {"a": AGE, "b": AGE}, "shares", "must each be above 0"),
    "shares above 1": (params(shares={"a": "1", "b": "1"}), {"a": AGE, "b": AGE}, "shares", "add up to 1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_settings_without_a_proof_are_refused(case):
    chosen, declared, field, rule = REFUSED[case]
    found = faults(chosen, declared)
    assert any(fault.field == field and rule in fault.rule for fault in found), found
    for refused in (promise, lambda p, d: settle(p, d, 100), lambda p, d: protect({}, d, p, seeded(1))):
        with pytest.raises(SettingRefused, match=rule):
            refused(chosen, declared)


@pytest.mark.parametrize(
    "settings",
    [
        {"epsilon": "0"},
        {"epsilon": 0.5},
        {"k": 0},
        {"keep_order": True},
        {"bounds": "from data"},
        {"identifiers": "keep"},
        {"rows_per_unit": 0},
        {"calibration": "thesis"},
        {"order": "hilbert"},
    ],
)
def test_what_would_void_the_promise_cannot_even_be_said(settings):
    with pytest.raises(ValidationError):
        params(**settings)


def test_bounds_cannot_come_from_the_data():
    with pytest.raises(ValidationError):
        Column(role="confidential", type="continuous")
    with pytest.raises(ValidationError):
        Column(role="confidential", type="continuous", domain="data")


def test_fewer_records_than_k_are_refused():
    with pytest.raises(TooFewRecords, match="must not exceed the number of records"):
        protect({"age": np.arange(4)}, {"age": AGE}, params(k=5), seeded(1))
    with pytest.raises(TooFewRecords, match="must not exceed the number of records"):
        settle(params(k="auto"), {"age": AGE}, 0)


def test_a_missing_number_is_refused():
    with pytest.raises(ValueMissing):
        protect({"x": np.array([0.5, np.nan])}, {"x": UNIT}, params(k=1), seeded(1))
