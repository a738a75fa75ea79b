"""The samplers draw what their definitions say: the definitions have the right law, and the product follows them.

The law of a definition is found by following every way chance can go. The product then gives the same value as the
definition for the same words, whatever the settings, and in whatever portions the words arrive.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, exp, factorial, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.noise import bernoulli_exp, box, choose, discrete_laplace, geometric, scale_at_least, staircase
from penstock.mechanisms.randomness import seeded
from tests.mechanisms.noise_by_definition import (
    Definition,
    EveryWay,
    EveryWayAboveGeometric,
    EveryWayAboveSurvival,
    FromWords,
    law,
)
from tests.mechanisms.noise_chance import (
    InPortions,
    box_shell,
    geometric_law,
    laplace_law,
    staircase_law,
    staircase_shell,
)
from tests.support.order import examples

LARGEST = 2**63 - 1
SEEDS = st.integers(0, 2**32)
# From exact quotients to scales that fill 62 bits.
EPSILONS = st.fractions(Fraction(1, 50), 20, max_denominator=1000)
TINY_EPSILONS = st.fractions(Fraction(1, 2**30), Fraction(1, 2**10), max_denominator=2**40)
SENSITIVITIES = st.one_of(st.integers(1, 5), st.integers(1, 10**6), st.integers(2**50, 2**55))


def assert_near(found, expected, left_out):
    for value in found.keys() | {value for value, share in expected.items() if share > left_out}:
        assert found.get(value, 0.0) == pytest.approx(expected.get(value, 0.0), abs=left_out + 1e-12)


@pytest.mark.parametrize(("a", "t"), [(0, 1), (1, 1), (1, 3), (2, 3), (5, 7), (3, 1), (7, 2)])
def test_survival_has_probability_e_to_the_minus_x(a, t):
    found, left_out = law(lambda chance: chance.survives(a, t), EveryWay, cutoff=1e-11)
    assert left_out < 1e-7
    assert_near(found, {True: exp(-a / t), False: 1 - exp(-a / t)}, left_out)


@pytest.mark.parametrize(("t", "s"), [(1, 1), (1, 4), (5, 1), (3, 2), (7, 3)])
def test_the_quotient_is_geometric(t, s):
    found, left_out = law(lambda chance: chance.geometric(t, s), EveryWayAboveSurvival)
    assert left_out < 1e-6
    assert_near(found, geometric_law(s / t), left_out)


@pytest.mark.parametrize(("t", "s"), [(1, 1), (1, 4), (5, 1), (3, 2), (7, 3)])
def test_size_and_sign_make_discrete_laplace_noise(t, s):
    found, left_out = law(lambda chance: chance.laplace(t, s), EveryWayAboveGeometric)
    assert left_out < 1e-6
    assert_near(found, laplace_law(t / s), left_out)


class BothZeros(EveryWayAboveGeometric):
    def until(self, attempt):
        value = attempt()
        return 0 if value is None else value


def test_following_every_way_notices_that_both_zeros_are_kept():
    found, left_out = law(lambda chance: chance.laplace(3, 2), BothZeros)
    with pytest.raises(AssertionError):
        assert_near(found, laplace_law(3 / 2), left_out)


@pytest.mark.parametrize(("d", "r"), [(1, 1), (3, 1), (3, 2), (4, 4)])
def test_shell_and_place_make_staircase_noise(d, r):
    found, left_out = law(lambda chance: chance.staircase(d, r, 4, 3), EveryWayAboveGeometric)
    assert left_out < 1e-6
    assert_near(found, staircase_law(d, r, 3 / 4), left_out)


class Dictated(Definition):
    """Draws settled beforehand: the layer, then one number after the other."""

    def __init__(self, layer, numbers):
        self._layers = [layer]
        self._numbers = list(numbers)

    def geometric(self, t, s):
        return self._layers.pop() if self._layers else 0

    def below(self, n):
        return self._numbers.pop(0)

    def until(self, attempt):
        return attempt()


@pytest.mark.parametrize(("d", "r"), [(d, r) for d in range(1, 6) for r in range(1, d + 1)])
def test_each_integer_of_a_shell_is_reached_by_exactly_one_place(d, r):
    """So P(j) = P(shell) / 2d for every j of the shell: the law holds exactly, with no float in the proof."""
    reached = [
        (value, shell)
        for shell, u in product(range(4), range(2 * d))
        if (value := Dictated(shell, [u]).staircase(d, r, 1, 1)) is not None
    ]
    reach = r + 3 * d
    assert sorted(reached) == [(j, staircase_shell(j, d, r)) for j in range(1 - reach, reach)]


BOXES = [((1,), (0,)), ((3,), (2,)), ((1, 2), (0, 1)), ((2, 3), (1, 0)), ((1, 1, 2), (0, 0, 1))]


@pytest.mark.parametrize(("widths", "core"), BOXES)
@pytest.mark.parametrize("layer", range(3))
def test_each_point_of_a_box_is_reached_by_exactly_one_draw(widths, core, layer):
    """So the box is accepted with probability |box| / product of 2 d_l (layer + l), and the point is uniform in it.

    With the law of the layer (next test), where the product of (i + l) cancels, the chance of a point is then
    proportional to the sum of b^i over the boxes that hold it, so to b^(its shell).
    """
    draws = [range(size) for place, d in enumerate(widths) for size in (layer + place + 1, 2 * d)]
    reached = [
        point for numbers in product(*draws) if (point := Dictated(layer, numbers).box(widths, core, 1, 1)) is not None
    ]
    sides = [range(-(z + layer * d), z + layer * d + 1) for d, z in zip(widths, core, strict=True)]
    assert sorted(reached) == sorted(product(*sides))
    assert all(box_shell(point, widths, core) <= layer for point in reached)
    assert len(reached) == prod(len(side) for side in sides)


@pytest.mark.parametrize("answers", range(1, 4))
def test_the_layer_has_the_law_that_makes_box_noise(answers):
    found, left_out = law(
        lambda chance: sum(chance.geometric(2, 3) for _ in range(answers + 1)), EveryWayAboveGeometric, cutoff=1e-8
    )
    b = exp(-3 / 2)
    expected = {i: comb(i + answers, answers) * b**i * (1 - b) ** (answers + 1) for i in range(200)}
    assert left_out < 1e-3
    assert_near(found, expected, left_out)
    for i in range(50):
        assert factorial(answers) * comb(i + answers, answers) == prod(i + place + 1 for place in range(answers))


def test_a_uniform_alternative_that_survives_is_the_exponential_mechanism():
    scores = (3, -1, 0, 7)
    found, left_out = law(lambda chance: chance.choice(scores, 5, 2), EveryWayAboveSurvival)
    weights = [exp(-score * 2 / 5) for score in scores]
    assert_near(found, {a: weight / sum(weights) for a, weight in enumerate(weights)}, left_out)


def saturated(value):
    return max(-LARGEST, min(LARGEST, value))


@given(st.fractions(0, 30, max_denominator=2**50), SEEDS)
def test_survivals_follow_the_definition_word_for_word(x, seed):
    definition = FromWords(seeded(seed))
    expected = [definition.survives(x.numerator, x.denominator) for _ in range(20)]
    assert bernoulli_exp(x, 20, seeded(seed)).tolist() == expected


@given(st.one_of(EPSILONS, TINY_EPSILONS), SEEDS)
def test_geometric_values_follow_the_definition_word_for_word(epsilon, seed):
    scale, definition = scale_at_least(1, epsilon), FromWords(seeded(seed))
    expected = [saturated(definition.geometric(scale.numerator, scale.denominator)) for _ in range(20)]
    assert geometric(epsilon, 20, seeded(seed)).tolist() == expected


@given(st.one_of(SENSITIVITIES, st.integers(2**55, 2**56)), EPSILONS, SEEDS)
def test_laplace_noise_follows_the_definition_word_for_word(sensitivity, epsilon, seed):
    scale, definition = scale_at_least(sensitivity, epsilon), FromWords(seeded(seed))
    expected = [saturated(definition.laplace(scale.numerator, scale.denominator)) for _ in range(20)]
    assert discrete_laplace(sensitivity, epsilon, 20, seeded(seed)).tolist() == expected


@st.composite
def steps(draw):
    d = draw(st.one_of(SENSITIVITIES, st.integers(2**60, 2**61)))
    return d, draw(st.integers(max(1, d // 4), d))


@given(steps(), st.one_of(EPSILONS, TINY_EPSILONS), SEEDS)
def test_staircase_noise_follows_the_definition_word_for_word(step, epsilon, seed):
    (d, r), scale, definition = step, scale_at_least(1, epsilon), FromWords(seeded(seed))
    expected = [saturated(definition.staircase(d, r, scale.numerator, scale.denominator)) for _ in range(10)]
    assert staircase(d, r, epsilon, 10, seeded(seed)).tolist() == expected


@st.composite
def boxes(draw):
    widths = draw(st.lists(st.one_of(SENSITIVITIES, st.integers(2**60, 2**61)), min_size=1, max_size=3))
    return widths, [draw(st.integers(d // 2, d - 1)) for d in widths]


@given(boxes(), st.one_of(st.fractions(Fraction(1, 50), 2, max_denominator=1000), TINY_EPSILONS), SEEDS)
def test_box_noise_follows_the_definition_word_for_word(sides, epsilon, seed):
    (widths, core), scale, definition = sides, scale_at_least(1, epsilon), FromWords(seeded(seed))
    expected = [
        [saturated(y) for y in definition.box(widths, core, scale.numerator, scale.denominator)] for _ in range(5)
    ]
    assert box(widths, core, epsilon, 5, seeded(seed)).tolist() == expected


ANY_SCORE = st.one_of(st.integers(-20, 20), st.integers(-(2**63), 2**63 - 1))


@given(
    st.lists(st.lists(ANY_SCORE, min_size=4, max_size=4), min_size=1, max_size=5),
    st.one_of(st.fractions(Fraction(1, 100), 100, max_denominator=1000), st.fractions(2**33, 2**62)),
    SEEDS,
)
def test_choices_follow_the_definition_word_for_word(scores, scale, seed):
    used, definition = scale_at_least(1, 1 / scale), FromWords(seeded(seed))
    expected = [definition.choice(row, used.numerator, used.denominator) for row in scores]
    assert choose(np.array(scores, dtype=np.int64), scale, seeded(seed)).tolist() == expected


SAMPLERS = [
    lambda size, source: bernoulli_exp(Fraction(7, 3), size, source),
    lambda size, source: geometric(Fraction(3, 7), size, source),
    lambda size, source: discrete_laplace(5, Fraction(3, 7), size, source),
    lambda size, source: discrete_laplace(2**40, Fraction(3, 7), size, source),
    lambda size, source: staircase(5, 2, Fraction(3, 7), size, source),
    lambda size, source: box([5, 2**40], [2, 7], Fraction(3, 7), size, source),
    lambda size, source: choose(np.arange(5 * size).reshape(size, 5) % 7, Fraction(3, 7), source),
]


@pytest.mark.parametrize("sampler", SAMPLERS)
@given(seed=SEEDS, most=st.integers(1, 40), size=st.integers(0, 30))
@settings(max_examples=examples(30))
def test_the_portions_in_which_words_arrive_change_nothing(sampler, seed, most, size):
    assert sampler(size, InPortions(seed, most)).tolist() == sampler(size, seeded(seed)).tolist()


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_many_values_take_many_portions_and_stay_the_same(sampler):
    assert sampler(5_000, InPortions(1, 1_000)).tolist() == sampler(5_000, seeded(1)).tolist()


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_nothing_is_drawn_for_no_values(sampler):
    assert len(sampler(0, InPortions(1, 0))) == 0


@given(
    st.integers(1, 2**62),
    st.tuples(*[st.integers(-(2**62) + 1, 2**62 - 1)] * 3).map(sorted),
    SEEDS,
)
def test_a_clamped_answer_is_the_clamped_exact_sum(sensitivity, interval, seed):
    low, answer, high = interval
    scale, definition = scale_at_least(sensitivity, Fraction(1)), FromWords(seeded(seed))
    exact = [definition.laplace(scale.numerator, scale.denominator) for _ in range(10)]
    noise = discrete_laplace(sensitivity, Fraction(1), 10, seeded(seed))
    f = np.int64(answer)
    released = f + np.clip(noise, low - f, high - f)
    assert released.tolist() == [max(low, min(high, answer + value)) for value in exact]
