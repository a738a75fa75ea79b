from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.microaggregation import bucketed_groups, mdav
from penstock.mechanisms.refusal import ColumnTypeWrong, ValueMissing
from tests.mechanisms.bucketed_by_definition import bucketed_by_definition
from tests.support.order import examples

KINDS = ["grid", "tenths", "constant", "duplicates", "normal"]


def cloud_of(rng, kind, n, d):
    """Points full of ties, and some without."""
    if kind == "grid":
        return rng.integers(0, int(rng.integers(1, 5)), (n, d)).astype(float)
    if kind == "tenths":
        return rng.integers(0, 8, (n, d)) / 10
    if kind == "constant":
        return np.full((n, d), 0.1)
    if kind == "duplicates":
        return rng.normal(size=(n // 5 + 1, d))[rng.integers(0, n // 5 + 1, n)]
    return rng.normal(size=(n, d))


def case(rng, kind, groups, d, b, highest):
    counts = rng.integers(1, highest + 1, (groups, b))
    bucket = rng.permutation(np.repeat(np.arange(b), counts.sum(axis=0)))
    return cloud_of(rng, kind, len(bucket), d), bucket, counts


@st.composite
def small_cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(KINDS))
    groups, d, b, highest = (draw(st.integers(1, most)) for most in (9, 4, 5, 6))
    return case(rng, kind, groups, d, b, highest)


@given(small_cases())
@settings(deadline=None, max_examples=examples(500))
def test_groups_are_those_of_the_definition(drawn):
    cloud, bucket, counts = drawn
    assert bucketed_groups(cloud, bucket, counts).tolist() == bucketed_by_definition(cloud, bucket, counts).tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("groups", "d", "b", "highest"), [(150, 3, 3, 8), (15, 2, 2, 150), (200, 1, 1, 12)])
def test_groups_are_those_of_the_definition_over_many_leaves(kind, groups, d, b, highest):
    cloud, bucket, counts = case(np.random.default_rng(groups), kind, groups, d, b, highest)
    assert (bucketed_groups(cloud, bucket, counts) == bucketed_by_definition(cloud, bucket, counts)).all()


def test_those_cases_notice_ties_decided_by_the_highest_row():
    cloud, bucket, counts = case(np.random.default_rng(150), "grid", 150, 3, 3, 8)
    backwards = bucketed_by_definition(cloud[::-1], bucket[::-1], counts)[::-1]
    assert (bucketed_groups(cloud, bucket, counts) != backwards).any()


@given(small_cases())
@settings(deadline=None)
def test_every_group_takes_its_count_from_every_bucket(drawn):
    cloud, bucket, counts = drawn
    labels = bucketed_groups(cloud, bucket, counts)
    taken = np.zeros_like(counts)
    np.add.at(taken, (labels, bucket), 1)
    assert (taken == counts).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("groups", "d", "k"), [(2, 2, 1), (3, 1, 7), (40, 2, 5), (700, 3, 5)])
def test_one_bucket_and_equal_sizes_are_mdav(kind, groups, d, k):
    cloud = cloud_of(np.random.default_rng(groups), kind, groups * k, d)
    labels = bucketed_groups(cloud, np.zeros(groups * k, np.int64), np.full((groups, 1), k))
    assert (labels == mdav(cloud, k)).all()


def test_counts_are_chosen_by_the_records_that_are_near():
    """Two places, one with mostly bucket 0 and one with mostly bucket 1: either gets the counts that suit it."""
    cloud = np.array([0.0, 0.1, 0.2, 0.3, 9.0, 9.1, 9.2, 9.3])[:, None]
    bucket = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    for counts in ([[3, 1], [1, 3]], [[1, 3], [3, 1]]):
        labels = bucketed_groups(cloud, bucket, np.array(counts))
        suits = counts.index([3, 1])
        assert labels.tolist() == [suits] * 4 + [1 - suits] * 4


def test_arguments_stay_as_they_are_and_may_be_strided():
    cloud, bucket, counts = case(np.random.default_rng(5), "normal", 40, 4, 3, 5)
    before = cloud.copy(), bucket.copy(), counts.copy()
    spread = np.repeat(bucket, 2)[::2]
    for each in (cloud, bucket, counts):
        each.flags.writeable = False
    labels = bucketed_groups(cloud, bucket, counts)
    assert (labels == bucketed_groups(np.asfortranarray(cloud), spread, np.asfortranarray(counts))).all()
    assert all((now == then).all() for now, then in zip((cloud, bucket, counts), before, strict=True))


BUCKET, COUNTS = np.array([0, 0, 1, 1]), np.array([[1, 1], [1, 1]])


@pytest.mark.parametrize(
    ("bucket", "counts"),
    [
        (BUCKET[:3], COUNTS),
        (BUCKET.astype(np.int32), COUNTS),
        (BUCKET, COUNTS.astype(float)),
        (BUCKET, COUNTS[0]),
    ],
)
def test_buckets_and_counts_must_be_whole_numbers_of_the_right_shape(bucket, counts):
    with pytest.raises(ValueError, match="one bucket a record and a table of counts"):
        bucketed_groups(np.zeros((4, 1)), bucket, counts)


@pytest.mark.parametrize("counts", [[[2, 1], [0, 1]], np.empty((0, 2), np.int64), np.empty((2, 0), np.int64)])
def test_a_group_without_a_bucket_is_an_error(counts):
    with pytest.raises(ValueError, match="at least one record of every bucket"):
        bucketed_groups(np.zeros((4, 1)), BUCKET, np.asarray(counts))


@pytest.mark.parametrize("bucket", [[0, 0, 0, 1], [0, 0, 1, 2], [0, 0, 1, -1]])
def test_counts_must_add_up_to_the_buckets(bucket):
    with pytest.raises(ValueError, match="add up to the sizes of the buckets"):
        bucketed_groups(np.zeros((4, 1)), np.array(bucket), COUNTS)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1e151])
def test_coordinates_without_a_finite_square_are_refused_here_too(wrong):
    with pytest.raises(ValueMissing, match="must hold only numbers of size up to"):
        bucketed_groups(np.array([[0.0], [1.0], [2.0], [wrong]]), BUCKET, COUNTS)


def test_anything_but_a_table_of_numbers_is_refused_here_too():
    with pytest.raises(ColumnTypeWrong, match="points refused"):
        bucketed_groups(np.zeros(4), BUCKET, COUNTS)
