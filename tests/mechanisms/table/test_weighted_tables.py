"""Weighted tables against sums by hand and by pandas, and every reason why a table cannot be weighted."""

from __future__ import annotations

from fractions import Fraction
from math import floor, isnan, sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.mechanism import ByCell
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import TooFewRecords, ValueOutsideDomain
from penstock.mechanisms.table import MECHANISM, Params, _weights, chosen_facts, count_cells, faults, layout, protect
from penstock.mechanisms.table._expect import expect
from penstock.mechanisms.table._explain import advice, treatments
from penstock.mechanisms.table._weights import least_count, step_of
from tests.mechanisms.table.weighted import CAP, ONE, REPLICATES, WEIGHTED, columns, frame, inside, rows_of, weighted
from tests.support.plain_tables import DECLARED, MODELS, table


def by_hand() -> pd.DataFrame:
    """Two records, 2 x 10 and 3 x 20; by the first replicate 4 and 0 of them, by the second 0 and 6."""
    return pd.DataFrame(
        {
            "area": ["north"] * 2,
            "size": ["small"] * 2,
            "x": [10, 20],
            "y": [1.0, 1.0],
            "w": [2.0, 3.0],
            "a": [4.0, 0.0],
            "b": [0.0, 6.0],
        }
    )


def test_weighted_figures_and_their_sampling_errors_are_those_that_were_computed_by_hand() -> None:
    params = weighted(sums=["x"], means=["x"], weight=REPLICATES, margins="none")
    released = protect(columns(by_hand(), WEIGHTED), WEIGHTED, params, seeded(1)).columns
    found = {name: values[0] for name, values in released.items()}
    assert found["records"] == 2
    assert (found["weighted_count"], found["weighted_count_sampling_error"]) == (5, 1)
    assert (found["x_weighted_sum"], found["x_weighted_sum_sampling_error"]) == (80, 40)
    assert found["x_weighted_mean"] == 16
    assert found["x_weighted_mean_sampling_error"] == pytest.approx(sqrt((6**2 + 4**2) / 2))
    assert [released[name][1] for name in ("records", "weighted_count", "weighted_count_sampling_error")] == [0, 0, 0]
    assert isnan(released["x_weighted_mean"][1])
    assert isnan(released["x_weighted_mean_sampling_error"][1])


def test_a_mean_has_no_sampling_error_where_a_replicate_has_no_weight() -> None:
    records = by_hand().assign(a=0.0)
    params = weighted(sums=[], means=["x"], weight=REPLICATES)
    released = protect(columns(records, WEIGHTED), WEIGHTED, params, seeded(1)).columns
    assert released["x_weighted_mean"][0] == 16
    assert isnan(released["x_weighted_mean_sampling_error"][0])
    assert not isnan(released["weighted_count_sampling_error"][0])


@given(st.integers(0, 40), st.integers(0, 2**32), st.sampled_from(["none", "summed"]))
@settings(max_examples=30)
def test_exact_weighted_figures_are_those_of_pandas(rows: int, seed: int, margins: str) -> None:
    records = frame(rows, seed)
    params = weighted(weight=REPLICATES, margins=margins)
    released = protect(columns(records, WEIGHTED), WEIGHTED, params, seeded(1)).columns
    near = {"rel": 1e-7, "abs": 1e-7}  # of y the grid keeps nine digits
    for row, cell in enumerate(rows_of(layout(params, WEIGHTED).levels)):
        those = inside(records, cell)
        assert released["records"][row] == len(those)
        made = {}
        for weight in ("w", "a", "b"):
            w = those[weight].clip(0, CAP if weight == "w" else 100)
            made[weight] = {"weighted_count": w.sum()}
            for name in ("x", "y"):
                made[weight][f"{name}_weighted_sum"] = (w * those[name]).sum()
                made[weight][f"{name}_weighted_mean"] = (w * those[name]).sum() / w.sum()
        for name, value in made["w"].items():
            assert released[name][row] == pytest.approx(value, **near)
            error = sqrt(sum((made[each][name] - value) ** 2 for each in ("a", "b")) / 2)
            assert released[f"{name}_sampling_error"][row] == pytest.approx(error, **near)


