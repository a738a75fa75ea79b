from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import kstest, laplace

from penstock.mechanisms.randomness import seeded
from penstock.reproduction.computed import (
    add_noise,
    corner_groups,
    expected_squared_error,
    group_means,
    observed_bounds,
)

DRAWS = 100_000
FALSE_ALARM = 1e-9
# Quadrature gives up on intervals that are shorter than this by far.
THOUSANDTHS = st.integers(0, 1000).map(lambda level: level / 1000)


def cell(value):
    return np.array([[float(value)]])


def test_bounds_are_one_and_a_half_times_the_largest_value():
    assert observed_bounds(np.array([[1.0, 8.0], [4.0, 2.0]])).tolist() == [6.0, 12.0]


def test_every_record_gets_the_mean_of_its_group():
    values = np.array([[0.0, 1.0], [2.0, 5.0], [4.0, 3.0], [7.0, 7.0]])
    means = group_means(values, np.array([1, 0, 1, 0]))
    assert means.tolist() == [[2.0, 2.0], [4.5, 6.0], [2.0, 2.0], [4.5, 6.0]]


def unclamped(scale, k, epsilon, seed):
    """Draws so far from the bounds that nothing is clamped, in units of the claimed scale."""
    upper = np.array([scale * k * epsilon])
    middles = np.full((DRAWS, 1), upper[0] / 2)
    return ((add_noise(middles, upper, k, epsilon, seeded(seed)) - middles) / scale).ravel()


def test_noise_is_laplace_with_scale_bound_over_k_epsilon():
    """Kolmogorov-Smirnov: false alarm 1e-9."""
    assert kstest(unclamped(scale=0.5, k=40, epsilon=2.0, seed=1), laplace.cdf).pvalue > FALSE_ALARM


def test_the_test_of_the_noise_notices_a_scale_eight_percent_larger():
    assert kstest(1.08 * unclamped(scale=0.5, k=40, epsilon=2.0, seed=1), laplace.cdf).pvalue < FALSE_ALARM


def test_every_record_has_noise_of_its_own_although_the_group_is_one():
    released = add_noise(np.full((50, 2), 5.0), np.array([10.0, 10.0]), 50, 10.0, seeded(3))
    assert len(np.unique(released)) == 100


def test_no_epsilon_is_split_among_attributes():
    wide = add_noise(np.full((3, 4), 5.0), np.full(4, 10.0), 5, 10.0, seeded(4))
    narrow = add_noise(np.full((12, 1), 5.0), np.full(1, 10.0), 5, 10.0, seeded(4))
    assert (wide.ravel() == narrow.ravel()).all()


class _Extreme:
    """The lowest and the highest word in turn."""

    from_system = False

    def words(self, count):
        return np.resize(np.array([0, 2**64 - 1], dtype=np.uint64), count)

    def streams(self, count):
        return [self] * count


def test_the_extreme_words_give_finite_noise_on_both_sides():
    low, high = add_noise(np.full((2, 1), 500.0), np.array([1000.0]), 1000, 1.0, _Extreme()).ravel()
    assert 460 < low < 470
    assert low - 500 == pytest.approx(500 - high)


@given(st.floats(0, 1), st.integers(1, 50), st.floats(0.01, 20), st.integers(0, 2**32))
def test_released_values_stay_between_zero_and_the_bound(share, k, epsilon, seed):
    upper = np.array([3.0, 70.0])
    released = add_noise(np.outer(np.full(20, share), upper), upper, k, epsilon, seeded(seed))
    assert ((released >= 0) & (released <= upper)).all()


@given(THOUSANDTHS, THOUSANDTHS, st.integers(1, 30), st.floats(0.05, 20))
def test_the_expected_error_is_the_integral(centroid, value, k, epsilon):
    """A second opinion by quadrature between the bounds, and the mass that is clamped to them."""
    scale = 1 / (k * epsilon)
    density = laplace(loc=centroid, scale=scale).pdf
    inside = sum(
        quad(lambda y: (y - value) ** 2 * density(y), *ends, epsabs=1e-12, limit=200)[0]
        for ends in _pieces(centroid, scale)
    )
    clamped = value**2 * laplace.cdf(-centroid / scale) + (1 - value) ** 2 * laplace.sf((1 - centroid) / scale)
    found = expected_squared_error(cell(value), cell(centroid), np.ones(1), k, epsilon)[0, 0]
    assert found == pytest.approx(inside + clamped, rel=1e-7, abs=1e-10)


def _pieces(centroid, scale):
    """The interval cut where the density bends and where its tails end, so that quadrature sees the peak."""
    cuts = sorted({0.0, 1.0, centroid, max(0.0, centroid - 20 * scale), min(1.0, centroid + 20 * scale)})
    return pairwise(cuts)


def test_the_mean_error_of_many_draws_is_the_expected_one():
    """Six standard errors: false alarm 2e-9; the twin, a scale four percent larger, is noticed."""
    upper = np.array([10.0])
    centroids, values = np.full((DRAWS, 1), 2.0), np.full((DRAWS, 1), 3.0)
    errors = (add_noise(centroids, upper, 5, 1.0, seeded(5)) - values) ** 2
    standard_error = errors.std() / np.sqrt(DRAWS)

    def standard_errors_off(epsilon):
        return abs(errors.mean() - expected_squared_error(cell(3), cell(2), upper, 5, epsilon)[0, 0]) / standard_error

    assert standard_errors_off(1.0) < 6
    assert standard_errors_off(1 / 1.04) > 6


def test_much_epsilon_leaves_the_error_of_the_groups_and_none_leaves_two_bounds():
    exact = expected_squared_error(cell(3), cell(5), np.array([10.0]), 1, 1e9)[0, 0]
    assert exact == pytest.approx(4.0)
    coin = expected_squared_error(cell(3), cell(5), np.array([10.0]), 1, 1e-6)[0, 0]
    assert coin == pytest.approx((3**2 + 7**2) / 2, rel=1e-5)


@pytest.mark.parametrize(
    ("centroids", "upper"), [(np.ones(3), np.ones(1)), (np.ones((3, 2)), np.ones(3)), (np.ones((3, 2)), np.ones(()))]
)
def test_bounds_that_do_not_fit_the_table_are_an_error(centroids, upper):
    with pytest.raises(ValueError, match="one bound for each attribute"):
        add_noise(centroids, upper, 1, 1.0, seeded(1))
    with pytest.raises(ValueError, match="one bound for each attribute"):
        expected_squared_error(centroids, centroids, upper, 1, 1.0)
    with pytest.raises(ValueError, match="one bound for each attribute"):
        corner_groups(centroids, upper, 1)


@pytest.mark.parametrize(("k", "epsilon"), [(0, 1.0), (1, 0.0), (1, float("inf")), (1, float("nan"))])
def test_a_scale_that_is_no_number_is_an_error(k, epsilon):
    with pytest.raises(ValueError, match="epsilon positive and finite"):
        add_noise(cell(1), np.ones(1), k, epsilon, seeded(1))


@pytest.mark.parametrize(("centroid", "bound"), [(-1.0, 1.0), (2.0, 1.0), (float("nan"), 1.0), (0.0, 0.0)])
def test_values_outside_the_bounds_are_an_error(centroid, bound):
    with pytest.raises(ValueError, match="values lie between"):
        add_noise(cell(centroid), np.array([bound]), 1, 1.0, seeded(1))
    with pytest.raises(ValueError, match="values lie between"):
        corner_groups(cell(centroid), np.array([bound]), 1)
