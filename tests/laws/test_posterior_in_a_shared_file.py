"""The exact claim of a swap whose column stands beside those of another treatment in one file of records.

Data so small that every world and every outcome can be listed. What an intruder has is the file, whose rows are in
random order, and the quasi-identifiers of everybody.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.probabilistic_k_anonymity import Params, protect
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.shared_file import in_random_order
from tests.laws.chance import every_shuffle, posterior

KEY = Column(role="quasi_identifier", type="integer", domain=(0, 100))
VALUE = Column(role="confidential", type="integer", domain=(0, 100))

# Groups of three along the values: rows 0-2 and 3-5. Groups of three along the keys lie across them.
GROUPS = ((10, 20, 30), (40, 50, 60))
WORLDS = [first + second for first, second in product(*(permutations(group) for group in GROUPS))]
KEYS = np.array([1, 2, 80, 3, 81, 82])


def keys_made_alike():
    alike = protect({"key": KEYS}, {"key": KEY}, Params(method="mdav_id", k=3), seeded(1))
    assert len(set(alike.columns["key"].tolist())) == 2
    return alike.columns["key"].tolist()


def swapped(world):
    for script in every_shuffle([3, 3]):
        yield protect({"value": np.array(world)}, {"value": VALUE}, Params(method="ir_swap", k=3), script)


def files(world):
    """Every file, as its rows without their order: the order is random, and drawn apart from the data."""
    keys = keys_made_alike()
    for protected in swapped(world):
        yield tuple(sorted(zip(keys, protected.columns["value"].tolist(), strict=True)))


def files_in_the_order_of_the_true_values(world):
    keys = keys_made_alike()
    for protected in swapped(world):
        rows = list(zip(keys, protected.columns["value"].tolist(), strict=True))
        yield tuple(rows[row] for row in np.argsort(world))


def files_beside_a_band_of_the_same_column(world):
    keys = keys_made_alike()
    bands = [value >= 25 for value in world]
    for protected in swapped(world):
        yield tuple(sorted(zip(keys, protected.columns["value"].tolist(), bands, strict=True)))


def assert_every_value_of_the_group_equally_likely(releases_of):
    for worlds in posterior(WORLDS, releases_of).values():
        for row, value in product(range(6), (10, 20, 30, 40, 50, 60)):
            share = sum((share for world, share in worlds.items() if world[row] == value), Fraction(0))
            assert share == (Fraction(1, 3) if value in GROUPS[row // 3] else 0)


def test_a_value_beside_keys_made_alike_is_a_records_own_with_probability_one_in_g():
    assert_every_value_of_the_group_equally_likely(files)


@pytest.mark.parametrize("wrong", [files_in_the_order_of_the_true_values, files_beside_a_band_of_the_same_column])
def test_the_posterior_test_notices_an_order_or_a_column_that_depends_on_the_values(wrong):
    with pytest.raises(AssertionError):
        assert_every_value_of_the_group_equally_likely(wrong)


# Four corners of a square: ties alone decide who is grouped with whom. Q and R have 10 and 20, P and S have 30 and 40.
CORNERS = {"P": (0, 50), "Q": (50, 0), "R": (50, 100), "S": (100, 50)}
SQUARE = [
    dict(zip("QRPS", (*low, *high), strict=True)) for low in permutations((10, 20)) for high in permutations((30, 40))
]
PLACES = {"x": KEY, "y": KEY}
ALIKE = Params(method="mdav_id", k=2)


def sorted_by_value(world):
    """The source is sorted by the confidential column, which is no secret."""
    people = sorted(world, key=world.__getitem__)
    x, y = (np.array([CORNERS[person][axis] for person in people]) for axis in (0, 1))
    return {"x": x, "y": y}, np.array([world[person] for person in people])


def square_files(world, alike):
    keys, values = sorted_by_value(world)
    for made in alike(keys):
        for script in every_shuffle([2, 2]):
            amounts = protect({"value": values}, {"value": VALUE}, Params(method="ir_swap", k=2), script)
            rows = zip(
                made.columns["x"].tolist(), made.columns["y"].tolist(), amounts.columns["value"].tolist(), strict=True
            )
            yield tuple(sorted(rows))


def alike_in_random_order(keys):
    for script in every_shuffle([4]):
        yield in_random_order(protect, keys, PLACES, ALIKE, script)


def alike_in_the_order_of_the_source(keys):
    yield protect(keys, PLACES, ALIKE, seeded(1))


def assert_every_world_equally_likely(alike):
    worlds = [tuple(world.items()) for world in SQUARE]
    for found in posterior(worlds, lambda world: square_files(dict(world), alike)).values():
        assert found == dict.fromkeys(worlds, Fraction(1, 4))


def test_ties_tell_nothing_of_the_values_where_the_source_is_sorted_by_them():
    assert_every_world_equally_likely(alike_in_random_order)


def test_the_test_of_ties_notices_groups_by_the_order_of_the_source():
    with pytest.raises(AssertionError):
        assert_every_world_equally_likely(alike_in_the_order_of_the_source)


def test_what_is_made_in_a_random_order_comes_back_in_the_order_given():
    made = in_random_order(protect, {"key": KEYS}, {"key": KEY}, Params(method="mdav_id", k=3), seeded(2))
    assert made.columns["key"].tolist() == keys_made_alike()
    assert len(set(zip(made.columns["key"].tolist(), made.groups["key"].tolist(), strict=True))) == 2


def blocks_with_the_other_columns(world):
    """The rows that somebody sees who knows which record is in which block of a differentially private column."""
    order = np.argsort(world)
    blocks = np.empty(6, np.int64)
    blocks[order] = np.arange(6) // 3
    yield tuple(sorted(zip(KEYS.tolist(), blocks.tolist(), strict=True)))


def test_blocks_beside_columns_that_tell_records_apart_show_a_replaced_record_without_noise():
    """Why no part may spend epsilon: what is released of two neighbours has no outcome in common."""
    here, there = (10, 20, 30, 40, 50, 60), (70, 20, 30, 40, 50, 60)
    assert not set(blocks_with_the_other_columns(here)) & set(blocks_with_the_other_columns(there))
