"""Which groups a swap may have: every world and every outcome of small cases is listed.

(2) of probabilistic k-anonymity needs groups that stay the same when values are permuted inside them. Groups that join
for want of different values pass; groups that look for a new value record by record do not, nor do groups for one
confidential column that are made of the others, in sequence. Random groups keep the promise, and no more than it.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from penstock.mechanisms.microaggregation.diverse import with_different_values
from penstock.mechanisms.microaggregation.mdav import mdav
from penstock.mechanisms.microaggregation.space import plane

POSITIONS = [(1, 2, 3, 4), (1, 2, 3, 10), (1, 2, 4, 8, 9), (1, 2, 3, 4, 6, 9)]
VALUES = {4: ["aabb", "aabc"], 5: ["aaabb", "aabbc"], 6: ["aaabbb", "aabbcc"]}
CASES = [(where, values) for where in POSITIONS for values in VALUES[len(where)]]


def worlds_of(values):
    return sorted(set(permutations(values)))


def numbered(world):
    return np.array([ord(value) for value in world], np.int64)


def points_of(where):
    return np.array(where, float)[:, None] / 10


def blocks(labels):
    return [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]


def releases(world, labels):
    """Every outcome of a uniform permutation inside each group, with its probability."""
    found, groups = Counter(), blocks(labels)
    for moved in product(*(list(permutations(group)) for group in groups)):
        released = list(world)
        for group, sources in zip(groups, moved, strict=True):
            for place, source in zip(group, sources, strict=True):
                released[place] = world[source]
        found[tuple(released)] += 1
    total = found.total()
    return {released: Fraction(count, total) for released, count in found.items()}


def joined(where, world):
    points = points_of(where)
    return with_different_values(mdav(points, 2), plane(points), {"value": numbered(world)}, 2)


def reaching_for_new_values(where, world):
    """A plausible rule: the seed's nearest record, and further ones until two values are there."""
    points = points_of(where)[:, 0]
    left, labels, label = list(range(len(where))), np.zeros(len(where), np.int64), 0
    while len(left) >= 4:
        mean = points[left].mean()
        seed = max(left, key=lambda row: (abs(points[row] - mean), -row))
        others = sorted((row for row in left if row != seed), key=lambda row: (abs(points[row] - points[seed]), row))
        new = next((row for row in others if world[row] != world[seed]), None)
        if new is None:
            break
        labels[[seed, new]] = label
        left = [row for row in left if row not in (seed, new)]
        label += 1
    labels[left] = label
    return labels


def assert_permutations_inside_groups_change_nothing(grouped, base):
    """(2) for the groups that `base` makes, whatever `grouped` makes of them."""
    for where, values in CASES:
        drawn = {world: releases(world, grouped(where, world)) for world in worlds_of(values)}
        for world in drawn:
            for other in releases(world, base(where, world)):
                assert drawn[other] == drawn[world]


def by_key(where, world):
    return mdav(points_of(where), 2)


def test_groups_that_join_for_want_of_values_keep_the_promise_of_the_groups_before():
    assert_permutations_inside_groups_change_nothing(joined, by_key)
    assert any((joined(where, w) != by_key(where, w)).any() for where, v in CASES for w in worlds_of(v))


def test_groups_that_reach_for_new_values_do_not():
    with pytest.raises(AssertionError):
        assert_permutations_inside_groups_change_nothing(reaching_for_new_values, reaching_for_new_values)
    with pytest.raises(AssertionError):
        assert_permutations_inside_groups_change_nothing(reaching_for_new_values, by_key)


def chance_of_the_rarest(grouped):
    """The best guess, over all releases, at the record that holds a value which occurs once; worlds equally likely."""
    best = Fraction(0)
    for where, values in CASES:
        once = [value for value, count in Counter(values).items() if count == 1]
        seen = {}
        for world in worlds_of(values):
            for released, share in releases(world, grouped(where, world)).items():
                seen.setdefault(released, {})[world] = share
        for given in seen.values():
            for value, row in product(once, range(len(where))):
                held = sum(share for world, share in given.items() if world[row] == value)
                best = max(best, held / sum(given.values()))
    return best


