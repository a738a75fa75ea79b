"""The exact claim of the swaps on data so small that every world and every outcome can be listed."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.microaggregation import individual_ranking, mdav
from penstock.mechanisms.permutation import permute_within
from penstock.mechanisms.probabilistic_k_anonymity import Params, protect
from penstock.mechanisms.randomness import seeded
from tests.laws.chance import assert_uniform, every_shuffle, posterior

KEY = Column(role="quasi_identifier", type="integer", domain=(0, 100))
VALUE = Column(role="confidential", type="integer", domain=(0, 100))

# Two groups of three: rows 0-2 and 3-5, whatever the order of the values inside a group.
GROUPS = ((10, 20, 30), (40, 50, 60))
WORLDS = [first + second for first, second in product(*(permutations(group) for group in GROUPS))]


def released_by(method):
    declared = {"key": KEY, "value": VALUE, "same": VALUE}
    params = Params(method=method, k=3)
    names = ("value", "same") if method == "mdav_swap" else ("value",)
    # mdav_swap shuffles its six records first; the groups here do not depend on it, so one order serves.
    # The last choice fills the half of a word that is left over.
    before = [(size, size - 1) for size in range(6, 0, -1)] if method == "mdav_swap" else []

    def releases(world):
        columns = {"key": np.array([1, 2, 3, 70, 80, 90])} | {name: np.array(world) for name in names}
        shown = {name: column for name, column in declared.items() if name in columns}
        for script in every_shuffle([3, 3], before):
            protected = protect(columns, shown, params, script)
            yield tuple(tuple(protected.columns[name].tolist()) for name in names)

    return releases


def deranged(world):
    for first, second in product(permutations(range(3)), repeat=2):
        if all(i != j for order in (first, second) for i, j in enumerate(order)):
            yield tuple(world[i] for i in first) + tuple(world[3 + i] for i in second)


def assert_every_value_of_the_group_equally_likely(releases_of):
    for worlds in posterior(WORLDS, releases_of).values():
        for row, value in product(range(6), (10, 20, 30, 40, 50, 60)):
            share = sum((share for world, share in worlds.items() if world[row] == value), Fraction(0))
            assert share == (Fraction(1, 3) if value in GROUPS[row // 3] else 0)


@pytest.mark.parametrize("method", ["ir_swap", "mdav_swap"])
def test_after_the_release_each_value_of_the_group_is_a_records_own_with_probability_one_in_g(method):
    assert_every_value_of_the_group_equally_likely(released_by(method))


def test_the_posterior_test_notices_derangements():
    with pytest.raises(AssertionError):
        assert_every_value_of_the_group_equally_likely(deranged)


HOLDERS = range(4)


def holder_seen_after_ir_swap(holder):
    """Where the 2 of (1, 1, 1, 2) is published, in each of the equally likely outcomes."""
    values = np.ones(4, dtype=np.int64)
    values[holder] = 2
    declared = {"value": VALUE}
    for script in every_shuffle([3, 2, 2]):
        protected = protect({"value": values}, declared, Params(method="ir_swap", k=2), script)
        yield int(np.flatnonzero(protected.columns["value"] == 2)[0])


def holder_seen_when_ties_go_by_row(holder):
    values = np.ones(4, dtype=np.int64)
    values[holder] = 2
    order = np.argsort(values, kind="stable")
    for script in every_shuffle([2, 2]):
        swapped = values.copy()
        swapped[order] = values[permute_within(order, np.array([0, 2, 4]), script)]
        yield int(np.flatnonzero(swapped == 2)[0])


def assert_holder_known_at_most_by_half(releases_of):
    for holders in posterior(HOLDERS, releases_of).values():
        assert max(holders.values()) <= Fraction(1, 2)


def test_ties_at_a_border_do_not_give_the_holder_away():
    assert_holder_known_at_most_by_half(holder_seen_after_ir_swap)


def test_the_tie_test_notices_ties_broken_by_row():
    with pytest.raises(AssertionError):
        assert_holder_known_at_most_by_half(holder_seen_when_ties_go_by_row)


def companion_of_the_two(labels):
    return int(np.flatnonzero(labels[:3] == labels[3])[0])


def test_equal_values_join_the_next_block_with_equal_chance():
    randomness = seeded(5)
    values = np.array([1, 1, 1, 2])
    assert_uniform([companion_of_the_two(individual_ranking(values, 2, randomness)) for _ in range(6000)], 3)


def test_the_companion_test_notices_index_order():
    with pytest.raises(AssertionError):
        assert_uniform([companion_of_the_two(np.array([0, 0, 1, 1])) for _ in range(6000)], 3)


def partner_of_the_first(labels):
    """Which of four records with equal quasi-identifiers shares the first one's group of two."""
    return int(np.flatnonzero(labels[1:] == labels[0])[0])


def test_mdav_swap_groups_records_with_equal_quasi_identifiers_at_random():
    declared = {"key": KEY, "value": VALUE}
    columns = {"key": np.full(4, 50), "value": np.array([1, 2, 3, 4])}
    drawn = [protect(columns, declared, Params(method="mdav_swap", k=2), seeded(seed)) for seed in range(900)]
    assert_uniform([partner_of_the_first(protected.groups["value"]) for protected in drawn], 3)


def test_the_test_of_random_grouping_notices_groups_by_row():
    grouped_by_row = [partner_of_the_first(mdav(np.full((4, 1), 0.5), 2)) for _ in range(900)]
    with pytest.raises(AssertionError):
        assert_uniform(grouped_by_row, 3)