@pytest.mark.parametrize("weight", [0.0, -1.0])
def test_a_record_without_weight_is_refused_in_an_exact_table(weight: float) -> None:
    """It would count towards k, and the weighted total would be that of the others."""
    records = by_hand().assign(w=[weight, 3.0])
    with pytest.raises(ValueOutsideDomain) as refused:
        protect(columns(records, ONE), ONE, weighted(sums=["x"], means=[]), seeded(1))
    assert refused.value.faults[0].field == "w"
    protect(columns(records, ONE), ONE, weighted("dp", sums=["x"], means=[]), seeded(1))


def test_weights_that_cannot_be_added_up_are_refused() -> None:
    declared = {**ONE, "w": Column(role="weight")}
    with pytest.raises(ValueOutsideDomain) as refused:
        protect(columns(by_hand().assign(w=1e308), declared), declared, weighted(sums=["x"], means=[]), seeded(1))
    assert refused.value.faults[0].field == "w"


def test_replicates_that_leave_out_fewer_than_k_records_of_a_cell_are_refused() -> None:
    """The first leaves out one record: its sampling error would be that record's weight times its value."""
    records = pd.concat([by_hand()] * 3, ignore_index=True).assign(
        a=lambda found: found["w"], b=lambda found: found["w"]
    )
    one = records.assign(a=lambda found: found["w"].where(found.index != 4, 0.0))
    params = weighted(sums=["x"], means=[], weight=REPLICATES, k=2)
    with pytest.raises(TooFewRecords) as refused:
        protect(columns(one, WEIGHTED), WEIGHTED, params, seeded(1))
    assert refused.value.faults[0].field == "weight.replicates"
    protect(columns(records, WEIGHTED), WEIGHTED, params, seeded(1))
    two = one.assign(b=lambda found: found["w"].where(found.index != 1, 9.0))
    protect(columns(two, WEIGHTED), WEIGHTED, params, seeded(1))
    whose = np.array([0, 1, 0, 1, 1, 1])
    with pytest.raises(TooFewRecords):
        protect(
            columns(two, WEIGHTED),
            WEIGHTED,
            weighted(sums=["x"], means=[], weight=REPLICATES, k=2, contributors="firm"),
            seeded(1),
            units=whose,
        )


def half_up(number: Fraction) -> int:
    return floor(number + Fraction(1, 2))


@given(st.integers(0, 20), st.integers(0, 2**32))
@settings(max_examples=30)
def test_under_noise_weights_and_products_are_whole_numbers_of_the_stated_steps(rows: int, seed: int) -> None:
    records = frame(rows, seed, least=1)
    params = weighted("dp")
    steps = {name: Fraction(step) for name, step in chosen_facts(params, ONE)["steps"].items()}
    of_weights = steps["count"]
    assert all(step.numerator == 1 or step.denominator == 1 for step in steps.values())
    assert CAP / of_weights <= 2**16 + 2
    found = count_cells(columns(records, ONE), ONE, params)
    for place, cell in enumerate(rows_of([("area", "size")])):
        those = inside(records, cell)
        w = [half_up(Fraction(min(each, CAP)) / of_weights) for each in those["w"]]
        assert found.measures["count"].sums[place] == sum(w)
        assert found.counts[place] == len(those)
        for name in ("x", "y"):
            v = [half_up(Fraction(each) / (steps[name] / of_weights)) for each in those[name]]
            assert found.measures[name].sums[place] == sum(a * b for a, b in zip(v, w, strict=True))


