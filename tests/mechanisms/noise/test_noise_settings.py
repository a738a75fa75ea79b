"""The scale is never too small, and what carries no promise is refused; no message quotes a sensitivity."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.mechanisms.noise import bernoulli_exp, box, choose, discrete_laplace, geometric, scale_at_least, staircase
from penstock.mechanisms.noise.laplace import _float_at_least
from penstock.mechanisms.randomness import seeded, system
from penstock.mechanisms.refusal import SettingRefused
from tests.mechanisms.noise_chance import LikeTheSystem

LARGEST = 2**63 - 1
EPSILONS = st.fractions(min_value=Fraction(1, 10**30), max_value=10**30)


@given(st.integers(1, 2**62), EPSILONS.filter(lambda epsilon: epsilon > 0))
def test_the_scale_is_never_too_small_and_fits_into_machine_integers(sensitivity, epsilon):
    exact = sensitivity / epsilon
    if exact > 2**62:
        with pytest.raises(SettingRefused, match="coarser grid"):
            scale_at_least(sensitivity, epsilon)
        return
    scale = scale_at_least(sensitivity, epsilon)
    assert scale >= exact
    assert (scale.numerator <= 2**31 and scale.denominator <= 2**31) or (
        scale.numerator <= 2**62 and scale.denominator == 1
    )
    if exact >= Fraction(1, 2):
        assert scale <= exact * (1 + Fraction(1, 2**30))
    if exact.numerator <= 2**31 and exact.denominator <= 2**31:
        assert scale == exact


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "scale"),
    [
        (1, Fraction(1), Fraction(1)),
        (3, Fraction(1, 10), Fraction(30)),
        (1, Fraction(3, 10), Fraction(10, 3)),
        (2**31, Fraction(1), Fraction(2**31)),
        (2**31 + 1, Fraction(1), Fraction(2**31 + 1)),
        (2**31 + 1, Fraction(3), Fraction(-(-(2**31 + 1) * 2 // 3), 2)),
        (2**62, Fraction(1), Fraction(2**62)),
        (1, Fraction(10**30), Fraction(1, 2**31)),
        (1, 2, Fraction(1, 2)),
    ],
)
def test_scales_are_rounded_up_only_where_they_must_be(sensitivity, epsilon, scale):
    assert scale_at_least(sensitivity, epsilon) == scale


def test_a_fraction_of_numpy_integers_does_not_overflow():
    epsilon = Fraction(np.int64(2**40 + 1), 2**41)
    assert scale_at_least(np.int64(2**40), epsilon) >= 2**40 / Fraction(2**40 + 1, 2**41)


WRONG_EPSILONS = [0.5, 0, Fraction(0), Fraction(-1), True, "1/2", None, np.float64(1)]
SAMPLERS = [
    lambda epsilon: scale_at_least(1, epsilon),
    lambda epsilon: geometric(epsilon, 1, seeded(1)),
    lambda epsilon: discrete_laplace(1, epsilon, 1, seeded(1)),
    lambda epsilon: staircase(1, 1, epsilon, 1, seeded(1)),
    lambda epsilon: box([1], [0], epsilon, 1, seeded(1)),
]


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("epsilon", WRONG_EPSILONS, ids=repr)
def test_an_epsilon_that_is_not_exact_and_above_zero_is_refused(sampler, epsilon):
    with pytest.raises(SettingRefused, match="epsilon refused: must be an exact fraction above 0"):
        sampler(epsilon)


@pytest.mark.parametrize("sensitivity", [0, -1, 1.0, True, Fraction(1), None, np.float64(2)], ids=repr)
@pytest.mark.parametrize(
    ("sampler", "field"),
    [
        (lambda sensitivity: scale_at_least(sensitivity, Fraction(1)), "sensitivity"),
        (lambda sensitivity: discrete_laplace(sensitivity, Fraction(1), 1, seeded(1)), "sensitivity"),
        (lambda sensitivity: staircase(sensitivity, 1, Fraction(1), 1, seeded(1)), "sensitivity"),
        (lambda sensitivity: box([sensitivity], [0], Fraction(1), 1, seeded(1)), "half_widths"),
    ],
)
def test_a_sensitivity_that_is_not_a_count_of_grid_steps_is_refused(sampler, field, sensitivity):
    with pytest.raises(SettingRefused, match=f"{field} refused: must be a whole number of grid steps") as refused:
        sampler(sensitivity)
    assert "got" not in str(refused.value)


@pytest.mark.parametrize(
    "sampler",
    [
        lambda: staircase(2**61 + 1, 1, Fraction(1), 1, seeded(1)),
        lambda: box([1, 2**61 + 1], [0, 0], Fraction(1), 1, seeded(1)),
    ],
)
def test_a_sensitivity_that_fills_the_machine_integers_is_refused(sampler):
    with pytest.raises(SettingRefused, match=r"at most 2\^61 steps of the grid\. Choose a coarser grid"):
        sampler()


@pytest.mark.parametrize("step", [0, -1, 6, 1.0, True, None], ids=repr)
def test_a_step_outside_the_sensitivity_is_refused(step):
    with pytest.raises(SettingRefused, match="step refused: must be a whole number from 1 to the sensitiv"):
        staircase(5, step, Fraction(1), 1, seeded(1))


@pytest.mark.parametrize("core", [5, -1, 1.0, True, None], ids=repr)
def test_a_core_that_reaches_the_half_width_is_refused(core):
    with pytest.raises(SettingRefused, match="core refused: must be a whole number from 0 to the half-wid"):
        box([9, 5], [0, core], Fraction(1), 1, seeded(1))


def test_an_epsilon_at_which_boxes_cannot_be_counted_is_refused():
    assert len(box([1], [0], Fraction(1, 2**40), 1, seeded(1))) == 1
    with pytest.raises(SettingRefused, match="epsilon refused: must be at least 2"):
        box([1], [0], Fraction(1, 2**40 + 1), 1, seeded(1))


def test_settings_that_reject_nearly_every_attempt_are_refused():
    with pytest.raises(SettingRefused, match="step refused: must not be so small that a draw takes over 1"):
        staircase(10**6, 1, Fraction(20), 1, seeded(1))
    with pytest.raises(SettingRefused, match="core refused: must not be so small, for this many answers,"):
        box([10**6], [0], Fraction(20), 1, seeded(1))
    with pytest.raises(SettingRefused, match="core refused: must not be so small, for this many answers,"):
        box([10] * 40, [5] * 40, Fraction(1), 1, seeded(1))


def test_settings_with_few_attempts_are_drawn_at_any_epsilon():
    assert staircase(10**6, 10**6, Fraction(10**30), 100, seeded(1)).min() > -(10**6)
    assert staircase(10**6, 1, Fraction(9), 10, seeded(1)).shape == (10,)
    assert box([3, 3], [2, 2], Fraction(10**30), 100, seeded(1)).max() <= 2
    assert box([10] * 40, [5] * 40, Fraction(1, 100), 10, seeded(1)).shape == (10, 40)


@pytest.mark.parametrize("x", [0.5, Fraction(-1, 2), -1, True, None, Fraction(1, 2**62 + 1), 2**62 + 1], ids=repr)
def test_an_exponent_that_is_not_an_exact_machine_fraction_is_refused(x):
    with pytest.raises(SettingRefused, match="x refused: must be an exact fraction from 0 on, numerato"):
        bernoulli_exp(x, 1, seeded(1))


@pytest.mark.parametrize(
    "sampler",
    [
        lambda: bernoulli_exp(Fraction(1), -1, seeded(1)),
        lambda: geometric(Fraction(1), -1, seeded(1)),
        lambda: discrete_laplace(1, Fraction(1), -1, seeded(1)),
        lambda: staircase(1, 1, Fraction(1), -1, seeded(1)),
        lambda: box([1], [0], Fraction(1), -1, seeded(1)),
    ],
)
def test_a_negative_size_is_a_mistake(sampler):
    with pytest.raises(ValueError, match="size must not be negative"):
        sampler()


@pytest.mark.parametrize(("half_widths", "core"), [([], []), ([1], []), ([1], [0, 0])])
def test_boxes_need_a_half_width_and_a_core_for_each_answer(half_widths, core):
    with pytest.raises(ValueError, match="one half-width and one core for each answer"):
        box(half_widths, core, Fraction(1), 1, seeded(1))


@pytest.mark.parametrize("scores", [np.zeros(3, np.int64), np.zeros((3, 0), np.int64), np.zeros((3, 2))], ids=repr)
def test_scores_of_another_shape_or_type_are_a_mistake(scores):
    with pytest.raises(ValueError, match="scores must be 64-bit integers"):
        choose(scores, Fraction(1), seeded(1))


@pytest.mark.parametrize("scale", [0, 1, 0.5, Fraction(0), Fraction(-1)], ids=repr)
def test_a_scale_that_is_not_a_fraction_above_zero_is_a_mistake(scale):
    with pytest.raises(ValueError, match="the scale must be a fraction above 0"):
        choose(np.zeros((1, 2), np.int64), scale, seeded(1))


def test_a_scale_beyond_machine_integers_is_refused():
    with pytest.raises(SettingRefused, match="coarser grid"):
        choose(np.zeros((1, 2), np.int64), Fraction(2**63), seeded(1))


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=3, max_size=3), max_size=5), st.integers(0, 2**32))
def test_no_scores_are_refused(scores, seed):
    """A refusal that depended on the scores would tell about the records behind them."""
    table = np.array(scores, dtype=np.int64).reshape(-1, 3)
    for scale in (Fraction(1, 2**31), Fraction(1), Fraction(2**62)):
        chosen = choose(table, scale, seeded(seed))
        assert ((chosen >= 0) & (chosen < 3)).all()


def test_the_best_of_far_apart_scores_is_chosen_and_inputs_stay_as_they_are():
    scores = np.array([[-(2**63), 2**63 - 1, 0], [2**63 - 1, 0, -(2**63)]], dtype=np.int64)
    scores.flags.writeable = False
    assert choose(scores, Fraction(2**50), seeded(1)).tolist() == [0, 2]
    assert choose(np.asfortranarray(scores), Fraction(1, 1000), seeded(1)).tolist() == [0, 2]


class Counted(LikeTheSystem):
    """The system's words, counted; a release would take it for the system."""

    from_system = True
    drawn = 0

    def words(self, count):
        self.drawn += count
        return super().words(count)


