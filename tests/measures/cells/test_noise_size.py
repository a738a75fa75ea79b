"""The test of the size of noise: probabilities against sums by definition, false alarms, and what it finds."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from penstock.measures.cells._noise_size import _LEVELS, box_within, chance, laplace_within
from tests.measures.table_maker import box, laplace

FALSE_ALARM = 1e-9

BOXES = [
    ((1,), (0,), 1.0),
    ((5,), (0,), 0.7),
    ((5,), (4,), 0.7),
    ((7,), (2,), 0.2),
    ((1, 4), (0, 1), 0.8),
    ((3, 2), (2, 1), 1.5),
    ((2, 3, 1), (0, 1, 0), 2.5),
]


def masses(widths, core, epsilon):
    """P(y) of box noise by its definition: e^(-epsilon S(y)), S(y) the first box that has y; far points left out."""
    boxes = math.ceil(34 / epsilon) if len(widths) < 3 else 8
    reach = [z + boxes * d for z, d in zip(core, widths, strict=True)]
    found = {}
    for y in product(*(range(-r, r + 1) for r in reach)):
        shell = max(0, *(math.ceil((abs(value) - z) / d) for value, z, d in zip(y, core, widths, strict=True)), 0)
        found[y] = math.exp(-epsilon * shell)
    total = math.fsum(found.values())
    return {y: mass / total for y, mass in found.items()}


@pytest.mark.parametrize("scale", [0.05, 0.5, 1.0, 3.7, 40.0])
def test_the_chance_of_small_laplace_noise_is_the_sum_of_its_probabilities(scale):
    a = math.exp(-1 / scale)
    for w in range(30):
        expected = math.fsum((1 - a) / (1 + a) * a ** abs(x) for x in range(-w, w + 1))
        found = laplace_within(np.array([w]), np.array([scale]))[0]
        assert found == pytest.approx(expected, rel=1e-12)


def test_the_chance_of_no_noise_at_a_huge_scale_keeps_its_digits():
    """P(N = 0) = tanh(1 / 2b), where 1 - 2a / (1 + a) would lose everything."""
    for scale in (1e6, 1e12, 1e18):
        assert laplace_within(np.array([0]), np.array([scale]))[0] == pytest.approx(1 / (2 * scale), rel=1e-9)


@pytest.mark.parametrize(("widths", "core", "epsilon"), BOXES)
def test_the_chance_of_a_small_box_is_the_sum_of_its_probabilities(widths, core, epsilon):
    mass = masses(widths, core, epsilon)
    lost = 1e-9 if len(widths) < 3 else 1e-3
    rng = np.random.default_rng(1)
    points = np.array(list(mass))[rng.integers(0, len(mass), 20)] // rng.integers(1, 20, (20, 1))
    found = box_within(np.abs(points), widths, core, epsilon)
    for point, likely in zip(points, found, strict=True):
        radius = max(abs(value) / d for value, d in zip(point, widths, strict=True))
        inside = math.fsum(
            p for y, p in mass.items() if all(abs(value) / d <= radius for value, d in zip(y, widths, strict=True))
        )
        assert likely == pytest.approx(inside, rel=lost, abs=lost)


@pytest.mark.parametrize(("widths", "core", "epsilon"), BOXES[:-1])
def test_chances_of_what_is_drawn_are_never_too_small(widths, core, epsilon):
    """P(U <= u) <= u at every u that occurs, exactly, over all points."""
    mass = masses(widths, core, epsilon)
    within = box_within(np.abs(np.array(list(mass))), widths, core, epsilon)
    order = np.argsort(within)
    cumulated = np.cumsum(np.array(list(mass.values()))[order])
    last = np.append(np.diff(within[order]) > 1e-12, True)  # the last of equal ones
    assert (cumulated[last] <= within[order][last] + 1e-9).all()


def test_noise_farther_than_sums_reach_accuses_nobody():
    far = np.array([[3 * 10**6], [2**62], [0]])
    assert box_within(far, (1,), (0,), 1e-7)[:2].tolist() == [1.0, 1.0]
    assert box_within(far[:2], (1,), (0,), 1e-7).tolist() == [1.0, 1.0]
    assert 0 < box_within(far, (1,), (0,), 1e-7)[2] < 1e-6


def test_boxes_of_huge_half_widths_have_chances():
    found = box_within(np.array([[0, 0], [2**60, 2**61]]), (2**60, 2**61), (2**58, 2**59), 0.5)
    assert 0 < found[0] < 1e-30
    assert 0.01 < found[1] < 0.9


@given(st.integers(1, 3000), st.sampled_from(_LEVELS), st.floats(0, 1))
@settings(deadline=None)
def test_the_bound_is_never_below_the_tail_of_the_binomial_distribution(m, level, share):
    hits = math.ceil(share * m)
    within = [np.full(hits, level), np.ones(m - hits)]
    tails = [stats.binom(m, other).sf(hits - 1) for other in _LEVELS if other >= level]
    if chance(within) <= FALSE_ALARM:
        assert min(tails) <= FALSE_ALARM / len(_LEVELS)
    else:
        assert min(tails) > 1e-13  # and it is not far above it


def test_no_noise_at_all_is_no_fault():
    assert chance([]) == 1
    assert chance([np.ones(5)]) == 1


@pytest.mark.parametrize("scale", [0.4, 3.0, 1e5])
def test_sound_laplace_noise_passes_and_half_of_it_does_not(scale):
    """2,000 noises; a false alarm has probability 1e-9."""
    rng = np.random.default_rng(7)
    for factor, found in ((1, False), (2, False), (0.5, True)):
        drawn = np.abs([laplace(rng, scale * factor) for _ in range(2000)])
        assert (chance([laplace_within(drawn, np.full(2000, scale))]) <= FALSE_ALARM) == found


@pytest.mark.parametrize(("widths", "core", "epsilon"), BOXES)
def test_sound_box_noise_passes_and_noise_of_twice_the_epsilon_does_not(widths, core, epsilon):
    """2,000 noises; a false alarm has probability 1e-9."""
    rng = np.random.default_rng(7)
    for factor, found in ((1, False), (2, True)):
        drawn = np.abs([box(rng, widths, core, epsilon * factor) for _ in range(2000)])
        assert (chance([box_within(drawn, widths, core, epsilon)]) <= FALSE_ALARM) == found


def test_one_forgotten_noise_among_many_is_too_few_to_tell_and_ten_are_not():
    rng = np.random.default_rng(7)
    scales = np.full(500, 1e6)
    drawn = np.abs([laplace(rng, 1e6) for _ in range(500)])
    for forgotten, found in ((1, False), (30, True)):
        drawn[:forgotten] = 0
        assert (chance([laplace_within(drawn, scales)]) <= FALSE_ALARM) == found