def test_noisy_figures_are_noisy_totals_times_their_steps_and_means_need_a_count_of_one_largest_weight() -> None:
    records = frame(30, 1)
    params = weighted("dp", epsilon="3", margins="none")
    protected = protect(columns(records, ONE), ONE, params, seeded(1))
    released, hidden = protected.columns, protected.hidden
    count = hidden["noised 0 count"] * float(step_of(params, ONE, "count"))
    assert released["weighted_count"].tolist() == count.tolist()
    assert "records" not in released
    total = hidden["noised 0 x"] * float(step_of(params, ONE, "x"))
    assert released["x_weighted_sum"].tolist() == total.tolist()
    least = least_count(params, ONE) * float(step_of(params, ONE, "count"))
    assert CAP <= least < CAP * (1 + 2**-14)
    expected = np.where(count >= least, np.clip(total / np.maximum(count, least), -10, 90), np.nan)
    assert np.allclose(released["x_weighted_mean"], expected, equal_nan=True, rtol=1e-12)


def test_the_stated_errors_grow_with_the_largest_weight() -> None:
    def errors(cap: float) -> dict[str, float]:
        declared = {**ONE, "w": Column(role="weight", domain=(0, cap))}
        facts = chosen_facts(weighted("dp", noise="laplace", means=[]), declared)["figures"]
        return {name: facts[name]["standard_error"] for name in facts}

    alone = chosen_facts(table(sums=["x", "y"], noise="laplace"), {n: c for n, c in ONE.items() if n != "w"})
    ten, hundred = errors(10), errors(100)
    for name, unweighted in {"weighted_count": "count", "x_weighted_sum": "x_sum", "y_weighted_sum": "y_sum"}.items():
        assert ten[name] == pytest.approx(10 * alone["figures"][unweighted]["standard_error"], rel=2e-3)
        assert hundred[name] == pytest.approx(10 * ten[name], rel=2e-3)


def test_bounds_of_cells_hold_for_values_and_not_for_products() -> None:
    bounds = {"x": [{"cells": {"area": ["north"]}, "domain": [0, 5]}]}
    records = pd.DataFrame(
        {"area": ["north", "south"], "size": ["small"] * 2, "x": [90, 90], "y": 1.0, "w": [20.0] * 2}
    )
    params = weighted("dp", bounds=bounds, sums=["x"], means=[])
    found = count_cells(columns(records, ONE), ONE, params)
    step = float(step_of(params, ONE, "x"))
    assert (found.measures["x"].sums * step).tolist() == [5 * 20, 0, 90 * 20, 0]


