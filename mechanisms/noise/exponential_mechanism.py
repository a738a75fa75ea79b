"""The exponential mechanism on integer scores: low scores are likely.

    P(a) = e^(-score_a / scale) / sum over a' of e^(-score_a' / scale)                                          (1)

If one record changes every score by at most D, (1) is epsilon-differentially private with scale 2 D / epsilon; with
D / epsilon, where one record moves all scores the same way. Callers derive the scale with `scale_at_least(2 * D, ...)`.

Sampler: an alternative a, uniform among all, is accepted with probability e^(-(score_a - lowest) / scale), else drawn
again; so at most as many attempts as alternatives are needed, on average. Any 64-bit scores are fit: what is refused
depends on the scale alone.

Source: McSherry & Talwar 2007, "Mechanism design via differential privacy", Definition 2.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.noise.scale import scale_at_least
from penstock.mechanisms.noise.words import feed
from penstock.mechanisms.randomness import Randomness

__all__ = ["choose"]


def choose(scores: NDArray[np.int64], scale: Fraction, randomness: Randomness) -> NDArray[np.int64]:
    """Draw one column for each row of scores by (1); the scale is rounded up as in `scale_at_least`."""
    if scores.ndim != 2 or scores.shape[1] < 1 or scores.dtype != np.int64:
        raise ValueError("scores must be 64-bit integers, one row a choice, with at least one alternative")
    if not isinstance(scale, Fraction) or scale <= 0:
        raise ValueError("the scale must be a fraction above 0")
    used = scale_at_least(1, 1 / scale)
    from penstock.mechanisms.noise.kernels import chosen

    table = np.ascontiguousarray(scores)
    out = np.empty(len(table), np.int64)
    t, s = used.numerator, used.denominator
    feed(lambda halves, state: chosen(out, halves, state, table, t, s), len(out), randomness)
    return out
