from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from penstock.mechanisms.microaggregation import individual_ranking
from penstock.mechanisms.microaggregation.ranking import block_starts, from_both_ends, ranked_blocks, stable_order
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import ColumnTypeWrong, SettingRefused, TooFewRecords, ValueMissing
from tests.support.order import examples

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint64"]


@given(
    st.one_of(
        arrays(np.float64, st.integers(0, 40), elements=st.floats(allow_nan=False, allow_infinity=False)),
        arrays(np.float64, st.integers(0, 40), elements=st.sampled_from([0.0, -0.0, 1e-310, 1.0, 1.0 + 2**-52, 7.5])),
        st.sampled_from(INTEGERS).flatmap(lambda dtype: arrays(dtype, st.integers(0, 40))),
    )
)
@settings(deadline=None, max_examples=examples(400))
def test_the_fast_order_is_the_stable_order(values):
    assert stable_order(values).tolist() == np.argsort(values, kind="stable").tolist()


@pytest.mark.parametrize("sigma", [0.1, 1.0, 6.0])
def test_values_that_share_a_code_are_put_right(sigma):
    values = np.random.default_rng(1).lognormal(10, sigma, 200_000)
    values[::7] = np.floor(values[::7])
    assert (stable_order(values) == np.argsort(values, kind="stable")).all()


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=60), st.data(), st.integers(0, 2**32))
@settings(deadline=None)
def test_blocks_follow_the_sorted_values(values, data, seed):
    values = np.array(values)
    k = data.draw(st.integers(1, len(values)))
    labels = individual_ranking(values, k, seeded(seed))
    sizes = np.bincount(labels)
    middle = len(sizes) // 2
    assert (np.delete(sizes, middle) == k).all()
    assert k <= sizes[middle] < 2 * k
    for block in range(len(sizes) - 1):
        assert values[labels == block].max() <= values[labels == block + 1].min()


@given(st.lists(st.integers(-5, 5), min_size=3, max_size=60), st.integers(0, 2**32))
@settings(deadline=None)
def test_order_and_starts_say_the_same_as_labels(values, seed):
    values = np.array(values, dtype=float)
    order, starts = ranked_blocks(values, 3, seeded(seed))
    labels = individual_ranking(values, 3, seeded(seed))
    assert sorted(order) == list(range(len(values)))
    assert (np.diff(values[order]) >= 0).all()
    for block in range(len(starts) - 1):
        assert set(order[starts[block] : starts[block + 1]]) == set(np.flatnonzero(labels == block))


def test_without_ties_nothing_is_drawn():
    assert individual_ranking(np.array([3.0, 1.0, 2.0, 9.0, 7.0]), 2, None).tolist() == [1, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("n", "k", "expected"), [(7, 3, [0, 3, 7]), (6, 3, [0, 3, 6]), (3, 3, [0, 3]), (2, 1, [0, 1, 2])]
)
def test_only_the_last_block_of_a_public_order_is_larger(n, k, expected):
    assert block_starts(n, k).tolist() == expected


@given(st.integers(1, 400), st.integers(1, 30))
def test_groups_from_both_ends_are_those_of_the_algorithm(n, k):
    """Algorithm 7.1 of the thesis, step by step."""
    assume(n >= k)
    left, groups = list(range(n)), []
    while len(left) >= 3 * k:
        groups += [left[:k], left[-k:]]
        left = left[k:-k]
    if len(left) >= 2 * k:
        groups.append(left[:k])
        left = left[k:]
    groups.append(left)
    starts = from_both_ends(n, k)
    assert sorted(groups) == [list(range(a, b)) for a, b in pairwise(starts)]
    assert np.diff(starts).min() >= k
    assert len(starts) - 1 == n // k


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(wrong):
    with pytest.raises(ValueMissing, match="must hold only finite numbers"):
        individual_ranking(np.array([1.0, wrong, 2.0]), 2, seeded(1))


@pytest.mark.parametrize("wrong", [np.array(["a", "b"]), np.zeros((2, 2)), np.array([True, False])])
def test_anything_but_a_list_of_numbers_is_refused(wrong):
    with pytest.raises(ColumnTypeWrong, match="a list of numbers"):
        individual_ranking(wrong, 2, seeded(1))


def test_group_sizes_that_do_not_fit_are_refused():
    with pytest.raises(SettingRefused, match="a whole number, at least 1, got 0"):
        individual_ranking(np.arange(4), 0, seeded(1))
    with pytest.raises(TooFewRecords, match=r"values refused: .*5 records with a value"):
        individual_ranking(np.arange(4), 5, seeded(1))
