"""The worked examples and the axioms of the second version of individual differential privacy, by exact laws.

Examples 1 and 2, the data sets D1 to D4 of section 4.2, the groups of section 4.3, and Propositions 3 and 4. Laws are
those of the discrete Laplace noise that is drawn, with the scale of the actual data on both sides.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.numbers.grid import grid_of
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import ScaleZero
from penstock.mechanisms.statistics import _local as local
from penstock.mechanisms.statistics._groups import SortedGroups
from penstock.mechanisms.statistics._individual import exact_figure, released
from penstock.mechanisms.statistics._settings import Statistic
from penstock.mechanisms.statistics._several import fractions_of_epsilon

BINARY = grid_of(Column(role="confidential", type="integer", domain=(0, 1)), "x")
MEDIAN = Statistic(statistic="median", of="x")
REACH = 200


def of(zeros, ones):
    return SortedGroups(np.repeat([0, 1], [zeros, ones]), np.array([0, zeros + ones]))


def median_moves(zeros, ones):
    """In whole steps."""
    return Fraction(int(local.median_in_half_steps(of(zeros, ones), low=0, high=1)[0]), 2)


@pytest.mark.parametrize("m", [1, 2, 5, 49])
def test_example_1_the_median_of_bits_moves_in_two_data_sets_only(m):
    n = 2 * m + 1
    assert [zeros for zeros in range(n + 1) if median_moves(zeros, n - zeros)] == [m, m + 1]


@pytest.mark.parametrize("m", [1, 2, 5])
def test_example_2_neighbours_with_one_median_have_scales_0_and_1(m):
    """So under noise of the local scale they are told apart for certain: which scale was used is what is not hidden."""
    exact = [exact_figure(MEDIAN, BINARY, of(zeros, 2 * m + 1 - zeros)) for zeros in (m + 2, m + 1)]
    assert [each.values.tolist() for each in exact] == [[0], [0]]
    assert [each.steps.tolist() for each in exact] == [[0], [2]]


@pytest.mark.parametrize(("zeros", "ones"), [(4, 1), (9, 90)], ids=["D1", "D3"])
def test_a_median_that_no_person_moves_may_be_printed_says_the_source_and_is_refused_here(zeros, ones):
    """D1 and D3: without noise. That there is none would tell that the data are far from balanced."""
    assert median_moves(zeros, ones) == 0
    with pytest.raises(ScaleZero):
        released(exact_figure(MEDIAN, BINARY, of(zeros, ones)), "x_median", Fraction(1), seeded(1))


@pytest.mark.parametrize(("zeros", "ones"), [(3, 2), (49, 50)], ids=["D2", "D4"])
def test_a_median_that_one_person_moves_gets_noise(zeros, ones):
    assert median_moves(zeros, ones) == 1
    assert len(released(exact_figure(MEDIAN, BINARY, of(zeros, ones)), "x_median", Fraction(1), seeded(1))) == 1


def test_two_persons_of_d1_are_protected_by_a_list_only():
    """Two replaced records of D1 move the median from 0 to 1, which (2, 2) gives noise to, and 2 alone does not."""
    assert exact_figure(MEDIAN, BINARY, of(4, 1)).steps.tolist() == [0]
    listed = (Fraction(2), Fraction(2))
    assert exact_figure(MEDIAN, BINARY, of(4, 1), fractions_of_epsilon(listed)).steps.tolist() == [2]


# Axioms


def law(centre, scale):
    """The discrete Laplace law on a wide range around 0; what lies beyond has next to no weight and is left out."""
    alpha = exp(-1 / scale)
    return {y: (1 - alpha) / (1 + alpha) * alpha ** abs(y - centre) for y in range(-REACH, REACH + 1)}


def largest_loss(one, other):
    return max(
        inf if not (one.get(y) and other.get(y)) else abs(log(one[y] / other[y]))
        for y in {**one, **other}
        if one.get(y) or other.get(y)
    )


def processed(found, kernel):
    out: dict[int, float] = {}
    for y, share in found.items():
        for z, chance in kernel(y).items():
            out[z] = out.get(z, 0.0) + share * chance
    return out


MOVES, EPSILON = 3, 1.0
ACTUAL, NEIGHBOUR = law(0, MOVES / EPSILON), law(MOVES, MOVES / EPSILON)


@given(st.integers(1, 9), st.integers(-5, 5), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_proposition_3_chance_that_does_not_look_at_the_data_loses_nothing(width, shift, kept):
    """Transformation invariance: bands of any width, kept with some chance and else replaced by one answer."""

    def kernel(y):
        band, chance = (y + shift) // width, {0: 1 - kept}
        chance[band] = chance.get(band, 0.0) + kept
        return chance

    assert largest_loss(ACTUAL, NEIGHBOUR) == pytest.approx(EPSILON)
    assert largest_loss(processed(ACTUAL, kernel), processed(NEIGHBOUR, kernel)) <= EPSILON + 1e-9


def test_proposition_3_does_not_hold_of_processing_that_looks_at_the_data():
    """The clamped count of the first version: each world cut off at its own figure plus or minus 1."""

    def near(centre):
        return lambda y: {min(max(y, centre - 1), centre + 1): 1.0}

    assert largest_loss(processed(ACTUAL, near(0)), processed(NEIGHBOUR, near(MOVES))) == inf


@given(st.sampled_from([0.01, 0.3, 0.99]), st.sampled_from([1, 2, 5]))
def test_proposition_4_a_choice_between_two_releases_by_chance_loses_no_more_than_the_worse(p, other_scale):
    """The axiom of choice: another figure, that moves by 1, beside the first; the coin knows nothing of the data."""
    second = law(0, other_scale), law(1, other_scale)
    mixed = [
        {
            (name, y): weight * share
            for name, weight, found in ((1, p, first), (2, 1 - p, other))
            for y, share in found.items()
        }
        for first, other in ((ACTUAL, second[0]), (NEIGHBOUR, second[1]))
    ]
    assert largest_loss(*mixed) <= max(EPSILON, 1 / other_scale) + 1e-9


def test_proposition_4_does_not_hold_of_a_coin_that_looks_at_the_data():
    mixed = [
        {(name, y): weight * share for name, weight in ((1, p), (2, 1 - p)) for y, share in found.items()}
        for p, found in ((0.9, ACTUAL), (0.1, NEIGHBOUR))
    ]
    assert largest_loss(*mixed) > EPSILON + 1


def test_both_axioms_hold_of_a_release_of_the_data_themselves():
    """So neither says that a mechanism protects anything: with D itself as scale, epsilon is 0 by the definition."""
    always_the_actual_data = {"D": 1.0}
    assert largest_loss(always_the_actual_data, always_the_actual_data) == 0
