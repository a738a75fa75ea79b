"""Values of one column, sorted into groups: what is not in order is not let in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.refusal import ValueMissing
from penstock.mechanisms.statistics._groups import SortedGroups, sorted_groups

ROWS = st.lists(st.tuples(st.integers(-(10**9), 10**9), st.integers(0, 4)), max_size=30)


@given(ROWS)
def test_every_group_has_its_own_values_in_order(rows):
    values, labels = (np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 1))
    groups = sorted_groups(values, labels, 5)
    assert len(groups) == 5
    for group in range(5):
        assert groups[group].tolist() == sorted(value for value, label in rows if label == group)
    assert groups.sizes.tolist() == [(labels == group).sum() for group in range(5)]
    assert [values.tolist(), labels.tolist()] == [[row[i] for row in rows] for i in (0, 1)]


@pytest.mark.parametrize("hole", [np.nan, np.inf, -np.inf])
def test_what_is_missing_has_no_place_in_an_order(hole):
    with pytest.raises(ValueMissing, match="must be finite, to have a place in an order") as refusal:
        sorted_groups(np.array([1.0, hole]), np.zeros(2, np.int64), 1)
    assert refusal.value.faults[0].got == ""


def test_floats_are_put_on_the_grid_first():
    with pytest.raises(ValueError, match="put them on the grid first"):
        sorted_groups(np.array([1.0, 2.0]), np.zeros(2, np.int64), 1)


@pytest.mark.parametrize("labels", [[0], [0, 2], [-1, 0]])
def test_every_value_has_a_label_of_a_group(labels):
    with pytest.raises(ValueError, match="every value has a label"):
        sorted_groups(np.array([1, 2]), np.array(labels), 2)


@pytest.mark.parametrize("starts", [[], [0], [1, 2], [0, 3], [0, 2, 1, 2]])
def test_starts_cover_all_values_once(starts):
    with pytest.raises(ValueError, match="starts go up"):
        SortedGroups(np.array([1, 2]), np.array(starts, dtype=np.int64))


def test_values_out_of_order_are_noticed_within_a_group_and_allowed_between_groups():
    SortedGroups(np.array([1, 5, 0, 3]), np.array([0, 2, 2, 4]))
    with pytest.raises(ValueError, match="sorted within each group"):
        SortedGroups(np.array([1, 5, 0, 3]), np.array([0, 3, 4]))


@pytest.mark.parametrize("value", [2**61, -(2**61)])
def test_values_whose_differences_might_overflow_are_not_let_in(value):
    with pytest.raises(ValueError, match="smaller than 2"):
        SortedGroups(np.array([value]), np.array([0, 1]))


@given(ROWS)
def test_totals_and_ranks_are_those_of_the_group(rows):
    values, labels = (np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 1))
    groups = sorted_groups(values, labels, 5)
    by_hand = [sorted(value for value, label in rows if label == group) for group in range(5)]
    assert groups.totals(groups.values).tolist() == [sum(inside) for inside in by_hand]
    assert groups.totals(np.ones_like(groups.values)).tolist() == groups.sizes.tolist()
    if all(by_hand):
        ranks = (groups.sizes + 1) // 2
        wanted = [inside[rank - 1] for inside, rank in zip(by_hand, ranks, strict=True)]
        assert groups.at_ranks(ranks).tolist() == wanted


def test_totals_are_of_as_many_numbers_as_there_are_values():
    with pytest.raises(ValueError, match="one number for each value"):
        SortedGroups(np.array([1, 2]), np.array([0, 2])).totals(np.array([1]))


@pytest.mark.parametrize("rank", [0, 3])
def test_ranks_lie_inside_their_group(rank):
    with pytest.raises(ValueError, match="ranks go from 1 to the size of the group"):
        SortedGroups(np.array([1, 2]), np.array([0, 2])).at_ranks(np.array([rank]))