def test_sums_beyond_62_bits_are_refused_and_never_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the real grids it takes 2^26 records at both bounds."""
    monkeypatch.setattr(_weights, "_VALUE_STEPS", 2**31)
    monkeypatch.setattr(_weights, "_WEIGHT_STEPS", 2**30)
    declared = {
        **ONE,
        "x": Column(role="confidential", type="integer", domain=(0, 2**31)),
        "w": Column(role="weight", domain=(0, 2**30)),
    }
    records = pd.DataFrame({"area": "north", "size": "small", "x": [2**31] * 2, "y": 0.0, "w": [2.0**30] * 2})
    params = weighted("dp", sums=["x"], means=[])
    assert step_of(params, declared, "x") == 1
    assert count_cells(columns(records[:1], declared), declared, params).measures["x"].sums[0] == 2**61
    with pytest.raises(ValueOutsideDomain):
        count_cells(columns(records, declared), declared, params)


FAULTY: dict[str, tuple[str, dict[str, Any], dict[str, Column], str, str]] = {
    "not named": ("k_anon", {"weight": None}, ONE, "columns.w.role", "unless the table says that it is weighted"),
    "another one": (
        "k_anon",
        {},
        {**ONE, "a": WEIGHTED["a"]},
        "columns.a.role",
        "unless the table says that it is weighted",
    ),
    "not declared": ("k_anon", {"weight": {"column": "v"}}, DECLARED, "weight.column", "column with role weight"),
    "no weight": ("dp", {"weight": {"column": "x"}, "sums": []}, DECLARED, "weight.column", "column with role weight"),
    "no such replicate": (
        "k_anon",
        {"weight": {**REPLICATES, "replicates": ["c"]}},
        ONE,
        "weight.replicates",
        "column with role weight",
    ),
    "twice": (
        "k_anon",
        {"weight": {**REPLICATES, "replicates": ["a", "a", "b"]}},
        WEIGHTED,
        "weight.replicates",
        "must not list a column twice",
    ),
    "itself": (
        "k_anon",
        {"weight": {**REPLICATES, "replicates": ["a", "b", "w"]}},
        WEIGHTED,
        "weight.replicates",
        "nor the weight itself",
    ),
    "no scale": (
        "k_anon",
        {"weight": {"column": "w", "replicates": ["a", "b"]}},
        WEIGHTED,
        "weight.scale",
        "must be given with replicates",
    ),
    "scale 0": ("k_anon", {"weight": {**REPLICATES, "scale": 0}}, WEIGHTED, "weight.scale", "must be above 0"),
    "scale of nothing": (
        "k_anon",
        {"weight": {"column": "w", "scale": 1}},
        ONE,
        "weight.scale",
        "must not be given without replicates",
    ),
    "replicates under noise": (
        "dp",
        {"weight": REPLICATES},
        WEIGHTED,
        "weight.replicates",
        "each of them would spend epsilon",
    ),
    "no cap": ("dp", {}, {**ONE, "w": Column(role="weight")}, "columns.w.domain", "must be given under dp"),
    "bootstrap": ("bdp", {}, ONE, "weight", "no noise is proven for weighted figures"),
    "individual": ("idp", {}, ONE, "weight", "no noise is proven for weighted figures"),
    "counted under noise": ("dp", {"contributors": "firm"}, ONE, "contributors", "where noise protects the records"),
    "too wide": (
        "dp",
        {"epsilon": "1/1000000000000", "dimensions": ["area"]},
        ONE,
        "epsilon",
        "must allow noise that can be drawn",
    ),
}


@pytest.mark.parametrize("name", FAULTY)
def test_a_table_that_cannot_be_weighted_is_refused(name: str) -> None:
    model, chosen, declared, field, rule = FAULTY[name]
    found = faults(Params.model_validate(raw(model, **chosen)), declared)
    assert [fault.field for fault in found] == [field]
    assert rule in found[0].rule


def raw(model: str, **chosen: Any) -> dict[str, Any]:
    asked = {"dimensions": ["area", "size"], "sums": ["x"], "weight": {"column": "w"}, **MODELS[model], **chosen}
    return {key: value for key, value in asked.items() if value is not None}


def test_figures_are_told_in_words_and_settings_without_weights_say_nothing_of_them() -> None:
    params = weighted(weight=REPLICATES)
    told = treatments(params, WEIGHTED)
    assert set(told) == set(layout(params, WEIGHTED).columns)
    assert told["weighted_count"].startswith("sum of the weights in column w")
    assert "from sampling" in told["x_weighted_mean_sampling_error"]
    assert any("no weight in that cell" in each for each in advice(params, WEIGHTED))
    assert any("2 replicate weights" in each for each in expect(params, WEIGHTED, None))
    limits = MECHANISM.promise(params, WEIGHTED).not_promised
    assert any(each.startswith("that the rules of tables judge sampling errors") for each in limits)
    noisy = weighted("dp")
    assert any("no sampling error" in each for each in advice(noisy, ONE))
    assert any(each.startswith("weighted count by area, size") for each in expect(noisy, ONE, None))
    guarantee = MECHANISM.promise(noisy, ONE)
    assert any("weights that were adjusted by other records" in each for each in guarantee.assumptions)
    assert any("published errors cover sampling" in each for each in guarantee.not_promised)
    assert not {"weight", "contributors"} & set(table().model_dump())
    assert not {"weight", "contributors"} & set(MECHANISM.promise(table(), DECLARED).parameters)


def test_parts_refuse_weights() -> None:
    assert isinstance(MECHANISM.in_parts, ByCell)
    assert MECHANISM.in_parts.needs_all(weighted("dp")) is not None
    assert MECHANISM.in_parts.needs_all(table()) is None
