"""Whether noise is smaller than it can be by chance: an exact, one-sided test over any number of independent noises.

    U = P(|N| <= |n|)      of noise n that was drawn, N its promised distribution; box noise: P(N in the box of n)  (1)
    P(U <= u) <= u,        with equality wherever discrete noise has such a u                                        (2)
    P(a share s > u or more of m noises has U <= u) <= e^(-m K),   K = s ln(s/u) + (1-s) ln((1-s)/(1-u))            (3)

(3) is Chernoff's bound of the binomial distribution. The least of it at L fixed levels u, times L, bounds the chance
that sound noise is as small as this: it is at most alpha with probability alpha at most, however much noise there is,
and nothing is approximated. Noise that is larger than promised makes U larger, and the bound 1. With few noises, or
noise of a scale below 1, it tells little.

Discrete Laplace noise of scale b, a = e^(-1/b):

    P(|N| <= w) = 1 - 2 a^(w+1) / (1 + a) = (1 - a^(w+1) + a (1 - a^w)) / (1 + a)                                   (4)

Box noise, box_i = product of {-(z_l + i D_l), .., z_l + i D_l}, P(N = y) = c e^(-i epsilon) for the first box_i that
has y. The boxes of (1) are Q = {y: |y_l| / D_l <= t for all l}, t = the largest |n_l| / D_l, and with T = floor(t)

    P(N in Q) = (sum_{i<T} w_i |box_i| + w_T |box_T and Q| + e^(-(T+1) epsilon) |Q|) / sum_{i>=0} w_i |box_i|,      (5)
    w_i = (1 - e^-epsilon) e^(-i epsilon)

because box_i lies in Q for i < T, and Q in box_i for i > T. Staircase noise with step r is box noise of one answer
with z = r - 1.

Variances, with r = z_l + i D_l and I the number of the box: 2 a / (1 - a)^2, and, as a whole number that is uniform on
-r..r has the variance r (r + 1) / 3,

    Var(N_l) = E[|box_I| r (r + 1) / 3] / E[|box_I|],   P(I = i) = w_i                                             (6)

Source: Chernoff 1952, "A measure of asymptotic efficiency for tests of a hypothesis", for (3).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, expm1, factorial, log

import numpy as np
from numpy.typing import NDArray

__all__ = ["box_variance", "box_within", "chance", "laplace_variance", "laplace_within"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Small levels detect missing noise in few cells; those in the middle detect noise that is too small in many cells.
_LEVELS = (0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9)
# Beyond this many boxes U counts as 1, which never reports a fault; the sums of (5) need not be longer.
_MOST_BOXES = 10**6


def laplace_within(sizes: Integers, scales: Floats) -> Floats:
    """(4) of |n| and b of each noise, without cancellation."""
    a = np.exp(-1 / scales)
    found: Floats = (-np.expm1(-(sizes + 1.0) / scales) - a * np.expm1(-sizes / scales)) / (1 + a)
    return found


def box_within(sizes: Integers, half_widths: Sequence[int], core: Sequence[int], epsilon: float) -> Floats:
    """(5) of |n|, one row for each noise and one column for each answer. Volumes are in units of product 2 D_l."""
    widths, inner = np.array(half_widths, np.float64), np.array(core, np.float64)
    t = (sizes / widths).max(axis=1)
    q = np.floor(t[:, np.newaxis] * widths)
    # The quotient is rounded; what counts is that the same quotients are compared, so that the boxes of (1) are nested.
    q += (q + 1) / widths <= t[:, np.newaxis]
    q -= q / widths > t[:, np.newaxis]
    last = np.floor(t)
    known = last <= _MOST_BOXES
    boxes = np.arange(last[known].max(initial=0) + 1)
    offsets = (2 * inner + 1) / (2 * widths)
    weights = -expm1(-epsilon) * np.exp(-epsilon * boxes)
    before = np.concatenate(([0.0], np.cumsum(weights * np.prod(boxes[:, np.newaxis] + offsets, axis=1))))
    at = np.minimum(last, _MOST_BOXES).astype(np.int64)
    both = np.minimum(q, inner + last[:, np.newaxis] * widths)
    volumes, both_volumes = (np.prod((2 * radius + 1) / (2 * widths), axis=1) for radius in (q, both))
    decay = np.exp(-epsilon * last)
    mass = -expm1(-epsilon) * decay * both_volumes + decay * exp(-epsilon) * volumes
    mass[known] += before[at[known]]
    return np.where(known, np.minimum(mass / _total(offsets.tolist(), epsilon), 1.0), 1.0)


def laplace_variance(scale: float) -> float:
    """Return 2 a / (1 - a)^2."""
    return 2 * exp(-1 / scale) / expm1(-1 / scale) ** 2


def box_variance(half_widths: Sequence[int], core: Sequence[int], epsilon: float, place: int) -> float:
    """(6) of the answer at this place."""
    offsets = [(2 * inner + 1) / (2 * width) for width, inner in zip(half_widths, core, strict=True)]
    width, inner = half_widths[place], core[place]
    more = [*offsets, inner / width, (inner + 1) / width]
    return width**2 / 3 * _total(more, epsilon) / _total(offsets, epsilon)


def _total(offsets: Sequence[float], epsilon: float) -> float:
    """sum_i w_i product over l of (i + offset_l), with E[I (I-1) .. (I-k+1)] = k! (b / (1-b))^k, b = e^-epsilon.

    Every term is positive, so nothing cancels.
    """
    coefficients = [1.0]
    for offset in offsets:
        raised = [0.0, *coefficients]
        for k, coefficient in enumerate(coefficients):
            raised[k] += (k + offset) * coefficient
        coefficients = raised
    odds = exp(-epsilon) / -expm1(-epsilon)
    return sum(coefficient * factorial(k) * odds**k for k, coefficient in enumerate(coefficients))


def chance(within: Sequence[Floats]) -> float:
    """Return L times the least (3) of these U, and 1 at most."""
    u = np.concatenate([*within, np.empty(0)])
    most = max(len(u) * _excess(int(np.count_nonzero(u <= level)), len(u), level) for level in _LEVELS)
    return min(1.0, len(_LEVELS) * exp(-most))


def _excess(hits: int, noises: int, level: float) -> float:
    """Return K of (3); 0 where the share is not above the level."""
    if hits <= level * noises:
        return 0.0
    share = hits / noises
    misses = (1 - share) * log((1 - share) / (1 - level)) if hits < noises else 0.0
    return share * log(share / level) + misses
