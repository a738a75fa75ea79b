"""Measures that pretend, and gates that no release could keep: does anybody notice before something is drawn?"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.preview import preview
from penstock.flows.spec import load_spec
from penstock.measures.gates import GateRefused
from penstock.mechanisms.refusal import Refusal, SpecRefused
from tests.support.private_release import begun
from tests.support.workplace import Workplace, make_close, make_private, make_table

BUCKETS = {"method": "buckets", "output": "anatomy", "t": "3/2", "k": 5}
RANKED = {"method": "ranked", "output": "anatomy", "k": 5}


def mdav_id(workplace: Workplace) -> None:
    workplace.use_mdav("mdav_id", 5)


def marginals(workplace: Workplace) -> None:
    make_private(workplace, mode="marginals")


@pytest.mark.parametrize(
    ("switch", "name"),
    [
        (mdav_id, "own_value_probability"),  # nothing is permuted
        (make_private, "own_value_probability"),
        (marginals, "own_value_probability"),
        (marginals, "average_risk"),  # a row is no record, so nobody is linked to one
    ],
)
def test_a_measure_of_what_was_not_done_has_no_value(workplace: Workplace, switch: Any, name: str) -> None:
    switch(workplace)
    spends = "budget" in workplace.raw
    workplace.raw["gates"] = [{"measure": "expected_error", "max": 9} if spends else {"measure": "sse", "min": 0}]
    with begun(workplace, account=spends) as line:
        line.assess()
        found = json.loads(line.job.run.path("assessment.json").read_text(encoding="utf-8"))
    assert name not in {each["name"] for each in found["measurements"]}
    assert name in found["undefined"]


def closeness(workplace: Workplace) -> None:
    make_close(workplace, ["income"], BUCKETS)


def ranked(workplace: Workplace) -> None:
    make_close(workplace, ["region"], RANKED)


WIDE = {**BUCKETS, "t": "10"}  # eleven buckets, were there as many values


def two_numbers(workplace: Workplace) -> None:
    """At most 0, 0 to 1, and 1."""
    survey = pq.read_table(workplace.source)
    numbers = pa.array([row % 2 for row in range(survey.num_rows)])
    pq.write_table(survey.set_column(survey.column_names.index("age"), "age", numbers), workplace.source)
    make_close(workplace, [], WIDE)
    workplace.raw["source"]["columns"]["age"] |= {"role": "confidential", "domain": [0, 1]}


def few_levels(workplace: Workplace) -> None:
    """Education is ordered; every bucket spans one level, or begins where the one before ends."""
    make_close(workplace, ["education"], WIDE)


def exact(workplace: Workplace) -> None:
    make_table(workplace, model="k_anon", epsilon=None, adjacency=None, k=5, margins="none")


def counted(workplace: Workplace) -> None:
    exact(workplace)
    workplace.raw["protect"][0] |= {"sums": [], "means": []}


def only_means(workplace: Workplace) -> None:
    """Their error depends on the figures; until somebody saw it, epsilon was spent and the gate refused."""
    make_table(workplace, count=False, sums=[])


def swap(workplace: Workplace) -> None:
    """ir_swap with k = 20."""


IMPOSSIBLE = {
    "more kinds than buckets": (closeness, {"measure": "l_diversity", "min": 3}, "min"),
    "more kinds than two numbers make": (two_numbers, {"measure": "l_diversity", "min": 4}, "min"),
    "more kinds than levels make": (few_levels, {"measure": "l_diversity", "min": 8}, "min"),
    "closer than the same": (closeness, {"measure": "closeness_ratio", "max": 0.9}, "max"),
    "farther than t": (closeness, {"measure": "closeness_ratio", "min": 1.6}, "min"),
    "groups below k": (closeness, {"measure": "smallest_group", "max": 4}, "max"),
    "wider than the domain": (closeness, {"measure": "narrowest_bucket", "min": 1.5}, "min"),
    "ranked groups above 2k": (ranked, {"measure": "smallest_group", "min": 10}, "min"),
    "more kinds than categories": (ranked, {"measure": "l_diversity", "min": 5}, "min"),
    "no buckets": (ranked, {"measure": "closeness_ratio", "max": 2}, "measure"),
    "cells below k": (exact, {"measure": "smallest_frequency", "max": 4}, "max"),
    "a share above all": (exact, {"measure": "largest_share", "min": 1.1}, "min"),
    "a share of nothing": (exact, {"measure": "two_largest_share", "max": 0}, "max"),
    "below no per cent": (exact, {"measure": "p_percent", "max": -1}, "max"),
    "no margins": (exact, {"measure": "margin_error", "max": 1}, "measure"),
    "no noise": (exact, {"measure": "noise_chance", "min": 0.1}, "measure"),
    "no sums": (counted, {"measure": "p_percent", "min": 10}, "measure"),
    "no error that is stated": (only_means, {"measure": "expected_error", "max": 99}, "measure"),
    "less than epsilon": (make_table, {"measure": "privacy_loss", "max": 0.5}, "max"),
    "negative linkage": (swap, {"measure": "record_linkage", "max": -0.1}, "max"),
    "linkage above all": (swap, {"measure": "record_linkage", "min": 1.01}, "min"),
    "risk below the largest group": (swap, {"measure": "average_risk", "max": 0.01}, "max"),
    "own values below the largest group": (swap, {"measure": "own_value_probability", "max": 0.02}, "max"),
    "negative change": (swap, {"measure": "mean_change", "max": -1}, "max"),
    "correlations above two": (swap, {"measure": "correlation_change", "min": 2.1}, "min"),
    "nothing is permuted": (mdav_id, {"measure": "own_value_probability", "max": 1}, "measure"),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_a_gate_that_no_release_could_keep_is_refused_by_the_plan(workplace: Workplace, name: str) -> None:
    switch, gate, field = IMPOSSIBLE[name]
    switch(workplace)
    workplace.raw["gates"] = [gate]
    with pytest.raises(SpecRefused) as refused:
        draw_up_plan(load_spec(workplace.write_spec()))
    [fault] = refused.value.faults
    assert fault.field == f"gates.0.{field}"


@pytest.mark.parametrize(("switch", "most"), [(two_numbers, 3), (few_levels, 7)])
def test_what_ordered_values_could_come_to_is_not_refused(workplace: Workplace, switch: Any, most: int) -> None:
    switch(workplace)
    workplace.raw["gates"] = [{"measure": "l_diversity", "min": most}]
    draw_up_plan(load_spec(workplace.write_spec()))


COUNTED = {
    "more than there are": (exact, {"measure": "smallest_frequency", "min": 401}, "400 records"),
    "more than half": (closeness, {"measure": "smallest_group", "min": 201}, "400 records"),
    "nearer than their number": (exact, {"measure": "largest_share", "max": 0.001}, "400 records"),
    "worse than expected": (
        make_private,
        {"measure": "expected_error", "max": 1e-9},
        "must allow 0",
    ),
}


@pytest.mark.parametrize("name", COUNTED)
def test_a_gate_that_the_number_of_records_decides_is_refused_once_they_are_counted(
    workplace: Workplace, name: str
) -> None:
    switch, gate, words = COUNTED[name]
    switch(workplace)
    workplace.raw["gates"] = [gate]
    spec = load_spec(workplace.write_spec())
    preview(spec, count=False)
    with pytest.raises(GateRefused, match=words):
        preview(spec, count=True)


POSSIBLE = {
    "as many kinds as buckets": (closeness, {"measure": "l_diversity", "min": 2}),
    "as many kinds as categories": (ranked, {"measure": "l_diversity", "min": 4}),
    "all alike": (closeness, {"measure": "closeness_ratio", "max": 1}),
    "k": (exact, {"measure": "smallest_frequency", "max": 5}),
    "everybody": (exact, {"measure": "largest_share", "min": 1}),
    "nobody": (swap, {"measure": "record_linkage", "max": 0}),
    "the largest group": (swap, {"measure": "own_value_probability", "max": 1 / 39}),
    "epsilon": (make_table, {"measure": "privacy_loss", "max": 1}),
    "what cannot be missed": (swap, {"measure": "average_risk", "max": 7}),
}


@pytest.mark.parametrize("name", POSSIBLE)
def test_a_gate_that_some_release_keeps_is_planned(workplace: Workplace, name: str) -> None:
    switch, gate = POSSIBLE[name]
    switch(workplace)
    workplace.raw["gates"] = [gate]
    try:
        draw_up_plan(load_spec(workplace.write_spec()))
    except Refusal as refusal:
        pytest.fail(str(refusal))
