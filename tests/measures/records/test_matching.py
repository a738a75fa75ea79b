"""Links under an arbitrary masking: against enumeration of all matchings, and against what swaps promise."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measures import MeasureUndefined, link_probabilities


def by_enumeration(likelihoods):
    persons, records = len(likelihoods), len(likelihoods[0])
    total, linked = Fraction(0), [[Fraction(0)] * records for _ in range(persons)]
    for owners in permutations(range(persons), records):
        product = Fraction(1)
        for j, i in enumerate(owners):
            product *= likelihoods[i][j]
        total += product
        for j, i in enumerate(owners):
            linked[i][j] += product
    return total, linked


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_it_is_the_sum_over_all_matchings(data):
    persons = data.draw(st.integers(1, 5))
    records = data.draw(st.integers(1, persons))
    chances = st.fractions(0, 1, max_denominator=6)
    likelihoods = [[data.draw(chances) for _ in range(records)] for _ in range(persons)]
    total, linked = by_enumeration(likelihoods)
    if total == 0:
        with pytest.raises(MeasureUndefined, match="must allow a matching of all released records"):
            link_probabilities(likelihoods)
        return
    found = link_probabilities(likelihoods)
    assert found == [[each / total for each in row] for row in linked]
    assert all(sum(row[j] for row in found) == 1 for j in range(records))
    assert all(sum(row) <= 1 for row in found)


def test_two_persons_of_whom_one_is_released():
    """Example 1 of the source: each in proportion to its likelihood."""
    assert link_probabilities([[Fraction(3, 10)], [Fraction(1, 10)]]) == [[Fraction(3, 4)], [Fraction(1, 4)]]


def test_a_second_record_changes_what_the_first_one_tells():
    """Example 2: the record that fits the second person alone leaves the first one the other."""
    found = link_probabilities([[Fraction(3, 10), 0], [Fraction(1, 10), Fraction(1, 2)]])
    assert found == [[1, 0], [0, 1]]


def test_inside_a_group_that_is_swapped_nobody_is_likelier_than_another():
    groups = (0, 0, 0, 1, 1, 2, 2, 2, 2)
    found = link_probabilities([[int(one == other) for other in groups] for one in groups])
    for i, one in enumerate(groups):
        for j, other in enumerate(groups):
            assert found[i][j] == (Fraction(1, groups.count(one)) if one == other else 0)


@pytest.mark.parametrize(
    ("likelihoods", "rule"),
    [
        ([], "must have one row for each person"),
        ([[1, 1]], "at least as many persons as released records"),
        ([[1, 0], [1]], "must have one row for each person"),
        ([[1] * 11] * 11, "must be of at most 10 released records and 20 persons"),
        ([[1]] * 21, "must be of at most 10 released records and 20 persons"),
        ([[0.5]], "must be fractions or whole numbers from 0 on"),
        ([[-1]], "must be fractions or whole numbers from 0 on"),
        ([[0]], "must allow a matching of all released records"),
    ],
)
def test_what_is_no_table_of_likelihoods_is_refused(likelihoods, rule):
    with pytest.raises(MeasureUndefined, match=rule):
        link_probabilities(likelihoods)
