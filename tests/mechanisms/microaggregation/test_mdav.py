from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.microaggregation import mdav
from penstock.mechanisms.refusal import ColumnTypeWrong, SettingRefused, TooFewRecords, ValueMissing
from tests.mechanisms.mdav_by_definition import mdav_by_definition
from tests.support.order import examples


@st.composite
def clouds(draw):
    """Points full of ties: grids, duplicates, constants, and some without ties."""
    n, d = draw(st.integers(1, 70)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["grid", "tenths", "constant", "duplicates", "normal", "one apart"]))
    if kind == "grid":
        cloud = rng.integers(0, draw(st.integers(1, 4)), (n, d)).astype(float)
    elif kind == "tenths":
        cloud = rng.integers(0, 8, (n, d)) / 10
    elif kind == "constant":
        cloud = np.full((n, d), 0.1)
    elif kind == "duplicates":
        cloud = rng.normal(size=(max(n // 5, 1), d))[rng.integers(0, max(n // 5, 1), n)]
    elif kind == "one apart":
        cloud = np.zeros((n, d))
        cloud[rng.integers(n)] = 1.0
    else:
        cloud = rng.normal(size=(n, d))
    return cloud, draw(st.integers(1, n))


@given(clouds())
@settings(deadline=None, max_examples=examples(600))
def test_labels_are_those_of_the_definition(cloud_and_k):
    cloud, k = cloud_and_k
    assert mdav(cloud, k).tolist() == mdav_by_definition(cloud, k).tolist()


@pytest.mark.parametrize(("n", "d", "k"), [(3000, 2, 3), (2500, 5, 40), (1700, 3, 800), (1300, 1, 2)])
@pytest.mark.parametrize("grid", [1, 20, None])
def test_labels_are_those_of_the_definition_over_many_chunks(n, d, k, grid):
    rng = np.random.default_rng(n)
    cloud = rng.normal(size=(n, d)) if grid is None else rng.integers(0, grid, (n, d)).astype(float)
    assert (mdav(cloud, k) == mdav_by_definition(cloud, k)).all()


def ties_decided_by_the_last_bit():
    """Tenths are not exact in floats, so here the centroid's rounding decides which point is farthest."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n, d, k = rng.integers([9, 1, 2], [40, 3, 5])
        yield rng.integers(0, 8, (n, d)) / 10, int(k)


def test_the_running_sum_decides_ties_as_in_the_definition():
    for cloud, k in ties_decided_by_the_last_bit():
        assert (mdav(cloud, k) == mdav_by_definition(cloud, k)).all()


def test_those_ties_notice_a_fresh_mean():
    cases = list(ties_decided_by_the_last_bit())
    assert any((mdav(cloud, k) != mdav_by_definition(cloud, k, fresh_mean=True)).any() for cloud, k in cases)


def test_sorted_points_are_no_special_case():
    cloud = np.sort(np.random.default_rng(1).lognormal(size=(2000, 2)), axis=0)
    for order in (cloud, cloud[::-1]):
        assert (mdav(order, 4) == mdav_by_definition(order, 4)).all()


@given(clouds())
@settings(deadline=None)
def test_every_cluster_has_k_points_and_only_the_last_up_to_2k_minus_1(cloud_and_k):
    cloud, k = cloud_and_k
    sizes = np.bincount(mdav(cloud, k))
    assert len(sizes) == len(cloud) // k
    assert (sizes[:-1] == k).all()
    assert k <= sizes[-1] < 2 * k


def test_points_stay_as_they_are_and_may_be_integers_or_strided():
    cloud = np.random.default_rng(2).integers(0, 9, (40, 4))
    before = cloud.copy()
    cloud.flags.writeable = False
    assert (mdav(cloud, 3) == mdav(cloud.astype(float), 3)).all()
    assert (mdav(cloud[::2, ::-2], 3) == mdav(np.ascontiguousarray(cloud[::2, ::-2]), 3)).all()
    assert (cloud == before).all()


def test_clusters_are_numbered_in_the_order_in_which_they_are_formed():
    line = np.array([0.0, 1.0, 10.0, 11.0, 20.0, 29.0])[:, None]
    assert mdav(line, 2).tolist() == [1, 1, 2, 2, 0, 0]


@pytest.mark.parametrize("k", [0, -1, 2.0, True, "3"])
def test_k_must_be_a_positive_whole_number(k):
    with pytest.raises(SettingRefused, match="k refused: must be a whole number, at least 1"):
        mdav(np.zeros((5, 1)), k)


def test_fewer_points_than_k_are_refused_without_telling_how_many():
    with pytest.raises(TooFewRecords, match=r"at least k = 7 records") as refused:
        mdav(np.zeros((3, 1)), 7)
    assert "3" not in str(refused.value)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1e151])
def test_coordinates_without_a_finite_square_are_refused(wrong):
    cloud = np.zeros((5, 2))
    cloud[3, 1] = wrong
    with pytest.raises(ValueMissing, match="must hold only numbers of size up to"):
        mdav(cloud, 2)


@pytest.mark.parametrize("wrong", [np.zeros(5), np.zeros((5, 0)), np.zeros((5, 1, 1)), np.full((5, 1), "x")])
def test_anything_but_a_table_of_numbers_is_refused(wrong):
    with pytest.raises(ColumnTypeWrong, match="points refused"):
        mdav(wrong, 2)
