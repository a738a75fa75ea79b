"""MDAV by trees has the labels of MDAV by scans, which test_mdav.py compares with the definition."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.microaggregation import _rounds as rounds
from penstock.mechanisms.microaggregation import _tree as tree
from penstock.mechanisms.microaggregation import mdav
from penstock.mechanisms.microaggregation._leaves import arranged
from penstock.mechanisms.microaggregation.kernels import mdav_labels
from penstock.mechanisms.microaggregation.mdav import mdav_by_trees
from tests.mechanisms.mdav_by_definition import mdav_by_definition
from tests.support.order import examples

KINDS = ["grid", "tenths", "constant", "duplicates", "one apart", "skewed", "offset", "tiny", "huge", "normal"]


def cloud_of(rng, kind, n, d):
    if kind == "grid":
        return rng.integers(0, int(rng.integers(1, 6)), (d, n)).astype(float)
    if kind == "tenths":
        return rng.integers(0, 8, (d, n)) / 10
    if kind == "constant":
        return np.full((d, n), 0.1)
    if kind == "duplicates":
        return np.ascontiguousarray(rng.normal(size=(d, n // 5 + 1))[:, rng.integers(0, n // 5 + 1, n)])
    if kind == "one apart":
        cloud = np.zeros((d, n))
        cloud[:, rng.integers(n)] = 1.0
        return cloud
    if kind == "skewed":
        return rng.lognormal(0, 3, (d, n))
    if kind == "offset":
        return rng.normal(size=(d, n)) * 1e-3 + 1e9
    if kind == "tiny":  # squares lose digits or become 0
        return rng.normal(size=(d, n)) * 10.0 ** rng.integers(-164, -150)
    if kind == "huge":
        return rng.normal(size=(d, n)) * 1e148
    return rng.normal(size=(d, n))


def by_scans(cloud, k):
    return mdav_labels(cloud.copy(), k)


@given(st.sampled_from(KINDS), st.integers(1, 2500), st.integers(1, 7), st.integers(0, 2**32), st.data())
@settings(deadline=None, max_examples=examples(400))
def test_labels_are_those_of_the_scans(kind, n, d, seed, data):
    cloud = cloud_of(np.random.default_rng(seed), kind, n, d)
    k = data.draw(st.one_of(st.integers(1, min(n, 40)), st.integers(1, n)))
    assert (mdav_by_trees(cloud, k) == by_scans(cloud, k)).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d", "k"), [(3000, 2, 3), (2500, 5, 40), (1300, 1, 2)])
def test_labels_are_those_of_the_definition_over_many_leaves(kind, n, d, k):
    cloud = cloud_of(np.random.default_rng(n), kind, n, d)
    assert (mdav_by_trees(cloud, k) == mdav_by_definition(cloud.T, k)).all()


@pytest.mark.parametrize("seed", [84, 12421, 16609])
def test_squares_that_underflow_decide_as_in_the_scans(seed):
    rng = np.random.default_rng(seed)
    for scale in (1e-160, 1e-161, 1e-162):
        cloud = rng.normal(size=(3, 2000)) * scale
        assert (mdav_by_trees(cloud, 10) == by_scans(cloud, 10)).all()


@pytest.mark.parametrize(("n", "d", "k"), [(30_000, 2, 3), (20_000, 3, 10), (20_000, 6, 25)])
@pytest.mark.parametrize("kind", ["normal", "skewed", "tenths"])
def test_many_points_need_several_rounds_and_shells(n, d, k, kind):
    cloud = cloud_of(np.random.default_rng(n), kind, n, d)
    assert (mdav_by_trees(cloud, k) == by_scans(cloud, k)).all()


def test_equal_points_are_grouped_in_row_order():
    n, k = 20_000, 7
    assert (mdav_by_trees(np.full((3, n), 0.1), k) == np.minimum(np.arange(n) // k, n // k - 1)).all()


def test_these_points_notice_ties_decided_by_the_highest_row():
    cloud = cloud_of(np.random.default_rng(1), "tenths", 3000, 3)
    assert (mdav_by_trees(cloud, 5) != by_scans(np.ascontiguousarray(cloud[:, ::-1]), 5)[::-1]).any()


@pytest.mark.parametrize("n", [3860, 3880])  # n^2 / dk on either side of the limit
def test_the_way_is_chosen_by_size_and_changes_nothing(n):
    cloud = np.random.default_rng(n).integers(0, 100, (n, 1)).astype(float)
    assert (mdav(cloud, 1) == by_scans(np.ascontiguousarray(cloud.T), 1)).all()


@given(st.integers(1, 1500), st.integers(1, 4), st.integers(1, 3), st.integers(1, 70), st.integers(0, 2**32))
@settings(deadline=None)
def test_leaves_hold_every_point_of_their_tree_once(n, d, trees, size, seed):
    rng = np.random.default_rng(seed)
    cloud = rng.integers(0, 9, (d, n)).astype(float)
    starts = np.sort(np.concatenate(([0, n], rng.integers(0, n + 1, trees - 1))))
    order = rng.permutation(n)
    points, rows, first = arranged(cloud, order, starts, size)
    used = ~np.isnan(points[:, 0])
    for t in range(trees):
        leaves = slice(first[t], first[t + 1])
        found = rows.reshape(-1, size)[leaves][used[leaves]]
        assert sorted(found) == sorted(order[starts[t] : starts[t + 1]])
        assert (points[leaves].transpose(1, 0, 2)[:, used[leaves]] == cloud[:, found]).all()


def test_compiled_rounds_are_renewed_with_the_tree():
    """numba compiles _tree.py into _rounds.py, and its cache notices changes of the file _rounds.py only."""
    digest = hashlib.sha256(Path(tree.__file__).read_bytes()).hexdigest()
    assert digest[:16] == rounds._TREE, "write the new digest into _rounds.py"
