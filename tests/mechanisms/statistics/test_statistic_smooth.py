"""Smooth sensitivity of medians and of the maximum against its formula and its definition."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.statistics.smooth import smooth_sensitivity_of_maximum, smooth_sensitivity_of_median

LOW, HIGH = 0, 9
BETAS = st.sampled_from([1e-3, 0.1, 0.5, 1.0, 5.0])
VALUES = st.lists(st.integers(LOW, HIGH), min_size=1, max_size=15)


def ranked(values, low, high):
    def x(rank):
        return low if rank < 1 else high if rank > len(values) else values[rank - 1]

    return x


def median_by_formula(values, low, high, beta):
    """Return the maximum over every k and every t."""
    n, x = len(values), ranked(values, low, high)
    m = (n + 1) // 2
    if n % 2:
        return max(exp(-k * beta) * max(x(m + t) - x(m + t - k - 1) for t in range(k + 2)) for k in range(n + 1))
    return max(exp(-k * beta) * max(x(m + 1 + t) - x(m + t - k - 1) for t in range(k + 2)) / 2 for k in range(n + 1))


def maximum_by_formula(values, low, high, beta):
    n, x = len(values), ranked(values, low, high)
    return max(exp(-k * beta) * max(high - x(n - k), x(n) - x(n - k - 1)) for k in range(n + 1))


FORMULAS = {
    smooth_sensitivity_of_median: median_by_formula,
    smooth_sensitivity_of_maximum: maximum_by_formula,
}


@pytest.mark.parametrize("found", FORMULAS, ids=lambda each: each.__name__)
@given(values=VALUES, beta=BETAS)
def test_the_short_way_finds_the_maximum_of_all_terms(found, values, beta):
    values = sorted(values)
    expected = FORMULAS[found](values, LOW, HIGH, beta)
    assert found(np.array(values), LOW, HIGH, beta) == pytest.approx(expected, rel=1e-12)


def median(values):
    x, n = sorted(values), len(values)
    return Fraction(x[(n - 1) // 2] + x[n // 2], 2)


def smooth_by_definition(statistic, size, domain, beta):
    """Return max over all data sets of e^(-beta distance) times their local sensitivity, for every data set."""
    data = list(product(domain, repeat=size))
    figures = np.array([float(statistic(values)) for values in data])
    apart = (np.array(data)[:, np.newaxis, :] != np.array(data)[np.newaxis, :, :]).sum(axis=2)
    local = np.where(apart <= 1, np.abs(figures[:, np.newaxis] - figures), 0).max(axis=1)
    return data, (np.exp(-beta * apart) * local).max(axis=1)


@pytest.mark.parametrize("beta", [0.2, 1.0])
@pytest.mark.parametrize(("size", "points"), [(1, 4), (2, 5), (3, 4), (4, 4), (5, 3)])
@pytest.mark.parametrize(
    ("found", "statistic"), [(smooth_sensitivity_of_median, median), (smooth_sensitivity_of_maximum, max)]
)
def test_it_is_the_least_smooth_bound_of_the_local_sensitivity(found, statistic, size, points, beta):
    data, defined = smooth_by_definition(statistic, size, range(points), beta)
    computed = [found(np.sort(values), 0, points - 1, beta) for values in data]
    assert computed == pytest.approx(defined, rel=1e-12)


def test_the_definition_notices_a_formula_that_takes_the_largest_change_of_the_actual_data_only():
    data, defined = smooth_by_definition(median, 4, range(4), 0.2)
    local = [
        max(abs(median([*rest[:i], y, *rest[i + 1 :]]) - median(rest)) for i in range(4) for y in range(4))
        for rest in data
    ]
    assert any(found < right for found, right in zip(local, defined, strict=True))


def test_ties_without_end_are_no_burden():
    """All values are equal: nothing moves the median before half of them are replaced."""
    n, beta = 100_000, 1e-4
    values = np.full(n, 5)
    assert smooth_sensitivity_of_median(values, 0, 10, beta) == pytest.approx(5 * exp(-beta * (n // 2 - 1)) / 2)
    assert smooth_sensitivity_of_maximum(values, 0, 10, beta) == 5


@pytest.mark.parametrize("found", FORMULAS, ids=lambda each: each.__name__)
@pytest.mark.parametrize(
    ("values", "low", "beta"),
    [([], 0, 1.0), ([2, 1, 3], 0, 1.0), ([1, 2, 3], 2, 1.0), ([1, 10], 0, 1.0), ([1], 0, 0.0)],
)
def test_the_formula_is_not_used_where_it_does_not_hold(found, values, low, beta):
    with pytest.raises(ValueError, match="sorted values between the bounds"):
        found(np.array(values, dtype=np.int64), low, 9, beta)
