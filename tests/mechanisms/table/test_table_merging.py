"""Cells of parts, put together, are bit by bit those of all the records at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.measures.cells import counted as table_counted
from penstock.measures.checks import RecheckImpossible
from penstock.mechanisms.refusal import ValueOutsideDomain
from penstock.mechanisms.table.cells import Cells, build_cells
from penstock.mechanisms.table.merging import as_columns, from_columns, merged

RECORDS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(-9, 9)), max_size=30)


def cells_of(records: list[tuple[int, int, int]]) -> Cells:
    columns = np.array(records, np.int64).reshape(-1, 3)
    return build_cells({"a": columns[:, 0], "b": columns[:, 1]}, (3, 2), {"v": columns[:, 2].copy()})


def figures(cells: Cells) -> dict[str, list[int]]:
    return {name: values.tolist() for name, values in as_columns(cells).items()}


@given(RECORDS, RECORDS, RECORDS)
def test_parts_in_any_order_give_the_cells_of_all_records(one, two, three):
    everything = figures(cells_of(one + two + three))
    a, b, c = map(cells_of, (one, two, three))
    assert figures(merged(merged(a, b), c)) == everything
    assert figures(merged(c, merged(b, a))) == everything


@given(RECORDS)
def test_what_is_stored_comes_back(records):
    cells = cells_of(records)
    assert figures(from_columns(as_columns(cells), (3, 2), ("v",))) == figures(cells)


def test_a_sum_that_only_the_parts_together_reach_is_refused():
    half = build_cells({"a": np.zeros(1, np.int64)}, (1,), {"v": np.array([2**61])})
    with pytest.raises(ValueOutsideDomain, match="less than 2\\^62"):
        merged(half, half)


def test_parts_of_different_tables_do_not_merge():
    other = build_cells({"a": np.zeros(1, np.int64)}, (1,), {})
    with pytest.raises(ValueError, match="same cells"):
        merged(cells_of([(0, 0, 1)]), other)


def counted_of(records: list[tuple[int, int, int]]) -> table_counted.Counted:
    """By definition, cell by cell."""
    by_cell = [[v for a, b, v in records if 2 * a + b == cell] for cell in range(6)]
    tops = [[*sorted(map(abs, values), reverse=True), 0, 0] for values in by_cell]

    def whole(numbers: list[int]) -> np.ndarray:
        return np.array(numbers, np.int64)

    measure = table_counted.CountedMeasure(
        whole([sum(values) for values in by_cell]),
        whole([min(values, default=0) for values in by_cell]),
        whole([max(values, default=0) for values in by_cell]),
        whole([sum(map(abs, values)) for values in by_cell]),
        whole([top[0] for top in tops]),
        whole([top[1] for top in tops]),
        np.array([float(sum(values)) for values in by_cell]),
        whole([sum(abs(v) > 1 for v in values) for values in by_cell]),
        np.array([float(sum(max(-1, min(v, 1)) - v for v in values)) for values in by_cell]),
    )
    return table_counted.Counted(len(records), whole([len(values) for values in by_cell]), {"v": measure})


def told(counted: table_counted.Counted) -> dict[str, list[float]]:
    return {name: values.tolist() for name, values in table_counted.as_columns(counted).items()}


@given(RECORDS, RECORDS, RECORDS)
def test_records_counted_again_in_parts_are_those_counted_at_once(one, two, three):
    a, b, c = map(counted_of, (one, two, three))
    together = table_counted.together(table_counted.together(a, b), c)
    assert told(together) == told(counted_of(one + two + three))
    assert told(table_counted.from_columns(table_counted.as_columns(together), ("v",))) == told(together)


def test_counts_that_overflow_together_or_of_different_tables_are_refused():
    large = counted_of([(0, 0, 2**61)])
    with pytest.raises(RecheckImpossible, match="less than 2\\^62"):
        table_counted.together(large, large)
    with pytest.raises(ValueError, match="same cells"):
        table_counted.together(large, table_counted.Counted(1, np.zeros(6, np.int64), {}))
