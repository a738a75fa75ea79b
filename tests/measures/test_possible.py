"""What a measure can come to, beside what it does come to over many small data sets and settings."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measures.gates import Gate
from penstock.measures.possible import faults_known_before, impossible, possible
from penstock.measures.registry import measure, measure_names
from penstock.mechanisms import closeness, probabilistic_k_anonymity
from penstock.mechanisms.closeness._cuts import bucketed
from penstock.mechanisms.columns import Column
from penstock.mechanisms.possible import Possible, Undefined
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.registry import MECHANISMS
from tests.support.order import examples

AGE = Column(role="quasi_identifier", type="integer", domain=(0, 9))
PAY = Column(role="confidential", type="integer", domain=(0, 9))
JOB = Column(role="confidential", type="nominal", categories=("a", "b", "c"))
RANK = Column(role="confidential", type="ordinal", categories=("a", "b"), missing="category")
LEVELS = Column(role="confidential", type="ordinal", categories=("a", "b", "c"))
FLAG = Column(role="confidential", type="integer", domain=(0, 1))
DECLARED = {"age": AGE, "pay": PAY}


def swap(method: str = "ir_swap", **chosen: Any) -> probabilistic_k_anonymity.Params:
    return probabilistic_k_anonymity.Params(method=method, **{"k": 3, **chosen})  # type: ignore[arg-type]


def close(**chosen: Any) -> closeness.Params:
    return closeness.Params.model_validate({"output": "anatomy", "k": 3, **chosen})


@settings(max_examples=examples(60))
@given(st.integers(2, 5), st.integers(0, 20), st.sampled_from(["ir_swap", "mdav_swap", "mdav_id"]), st.integers(0, 99))
def test_groups_leave_the_risk_inside_what_is_possible(k: int, more: int, method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = {name: rng.integers(0, 10, k + more) for name in DECLARED}
    params = swap(method, k=k)
    protected = probabilistic_k_anonymity.protect(columns, DECLARED, params, seeded(seed))
    judged = {name: protected.columns[name] for name in protected.masked}
    for name in ("average_risk", "own_value_probability", "record_linkage", "il1s", "mean_change"):
        expected = possible(name, params, DECLARED)
        if isinstance(expected, Undefined):
            assert (name, method) == ("own_value_probability", "mdav_id")
            continue
        if name in ("il1s", "mean_change") and len(set(columns[protected.masked[0]].tolist())) == 1:
            continue
        found = measure(name)(columns, judged, DECLARED, groups=protected.groups, permuted=method != "mdav_id").value
        assert expected.low <= found <= expected.high


@settings(max_examples=examples(60))
@given(st.integers(2, 5), st.integers(3, 30), st.sampled_from(["mdav_swap", "mdav_id"]), st.integers(0, 99))
def test_other_groups_leave_the_risk_inside_what_is_possible(k: int, more: int, method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = {name: rng.integers(0, 10, k + more) for name in DECLARED}
    columns["pay"][:2] = 0, 1
    for chosen in ({"groups": "v_mdav", "gain": "1"}, {"diversity": 2}):
        params = swap(method, k=k, **chosen)
        found = probabilistic_k_anonymity.protect(columns, DECLARED, params, seeded(seed))
        judged = {name: found.columns[name] for name in found.masked}
        expected = possible("average_risk", params, DECLARED)
        assert isinstance(expected, Possible)
        value = measure("average_risk")(columns, judged, DECLARED, groups=found.groups).value
        assert expected.low <= value <= expected.high


def test_the_column_with_the_smallest_groups_decides() -> None:
    declared = {**DECLARED, "other": PAY}
    assert possible("average_risk", swap(k_by_column={"pay": 9}), declared) == Possible(
        1 / 5, 1 / 3, "groups of 3 to 5 records"
    )
    larger = swap(k_by_column={"pay": 9, "other": 5})
    assert possible("own_value_probability", larger, declared) == Possible(1 / 9, 1, "groups of 5 to 9 records")


def test_measures_of_columns_that_are_not_masked_are_undefined() -> None:
    nominal = {"age": AGE, "job": JOB}
    for name in ("il1s", "mean_change", "variance_change"):
        assert isinstance(possible(name, swap("mdav_swap"), nominal), Undefined)
        assert isinstance(possible(name, swap("mdav_id"), nominal), Possible)
    assert isinstance(possible("correlation_change", swap("mdav_swap"), nominal), Undefined)
    ranked = {"age": AGE, "rank": RANK}
    assert isinstance(possible("il1s", swap(), ranked), Possible)
    assert isinstance(possible("mean_change", swap(), ranked), Undefined)


@pytest.mark.parametrize(
    ("params", "declared", "most"),
    [
        (close(method="buckets", t="3/2"), DECLARED, 2),
        (close(method="buckets", t="5"), DECLARED, 6),
        (close(method="buckets", t="5"), {"age": AGE, "job": JOB}, 3),
        (close(method="buckets", t="5"), {"age": AGE, "level": LEVELS}, 5),
        (close(method="buckets", t="5"), {"age": AGE, "flag": FLAG}, 3),
        (close(method="buckets", t="5", several="joint"), {"age": AGE, "job": JOB, "pay": PAY}, 6),
        (close(method="buckets", t="5", several="each"), {"age": AGE, "job": JOB, "pay": PAY}, 3),
        (close(method="ranked"), DECLARED, 5),
        (close(method="ranked", k=9), DECLARED, 10),
        (close(method="ranked"), {"age": AGE, "rank": RANK}, 3),
    ],
)
def test_no_group_has_more_kinds_than_there_are(params: closeness.Params, declared: Any, most: int) -> None:
    found = possible("l_diversity", params, declared)
    assert isinstance(found, Possible)
    assert (found.low, found.high) == (1, most)


@pytest.mark.parametrize(("column", "most"), [(FLAG, 3), (LEVELS, 5)])
def test_buckets_of_ordered_values_have_as_many_names_as_said_and_no_more(column: Column, most: int) -> None:
    """However a few records are spread over the values, in however many buckets."""
    values = (most + 1) // 2
    found = {
        len(bucketed({"x": np.array(spread)}, {"x": column}, ["x"], b, 1, "domain", seeded(1)).sizes)
        for records in (3, 5, 9)
        for spread in itertools.combinations_with_replacement(range(values), records)
        for b in range(2, records + 1)
    }
    assert max(found) == most


def test_every_measure_has_a_range_under_every_mechanism() -> None:
    tables = {"mechanism": "table", "dimensions": ["job"], "sums": ["pay"], "model": "dp", "epsilon": "1"}
    declared = {**DECLARED, "job": JOB}
    for params in (
        swap(),
        close(method="buckets", t="2", several="each"),
        MECHANISMS["table"].params.model_validate({**tables, "adjacency": "replace"}),
    ):
        for name in measure_names():
            found = possible(name, params, declared)  # type: ignore[arg-type]
            assert isinstance(found, Undefined) or found.low <= found.high


def test_a_gate_on_the_border_is_kept_and_one_beyond_is_told_why() -> None:
    gates = {0: Gate(measure="average_risk", max=1 / 5), 3: Gate(measure="average_risk", max=0.19)}
    [fault] = impossible(gates, swap(), DECLARED)
    assert (fault.field, fault.got) == ("gates.3.max", "0.19")
    assert fault.rule == (
        "must allow what can happen: average_risk is never below 0.2, because of groups of 3 to 5 records"
    )


def test_facts_that_are_public_decide_about_public_gates() -> None:
    chosen = {"epsilon": "1/2", "figures": {"count": {"expected_error": 3.0}}}
    kept = [Gate(measure="privacy_loss", max=0.5), Gate(measure="expected_error", max=3), Gate(measure="sse", max=0)]
    assert not list(faults_known_before(kept, chosen))
    broken = [Gate(measure="privacy_loss", max=0.4), Gate(measure="expected_error", max=2)]
    found = list(faults_known_before(broken, chosen))
    assert [(fault.field, fault.got) for fault in found] == [
        ("gates.privacy_loss", "0.4"),
        ("gates.expected_error", "2"),
    ]
    assert found[0].remedy == "Spend less, or raise the limit."
    assert found[1].remedy == "Raise the limit, or spend more epsilon."


def test_a_public_measure_that_no_public_fact_decides_refuses_before_the_draw() -> None:
    gates = [Gate(measure="expected_error", max=3), Gate(measure="privacy_loss", max=1), Gate(measure="sse", max=0)]
    [fault] = faults_known_before(gates, {"epsilon": "1/2", "figures": {}})
    assert (fault.field, fault.rule) == (
        "gates.expected_error",
        "needs a value that follows from these settings, and there is none",
    )


@pytest.mark.parametrize("statistic", ["sum", "mean", "variance", "median", "minimum"])
def test_the_error_of_most_statistics_is_known_from_no_settings(statistic: str) -> None:
    """A median beside nine tables was drawn with them, and then refused by a gate that had no value for it."""
    figure = {"statistic": statistic, "of": "pay"}
    settings = {"mechanism": "statistics", "figures": [figure], "model": "dp", "epsilon": "1", "adjacency": "replace"}
    params: Any = MECHANISMS["statistics"].params.model_validate(settings)
    stated = MECHANISMS["statistics"].chosen(params, DECLARED, 10)
    gates = {0: Gate(measure="expected_error", max=1e9)}
    assert bool(list(impossible(gates, params, DECLARED))) == bool(list(faults_known_before(gates.values(), stated)))
    assert bool(list(impossible(gates, params, DECLARED))) == (statistic != "sum")
