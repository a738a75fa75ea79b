from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms.refusal import SettingRefused
from mechanisms.tables.cells import build_cells
from mechanisms.tables.rules import dominated, guessable_within, less_frequent_than

CELLS = 3
VALUES = st.integers(-20, 20) | st.integers(-(2**58), 2**58)
RECORDS = st.lists(st.tuples(st.integers(0, CELLS - 1), VALUES), max_size=12)
PERCENT = st.fractions(Fraction(1, 10), Fraction(999, 10), max_denominator=2**20)


def cells_of(records):
    codes, values = np.array(records, np.int64).reshape(-1, 2).T
    return build_cells({"d": codes.copy()}, (CELLS,), {"v": values.copy()})


def one_cell(*values):
    return cells_of([(0, value) for value in values])


def contributions(records):
    """The sizes of each cell, largest first."""
    return [sorted((abs(v) for cell, v in records if cell == place), reverse=True) for place in range(CELLS)]


@given(RECORDS, st.integers(1, 6))
def test_minimum_frequency_by_definition(records, minimum):
    expected = [0 < len(sizes) < minimum for sizes in contributions(records)]
    assert less_frequent_than(cells_of(records), minimum).tolist() == expected


@given(RECORDS, st.sampled_from([1, 2]), PERCENT)
def test_dominance_by_definition(records, n, k):
    expected = [sum(sizes[:n]) > k / 100 * sum(sizes) for sizes in contributions(records)]
    assert dominated(cells_of(records), "v", n, k).tolist() == expected


@given(RECORDS, PERCENT)
def test_the_p_percent_rule_by_definition(records, p):
    expected = [sum(sizes[2:]) < p / 100 * sum(sizes[:1]) for sizes in contributions(records)]
    assert guessable_within(cells_of(records), "v", p).tolist() == expected


@given(RECORDS, PERCENT)
def test_the_p_percent_rule_is_the_guess_of_the_second_contributor(records, p):
    """She subtracts her own contribution from the total; what is left of it beside the largest is her error."""
    for place, sizes in enumerate(contributions(records)):
        if len(sizes) > 1 and sizes[0]:
            guess = sum(sizes) - sizes[1]
            close = guess - sizes[0] < p / 100 * sizes[0]
            assert bool(guessable_within(cells_of(records), "v", p)[place]) is close


def test_exactly_at_the_limit_a_cell_is_not_sensitive():
    assert not dominated(one_cell(75, 25), "v", 1, 75)[0]
    assert dominated(one_cell(76, 24), "v", 1, 75)[0]
    assert not guessable_within(one_cell(100, 50, 10), "v", 10)[0]
    assert guessable_within(one_cell(100, 50, 9), "v", 10)[0]
    assert not less_frequent_than(one_cell(1, 1, 1), 3)[0]
    assert less_frequent_than(one_cell(1, 1), 3)[0]


def test_a_difference_of_one_in_large_numbers_is_seen():
    """Floats would call both cells equal to the limit."""
    half = 2**60
    assert dominated(one_cell(half + 1, half), "v", 1, 50)[0]
    assert not dominated(one_cell(half, half), "v", 1, 50)[0]


def test_losses_count_by_their_size():
    """The total is 0, and one contributor has almost all of what moved."""
    cells = one_cell(-100, 99, 1)
    assert dominated(cells, "v", 2, 99)[0]
    assert guessable_within(cells, "v", 2)[0]
    assert not dominated(cells, "v", 1, 60)[0]


def test_one_contributor_is_sensitive_and_so_are_two_under_the_p_percent_rule():
    assert dominated(one_cell(5), "v", 1, 99)[0]
    assert guessable_within(one_cell(5), "v", 1)[0]
    assert guessable_within(one_cell(5, 5), "v", 1)[0]
    assert not dominated(one_cell(5, 5), "v", 1, 60)[0]


def test_zeros_are_sensitive_by_their_number_alone_and_empty_cells_never():
    cells = one_cell(0, 0)
    assert less_frequent_than(cells, 3).tolist() == [True, False, False]
    assert not dominated(cells, "v", 1, 50).any()
    assert not guessable_within(cells, "v", 10).any()


@pytest.mark.parametrize("minimum", [0, -3])
def test_a_minimum_that_no_cell_can_miss_is_refused(minimum):
    with pytest.raises(SettingRefused, match=f"minimum refused: at least 1 record, got {minimum}"):
        less_frequent_than(one_cell(1), minimum)


@pytest.mark.parametrize("contributors", [0, 3])
def test_dominance_of_other_than_one_or_two_is_refused(contributors):
    with pytest.raises(SettingRefused, match=f"contributors refused: 1 or 2, got {contributors}"):
        dominated(one_cell(1), "v", contributors, Fraction(75))


@pytest.mark.parametrize("percent", [0, 100, -1, 75.0, True, Fraction(101)])
def test_a_percentage_that_is_none_is_refused(percent):
    with pytest.raises(SettingRefused, match="percent refused: an exact number between 0 and 100"):
        dominated(one_cell(1), "v", 1, percent)
    with pytest.raises(SettingRefused, match="percent refused: an exact number between 0 and 100"):
        guessable_within(one_cell(1), "v", percent)


def test_a_percentage_of_too_many_digits_is_refused():
    with pytest.raises(SettingRefused, match=r"percent refused: a fraction with a denominator up to 2\^24"):
        dominated(one_cell(1), "v", 1, Fraction(1, 2**24 + 1))
    assert dominated(one_cell(2**61), "v", 1, Fraction(1, 2**24)).tolist() == [True, False, False]
