"""Refined masses equal their definition, keep their factors whatever the prior is, and are what answers are drawn by.

Source of the numbers: Soria-Comas 2013 (thesis), Example 8 and Table 5.5, computed again to six digits.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refinement import refine
from penstock.mechanisms.refinement.axes import Axis, Line, Matrix
from penstock.mechanisms.refinement.refine import MOST_WEIGHT, UNIT, Factors, Refined, by_presence, by_value
from tests.laws.chance import FALSE_ALARM
from tests.mechanisms.noise_chance import assert_law
from tests.mechanisms.refinement import by_definition
from tests.mechanisms.refinement.axes_drawn_from import CASES, TRIALS, of
from tests.mechanisms.refinement.by_definition import epsilons, exponential, listed, on_line, priors, tables
from tests.support.order import examples

by_many_priors = settings(max_examples=examples(20_000, at_first=150))
law = settings(max_examples=examples(1000, at_first=60))
both = pytest.mark.parametrize("factors", [by_value, by_presence])
TINY, ONE, LARGEST = Fraction(1, 10**9), Fraction(1), Fraction(64)


def on_the_line(weights: list[int], factors: Factors) -> Refined:
    return Refined(Line(of(weights)), factors)


def as_fractions(factors: Factors) -> tuple[Fraction, Fraction]:
    return Fraction(factors.up, UNIT), Fraction(factors.down, UNIT)


def assert_as_defined(weights: list[int], axis: Axis, distance: by_definition.Distance, factors: Factors) -> None:
    """Masses equal the definition to the last digit, so they add up to 1; the shell's factor lies between the two."""
    up, down = as_fractions(factors)
    for true in range(len(weights)):
        expected, between = by_definition.refined(weights, distance, true, up, down)
        found = Refined(axis, factors).masses(true)
        assert found == expected
        assert sum(found) == 1
        assert down <= between <= up
        assert all(mass == 0 for mass, weight in zip(found, weights, strict=True) if weight == 0)


@by_many_priors
@given(priors(), epsilons(), st.sampled_from([by_value, by_presence]))
def test_masses_on_a_line_equal_the_definition(weights, epsilon, factors):
    assert_as_defined(weights, Line(of(weights)), on_line, factors(epsilon))


@by_many_priors
@given(st.data(), priors(most=6), epsilons(), st.sampled_from([by_value, by_presence]))
def test_masses_by_given_distances_equal_the_definition(data, weights, epsilon, factors):
    table = data.draw(tables(len(weights)))
    assert_as_defined(weights, Matrix(of(weights), of(table)), listed(table), factors(epsilon))


def test_the_comparison_notices_factors_of_another_epsilon():
    weights = [1, 2, 3, 2, 1]
    up, down = as_fractions(by_value(Fraction(11, 10)))
    expected, _ = by_definition.refined(weights, on_line, 2, up, down)
    assert on_the_line(weights, by_value(ONE)).masses(2) != expected


def ratios(refined: Refined) -> list[Fraction]:
    """Return, for every possible answer, the ratio of its probabilities under every two truths."""
    masses = [refined.masses(true) for true in range(len(refined.axis.weights))]
    return [one[y] / other[y] for one in masses for other in masses for y in range(len(one)) if other[y]]


@law
@given(priors(most=6), epsilons())
def test_two_truths_are_told_apart_by_at_most_epsilon(weights, epsilon):
    most, _ = exponential(epsilon)
    assert max(ratios(on_the_line(weights, by_value(epsilon)))) <= max(most, 1)


