"""Errors in individual differential privacy, both versions of the paper, each with a case that shows it.

A loss is the largest logarithm of the ratio of two densities; epsilon promises that it does not exceed epsilon.
"""

from __future__ import annotations

from math import exp, inf

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.statistics.smooth import smooth_sensitivity_of_median
from penstock.reproduction.computed import clamped_count_error
from penstock.reproduction.errata.erratum import CounterExample, Erratum, found

__all__ = ["ERRATA"]

_BOTH = "Individual Differential Privacy, both versions"
_FIRST = "Individual Differential Privacy, first version"
_SECOND = "Individual Differential Privacy, second version"


def laplace_scale() -> CounterExample:
    """Return the loss of Laplace noise of the printed scale."""
    epsilon, sensitivity = 0.1, 1.0
    printed, right = sensitivity / (epsilon / sensitivity), sensitivity / (sensitivity / epsilon)
    return found(
        "a sum that moves by 1, at epsilon 0.1",
        printed > epsilon >= right,
        loss_at_the_printed_scale=printed,
        loss_at_the_right_scale=right,
    )


def median_of_the_example() -> CounterExample:
    """Return the medians of both data sets of the example, and of the pair that it should have had."""

    def median(zeros: int) -> int:
        return sorted([0] * zeros + [1] * (5 - zeros))[2]

    return found(
        "n = 5, m = 2, values 0 and 1: data sets by their number of zeros",
        median(2) == median(1) == 1 and median(3) == 0,
        with_m=median(2),
        with_m_less_1=median(1),
        with_m_and_1=median(3),
    )


def smooth_sensitivity() -> CounterExample:
    """Return the loss in the tails of noise whose scale is the smooth sensitivity with beta = epsilon."""
    epsilon, gamma = 1.0, 3.0
    first, second = np.array([0, 0, 0]), np.array([0, 0, 1])

    def loss(beta: float) -> float:
        scales = [smooth_sensitivity_of_median(values, 0, 1, beta) for values in (first, second)]
        return (gamma - 1) * abs(float(np.log(scales[0] / scales[1])))

    return found(
        "(0, 0, 0) and (0, 0, 1) within 0 to 1, epsilon 1, gamma 3: both medians are 0, and far out the densities of "
        "S Z differ by a factor of S^(gamma - 1)",
        loss(epsilon) > epsilon >= loss(epsilon / gamma),
        loss_with_beta_as_printed=loss(epsilon),
        loss_with_beta_of_the_noise=loss(epsilon / gamma),
    )


def admissible_noise() -> CounterExample:
    """Return the largest loss of noise that is shifted and stretched by as much as is printed."""
    epsilon = 1.0

    def loss(gamma: float) -> float:
        place: NDArray[np.float64] = np.linspace(-100, 100, 2_000_001)
        stretch = exp(epsilon / gamma)

        def density(z: NDArray[np.float64]) -> NDArray[np.float64]:
            return -np.log1p(np.abs(z) ** gamma)

        moved = density((place + epsilon / (4 * gamma)) * stretch) + epsilon / gamma
        return float(np.abs(moved - density(place)).max())

    return found(
        "noise with a density proportional to 1 / (1 + |z|^gamma), epsilon 1",
        loss(10.0) > epsilon > loss(3.0),
        loss_with_gamma_10=loss(10.0),
        loss_with_gamma_3=loss(3.0),
    )


def guarantee_of_individuals() -> CounterExample:
    """Return the probabilities of the answer 0 from two actual data sets that differ in one record."""
    first, second = np.array([0, 0, 0]), np.array([0, 0, 1])
    gaps = [max(values[1] - values[0], values[2] - values[1]) for values in (first, second)]
    chance = [1.0 if gap == 0 else 0.0 for gap in gaps]
    return found(
        "medians of (0, 0, 0) and (0, 0, 1), released with noise of the local sensitivity",
        chance == [1.0, 0.0],
        answer_is_0_from_the_first=chance[0],
        answer_is_0_from_the_second=chance[1],
        loss=inf,
    )


