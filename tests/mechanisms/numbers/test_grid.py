from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.numbers.grid import grid_of
from penstock.mechanisms.refusal import SettingRefused

FINITE = st.floats(-1e9, 1e9, allow_nan=False)


def continuous(low, high):
    return grid_of(Column(role="confidential", type="continuous", domain=(low, high)), "x")


def whole(low, high):
    return grid_of(Column(role="confidential", type="integer", domain=(low, high)), "x")


@st.composite
def grids(draw):
    low, high = sorted((draw(FINITE), draw(FINITE)))
    assume(high - low > 1e-3)
    return continuous(low, high)


def by_definition(grid, value):
    """floor(x / eta + 1/2) - floor(a / eta), in fractions."""
    x = min(max(Fraction(value), Fraction(grid.low)), Fraction(grid.high))
    return math.floor(x / grid.eta + Fraction(1, 2)) - math.floor(Fraction(grid.low) / grid.eta)


@given(grids(), st.lists(FINITE, min_size=1, max_size=20))
def test_the_index_is_exact(grid, values):
    assert grid.index(np.array(values)).tolist() == [by_definition(grid, value) for value in values]


@given(grids(), st.integers(0, 2**20), st.integers(-3, 3))
def test_values_beside_a_half_are_not_rounded_twice(grid, step, ulps):
    value = float((grid.first + step + Fraction(1, 2)) * grid.eta)
    for _ in range(abs(ulps)):
        value = math.nextafter(value, math.copysign(math.inf, ulps))
    assert grid.index(np.array([value])).tolist() == [by_definition(grid, value)]


def test_the_number_just_below_a_half_stays_below():
    assert continuous(0, 2**20).index(np.array([0.49999999999999994, 0.5])).tolist() == [0, 1]


@given(grids(), FINITE, FINITE)
def test_two_values_lie_no_further_apart_on_the_grid_than_rounded_up(grid, x, y):
    assume(max(abs(x - grid.low), abs(y - grid.low)) < math.inf)
    a, b = grid.index(np.array([x, y])).tolist()
    inside = [min(max(Fraction(v), Fraction(grid.low)), Fraction(grid.high)) for v in (x, y)]
    assert abs(a - b) <= math.ceil(abs(inside[0] - inside[1]) / grid.eta)
    assert 0 <= min(a, b) <= max(a, b) <= grid.steps


@given(grids())
def test_a_continuous_grid_has_about_a_million_steps_and_covers_the_domain(grid):
    assert 2**18 <= grid.steps <= 2**20 + 2
    assert grid.first * grid.eta <= Fraction(grid.low)
    assert (grid.first + grid.steps) * grid.eta >= Fraction(grid.high)


@given(grids(), st.lists(st.integers(0, 2**18), min_size=1, max_size=9))
def test_points_come_back_as_they_were(grid, index):
    points = grid.values(np.array(index, np.int64))
    inside = [i for i, x in zip(index, points, strict=True) if grid.low < x < grid.high]
    assert grid.index(points[(points > grid.low) & (points < grid.high)]).tolist() == inside
    assert points.min() >= grid.low
    assert points.max() <= grid.high


def test_whole_numbers_are_their_own_grid():
    grid = whole(-5, 120)
    assert (grid.eta, grid.steps) == (1, 125)
    assert grid.index(np.array([-9, -5, 0, 120, 500])).tolist() == [0, 0, 5, 125, 125]
    back = grid.values(np.array([0, 5, 125]))
    assert back.dtype == np.int64
    assert back.tolist() == [-5, 0, 120]
    assert grid.index(np.array([7.0, 8.0])).tolist() == [12, 13]
    assert grid.index(np.array([0, 2**64 - 1], np.uint64)).tolist() == [5, 125]
    assert grid.index(np.array([-7, 127], np.int8)).tolist() == [0, 125]


def test_a_very_wide_domain_of_whole_numbers_gets_a_coarser_grid():
    grid = whole(0, 2**40)
    assert grid.eta == 2**16
    assert grid.index(np.array([0, 2**40, 2**15, 2**15 - 1])).tolist() == [0, 2**24, 1, 0]
    assert grid.values(np.array([1, 2**24])).tolist() == [2**16, 2**40]


@pytest.mark.parametrize("bounds", [(-(2.0**498), 2.0**498), (0.0, 2.0**-498), (0, 2**60)])
def test_extreme_domains_have_a_grid(bounds):
    grid = continuous(*bounds)
    assert grid.index(np.array([bounds[0], bounds[1]])).tolist()[0] == 0
    assert grid.index(np.array([bounds[1]])).tolist()[0] <= grid.steps


def test_a_domain_without_bounds_or_finer_than_floats_is_refused():
    with pytest.raises(SettingRefused, match="must be declared"):
        grid_of(Column(role="weight"), "w")
    with pytest.raises(SettingRefused, match="finer than a float64 holds"):
        continuous(1e15, 1e15 + 1)