def test_few_values_of_a_release_come_from_opendp_and_many_from_our_own_sampler():
    few, many = Counted(), Counted()
    assert discrete_laplace(3, Fraction(1, 2), 8_000, few).shape == (8_000,)
    assert discrete_laplace(3, Fraction(1, 2), 8_001, many).shape == (8_001,)
    assert few.drawn == 0
    assert many.drawn > 8_001


@pytest.mark.parametrize("source", [system(), seeded(1), LikeTheSystem()], ids=["OpenDP", "seeded", "system"])
def test_noise_too_large_for_64_bits_is_saturated_on_both_sides(source):
    """At scale 2^62, e^-2 of all values are; six standard errors are a false alarm of 2e-9."""
    noise = discrete_laplace(2**62, Fraction(1), 4_000, source)
    assert noise.dtype == np.int64
    assert noise.min() == -LARGEST
    assert noise.max() == LARGEST
    share = float(np.exp(-2))
    assert abs((np.abs(noise) == LARGEST).mean() - share) < 6 * (share * (1 - share) / 4_000) ** 0.5


@given(st.integers(1, 2**62), EPSILONS)
@example(2, Fraction(3))  # the float nearest to 2/3 lies below it
def test_opendp_is_given_a_scale_that_is_not_below_ours(sensitivity, epsilon):
    exact = sensitivity / max(epsilon, Fraction(1, 10**6))
    scale = scale_at_least(sensitivity, sensitivity / min(exact, Fraction(2**62)))
    given_to_opendp = Fraction(_float_at_least(scale))
    assert scale <= given_to_opendp <= scale * (1 + Fraction(1, 2**51))


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(7, 2)], ids=str)
def test_opendp_accounts_for_no_more_than_epsilon(epsilon):
    """OpenDP rounds its account up, so the last bit of a float may be added."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    scale = _float_at_least(scale_at_least(3, epsilon))
    measurement = make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale)
    assert measurement.map(3) <= np.nextafter(float(epsilon), np.inf)
