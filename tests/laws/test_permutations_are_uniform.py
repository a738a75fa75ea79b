from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.permutation import permutation, permute_within
from penstock.mechanisms.randomness import seeded, system
from tests.laws.chance import Scripted, assert_uniform, every_shuffle

RUNS = 48_000


def shuffled_fours(randomness):
    """Many shuffles of four things, one a row."""
    order = np.arange(4 * RUNS)
    return permute_within(order, np.arange(0, 4 * RUNS + 1, 4), randomness).reshape(RUNS, 4) % 4


def as_numbers(fours):
    return fours @ (4 ** np.arange(4))


@pytest.mark.parametrize("randomness", [seeded(1), system()], ids=["seeded", "system"])
def test_all_24_orders_of_four_are_equally_likely(randomness):
    assert_uniform(as_numbers(shuffled_fours(randomness)), 24)


def test_the_uniformity_test_notices_derangements():
    fours = shuffled_fours(seeded(2))
    deranged = fours[(fours != np.arange(4)).all(axis=1)]
    with pytest.raises(AssertionError):
        assert_uniform(as_numbers(deranged), 24)


def test_the_uniformity_test_notices_exchanges_with_any_place():
    """The classic mistake: partners from the whole run at every step, 4^4 ways onto 24 orders."""
    fours = np.tile(np.arange(4), (RUNS, 1))
    rows = np.arange(RUNS)
    for place in range(4):
        partner = (seeded(place).words(RUNS) % np.uint64(4)).astype(np.int64)
        fours[rows, place], fours[rows, partner] = fours[rows, partner], fours[rows, place].copy()
    with pytest.raises(AssertionError):
        assert_uniform(as_numbers(fours), 24)


@pytest.mark.parametrize("size", range(1, 6))
def test_each_order_arises_from_exactly_one_choice_of_partners(size):
    reached = [tuple(permutation(size, script)) for script in every_shuffle([size])]
    assert sorted(reached) == sorted(permutations(range(size)))


def test_neighbouring_runs_are_shuffled_independently():
    pairs = permute_within(np.arange(2 * RUNS), np.arange(0, 2 * RUNS + 1, 2), seeded(3)).reshape(-1, 4) % 2
    assert_uniform(pairs[:, 0] + 2 * pairs[:, 2], 4)


def test_a_word_that_would_favour_a_partner_is_drawn_again():
    """2^32 = 1 mod 3, so among three partners word 0 is one too many."""
    plain = Scripted([(3, 1), (2, 0)])
    with_rejection = Scripted([(3, 1), (2, 0)])
    with_rejection._halves.insert(0, 0)
    assert permutation(3, plain).tolist() == permutation(3, with_rejection).tolist()


class Dripping:
    """The same words, one at a time."""

    from_system = False

    def __init__(self, seed):
        self._source = seeded(seed)

    def words(self, count):
        return self._source.words(1)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(0, 2**32))
@settings(deadline=None)
def test_running_out_of_words_changes_nothing(sizes, seed):
    starts = np.append(0, np.cumsum(sizes))
    order = np.arange(starts[-1])[::-1]
    at_once = permute_within(order, starts, seeded(seed))
    assert at_once.tolist() == permute_within(order, starts, Dripping(seed)).tolist()
    for start, stop in pairwise(starts):
        assert sorted(at_once[start:stop]) == sorted(order[start:stop])


def test_more_rows_than_one_batch_of_words_are_still_a_permutation():
    n = 600_001
    shuffled = permutation(n, seeded(4))
    assert (np.sort(shuffled) == np.arange(n)).all()
    assert_uniform(shuffled[:1000] * 10 // n, 10)
    assert_uniform(shuffled[-1000:] * 10 // n, 10)


def test_nothing_is_drawn_where_there_is_nothing_to_exchange():
    assert permutation(0, None).tolist() == []
    assert permutation(1, None).tolist() == [0]
    assert permute_within(np.arange(3), np.arange(4), None).tolist() == [0, 1, 2]
