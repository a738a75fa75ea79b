"""What the release line asks of every mechanism, asked of every mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pytest

from penstock.measures.public_facts import known_before, stated_errors
from penstock.measures.registry import public_measures
from penstock.mechanisms import (
    closeness,
    dp_microaggregation,
    probabilistic_k_anonymity,
    refinement,
    statistics,
    table,
)
from penstock.mechanisms.columns import Column
from penstock.mechanisms.models import ADDS_UP
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import SettingRefused
from penstock.mechanisms.registry import MECHANISMS, AnyParams, mechanism_of

SHELTERS = {"tent": ["light"], "hut": ["light"], "house": ["any"], "light": ["any"], "any": []}
DECLARED = {
    "person": Column(role="identifier"),
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
    "school": Column(role="quasi_identifier", type="ordinal", categories=("low", "middle", "high")),
    "shelter": Column(role="quasi_identifier", type="nominal", taxonomy=SHELTERS),
    "income": Column(role="confidential", type="continuous", domain=(0, 1e6)),
}
RECORDS = 60
EVEN = {"kind": "uniform"}


@dataclass(frozen=True)
class Example:
    """Settings that fit DECLARED, and settings of the same mechanism that do not."""

    params: AnyParams
    unfit: AnyParams


EXAMPLES = {
    "probabilistic_k_anonymity": Example(
        probabilistic_k_anonymity.Params(method="ir_swap", k=5),
        probabilistic_k_anonymity.Params(method="ir_swap", k=5, k_by_column={"age": 9}),
    ),
    "dp_microaggregation": Example(
        dp_microaggregation.Params(epsilon="1/2", adjacency="replace", k="auto"),
        dp_microaggregation.Params(epsilon="1/2", adjacency="add_remove", k="auto"),
    ),
    "closeness": Example(
        closeness.Params(method="buckets", output="permuted", epsilon="1/2", k=5),
        closeness.Params(method="buckets", output="permuted", epsilon="1/2", t="2", k=5),
    ),
    "table": Example(
        table.Params(dimensions=("school",), sums=("income",), model="dp", epsilon="1/2", adjacency="replace"),
        table.Params(dimensions=("age",), model="dp", epsilon="1/2", adjacency="replace"),
    ),
    "statistics": Example(
        statistics.Params(
            groups=("school",),
            figures=({"statistic": "count"}, {"statistic": "median", "of": "income"}),
            model="dp",
            epsilon="1/2",
            adjacency="replace",
        ),
        statistics.Params(figures=({"statistic": "median"},), model="dp", epsilon="1/2", adjacency="replace"),
    ),
    "refinement": Example(
        refinement.Params(
            epsilon="1/2", adjacency="replace", priors=dict.fromkeys(("age", "school", "shelter", "income"), EVEN)
        ),
        refinement.Params(epsilon="1/2", adjacency="replace", priors={"age": EVEN}),
    ),
}
every_mechanism = pytest.mark.parametrize("name", list(MECHANISMS))
of_records = pytest.mark.parametrize("name", [name for name in MECHANISMS if MECHANISMS[name].kind == "records"])
of_tables = pytest.mark.parametrize("name", [name for name in MECHANISMS if MECHANISMS[name].kind == "cells"])


def sample() -> dict[str, np.ndarray]:
    chance = np.random.default_rng(1)
    return {
        "age": chance.integers(0, 121, RECORDS),
        "school": chance.integers(0, 3, RECORDS),
        "shelter": chance.integers(0, 3, RECORDS),
        "income": chance.random(RECORDS) * 1e6,
    }


def test_every_mechanism_has_an_example_here_and_its_settings_in_the_union() -> None:
    assert list(EXAMPLES) == list(MECHANISMS)
    assert get_args(AnyParams) == tuple(mechanism.params for mechanism in MECHANISMS.values())


@every_mechanism
def test_settings_know_their_mechanism(name: str) -> None:
    params = EXAMPLES[name].params
    assert params.mechanism == name
    assert mechanism_of(params) is MECHANISMS[name]
    assert type(params) is MECHANISMS[name].params


@every_mechanism
def test_a_mechanism_spends_exactly_if_its_promise_adds_up(name: str) -> None:
    """So a spec can tell from the settings alone whether publication may depend on the data."""
    params: Any = EXAMPLES[name].params
    promise = MECHANISMS[name].promise(params, DECLARED)
    assert mechanism_of(params).spends(params) == (promise.model in ADDS_UP)
    if promise.model in ADDS_UP:
        assert promise.parameters["epsilon"] == str(params.epsilon)


@every_mechanism
def test_a_mechanism_that_spends_states_what_public_measures_need(name: str) -> None:
    assert public_measures() == {"expected_error", "privacy_loss"}
    protected = MECHANISMS[name].protect(sample(), DECLARED, EXAMPLES[name].params, seeded(1))
    stated = stated_errors(protected.chosen)
    if protected.guarantee.model in ADDS_UP:
        assert set(stated) <= set(protected.columns)
        assert all(error >= 0 for error in stated.values())
        assert set(known_before(protected.chosen)) == public_measures()
    else:
        assert not known_before(protected.chosen)


@of_tables
def test_only_a_table_has_a_layout(name: str) -> None:
    assert MECHANISMS[name].layout is not None


@of_tables
def test_a_table_comes_out_as_its_layout_says(name: str) -> None:
    mechanism, params = MECHANISMS[name], EXAMPLES[name].params
    assert mechanism.layout is not None
    layout = mechanism.layout(params, DECLARED)
    protected = mechanism.protect(sample(), DECLARED, params, seeded(1))
    assert protected.guarantee == mechanism.promise(params, DECLARED)
    assert tuple(protected.columns) == layout.columns
    assert {len(values) for values in protected.columns.values()} == {layout.rows}
    for dimension, codes in layout.codes().items():
        np.testing.assert_array_equal(protected.columns[dimension], codes)
    assert protected.chosen == mechanism.chosen(params, DECLARED, RECORDS)
    assert mechanism.released_columns(params, DECLARED) == {}


@of_records
def test_what_comes_out_is_what_was_declared_to_come_out(name: str) -> None:
    mechanism, params = MECHANISMS[name], EXAMPLES[name].params
    columns = sample()
    released = mechanism.released_columns(params, DECLARED)
    protected = mechanism.protect(columns, DECLARED, params, seeded(1))
    assert protected.guarantee == mechanism.promise(params, DECLARED)
    assert set(released) == set(protected.columns) == set(columns)
    for column, values in protected.columns.items():
        declared = released[column]
        if declared.numeric:
            low, high = declared.bounds
            assert low <= values.min()
            assert values.max() <= high
        else:
            assert np.isin(values, range(len(declared.categories or ()))).all()
            known = DECLARED[column].categories or ()
            assert (declared.categories or ())[: len(known)] == known


@every_mechanism
def test_settings_that_do_not_fit_are_told_and_promise_nothing(name: str) -> None:
    mechanism, example = MECHANISMS[name], EXAMPLES[name]
    assert mechanism.faults(example.params, DECLARED) == []
    faults = mechanism.faults(example.unfit, DECLARED)
    assert faults
    with pytest.raises(SettingRefused) as refusal:
        mechanism.promise(example.unfit, DECLARED)
    assert list(refusal.value.faults) == faults


@every_mechanism
def test_who_decides_and_who_uses_the_data_is_told_something(name: str) -> None:
    mechanism, params = MECHANISMS[name], EXAMPLES[name].params
    told = mechanism.treatments(params, DECLARED)
    if mechanism.layout is None:
        protected = mechanism.protect(sample(), DECLARED, params, seeded(1))
        assert set(told) == {*mechanism.released_columns(params, DECLARED), *protected.made} == set(protected.columns)
    else:
        drawn = mechanism.layout(params, DECLARED)
        assert set(told) == {*drawn.dimensions, *(figure.name for figure in drawn.figures)}
    for sentences in (
        tuple(told.values()),
        mechanism.advice(params, DECLARED),
        mechanism.expect(params, DECLARED, None),
        mechanism.expect(params, DECLARED, RECORDS),
    ):
        assert sentences
        assert all(sentences)