def parallel_composition() -> CounterExample:
    """Return the loss of two counts where one record changes its part."""
    epsilon = 1.0
    first, second = np.array([10, 5]), np.array([9, 6])
    loss = epsilon * float(np.abs(first - second).sum())
    return found(
        "two cells of 10 and 5 records, Laplace noise of scale 1 / epsilon in each, one record moves: 9 and 6",
        loss == 2 * epsilon,
        epsilon=epsilon,
        loss=loss,
    )


def clamped_count() -> CounterExample:
    """Return the probability that the clamped count is one too small, and that it is two too small."""
    below = float(clamped_count_error(1.0)[0])
    return found(
        "a count of 3 or of 4, clamped to the truth and 1 beside it, epsilon 1",
        below > 0,
        answer_is_2_where_3_is_true=below,
        answer_is_2_where_4_is_true=0.0,
        loss=inf,
    )


def domain_from_the_data() -> CounterExample:
    """Return the loss in the tails where the domain is what the data span."""
    epsilon, gamma = 1.0, 3.0
    first, second = np.array([40, 50, 60]), np.array([40, 50, 1000])

    def loss(low: int, high: int, other_high: int) -> float:
        bounds = ((first, low, high), (second, low, other_high))
        scales = [smooth_sensitivity_of_median(values, a, b, epsilon / gamma) for values, a, b in bounds]
        return (gamma - 1) * abs(float(np.log(scales[0] / scales[1])))

    return found(
        "(40, 50, 60) and (40, 50, 1000), epsilon 1, gamma 3: both medians are 50",
        loss(40, 60, 1000) > epsilon >= loss(0, 1000, 1000),
        loss_with_the_domain_of_the_data=loss(40, 60, 1000),
        loss_with_the_domain_0_to_1000=loss(0, 1000, 1000),
    )


ERRATA = (
    Erratum(
        name="individual-scale",
        source=_BOTH,
        place="Proposition 1",
        printed="Laplace noise of scale epsilon / sensitivity",
        right="the scale is sensitivity / epsilon",
        counter_example=laplace_scale,
    ),
    Erratum(
        name="individual-median",
        source=_BOTH,
        place="section 6.1.1",
        printed="with n = 2m + 1, m and m - 1 records at the minimum give the two medians",
        right="the median is the value m + 1 in order, and m + 1 records at the minimum against m change it",
        counter_example=median_of_the_example,
    ),
    Erratum(
        name="individual-smooth",
        source=_BOTH,
        place="section 6.1.2",
        printed="the smooth sensitivity falls by e^-epsilon with each further record",
        right="it must fall by e^-beta, with the beta that the noise admits",
        counter_example=smooth_sensitivity,
    ),
    Erratum(
        name="individual-admissible",
        source=_BOTH,
        place="section 6.1.4",
        printed="noise with tail exponent gamma admits (epsilon / 4 gamma, epsilon / gamma), for every gamma above 1",
        right="not for a large gamma; epsilon / (2 (gamma-1)^((gamma-1)/gamma)), epsilon / (2 max(1, gamma-1)) always",
        counter_example=admissible_noise,
    ),
    Erratum(
        name="individual-guarantee",
        source=_BOTH,
        place="introduction and conclusions",
        printed="individuals get the guarantee of differential privacy",
        right="the scale of the noise depends on the actual data, and nothing bounds what it reveals",
        counter_example=guarantee_of_individuals,
    ),
    Erratum(
        name="individual-parallel",
        source=_BOTH,
        place="Theorem 4",
        printed="over disjoint parts the loss is epsilon",
        right="only where a replaced record stays in its part; otherwise the two largest add up",
        counter_example=parallel_composition,
    ),
    Erratum(
        name="individual-clamped",
        source=_FIRST,
        place="section 6.3, Table 2 and Figure 2",
        printed="a count clamped to the truth and 1 beside it keeps epsilon",
        right="clamping looks at the data, which Proposition 3 of the second version rules out: the loss has no bound",
        counter_example=clamped_count,
    ),
    Erratum(
        name="individual-domain",
        source=_SECOND,
        place="section 6.1.4, Figure 2",
        printed="the domain is the range between the smallest and the largest value of the data",
        right="bounds from the data void differential privacy; they must be known without looking at them",
        counter_example=domain_from_the_data,
    ),
)