def test_a_single_value_is_found_with_probability_one_in_k_at_most():
    assert chance_of_the_rarest(joined) <= Fraction(1, 2)


def test_looking_for_new_values_lets_it_be_found_more_often():
    assert chance_of_the_rarest(reaching_for_new_values) > Fraction(1, 2)


def test_random_groups_find_an_own_value_as_often_as_similar_ones():
    """One in k, not one in n: of six records in random pairs, half keep their own tuple."""
    world, kept, outcomes = tuple(range(6)), Fraction(0), 0
    for order in permutations(range(6)):
        labels = np.empty(6, np.int64)
        labels[list(order)] = [0, 0, 1, 1, 2, 2]
        own = sum((share for released, share in releases(world, labels).items() if released[0] == 0), Fraction(0))
        kept, outcomes = kept + own, outcomes + 1
    assert kept / outcomes == Fraction(1, 2)


def one_after_the_other(first, second, k):
    """Two confidential columns, each swapped in groups made of the other one as it then is; outcomes with chances."""
    found = Counter()
    for swapped, share in releases(first, mdav(np.array(second, float)[:, None], k)).items():
        for last, other in releases(second, mdav(np.array(swapped, float)[:, None], k)).items():
            found[swapped, last] += share * other
    return found


def most_certain(unknown):
    """The best guess, over all releases, of somebody who knows the other column; five records, k = 2, no ties."""
    known, seen = (0, 1, 3, 7, 15), {}
    for world in permutations(known):
        columns = (world, known) if unknown == "first" else (known, world)
        for released, share in one_after_the_other(*columns, 2).items():
            seen.setdefault(released, {})[world] = share
    best, where = Fraction(0), None
    for released, given in seen.items():
        for row, value in product(range(len(known)), known):
            held = sum((share for world, share in given.items() if world[row] == value), Fraction(0))
            best, where = max((best, where), (held / sum(given.values()), released), key=lambda found: found[0])
    return best, where


def test_in_sequence_the_column_that_is_swapped_last_can_be_read_off():
    """Groups of the first column were made of the last one, and what left its place in the first shows them."""
    best, released = most_certain("last")
    assert best == 1
    assert released == ((1, 0, 3, 7, 15), (0, 1, 7, 3, 15))


def test_in_sequence_the_column_that_is_swapped_first_keeps_the_promise():
    """Its groups are made of what is known, and all that follows is made of what was released of it."""
    assert most_certain("first")[0] == Fraction(1, 2)


def in_random_order(world, labels):
    """Released pairs of a place and a value, in every order, with probabilities."""
    for released, share in releases(world, labels).items():
        orders = list(permutations(enumerate(released)))
        for order in orders:
            yield order, share / len(orders)


def sampled(world, where, m, chosen):
    found = {}
    for order, share in in_random_order(world, by_key(where, world)):
        part = chosen(order, m, world)
        found[part] = found.get(part, 0) + share
    return found


def the_first(order, m, world):
    return order[:m]


def those_that_moved_first(order, m, world):
    """Not a sample of the release alone: whoever kept their own value comes last."""
    return tuple(sorted(order, key=lambda pair: pair[1] == world[pair[0]]))[:m]


def assert_a_sample_tells_no_more(chosen):
    where, values = (1, 2, 8, 9), "abcd"
    for m in (1, 2, 3):
        drawn = {world: sampled(world, where, m, chosen) for world in worlds_of(values)}
        for world in drawn:
            for other in releases(world, by_key(where, world)):
                assert drawn[other] == drawn[world]


def test_a_sample_of_the_release_keeps_the_promise():
    assert_a_sample_tells_no_more(the_first)


def test_a_sample_that_looks_at_what_moved_does_not():
    with pytest.raises(AssertionError):
        assert_a_sample_tells_no_more(those_that_moved_first)
