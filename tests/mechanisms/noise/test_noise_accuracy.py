"""Closed forms of accuracy against sums over the laws themselves, searches and draws."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, expm1, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.noise import box, discrete_laplace, staircase
from penstock.mechanisms.noise.accuracy import (
    best_core_for_magnitude,
    best_core_for_variance,
    best_core_for_width,
    best_step,
    box_region,
    box_variances,
    discrete_laplace_variance,
    discrete_laplace_width,
    grid_box_variances,
    grid_staircase_variance,
    laplace_region,
    laplace_variance,
    laplace_width,
    staircase_magnitude,
    staircase_variance,
    staircase_width,
)
from penstock.mechanisms.noise.series import geometric_sum
from penstock.mechanisms.randomness import seeded
from tests.mechanisms.noise_chance import box_shell, laplace_law, staircase_law

EPSILONS = [0.1, 0.5, 1.0, 2.0, 6.0]
LEVELS = [0.3, 0.9, 0.95, 0.99]


def steps_of(sensitivity, core, epsilon):
    """(from, to, probability of both sides) of every flat piece of the continuous staircase that matters."""
    pieces = [(0.0, core)]
    pieces += [(core + i * sensitivity, core + (i + 1) * sensitivity) for i in range(int(40 / epsilon) + 2)]
    heights = [exp(-epsilon * i) for i in range(len(pieces))]
    masses = [height * (high - low) for (low, high), height in zip(pieces, heights, strict=True)]
    return [(low, high, mass / sum(masses)) for (low, high), mass in zip(pieces, masses, strict=True)]


CORES = [(1.0, 0.0), (1.0, 0.4), (1.0, 1.0), (7.5, 2.0)]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("sensitivity", "core"), CORES)
def test_the_variance_of_the_staircase_is_the_sum_over_its_steps(sensitivity, core, epsilon):
    direct = sum(mass * (high**2 + high * low + low**2) / 3 for low, high, mass in steps_of(sensitivity, core, epsilon))
    assert staircase_variance(sensitivity, core, epsilon) == pytest.approx(direct, rel=1e-10)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("sensitivity", "core"), CORES)
def test_the_magnitude_of_the_staircase_is_the_sum_over_its_steps(sensitivity, core, epsilon):
    direct = sum(mass * (high + low) / 2 for low, high, mass in steps_of(sensitivity, core, epsilon))
    assert staircase_magnitude(sensitivity, core, epsilon) == pytest.approx(direct, rel=1e-10)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("sensitivity", "core"), CORES)
def test_the_interval_of_the_staircase_holds_its_level(sensitivity, core, epsilon, level):
    half = staircase_width(sensitivity, core, epsilon, level) / 2
    inside = sum(
        mass * max(0.0, min(half, high) - low) / (high - low)
        for low, high, mass in steps_of(sensitivity, core, epsilon)
        if high > low
    )
    assert inside == pytest.approx(level, abs=1e-10)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_best_cores_beat_all_others(epsilon):
    others = np.linspace(0, 3, 301)
    variance = best_core_for_variance(3, epsilon)
    magnitude = best_core_for_magnitude(3, epsilon)
    width = best_core_for_width(3, epsilon, 0.95)
    assert staircase_variance(3, variance, epsilon) <= min(staircase_variance(3, d, epsilon) for d in others)
    assert staircase_magnitude(3, magnitude, epsilon) <= min(staircase_magnitude(3, d, epsilon) for d in others)
    assert staircase_width(3, width, epsilon, 0.95) <= min(staircase_width(3, d, epsilon, 0.95) for d in others)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_least_variance_and_magnitude_have_closed_forms(epsilon):
    """Soria-Comas 2013, chapter 4, and Geng & Viswanath 2014, with b = e^-epsilon."""
    b = exp(-epsilon)
    least = (2 ** (-2 / 3) * b ** (2 / 3) * (1 + b) ** (2 / 3) + b) / (1 - b) ** 2
    core = -b / (1 - b) + (b - 2 * b**2 + 2 * b**4 - b**5) ** (1 / 3) / (2 ** (1 / 3) * (1 - b) ** 2)
    assert best_core_for_variance(1, epsilon) == pytest.approx(core, rel=1e-9)
    assert staircase_variance(1, core, epsilon) == pytest.approx(least, rel=1e-9)
    assert staircase_variance(1, core, epsilon) < laplace_variance(1 / epsilon)
    assert staircase_magnitude(1, best_core_for_magnitude(1, epsilon), epsilon) == pytest.approx(
        exp(epsilon / 2) / expm1(epsilon), rel=1e-9
    )


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("d", "r"), [(1, 1), (6, 2), (6, 6), (64, 27)])
def test_the_variance_on_the_grid_is_the_sum_over_the_integers(d, r, epsilon):
    direct = sum(share * j**2 for j, share in staircase_law(d, r, epsilon).items())
    assert grid_staircase_variance(d, r, epsilon) == pytest.approx(direct, rel=1e-9)


@given(st.integers(1, 300), st.floats(0.01, 12))
def test_the_best_step_beats_all_others(d, epsilon):
    variances = [grid_staircase_variance(d, r, epsilon) for r in range(1, d + 1)]
    assert variances[best_step(d, epsilon) - 1] <= min(variances) * (1 + 1e-12)


@pytest.mark.parametrize("d", [2**40, 2**61])
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 12.0])
def test_the_best_step_of_a_fine_grid_is_the_best_core(d, epsilon):
    step = best_step(d, epsilon)
    assert 1 <= step <= d
    assert step / d == pytest.approx(best_core_for_variance(1, epsilon), rel=1e-6)


@pytest.mark.parametrize("scale", [0.2, 1.0, 2.1, 30.0])
def test_laplace_variances_are_sums_and_integrals_of_the_law(scale):
    direct = sum(share * i**2 for i, share in laplace_law(scale).items())
    assert discrete_laplace_variance(scale) == pytest.approx(direct, rel=1e-9)
    x = np.linspace(0, 60 * scale, 600_001)
    assert laplace_variance(scale) == pytest.approx(np.trapezoid(x**2 * np.exp(-x / scale), x) / scale, rel=1e-6)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("scale", [0.2, 1.0, 2.1, 30.0])
def test_laplace_intervals_are_the_shortest_that_hold_their_level(scale, level):
    law = laplace_law(scale)
    half = discrete_laplace_width(scale, level) // 2
    assert sum(law[i] for i in range(-half, half + 1)) >= level - 1e-12
    assert sum(law[i] for i in range(-half + 1, half)) < level
    assert 1 - exp(-laplace_width(scale, level) / 2 / scale) == pytest.approx(level)


def test_a_sum_over_a_geometric_distribution_is_exact():
    def cubic(i):
        return Fraction(2 * i**3 - i + 5, 3)

    b = Fraction(3, 5)
    partial = sum(b**i * cubic(i) for i in range(400))
    assert float(geometric_sum(cubic, 3, 1 - b)) == pytest.approx(float(partial), rel=1e-15)
    assert geometric_sum(lambda i: Fraction(i), 1, Fraction(1, 10**12)) == 10**12 * (10**12 - 1)


BOXES = [([1.0, 10.0], [0.1, 1.0], 1.0), ([2.0], [0.7], 0.3), ([1.0, 2.0, 3.0], [0.0, 2.0, 1.5], 2.0)]


def boxes_of(widths, core, epsilon):
    """(volume, probability of what the box adds) of every box that matters."""
    volumes = [prod(2 * (z + i * s) for s, z in zip(widths, core, strict=True)) for i in range(int(60 / epsilon) + 2)]
    masses = [exp(-epsilon * i) * (v - (volumes[i - 1] if i else 0)) for i, v in enumerate(volumes)]
    return [(volume, mass / sum(masses)) for volume, mass in zip(volumes, masses, strict=True)]


@pytest.mark.parametrize(("widths", "core", "epsilon"), BOXES)
def test_box_variances_are_sums_over_the_boxes(widths, core, epsilon):
    weights = [exp(-epsilon * i) * volume for i, (volume, _) in enumerate(boxes_of(widths, core, epsilon))]
    for s, z, variance in zip(widths, core, box_variances(widths, core, epsilon), strict=True):
        direct = sum(weight * (z + i * s) ** 2 / 3 for i, weight in enumerate(weights)) / sum(weights)
        assert variance == pytest.approx(direct, rel=1e-9)


@pytest.mark.parametrize("level", [0.01, *LEVELS])
@pytest.mark.parametrize(("widths", "core", "epsilon"), BOXES)
def test_box_regions_hold_their_level(widths, core, epsilon, level):
    region = box_region(widths, core, epsilon, level)
    inside, before = 0.0, 0.0
    for volume, mass in boxes_of(widths, core, epsilon):
        if volume > before:
            inside += mass * max(0.0, min(region.size, volume) - before) / (volume - before)
        before = volume
    assert inside == pytest.approx(level, abs=1e-9)
    sides = [2 * (z + region.extent * s) for s, z in zip(widths, core, strict=True)]
    assert prod(sides) == pytest.approx(region.size, rel=1e-9)


def test_a_box_of_one_answer_has_the_variance_of_a_staircase():
    assert box_variances([3], [1.2], 0.7)[0] == pytest.approx(staircase_variance(3, 1.2, 0.7), rel=1e-9)
    assert grid_box_variances([6], [2], 0.7)[0] == pytest.approx(grid_staircase_variance(6, 3, 0.7), rel=1e-9)


def test_box_variances_on_the_grid_are_sums_over_the_points():
    widths, core, epsilon = (1, 2), (0, 1), 1.5
    points = list(product(range(-30, 31), range(-61, 62)))
    weights = np.array([exp(-epsilon * box_shell(point, widths, core)) for point in points])
    direct = (weights @ np.array(points) ** 2) / weights.sum()
    assert grid_box_variances(widths, core, epsilon) == pytest.approx(direct, rel=1e-9)


def test_a_slow_series_is_summed_in_closed_form():
    """For small epsilon the noise is s / epsilon times a fixed one; with m answers Var_l = (m+1)(m+2) s_l^2 / 3."""
    small = 1e-9
    variances = box_variances([1, 10], [0.5, 5], small)
    assert np.array(variances) * small**2 == pytest.approx([4, 400], rel=1e-6)
    region = box_region([1, 10], [0.5, 5], small, 0.95)
    assert region.extent * small == pytest.approx(laplace_region(1, 2, 0.95).extent, rel=1e-6)


@pytest.mark.parametrize("answers", [1, 2, 3])
def test_laplace_regions_hold_their_level(answers):
    """P(gamma(m) <= q) = 1 - e^-q (1 + q + .. + q^(m-1) / (m-1)!)."""
    region = laplace_region(11, answers, 0.9)
    q = region.extent / 11
    beyond = exp(-q) * sum(q**i / (1, 1, 2)[i] for i in range(answers))
    assert beyond == pytest.approx(0.1, rel=1e-9)
    assert region.size == pytest.approx((2 * region.extent) ** answers / (1, 1, 2, 6)[answers])


def assert_variance(values, variance):
    """Six standard errors of the mean of squares: false alarm 2e-9."""
    squares = np.asarray(values, dtype=np.float64) ** 2
    assert abs(squares.mean() - variance) < 6 * squares.std() / len(squares) ** 0.5


DRAWS = 200_000


def test_noise_has_the_variance_foretold():
    assert_variance(discrete_laplace(7, Fraction(1, 2), DRAWS, seeded(1)), discrete_laplace_variance(14))
    assert_variance(staircase(64, 27, Fraction(1), DRAWS, seeded(2)), grid_staircase_variance(64, 27, 1))
    drawn = box([10, 100], [4, 40], Fraction(1), DRAWS, seeded(3))
    for values, variance in zip(drawn.T, grid_box_variances([10, 100], [4, 40], 1), strict=True):
        assert_variance(values, variance)


@pytest.mark.parametrize("wrong", [0.95, 1.05])
def test_the_test_of_variances_notices_five_percent(wrong):
    noise = staircase(64, 27, Fraction(1), DRAWS, seeded(2))
    with pytest.raises(AssertionError):
        assert_variance(noise, wrong * grid_staircase_variance(64, 27, 1))
