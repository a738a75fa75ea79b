"""The groups of the thesis' insensitive microaggregation, and how many readings its rule allows."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.dp_microaggregation.orders import corner_sequence
from penstock.mechanisms.refusal import SettingRefused, TooFewRecords
from penstock.reproduction.computed import corner_groups


def by_the_definition(points, k):
    """Algorithm 6.1 as it reads: sort what remains by distance, then alphabetically, and take the first k."""
    corners = corner_sequence(len(points[0]), 2 ** len(points[0]))
    remaining, labels, group = list(range(len(points))), [0] * len(points), 0

    def place(row):
        corner = corners[group % len(corners)]
        return sum((x - c) ** 2 for x, c in zip(points[row], corner, strict=True)), points[row], row

    while len(remaining) >= 2 * k:
        remaining.sort(key=place)
        for row in remaining[:k]:
            labels[row] = group
        remaining, group = remaining[k:], group + 1
    for row in remaining:
        labels[row] = group
    return labels


@given(st.data(), st.integers(1, 4), st.integers(1, 5))
def test_groups_are_those_of_the_definition(data, attributes, k):
    quarters = st.integers(0, 4).map(lambda level: level / 4)  # so that distances and whole records tie
    points = data.draw(st.lists(st.tuples(*[quarters] * attributes), min_size=k, max_size=40))
    upper = np.array([3.0, 50.0, 0.25, 1e6])[:attributes]
    assert corner_groups(np.array(points) * upper, upper, k).tolist() == by_the_definition(points, k)


def test_fewer_records_than_k_are_refused():
    with pytest.raises(TooFewRecords, match="at least k = 3 records"):
        corner_groups(np.zeros((2, 2)), np.ones(2), 3)


def test_a_group_size_below_one_is_refused():
    with pytest.raises(SettingRefused, match="at least 1"):
        corner_groups(np.zeros((2, 2)), np.ones(2), 0)


def distances(corner, used):
    """Hamming distances to the corners used before, the last one first."""
    return [sum(a != b for a, b in zip(corner, before, strict=True)) for before in reversed(used)]


def keeps_the_rule(corners):
    return all(
        distances(corner, corners[:place]) == max(distances(other, corners[:place]) for other in corners[place:])
        for place, corner in enumerate(corners)
        if place
    )


def test_reflections_and_permutations_are_384_sequences_that_keep_the_rule():
    corners = np.array(corner_sequence(4, 16), dtype=int)
    found = {
        tuple(map(tuple, np.abs(corners - reflected)[:, order].tolist()))
        for reflected in product((0, 1), repeat=4)
        for order in permutations(range(4))
    }
    assert len(found) == 384
    assert all(map(keeps_the_rule, found))


def test_the_test_of_the_rule_notices_an_exchange():
    corners = corner_sequence(4, 16)
    corners[2], corners[3] = corners[3], corners[2]
    assert not keeps_the_rule(corners)


def test_there_are_no_other_sequences_of_four_attributes():
    """From each of the 16 starts 24 ways through the ties, counted one by one."""
    every = list(product((0, 1), repeat=4))

    def ways(used):
        far = {corner: distances(corner, used) for corner in every if corner not in used}
        return sum(ways([*used, corner]) for corner in far if far[corner] == max(far.values())) if far else 1

    assert [ways([start]) for start in every] == [24] * 16
