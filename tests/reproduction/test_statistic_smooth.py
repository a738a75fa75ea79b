"""Smooth sensitivity against its formula and its definition, and the noise against numerical integration."""

from __future__ import annotations

from itertools import product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from penstock.reproduction.computed import _smooth as smooth

LOW, HIGH = 0, 9
BETAS = st.sampled_from([1e-3, 0.1, 0.5, 1.0, 5.0])


def by_formula(values, low, high, beta):
    """Every k and every t."""
    n = len(values)
    m = (n + 1) // 2

    def x(i):
        return low if i < 1 else high if i > n else values[i - 1]

    return max(exp(-k * beta) * max(x(m + t) - x(m + t - k - 1) for t in range(k + 2)) for k in range(n + 1))


@given(st.lists(st.integers(LOW, HIGH), min_size=1, max_size=15).filter(lambda x: len(x) % 2), BETAS)
def test_the_short_way_finds_the_maximum_of_all_terms(values, beta):
    found = smooth.smooth_sensitivity_of_median(np.sort(values), LOW, HIGH, beta)
    assert found == pytest.approx(by_formula(sorted(values), LOW, HIGH, beta), rel=1e-12)


def local_sensitivity(values, domain):
    return max(abs(sorted([*values[:i], y, *values[i + 1 :]])[1] - sorted(values)[1]) for i in range(3) for y in domain)


@pytest.mark.parametrize("beta", [0.2, 1.0])
def test_it_is_the_least_smooth_bound_of_the_local_sensitivity(beta):
    """max over all data sets of e^(-beta distance) times their local sensitivity, for three records."""
    domain = range(4)
    everything = {values: local_sensitivity(values, domain) for values in product(domain, repeat=3)}
    for values in everything:
        defined = max(
            exp(-beta * sum(x != y for x, y in zip(values, other, strict=True))) * local
            for other, local in everything.items()
        )
        assert smooth.smooth_sensitivity_of_median(np.sort(values), 0, 3, beta) == pytest.approx(defined, rel=1e-12)


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
        found = [smooth.smooth_sensitivity_of_median(values, 0, 1000, used) for values in (first, second)]
        return abs(log(found[0] / found[1]))

    assert variation(beta) <= beta
    assert variation(1.0) > beta


@pytest.mark.parametrize(
    ("values", "low", "beta"), [([1, 2], 0, 1.0), ([], 0, 1.0), ([2, 1, 3], 0, 1.0), ([1, 2, 3], 2, 1.0), ([1], 0, 0.0)]
)
def test_the_formula_is_not_used_where_it_does_not_hold(values, low, beta):
    with pytest.raises(ValueError, match="an odd number of sorted values"):
        smooth.smooth_sensitivity_of_median(np.array(values, dtype=np.int64), low, 9, beta)


@pytest.mark.parametrize("admissibility", [smooth.tight_admissibility, smooth.printed_admissibility])
@pytest.mark.parametrize(("epsilon", "gamma"), [(0, 2), (1, 1)])
def test_noise_needs_a_tail_that_can_be_integrated(admissibility, epsilon, gamma):
    with pytest.raises(ValueError, match="gamma above 1"):
        admissibility(epsilon, gamma)