@law
@given(priors(most=6), epsilons())
def test_a_truth_is_told_from_the_prior_by_at_most_epsilon(weights, epsilon):
    most, _ = exponential(epsilon)
    least = 1 / most
    refined = on_the_line(weights, by_presence(epsilon))
    for true in range(len(weights)):
        for mass, weight in zip(refined.masses(true), weights, strict=True):
            prior = Fraction(weight, sum(weights))
            assert least * prior <= mass <= most * prior or mass == prior


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), ONE, Fraction(7, 10)])
def test_the_factors_of_the_thesis_lose_twice_epsilon_where_a_value_is_replaced(epsilon):
    """A point of little weight is inside for one truth and outside for another. Ours lose epsilon on the same."""
    _, most = exponential(epsilon)
    weights = [2**20, 2**20 // 100, 2**20]
    printed = max(ratios(on_the_line(weights, by_presence(epsilon))))
    assert printed > most
    assert math.log(printed) == pytest.approx(2 * float(epsilon), rel=1e-5)
    ours = max(ratios(on_the_line(weights, by_value(epsilon))))
    assert math.log(ours) == pytest.approx(float(epsilon), rel=1e-5)
    assert ours < most


@law
@given(epsilons())
def test_factors_are_rounded_to_the_safe_side_and_no_further_than_needed(epsilon):
    below, above = exponential(epsilon)
    for factors, ratio in ((by_value(epsilon), lambda up, down: up / down), (by_presence(epsilon), max)):
        up, down = as_fractions(factors)
        assert down <= 1 <= up
        assert ratio(up, 1 / down if ratio is max else down) <= max(below, 1)
    up, down = as_fractions(by_presence(epsilon))
    assert up > min(above - Fraction(1, 2**21), Fraction(2**37))
    assert down < 1 / below + Fraction(1, 2**21)


@law
@given(epsilons())
def test_the_power_that_factors_rest_on_is_below_the_true_one_and_close_to_it(epsilon):
    below, above = exponential(epsilon)
    found = refine._exponential_at_most(epsilon)
    assert 1 <= found < above
    assert below - found < max(1, below) * Fraction(1, 2**54)


@both
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), LARGEST + TINY])
def test_an_epsilon_that_is_no_promise_has_no_factors(factors, epsilon):
    with pytest.raises(ValueError, match="above 0 and at most 64"):
        factors(epsilon)


@both
def test_next_to_no_epsilon_gives_the_prior(factors):
    weights = [5, 0, 3, 2**40 - 8]
    for true in range(4):
        assert on_the_line(weights, factors(TINY)).masses(true) == [Fraction(weight, 2**40) for weight in weights]


@both
def test_the_largest_epsilon_gives_the_truth_or_what_is_nearest_to_it(factors):
    weights = [1, 1, 0, 0, 2]
    for true, nearest in enumerate([0, 1, 1, 4, 4]):
        assert 1 - on_the_line(weights, factors(LARGEST)).masses(true)[nearest] < Fraction(1, 2**20)


