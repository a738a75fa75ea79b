"""Noise of tables with a scale for every cell."""

from __future__ import annotations

from fractions import Fraction
from math import exp, floor, log, sqrt

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.mechanisms.noise import scale_at_least
from penstock.mechanisms.noise.accuracy import discrete_laplace_variance
from penstock.mechanisms.randomness import seeded, system
from penstock.mechanisms.refusal import SettingRefused
from penstock.mechanisms.table.draws import noise_of
from penstock.mechanisms.table.noise import cell_noise, scales_at_least
from penstock.mechanisms.table.scales import Scales
from tests.mechanisms.noise_by_definition import FromWords
from tests.mechanisms.noise_chance import InPortions

ONE = Fraction(1)
DRAWS = 60_000


def scales_of(*steps, epsilon=ONE):
    return Scales("bootstrap_replace", epsilon, np.array(steps, np.int64))


def chance_within(scale, width):
    """P(|N| <= width), added up from the probabilities."""
    a = exp(-1 / scale)
    return (1 - a) / (1 + a) * (1 + 2 * sum(a**i for i in range(1, width + 1)))


STEPS = st.integers(1, 40)
EPSILONS = st.fractions(Fraction(1, 4), 4, max_denominator=8)


def test_nine_cells_with_continuous_noise_stay_within_the_bound_of_the_source_with_the_right_chance():
    """O'Keefe & Charest 2019, Th. 4, prints 0.05 for the chance of staying within b ln(k / gamma); it is 0.951."""
    assert (1 - exp(-log(9 / 0.05))) ** 9 == pytest.approx(0.951097, abs=5e-7)


def test_the_bound_of_continuous_noise_is_too_small_for_whole_numbers():
    """One cell of scale 1/2 at gamma 1/7.3: the bound is just below 1, so only 0 lies within; ours holds."""
    gamma = 1 / 7.3
    bound = 0.5 * log(1 / gamma)
    assert chance_within(0.5, floor(bound)) < 1 - gamma
    width = noise_of("laplace", (1,), Fraction(2)).half_width(0, 1 - gamma)
    assert width > bound
    assert chance_within(0.5, width) >= 1 - gamma


def variances(scales):
    return np.array([discrete_laplace_variance(float(scales.of(cell))) for cell in range(len(scales.steps))])


def standard_errors_off(noise, scales):
    """How far the mean square of the draws is from the variance, in standard errors of that mean."""
    squares = noise.astype(np.float64) ** 2
    return abs(squares.mean(axis=1) - variances(scales)) / (squares.std(axis=1) / sqrt(noise.shape[1]))


def drawn(steps, seed):
    """DRAWS draws for each of the steps, laid out in turn as cells of one table."""
    scales = scales_of(*np.tile(steps, DRAWS), epsilon=Fraction(1, 2))
    return cell_noise(scales, seeded(seed)).reshape(DRAWS, len(steps)).T


def test_every_cell_has_noise_of_its_own_scale():
    """Six standard errors: false alarm 2e-9 a scale; the twin with neighbouring scales exchanged is noticed."""
    steps = [1, 7, 30]
    noise = drawn(steps, seed=1)
    assert (standard_errors_off(noise, scales_of(*steps, epsilon=Fraction(1, 2))) < 6).all()
    assert (standard_errors_off(noise, scales_of(7, 30, 1, epsilon=Fraction(1, 2))) > 6).all()


def test_cells_are_independent():
    """Correlations within six standard errors; a table that repeats its noise is noticed."""
    noise = drawn([5, 5, 9], seed=2)
    correlations = np.corrcoef(noise)[np.triu_indices(3, 1)]
    assert (abs(correlations) < 6 / sqrt(DRAWS)).all()
    assert np.corrcoef(noise[0], noise[0])[0, 1] > 6 / sqrt(DRAWS)


@given(
    st.lists(st.integers(1, 4) | st.integers(1, 2**55), max_size=25),
    EPSILONS,
    st.integers(0, 2**32),
    st.sampled_from([3, 40, 10**6]),
)
def test_noise_follows_the_definition_word_for_word(steps, epsilon, seed, portion):
    """Scale after scale, the smallest first, cells of one scale in their order; however the words are delivered."""
    scales, definition = scales_of(*steps, epsilon=epsilon), FromWords(seeded(seed))
    expected = [0] * len(steps)
    for cell in sorted(range(len(steps)), key=lambda cell: (steps[cell], cell)):
        scale = scale_at_least(steps[cell], epsilon)
        expected[cell] = definition.laplace(scale.numerator, scale.denominator)
    assert cell_noise(scales, InPortions(seed, portion)).tolist() == expected


def test_the_systems_words_serve_one_scale_and_several():
    for scales in (scales_of(3, 3, 3), scales_of(3, 4, 3)):
        noise = cell_noise(scales, system())
        assert noise.shape == (3,)
        # Beyond 200 scales with probability 1e-86.
        assert (abs(noise) < 800).all()


def test_the_same_words_give_the_same_noise():
    scales = scales_of(4, 2, 4, 9)
    assert cell_noise(scales, seeded(3)).tolist() == cell_noise(scales, seeded(3)).tolist()


def test_a_table_without_cells_has_no_noise():
    assert cell_noise(scales_of(), seeded(1)).tolist() == []


@pytest.mark.parametrize("steps", [(3, 0), (0, 0)])
def test_a_cell_of_scale_zero_is_refused(steps):
    with pytest.raises(SettingRefused, match="at 0 the exact answer would be released"):
        cell_noise(scales_of(*steps), seeded(1))


def one_by_one(steps, epsilon):
    """Numerators and denominators, or the words of the refusal."""
    try:
        scales = [scale_at_least(each, epsilon) for each in steps]
    except SettingRefused as refusal:
        return str(refusal)
    return [scale.numerator for scale in scales], [scale.denominator for scale in scales]


def together(steps, epsilon):
    try:
        found = scales_at_least(np.array(steps, np.int64), epsilon)
    except SettingRefused as refusal:
        return str(refusal)
    assert all(each.dtype == np.int64 for each in found)
    return found[0].tolist(), found[1].tolist()


# Where fractions stop to fit into 31 bits, and products into 62.
BORDERS = [2**31 - 1, 2**31, 2**31 + 1, 2**30 - 1, 2**30, 3 * 2**29, 2**61, 2**62 - 1, 2**62]
ANY_STEPS = st.lists(st.integers(1, 20) | st.integers(1, 2**62) | st.sampled_from(BORDERS), max_size=6)
PARTS = st.integers(1, 20) | st.sampled_from(BORDERS) | st.integers(1, 10**30)


@given(ANY_STEPS, st.builds(Fraction, PARTS, PARTS))
@example([2**31, 2**31 + 1, 1], ONE)
@example([2**62 // 3, 1], Fraction(2**30 - 1, 3))
@example([2**62 // 3 + 1, 1], Fraction(2**30, 3))
@example([1, 2], Fraction(10**30))
def test_scales_found_together_are_those_found_one_by_one(steps, epsilon):
    assert together(steps, epsilon) == one_by_one(steps, epsilon)


@pytest.mark.parametrize("epsilon", [0.5, Fraction(0), None])
def test_an_epsilon_that_is_not_exact_is_refused_for_scales_found_together(epsilon):
    with pytest.raises(SettingRefused, match="an exact fraction above 0"):
        scales_at_least(np.array([1, 2]), epsilon)
