"""Tables 4.1 to 4.4 of the thesis: noise that it calls optimal, beside Laplace noise. Reproduction, no guarantee.

    Table 4.1   variance, sensitivity 1: Laplace noise, and the staircase with the core of least variance        (1)
    Table 4.2   width of the symmetric interval that holds a given share, with the core of least width           (2)
    Table 4.3   smallest region of two answers with Laplace noise, |x_1| + |x_2| <= alpha: alpha and its area    (3)
    Table 4.4   smallest region of two answers with box noise, |x_l| <= (beta + c) s_l where z_l = c s_l:
                beta + c and its area                                                                            (4)

Source: Soria-Comas 2013 (thesis), sections 4.4 and 4.5; the formulas are in mechanisms.noise.accuracy. Table 4.4 is
headed beta, and holds beta + c.

Why this is no release: the noise of the tables is continuous, and a float that carries it shows in its last bits which
value is beneath. What mechanisms.noise draws is its form on a grid. And the scale of Table 4.3, the sum of both
sensitivities, is not what two answers cost; half of epsilon for each is the fair comparison.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.noise.accuracy import (
    best_core_for_variance,
    best_core_for_width,
    box_region,
    laplace_region,
    laplace_variance,
    laplace_width,
    staircase_variance,
    staircase_width,
)

__all__ = ["least_variances", "least_widths", "regions_of_box_noise", "regions_of_laplace_noise"]

Table = NDArray[np.float64]


def least_variances(epsilons: Sequence[float]) -> Table:
    """(1): one row for each epsilon, in columns Laplace noise and the staircase."""
    return np.array(
        [
            [laplace_variance(1 / epsilon), staircase_variance(1, best_core_for_variance(1, epsilon), epsilon)]
            for epsilon in epsilons
        ]
    )


def least_widths(epsilons: Sequence[float], level: float) -> Table:
    """(2): one row for each epsilon, in columns Laplace noise and the staircase."""
    return np.array(
        [
            [
                laplace_width(1 / epsilon, level),
                staircase_width(1, best_core_for_width(1, epsilon, level), epsilon, level),
            ]
            for epsilon in epsilons
        ]
    )


def regions_of_laplace_noise(scale: float, levels: Sequence[float]) -> Table:
    """(3): one row for each level, in columns alpha and area."""
    regions = [laplace_region(scale, 2, level) for level in levels]
    return np.array([[region.extent, region.size] for region in regions])


def regions_of_box_noise(
    half_widths: tuple[float, float], core_share: float, epsilon: float, levels: Sequence[float]
) -> Table:
    """(4): one row for each level, in columns beta + c and area. core_share: c."""
    core = [core_share * width for width in half_widths]
    regions = [box_region(half_widths, core, epsilon, level) for level in levels]
    return np.array([[region.extent + core_share, region.size] for region in regions])
