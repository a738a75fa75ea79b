"""Bernoulli(e^-x) and the geometric distribution, exactly.

    P(true) = e^-x                                      x >= 0                                   (1)
    P(i) = (1 - e^-epsilon) e^(-i epsilon)              i = 0, 1, ...                            (2)
    i = floor((U + t V) / s),   1/epsilon = t/s                                                  (3)

(1): for x <= 1, K is odd, where K is the first index at which Bernoulli(x/K) fails, since P(K > k) = x^k / k!; for
x > 1, independent trials with exponent 1 and one with the rest all succeed. (3): U is uniform on 0..t-1, accepted with
probability e^(-U/t), and V counts the successes of Bernoulli(e^-1) before the first failure; so U + t V = n has
probability proportional to e^(-n/t), and its quotient by s is (2).

Source: Canonne, Kamath & Steinke 2020, "The discrete Gaussian for differential privacy", Algorithms 1 and 2. Departure:
Bernoulli(u / (t K)) is drawn as a trial u/t and a trial 1/K, so no integer above t occurs.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.noise.scale import LARGEST_SCALE, require_size, scale_at_least
from penstock.mechanisms.noise.words import feed
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refusal import SettingRefused

__all__ = ["bernoulli_exp", "geometric"]


def bernoulli_exp(x: Fraction, size: int, randomness: Randomness) -> NDArray[np.bool_]:
    """Return independent draws of (1)."""
    require_size(size)
    # Rounding x up or down may be safe for one caller and unsafe for another, so it is refused instead.
    if (
        isinstance(x, bool)
        or not isinstance(x, int | Fraction)
        or not (0 <= x.numerator <= LARGEST_SCALE and x.denominator <= LARGEST_SCALE)
    ):
        raise SettingRefused.at(
            "x",
            rule="must be an exact fraction from 0 on, numerator and denominator at most 2^62",
            got=x,
            remedy="Write it as Fraction(1, 2).",
        )
    from penstock.mechanisms.noise.kernels import survivals

    out = np.empty(size, np.bool_)
    a, t = int(x.numerator), int(x.denominator)
    feed(lambda halves, state: survivals(out, halves, state, a, t), size, randomness)
    return out


def geometric(epsilon: Fraction, size: int, randomness: Randomness) -> NDArray[np.int64]:
    """Return independent draws of (2), with 1 / scale_at_least(1, epsilon) in place of epsilon."""
    scale = scale_at_least(1, epsilon)
    require_size(size)
    from penstock.mechanisms.noise.kernels import geometric_values

    out = np.empty(size, np.int64)
    t, s = scale.numerator, scale.denominator
    feed(lambda halves, state: geometric_values(out, halves, state, t, s), size, randomness)
    return out
