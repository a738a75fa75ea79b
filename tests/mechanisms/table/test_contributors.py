"""Tables that count contributors: k and the published numbers against the records of each unit, cell by cell."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import TooFewRecords
from penstock.mechanisms.table import MECHANISM, layout, promise, protect
from penstock.mechanisms.table._explain import advice, treatments
from tests.mechanisms.table.weighted import columns, frame, inside, rows_of
from tests.support.plain_tables import DECLARED, table

PLAIN = {name: DECLARED[name] for name in ("area", "size", "y")}


def of_firms(rows: int, firms: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    records = frame(rows, seed)
    whose = np.random.default_rng(seed).integers(0, firms, len(records))
    whose[:12] = np.arange(12) % 3  # three firms in every cell
    return records, whose


@given(st.integers(0, 60), st.integers(3, 9), st.integers(0, 2**32))
@settings(max_examples=40)
def test_contributors_are_the_different_units_of_each_row(rows: int, firms: int, seed: int) -> None:
    records, whose = of_firms(rows, firms, seed)
    params = table("k_anon", k=3, contributors="firm", sums=["y"])
    released = protect(columns(records, PLAIN), PLAIN, params, seeded(1), units=whose).columns
    records = records.assign(firm=whose)
    for row, cell in enumerate(rows_of(layout(params, PLAIN).levels)):
        assert released["contributors"][row] == inside(records, cell)["firm"].nunique()
        assert released["count"][row] == len(inside(records, cell))


def test_a_cell_of_many_records_of_few_units_is_refused() -> None:
    records, whose = of_firms(40, 5, 1)
    whose[records["area"] == "north"] %= 2
    params = table("k_anon", k=3, sums=["y"])
    protect(columns(records, PLAIN), PLAIN, params, seeded(1))
    counted = params.model_copy(update={"contributors": "firm"})
    with pytest.raises(TooFewRecords) as refused:
        protect(columns(records, PLAIN), PLAIN, counted, seeded(1), units=whose)
    assert refused.value.faults[0].field == "k"
    assert "different values of firm" in refused.value.faults[0].rule


def test_contributors_are_published_where_counts_are() -> None:
    def names(**chosen: object) -> list[str]:
        return [figure.name for figure in layout(table("k_anon", **chosen), PLAIN).figures]

    assert names(contributors="firm") == ["count", "contributors"]
    assert names(contributors="firm", count=False, sums=["y"]) == ["y_sum"]
    assert names() == ["count"]


def test_the_promise_says_that_k_counts_contributors() -> None:
    params = table("k_anon", contributors="firm", k=4)
    guarantee = promise(params, PLAIN)
    assert "at least 4 contributors" in guarantee.statement
    assert guarantee.unit == "individual"
    assert guarantee.parameters["contributors"] == "firm"
    assert not any("one record describes one individual" in each for each in guarantee.assumptions)
    assert "different values of firm" in treatments(params, PLAIN)["contributors"]
    assert any("contributors do not add up" in each for each in advice(params, PLAIN))


def test_only_exact_tables_count_units_and_learn_by_which_column() -> None:
    assert MECHANISM.of_units(table("k_anon"), "firm").contributors == "firm"
    noisy = table("dp", rows_per_unit=2)
    assert MECHANISM.of_units(noisy, "firm") == noisy
    assert [MECHANISM.counts_units(table(model)) for model in ("k_anon", "dp", "bdp", "idp")] == [True] + 3 * [False]


def test_units_are_given_where_contributors_are_counted_and_only_there() -> None:
    records, whose = of_firms(10, 3, 1)
    with pytest.raises(ValueError, match="unit of every record"):
        protect(columns(records, PLAIN), PLAIN, table("k_anon"), seeded(1), units=whose)
    with pytest.raises(ValueError, match="unit of every record"):
        protect(columns(records, PLAIN), PLAIN, table("k_anon", contributors="firm"), seeded(1))
