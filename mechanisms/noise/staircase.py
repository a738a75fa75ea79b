"""Staircase noise on the grid: flat steps of the width of the sensitivity, each lower than the last by e^-epsilon.

    P(Y = j) = c b^S(j),   b = e^-epsilon,   S(j) = 0 for |j| < r,   S(j) = 1 + (|j| - r) div D otherwise    (1)
    |S(j) - S(j + d)| <= 1 for |d| <= D,   so   P(Y = j) <= e^epsilon P(Y = j + d)                          (2)

D is the sensitivity and r the step: the core in the middle is |j| < r, 1 <= r <= D. Sampler: the shell s is geometric
(b) and u uniform on 0..2D-1; s = 0 gives u - (r - 1) where u < 2r - 1, and all is drawn again otherwise; s > 0 gives
+-(r + (s - 1) D + u mod D), with the sign of u < D. So every integer of shell s has probability proportional to b^s.

Source: Soria-Comas 2013 (thesis), Theorem 1, where the exponent i must read i + 1; the same noise as in
Geng & Viswanath 2014, "The optimal mechanism in differential privacy". `accuracy.best_step` finds the step of least
variance.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.noise.scale import require_sensitivity, require_size, scale_at_least
from penstock.mechanisms.noise.words import feed
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refusal import SettingRefused

__all__ = ["LARGEST_SENSITIVITY", "MOST_ATTEMPTS", "staircase"]

LARGEST_SENSITIVITY = 2**61
# The most attempts for each value, on average: about a millisecond.
MOST_ATTEMPTS = 10_000


def staircase(sensitivity: int, step: int, epsilon: Fraction, size: int, randomness: Randomness) -> NDArray[np.int64]:
    """Return independent draws of (1), with 1 / scale_at_least(1, epsilon) in place of epsilon."""
    scale = scale_at_least(1, epsilon)
    if require_sensitivity(sensitivity) > LARGEST_SENSITIVITY:
        raise SettingRefused.at(
            "sensitivity", rule="must be at most 2^61 steps of the grid", remedy="Choose a coarser grid."
        )
    if isinstance(step, bool) or not isinstance(step, int | np.integer) or not 1 <= step <= sensitivity:
        raise SettingRefused.at(
            "step",
            rule="must be a whole number from 1 to the sensitivity",
            remedy="Use penstock.mechanisms.noise.accuracy.best_step.",
        )
    require_size(size)
    d, r = int(sensitivity), int(step)
    b = exp(-1 / scale)
    if (1 - b) * (2 * r - 1) / (2 * d) + b < 1 / MOST_ATTEMPTS:
        raise SettingRefused.at(
            "step",
            rule="must not be so small that a draw takes over 10,000 attempts on average at this epsilon",
            remedy="Use penstock.mechanisms.noise.accuracy.best_step.",
        )
    from penstock.mechanisms.noise.kernels import staircase_values

    out = np.empty(size, np.int64)
    t, s = scale.numerator, scale.denominator
    feed(lambda halves, state: staircase_values(out, halves, state, d, r, t, s), size, randomness)
    return out
