"""Pure differential privacy of the exact laws, by going through all shifts of small cases.

A shift moves a value by at most one shell, and a shell is worth one factor e^epsilon; shells are integers, so nothing
is rounded here. That the samplers have these laws is shown in test_noise_samplers.py and test_noise_distributions.py.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.noise import scale_at_least
from tests.mechanisms.noise_chance import box_shell, laplace_law, staircase_law, staircase_shell

STEPS = [(d, r) for d in range(1, 10) for r in range(1, d + 1)]
BOXES = [
    (widths, core)
    for widths in [(1,), (4,), (1, 2), (3, 2), (1, 1, 2)]
    for core in product(*(range(d) for d in widths))
]


def farthest(shell, places, shifts):
    """The most shells that a shift moves a value by."""
    return max(abs(shell(place) - shell(shifted)) for place in places for shifted in shifts(place))


@pytest.mark.parametrize(("d", "r"), STEPS)
def test_a_shift_within_the_sensitivity_moves_by_one_step_of_the_staircase(d, r):
    places = range(-r - 4 * d, r + 4 * d + 1)
    assert farthest(lambda j: staircase_shell(j, d, r), places, lambda j: range(j - d, j + d + 1)) == 1


@pytest.mark.parametrize(("d", "r"), STEPS)
def test_the_staircase_test_notices_a_shift_beyond_the_sensitivity(d, r):
    places = range(-r - 4 * d, r + 4 * d + 1)
    assert farthest(lambda j: staircase_shell(j, d, r), places, lambda j: [j + d + 1]) == 2


@pytest.mark.parametrize("d", range(2, 10))
def test_the_staircase_test_notices_steps_narrower_than_the_sensitivity(d):
    places = range(-5 * d, 5 * d + 1)
    assert farthest(lambda j: staircase_shell(j, d - 1, 1), places, lambda j: range(j - d, j + d + 1)) == 2


@pytest.mark.parametrize(("d", "r"), [(1, 1), (4, 2), (7, 3)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_staircase_probabilities_differ_by_at_most_e_to_the_epsilon(d, r, epsilon):
    law = staircase_law(d, r, epsilon)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    for j, shift in product(range(-5 * d, 5 * d + 1), range(-d, d + 1)):
        assert law[j] <= exp(epsilon) * law[j + shift] * (1 + 1e-12)


@pytest.mark.parametrize("d", [1, 3, 6])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_laplace_probabilities_differ_by_at_most_e_to_the_epsilon(d, epsilon):
    law = laplace_law(d / epsilon)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    reached = 0.0
    for i, shift in product(range(-3 * d, 3 * d + 1), range(-d, d + 1)):
        reached = max(reached, law[i] / law[i + shift])
    assert reached == pytest.approx(exp(epsilon), rel=1e-12)


@pytest.mark.parametrize(("widths", "core"), BOXES)
def test_a_shift_within_all_half_widths_moves_by_one_box(widths, core):
    places = list(product(*(range(-z - 2 * d, z + 2 * d + 1) for d, z in zip(widths, core, strict=True))))
    assert (
        farthest(
            lambda point: box_shell(point, widths, core),
            places,
            lambda point: product(*(range(y - d, y + d + 1) for y, d in zip(point, widths, strict=True))),
        )
        == 1
    )


@pytest.mark.parametrize(("widths", "core"), BOXES)
def test_the_box_test_notices_a_shift_beyond_one_half_width(widths, core):
    corner = tuple(core)
    beyond = (corner[0] + widths[0] + 1, *corner[1:])
    assert box_shell(corner, widths, core) == 0
    assert box_shell(beyond, widths, core) == 2


def choice(scores, scale):
    weights = [exp(-score / scale) for score in scores]
    return [weight / sum(weights) for weight in weights]


def loss(before, after, scale):
    return max(p / q for p, q in zip(choice(before, scale), choice(after, scale), strict=True))


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(-3, 3)), min_size=1, max_size=5))
def test_choices_differ_by_at_most_e_to_the_epsilon_where_scores_move_both_ways(moves):
    before, after = [score for score, _ in moves], [score + move for score, move in moves]
    epsilon = Fraction(1)
    assert loss(before, after, scale_at_least(2 * 3, epsilon)) <= exp(epsilon) * (1 + 1e-12)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), min_size=1, max_size=5))
def test_half_the_scale_suffices_where_scores_move_one_way(moves):
    before, after = [score for score, _ in moves], [score + move for score, move in moves]
    epsilon = Fraction(1)
    scale = scale_at_least(3, epsilon)
    assert max(loss(before, after, scale), loss(after, before, scale)) <= exp(epsilon) * (1 + 1e-12)


def test_half_the_scale_would_be_noticed_where_scores_move_both_ways():
    """One good alternative gets worse by 3 and a hundred bad ones better by 3."""
    before, after = [0, *[9] * 100], [3, *[6] * 100]
    assert loss(before, after, scale_at_least(3, Fraction(1))) > exp(1)