@both
@pytest.mark.parametrize("epsilon", [TINY, ONE, LARGEST])
def test_weights_that_add_up_to_the_most_that_is_allowed_overflow_nothing(factors, epsilon):
    weights = [1, MOST_WEIGHT // 2, 0, MOST_WEIGHT // 2 - 2, 1]
    refined = on_the_line(weights, factors(epsilon))
    for axis in (refined.axis, Matrix(of(weights), of([[abs(x - y) for y in range(5)] for x in range(5)]))):
        assert_as_defined(weights, axis, on_line, refined.factors)
        for true in range(5):
            drawn = Refined(axis, refined.factors).draw(np.full(2000, true), seeded(true))
            assert drawn.min() >= 0
            assert drawn.max() <= 4
            assert not (drawn == 2).any()


# Golden numbers. A fine grid stands for the interval, so an edge is right to one step of 2^-14.
STEPS = 2**14
FIGURES = {  # epsilon: width of the inside, its probability, variance of the answer
    "0.1": (Fraction(1, 10), 0.475021, 0.524979, 0.077193),
    "ln 2": (Fraction(math.log(2)), 0.333333, 0.666667, 0.046296),
    "1": (ONE, 0.268941, 0.731059, 0.034467),
    "2": (Fraction(2), 0.119203, 0.880797, 0.012302),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_uniform_prior_on_an_interval_has_the_figures_of_table_5_5(name):
    """Within 2e-6, and one step for the width: weights out of 2^22 change factors by 2.4e-7 each."""
    epsilon, width, inside, variance = FIGURES[name]
    refined = on_the_line([1] * (STEPS + 1), by_presence(epsilon))
    masses = refined.masses(STEPS // 2)
    heavy = [mass for mass in masses if mass > Fraction(1, STEPS + 1)]
    assert len(heavy) / STEPS == pytest.approx(width, abs=2 / STEPS)
    assert float(sum(heavy)) == pytest.approx(inside, abs=math.exp(epsilon) * 2 / STEPS)
    assert float(refined.factors.share_inside) == pytest.approx(1 / (1 + math.exp(epsilon)), abs=2e-7)
    by_points = sum(float(mass) * (place / STEPS - 0.5) ** 2 for place, mass in enumerate(masses))
    assert by_points == pytest.approx(variance, abs=2e-5)
    [square] = refined.mean_square(of([STEPS // 2]))
    assert square / STEPS**2 == pytest.approx(by_points, rel=1e-9)


def test_a_rare_value_is_answered_as_seldom_as_epsilon_asks():
    refined = on_the_line([99, 1], by_presence(ONE))
    assert float(refined.masses(0)[1]) == pytest.approx(0.0036788, abs=1e-7)
    assert float(refined.masses(1)[1]) == pytest.approx(0.0271828, abs=1e-7)
    marginal = 0.99 * refined.masses(0)[1] + 0.01 * refined.masses(1)[1]
    assert float(marginal) == pytest.approx(0.0039138, abs=1e-7)


def test_two_even_values_have_the_figures_of_example_8():
    """The shell is the true value itself, so its factor is what is left."""
    refined = on_the_line([1, 1], by_presence(ONE))
    here, there = refined.masses(0)
    assert (float(there), float(here)) == pytest.approx((0.183940, 0.816060), abs=1e-6)
    assert float(2 * here) == pytest.approx(1.632121, abs=1e-6)
    joint = [one * other for one in (here, there) for other in (here, there)]
    without_the_first = [Fraction(1, 2) * other for _ in range(2) for other in (here, there)]
    found = [float(one / other) for one, other in zip(joint, without_the_first, strict=True)]
    assert found == pytest.approx([1.632121, 1.632121, 0.367879, 0.367879], abs=1e-6)


# Draws.
with_axis = pytest.mark.parametrize("case", CASES)


def assert_drawn_by_masses(axis: Axis, drawn_by: Factors, expected: Factors) -> None:
    """For every truth, by chi-square; a right sampler is refused once in 1e9 / 8 seeds."""
    assert FALSE_ALARM == 1e-9
    truths = np.tile(np.arange(8), TRIALS)
    answers = Refined(axis, drawn_by).draw(truths, seeded(7))
    for true in range(8):
        masses = {place: float(mass) for place, mass in enumerate(Refined(axis, expected).masses(true))}
        own = answers[truths == true]
        assert_law(own, masses)
        assert not np.isin(own, np.flatnonzero(axis.weights == 0)).any()


@with_axis
@both
def test_answers_are_drawn_by_the_refined_masses(case, factors):
    assert_drawn_by_masses(CASES[case], factors(ONE), factors(ONE))


@with_axis
def test_the_test_of_draws_notices_factors_of_a_larger_epsilon(case):
    with pytest.raises(AssertionError):
        assert_drawn_by_masses(CASES[case], by_value(Fraction(13, 10)), by_value(ONE))


@with_axis
def test_the_test_of_draws_notices_a_prior_that_was_never_refined(case):
    with pytest.raises(AssertionError):
        assert_drawn_by_masses(CASES[case], by_value(TINY), by_value(ONE))


def test_draws_of_one_truth_do_not_depend_on_the_truths_beside_it():
    """Each is its own: the same share of answers, whether the others are alike or not."""
    refined = Refined(CASES["line"], by_value(ONE))
    masses = {place: float(mass) for place, mass in enumerate(refined.masses(5))}
    assert_law(refined.draw(np.full(TRIALS, 5), seeded(1)), masses)
    mixed = refined.draw(np.where(np.arange(2 * TRIALS) % 2, 5, 0), seeded(2))
    assert_law(mixed[1::2], masses)
    first, second = mixed[1::2][:-1], mixed[1::2][1:]
    joint = {(x, y): masses[x] * masses[y] for x in masses for y in masses}
    assert_law(np.column_stack([first, second])[::2], joint)


class Scripted:
    """Words that a test has chosen, in turn."""

    from_system = False

    def __init__(self, *words: int) -> None:
        self._words = list(words)

    def words(self, count: int) -> np.ndarray:
        taken, self._words = self._words[:count], self._words[count:]
        assert len(taken) == count
        return np.array(taken, np.uint64)

    def streams(self, count: int) -> list[Scripted]:
        return [self] * count


@law
@given(st.data(), priors(most=5), st.sampled_from([by_value, by_presence]), st.booleans())
def test_every_position_belongs_to_a_point_as_often_as_its_weight_says(data, weights, factors, on_a_line):
    """All positions of an axis are visited: inside, shell, outside, each point in proportion."""
    small = [weight % 7 for weight in weights]
    small[0] += not any(small)
    table = [[abs(x - y) for y in range(len(small))] for x in range(len(small))]
    axis = Line(of(small)) if on_a_line else Matrix(of(small), of(table))
    refined = Refined(axis, factors(ONE))
    true = data.draw(st.integers(0, len(small) - 1))
    regions = axis.regions(of([true]), refined.threshold)
    points = regions.points(np.zeros(refined.total, np.int64), np.arange(refined.total))
    assert np.bincount(points, minlength=len(small)).tolist() == small
    _, beyond = regions.steps_beyond(0)
    assert np.sign(beyond[points]).tolist() == sorted(np.sign(beyond[points]).tolist())
    inside, shell = int(regions.inside[0]), int(regions.shell[0])
    assert np.sign(beyond[points]).tolist() == [-1] * inside + [0] * shell + [1] * (refined.total - inside - shell)


@with_axis
@pytest.mark.parametrize("factors", [Factors(18, 8), Factors(30, 3), Factors(12, 12), Factors(12, 5), Factors(19, 12)])
def test_draws_follow_the_masses_to_the_last_number(case, factors, monkeypatch):
    """With a coarse unit every number that can be drawn is drawn once, with each second one: counts, no chance."""
    monkeypatch.setattr(refine, "UNIT", 12)
    axis = CASES[case]
    if int(axis.weights.sum()) > 100:
        axis = Line(of([1, 0, 2, 3, 0, 1, 1, 2]))
    refined = Refined(axis, factors)
    numbers = range(12 * refined.total)
    for true in range(8):
        shell = int(axis.regions(of([true]), refined.threshold).shell[0])
        counts = np.zeros(8, np.int64)
        for second in range(shell):
            words = Scripted(*numbers, *[second] * len(numbers))
            counts += np.bincount(refined.draw(np.full(len(numbers), true), words), minlength=8)
        assert [Fraction(count, shell * len(numbers)) for count in counts.tolist()] == refined.masses(true)


def test_a_word_that_would_favour_small_numbers_is_drawn_again():
    """2^64 - 1 words are no multiple of 3 UNIT: the last ones are refused. The first number is the truth's own."""
    refined = Refined(Line(of([1, 1, 1])), Factors(UNIT, UNIT))
    bound = 3 * UNIT
    last = (2**64 - 1) // bound * bound
    [kept] = refined.draw(of([1]), Scripted(last - 1, 0))
    [again] = refined.draw(of([1]), Scripted(last, 2**64 - 1, last - 1, 0))
    assert kept == again
