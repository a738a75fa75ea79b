"""Every mechanism that spends epsilon, neighbours side by side: what enters its draws costs what it promises."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, reject, settings
from hypothesis import strategies as st

from penstock.mechanisms.mechanism import never
from penstock.mechanisms.models import ADDS_UP
from penstock.mechanisms.registry import MECHANISMS
from tests.laws.every_mechanism import EVERY
from tests.laws.replay.neighbours import added, removed, replaced, replaced_by_a_fellow
from tests.laws.replay.side_by_side import OtherUnits, cost_of_presence, prove
from tests.support.order import examples

law = settings(
    deadline=None,
    max_examples=examples(400, at_first=8),
    phases=(Phase.explicit, Phase.generate),  # a shorter failure says no more than the draw that is named
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
SPENDING = [
    name
    for name in EVERY
    if name.startswith(("dp ", "refinement", "table ", "weighted", "sampling", "statistics")) and "k_anon" not in name
]


def released_by(sample):
    def run(columns, source):
        protected = sample.mechanism.protect(columns, sample.declared, sample.params, source)
        return {**protected.columns, "chosen": str(protected.chosen), "promise": str(protected.guarantee)}

    return run


def in_any_order(released, together=True):
    """Rows of blocks are shuffled, all columns together or each by itself: what counts is which rows there are."""
    facts = {name: released[name] for name in ("chosen", "promise")}
    columns = [values.tolist() for name, values in released.items() if name not in (*facts, "person")]
    lists = [zip(*columns, strict=True)] if together else columns
    return facts | {str(place): np.array(sorted(map(repr, each))) for place, each in enumerate(lists)}


def each_in_any_order(released):
    return in_any_order(released, together=False)


def neighbour(draw, sample, promised):
    adjacency = promised.adjacency
    rows = getattr(sample.params, "rows_per_unit", None) or 1
    # Records of one cell or group stay in it where that is public.
    kept = tuple(getattr(sample.params, "dimensions", ()) or getattr(sample.params, "groups", ()))
    if adjacency == "from_D_add_remove" and draw(st.booleans()):
        return added(draw, sample.columns, sample.declared)
    if adjacency.endswith("add_remove"):
        return removed(draw, sample.columns, rows)
    if adjacency == "bootstrap_replace":
        return replaced_by_a_fellow(draw, sample.columns)
    within = kept if adjacency.endswith("within_cell") else ()
    if adjacency == "bootstrap_within_cell":
        keys = list(zip(*(sample.columns[name].tolist() for name in kept), strict=True))
        place = draw(st.integers(0, len(keys) - 1))
        fellow = draw(st.sampled_from([row for row, key in enumerate(keys) if key == keys[place]]))
        found = {name: values.copy() for name, values in sample.columns.items()}
        for values in found.values():
            values[place] = values[fellow]
        return found
    declared = {name: column for name, column in sample.declared.items() if name not in within}
    return replaced(draw, sample.columns, declared, rows)


@pytest.mark.parametrize("name", SPENDING)
@given(data=st.data())
@law
def test_what_enters_the_draws_costs_no_more_than_is_promised(name, data, monkeypatch):
    sample = data.draw(EVERY[name])
    promised = sample.mechanism.promise(sample.params, sample.declared)
    epsilon = Fraction(promised.parameters["epsilon"])
    if promised.adjacency == "presence":
        found = cost_of_presence(released_by(sample), sample.columns, monkeypatch)
        assert all(each <= float(epsilon) + 1e-9 for each in found)
        return
    other = neighbour(data.draw, sample, promised)
    try:
        prove(
            released_by(sample),
            sample.columns,
            other,
            epsilon,
            monkeypatch,
            delta=Fraction(promised.parameters.get("delta", 0)),
            scale_of_first=promised.model != "dp",
            compare={"dp records": in_any_order, "dp marginals": each_in_any_order}.get(name, dict),
        )
    except OtherUnits:
        reject()


@given(data=st.data())
@settings(law, max_examples=1)
def test_every_mechanism_and_every_model_that_spends_is_laid_side_by_side(data):
    """A new mechanism that spends, or a new model of one, fails here until it has a sample."""
    samples = [data.draw(EVERY[name]) for name in SPENDING]
    covered = {(sample.params.mechanism, getattr(sample.params, "model", "dp")) for sample in samples}
    expected = set()
    for name, mechanism in MECHANISMS.items():
        if mechanism.spends is not never:
            field = mechanism.params.model_fields.get("model")
            models = {"dp"} if field is None else set(get_args(field.annotation)) & ADDS_UP
            expected |= {(name, model) for model in models}
    assert covered == expected


@given(data=st.data())
@settings(law, max_examples=examples(100, at_first=4))
def test_two_records_together_cost_no_more_than_is_promised_of_two(data, monkeypatch):
    sample = data.draw(EVERY["statistics idp"])
    assume(not sample.params.groups and sample.params.adjacency == "from_D")
    epsilon = sample.params.epsilon
    params = sample.params.model_copy(update={"group_epsilons": (epsilon, epsilon * Fraction(3, 2))})
    other = replaced(data.draw, sample.columns, sample.declared, 2)
    run = released_by(dataclasses.replace(sample, params=params))
    try:
        prove(run, sample.columns, other, epsilon * Fraction(3, 2), monkeypatch, scale_of_first=True)
    except OtherUnits:
        reject()
