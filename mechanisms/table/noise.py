"""Discrete Laplace noise for every cell of a table, each with its own scale.

    P(N_i = x) = (1 - a_i) / (1 + a_i) * a_i^|x|,   a_i = e^(-1/b_i)        independent between cells          (1)

By scales.py, (2), a table with noise (1) keeps epsilon under the adjacency of its scales; b_i = steps_i / epsilon is
rounded up where the samplers need it, as in penstock.mechanisms.noise.scale. With epsilon = p / q in lowest terms and
g = gcd(steps_i, p) the reduced fraction is

    b_i = (steps_i / g) q / (p / g)                                                                            (2)

Source: mechanisms.noise.laplace. A table of one scale is drawn as there. With several scales, each may have only a few
cells, and a draw through OpenDP takes half a millisecond however few values it is for; so they come from our own
compiled sampler, scale after scale from one stream of words. A scale takes microseconds as a Fraction, longer than the
draw, so all of them are found together, in machine integers where these are wide enough and else in Python's.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.noise import discrete_laplace, scale_at_least
from penstock.mechanisms.noise.scale import require_epsilon
from penstock.mechanisms.noise.words import feed
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.table.cells import Integers
from penstock.mechanisms.table.scales import Scales

__all__ = ["cell_noise", "scales_at_least"]

# The bounds on t and s in penstock.mechanisms.noise.scale, (2).
_SMALL_BITS = 31
_SMALL = 2**_SMALL_BITS
# With p below 2^30 and steps q below 2^62 no product here reaches 2^63: those with a power of two are below 2^32 p.
_NARROW_DIVISOR = 2**30
_NARROW_PRODUCT = 2**62


def cell_noise(scales: Scales, randomness: Randomness) -> NDArray[np.int64]:
    """Return one draw of (1) for every cell; refuse scale 0, because the exact total would be released."""
    order = np.argsort(scales.steps, kind="stable")
    distinct, cells = np.unique(scales.steps, return_counts=True)
    if len(distinct) == 1:
        return discrete_laplace(int(distinct[0]), scales.epsilon, len(order), randomness)
    from penstock.mechanisms.noise.kernels import laplace_values_by_scale

    t, s = (np.repeat(each, cells) for each in scales_at_least(distinct, scales.epsilon))
    drawn = np.empty(len(order), np.int64)
    feed(lambda halves, state: laplace_values_by_scale(drawn, halves, state, t, s), len(order), randomness)
    noise = np.empty_like(drawn)
    noise[order] = drawn
    return noise


def scales_at_least(steps: Integers, epsilon: Fraction) -> tuple[Integers, Integers]:
    """Return numerator and denominator of scale_at_least(steps_i, epsilon) for each of the steps; refuse as it does."""
    if len(steps) == 0:
        return steps, steps
    smallest, largest = int(steps.min()), int(steps.max())
    scale_at_least(smallest, epsilon)
    scale_at_least(largest, epsilon)
    exact = require_epsilon(epsilon)
    p, q = exact.numerator, exact.denominator
    narrow = p < _NARROW_DIVISOR and largest * q < _NARROW_PRODUCT
    exactly: NDArray[Any] = steps if narrow else steps.astype(object)
    common = np.gcd(exactly, p)
    numerators, denominators = exactly // common * q, p // common
    # Where these do not fit, the denominator is a power of two, as large as the bits of the quotient leave room for.
    bits = np.frexp(np.minimum(numerators // denominators, _SMALL).astype(np.float64))[1]
    powers = np.left_shift(1, np.maximum(0, _SMALL_BITS - bits), dtype=np.int64)
    fits = (numerators <= _SMALL) & (denominators <= _SMALL)
    t = np.where(fits, numerators, -(-numerators * powers // denominators)).astype(np.int64)
    s = np.where(fits, denominators, powers).astype(np.int64)
    common = np.gcd(t, s)
    return t // common, s // common
