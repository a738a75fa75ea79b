"""Discrete Laplace noise.

    P(N = i) = (1 - a) / (1 + a) * a^|i|,   a = e^(-epsilon / D)                                  (1)
    P(N = i) <= e^epsilon P(N = i + d)      for |d| <= D                                          (2)

D is the L1 sensitivity of all the answers together, in steps of the grid; by (2), adding independent noise (1) to each
of them is epsilon-differentially private. A geometric size and a sign are drawn, and the second way to write 0 is
rejected.

Source: Ghosh, Roughgarden & Sundararajan 2009 (the two-sided geometric distribution); Canonne, Kamath & Steinke 2020,
Algorithm 2. Up to a few thousand values a release draws them through OpenDP's `make_laplace`, which is exact as well
and takes its words from OpenSSL's generator, seeded by the operating system; more values, and all seeded draws, come
from our own compiled sampler.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.noise.scale import require_size, scale_at_least
from penstock.mechanisms.noise.words import feed
from penstock.mechanisms.randomness import Randomness

__all__ = ["discrete_laplace"]

# OpenDP takes 10 to 16 us for each value, so about 0.1 s for this many; our sampler takes 0.3 us.
_OPENDP_UP_TO = 8_000
_LARGEST = 2**63 - 1


def discrete_laplace(sensitivity: int, epsilon: Fraction, size: int, randomness: Randomness) -> NDArray[np.int64]:
    """Draw independently from (1), of scale at least scale_at_least(sensitivity, epsilon) in place of D / epsilon."""
    scale = scale_at_least(sensitivity, epsilon)
    require_size(size)
    if randomness.from_system and 0 < size <= _OPENDP_UP_TO:
        return _by_opendp(scale, size)
    from penstock.mechanisms.noise.kernels import laplace_values

    out = np.empty(size, np.int64)
    t, s = scale.numerator, scale.denominator
    feed(lambda halves, state: laplace_values(out, halves, state, t, s), size, randomness)
    return out


def _by_opendp(scale: Fraction, size: int) -> NDArray[np.int64]:
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    measurement = make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), _float_at_least(scale))
    noise = np.array(measurement(np.zeros(size, np.int64)), dtype=np.int64)
    # OpenDP saturates at -2^63; ours is the same on both sides.
    return np.maximum(noise, -_LARGEST)


def _float_at_least(scale: Fraction) -> float:
    nearest = float(scale)
    return nearest if Fraction(nearest) >= scale else nextafter(nearest, inf)
