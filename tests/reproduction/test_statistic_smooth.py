"""The noise of smooth sensitivities against numerical integration."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from scipy.integrate import quad

from penstock.mechanisms.statistics.smooth import smooth_sensitivity_of_median
from penstock.reproduction.computed import _smooth as smooth


def mass(gamma, reach):
    return quad(lambda z: 1 / (1 + z**gamma), 0, reach, limit=200)[0]


@pytest.mark.parametrize("gamma", [2, 3, 4.5, 10])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_half_widths_agree_with_integration(gamma, level):
    assert mass(gamma, smooth.half_width(gamma, level)) / mass(gamma, np.inf) == pytest.approx(level, rel=1e-7)


def largest_loss(admissible, gamma):
    """The most that a shift up to alpha and a stretch up to beta together change the logarithm of the density."""
    z = np.linspace(-20, 20, 40_001)

    def density(at):
        return -np.log1p(np.abs(at) ** gamma)

    shifts, stretches = (np.linspace(-most, most, 9) for most in (admissible.alpha, admissible.beta))
    return max(
        float(np.abs(density(z) - stretch - density(exp(stretch) * (z + shift))).max())
        for shift in shifts
        for stretch in stretches
    )


@pytest.mark.parametrize("gamma", [1.5, 2, 3, 5, 10, 20])
def test_the_tight_admissibility_keeps_epsilon(gamma):
    assert largest_loss(smooth.tight_admissibility(1, gamma), gamma) <= 1


@pytest.mark.parametrize(
    ("gamma", "alpha", "beta"),
    [(1.5, 0.5 * 2 ** (1 / 3), 0.5), (2, 0.5, 0.5), (3, 2 ** (-5 / 3), 0.25), (5, 0.16494, 0.125)],
)
def test_the_tight_admissibility_in_figures(gamma, alpha, beta):
    found = smooth.tight_admissibility(1, gamma)
    assert [found.alpha, found.beta] == pytest.approx([alpha, beta], rel=1e-4)
    assert [smooth.tight_admissibility(3, gamma).alpha, smooth.tight_admissibility(3, gamma).beta] == pytest.approx(
        [3 * found.alpha, 3 * found.beta]
    )


def test_the_printed_admissibility_is_wasteful_for_small_gamma_and_not_enough_for_ten():
    assert largest_loss(smooth.printed_admissibility(1, 2), 2) < 0.65
    assert largest_loss(smooth.printed_admissibility(1, 10), 10) == pytest.approx(1.05, abs=0.01)


def test_a_sensitivity_smoothed_with_epsilon_varies_by_more_than_the_noise_covers():
    """Two neighbours at epsilon 1 and gamma 2: S must stay within a factor e^(1/2), and with beta 1 it does not."""
    first, second = np.array([0, 0, 0, 0, 0]), np.array([0, 0, 0, 0, 1000])
    beta = smooth.tight_admissibility(1, 2).beta

    def variation(used):
        found = [smooth_sensitivity_of_median(values, 0, 1000, used) for values in (first, second)]
        return abs(log(found[0] / found[1]))

    assert variation(beta) <= beta
    assert variation(1.0) > beta


@pytest.mark.parametrize("admissibility", [smooth.tight_admissibility, smooth.printed_admissibility])
@pytest.mark.parametrize(("epsilon", "gamma"), [(0, 2), (1, 1)])
def test_noise_needs_a_tail_that_can_be_integrated(admissibility, epsilon, gamma):
    with pytest.raises(ValueError, match="gamma above 1"):
        admissibility(epsilon, gamma)
