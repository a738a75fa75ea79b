"""Compiled samplers. Import this module only where they run: loading the compiler takes half a second.

Every function draws from `halves`, a stream of uniform 32-bit integers, at the place at[0], which it moves on; where
the stream ends in the middle of a draw it returns -1, or _NO_VALUE, and its caller gives up the attempt (see
words.py). The public samplers fill `out` from state[0] on and leave in `state` how many values are done and how many
halves finished attempts have used up.

Scales are t / s as in scale.py. Only integers occur, and no product or sum of them can overflow: what would is
saturated, exactly where the true value reaches 2^63 - 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types

__all__ = [
    "box_values",
    "chosen",
    "geometric_values",
    "laplace_values",
    "laplace_values_by_scale",
    "staircase_values",
    "survivals",
]

_LARGEST = 2**63 - 1
# Returned where the stream ended and -1 may be a value; no sampler draws it, because sizes end at 2^63 - 1.
_NO_VALUE = -(2**63)
_HIGHEST_LAYER = 2**62

_HALVES = types.Array(types.uint32, 1, "C", readonly=True)
_INT = types.int64
_PLACE = types.int64[::1]
_VALUES = types.int64[::1]
_STATE = types.int64[::1]
_SETTINGS = types.Array(types.int64, 1, "C", readonly=True)
_SCORES = types.Array(types.int64, 2, "C", readonly=True)


@njit(_INT(_HALVES, _PLACE, _INT), cache=True, nogil=True)
def _below(halves: Any, at: Any, bound: int) -> Any:
    """Draw uniformly on 0..bound-1, by rejection.

    Up to 2^32 by multiplication (Lemire 2019, Algorithm 5, with L = 32); above, from the lowest bits of two halves.
    """
    if bound == 1:
        return 0
    size = np.uint64(bound)
    if size <= np.uint64(0x100000000):
        while at[0] < len(halves):
            product = np.uint64(halves[at[0]]) * size
            at[0] += 1
            low = product & np.uint64(0xFFFFFFFF)
            if low >= size or low >= np.uint64(0x100000000) % size:
                return np.int64(product >> np.uint64(32))
        return -1
    mask = size - np.uint64(1)
    for shift in (1, 2, 4, 8, 16, 32):
        mask |= mask >> np.uint64(shift)
    while at[0] + 1 < len(halves):
        value = (np.uint64(halves[at[0] + 1]) << np.uint64(32) | np.uint64(halves[at[0]])) & mask
        at[0] += 2
        if value < size:
            return np.int64(value)
    return -1


@njit(_INT(_HALVES, _PLACE, _INT, _INT), cache=True, nogil=True)
def _survives_fraction(halves: Any, at: Any, a: int, t: int) -> Any:
    """Draw Bernoulli(e^(-a/t)) for 0 <= a <= t: K is odd, K the first index at which Bernoulli(a / (t K)) fails.

    P(K > k) = (a/t)^k / k!, so P(K odd) = 1 - a/t + (a/t)^2/2! - ...  Each trial is [U < a] and [W = 0] with U uniform
    below t and W uniform below K.
    """
    k = 1
    while True:
        if a < t:
            u = _below(halves, at, t)
            if u < 0:
                return -1
            if u >= a:
                return k & 1
        w = _below(halves, at, k)
        if w < 0:
            return -1
        if w > 0:
            return k & 1
        k += 1


@njit(_INT(_HALVES, _PLACE, types.uint64, _INT, _INT), cache=True, nogil=True)
def _survives(halves: Any, at: Any, amount: int, t: int, s: int) -> Any:
    """Draw Bernoulli(e^(-amount s / t)): trials with exponent 1 and one with the rest, up to the first failure."""
    times = amount // np.uint64(t)
    while times > np.uint64(0):
        for _ in range(s):
            survived = _survives_fraction(halves, at, 1, 1)
            if survived < 1:
                return survived
        times -= np.uint64(1)
    rest = np.int64(amount % np.uint64(t)) * s
    for _ in range(rest // t):
        survived = _survives_fraction(halves, at, 1, 1)
        if survived < 1:
            return survived
    return _survives_fraction(halves, at, rest % t, t)


@njit(_INT(_INT, _INT, _INT), cache=True, nogil=True)
def _saturated(times: int, unit: int, rest: int) -> Any:
    """Return times * unit + rest of integers from 0 on, or 2^63 - 1 where that is less."""
    if unit > 0 and times > (_LARGEST - rest) // unit:
        return _LARGEST
    return times * unit + rest


@njit(_INT(_HALVES, _PLACE, _INT, _INT), cache=True, nogil=True)
def _geometric(halves: Any, at: Any, t: int, s: int) -> Any:
    """Draw i >= 0 with P(i) = (1 - e^(-s/t)) e^(-i s/t): floor((U + t V) / s), see bernoulli.py."""
    u = 0
    accepted = 0
    while accepted == 0:
        u = _below(halves, at, t)
        if u < 0:
            return -1
        accepted = _survives_fraction(halves, at, u, t)
    if accepted < 0:
        return -1
    quotient, remainder = u // s, u % s
    while True:
        survived = _survives_fraction(halves, at, 1, 1)
        if survived < 0:
            return -1
        if survived == 0:
            return quotient
        remainder += t
        quotient = _saturated(1, remainder // s, quotient)
        remainder %= s


@njit(_INT(_HALVES, _PLACE, _INT, _INT), cache=True, nogil=True)
def _laplace(halves: Any, at: Any, t: int, s: int) -> Any:
    """Draw a sign and a geometric size; the second way to write 0 is rejected."""
    while True:
        negative = _below(halves, at, 2)
        size = _geometric(halves, at, t, s)
        if negative < 0 or size < 0:
            return _NO_VALUE
        if size > 0 or negative == 0:
            return -size if negative else size


@njit(types.void(types.boolean[::1], _HALVES, _STATE, _INT, _INT), cache=True, nogil=True)
def survivals(out: Any, halves: Any, state: Any, a: int, t: int) -> None:
    """Draw Bernoulli(e^(-a/t)) for any a >= 0."""
    at = np.zeros(1, np.int64)
    for i in range(state[0], len(out)):
        state[0], state[1] = i, at[0]
        survived = _survives(halves, at, np.uint64(a), t, 1)
        if survived < 0:
            return
        out[i] = survived == 1
    state[0], state[1] = len(out), at[0]


@njit(types.void(_VALUES, _HALVES, _STATE, _INT, _INT), cache=True, nogil=True)
def geometric_values(out: Any, halves: Any, state: Any, t: int, s: int) -> None:
    """Draw i with P(i) = (1 - e^(-s/t)) e^(-i s/t)."""
    at = np.zeros(1, np.int64)
    for i in range(state[0], len(out)):
        state[0], state[1] = i, at[0]
        value = _geometric(halves, at, t, s)
        if value < 0:
            return
        out[i] = value
    state[0], state[1] = len(out), at[0]


@njit(types.void(_VALUES, _HALVES, _STATE, _INT, _INT), cache=True, nogil=True)
def laplace_values(out: Any, halves: Any, state: Any, t: int, s: int) -> None:
    """Draw discrete Laplace noise of scale t / s, see laplace.py."""
    at = np.zeros(1, np.int64)
    for i in range(state[0], len(out)):
        state[0], state[1] = i, at[0]
        value = _laplace(halves, at, t, s)
        if value == _NO_VALUE:
            return
        out[i] = value
    state[0], state[1] = len(out), at[0]


@njit(types.void(_VALUES, _HALVES, _STATE, _SETTINGS, _SETTINGS), cache=True, nogil=True)
def laplace_values_by_scale(out: Any, halves: Any, state: Any, t: Any, s: Any) -> None:
    """Draw discrete Laplace noise, the value i of scale t[i] / s[i]."""
    at = np.zeros(1, np.int64)
    for i in range(state[0], len(out)):
        state[0], state[1] = i, at[0]
        value = _laplace(halves, at, t[i], s[i])
        if value == _NO_VALUE:
            return
        out[i] = value
    state[0], state[1] = len(out), at[0]


@njit(types.void(_VALUES, _HALVES, _STATE, _INT, _INT, _INT, _INT), cache=True, nogil=True)
def staircase_values(out: Any, halves: Any, state: Any, d: int, r: int, t: int, s: int) -> None:
    """Draw staircase noise with steps of d behind a core |j| < r, see staircase.py."""
    at = np.zeros(1, np.int64)
    i = state[0]
    while i < len(out):
        state[0], state[1] = i, at[0]
        shell = _geometric(halves, at, t, s)
        u = _below(halves, at, 2 * d)
        if shell < 0 or u < 0:
            return
        if shell > 0:
            size = _saturated(shell - 1, d, r + u % d)
            out[i] = size if u < d else -size
            i += 1
        elif u < 2 * r - 1:
            out[i] = u - (r - 1)
            i += 1
    state[0], state[1] = i, at[0]


@njit(_INT(_VALUES, _HALVES, _PLACE, _SETTINGS, _SETTINGS, _INT, _INT), cache=True, nogil=True)
def _box_point(point: Any, halves: Any, at: Any, widths: Any, core: Any, t: int, s: int) -> Any:
    """Make one attempt: return 1 and fill in the point, or return 0 where it is rejected."""
    layer = 0
    for _ in range(len(point) + 1):
        steps = _geometric(halves, at, t, s)
        if steps < 0:
            return -1
        # With epsilon >= 2^-40 this takes over 2^20 successes of probability 1/e in a row: it does not happen.
        if steps > _HIGHEST_LAYER - layer:
            return 0
        layer += steps
    for j in range(len(point)):
        d, z = widths[j], core[j]
        v = _below(halves, at, layer + j + 1)
        w = _below(halves, at, 2 * d)
        if v < 0 or w < 0:
            return -1
        if v > layer or (v == layer and w > 2 * z):
            return 0
        # v 2d + w counts from the lower end of the box; from its centre it is k d + w - z.
        k = v - (layer - v)
        if k > 0:
            point[j] = _saturated(k - 1, d, d + w - z)
        elif k < -1:
            point[j] = -_saturated(-k - 2, d, 2 * d - w + z)
        else:
            point[j] = k * d + w - z
    return 1


@njit(types.void(types.int64[:, ::1], _HALVES, _STATE, _SETTINGS, _SETTINGS, _INT, _INT), cache=True, nogil=True)
def box_values(out: Any, halves: Any, state: Any, widths: Any, core: Any, t: int, s: int) -> None:
    """Draw box noise, one point in each row, see box.py."""
    at = np.zeros(1, np.int64)
    i = state[0]
    while i < len(out):
        state[0], state[1] = i, at[0]
        accepted = _box_point(out[i], halves, at, widths, core, t, s)
        if accepted < 0:
            return
        i += accepted
    state[0], state[1] = i, at[0]


@njit(types.void(_VALUES, _HALVES, _STATE, _SCORES, _INT, _INT), cache=True, nogil=True)
def chosen(out: Any, halves: Any, state: Any, scores: Any, t: int, s: int) -> None:
    """Draw a column for each row, P(a) proportional to e^(-scores[row, a] s / t) (exponential_mechanism.py)."""
    at = np.zeros(1, np.int64)
    alternatives = scores.shape[1]
    for i in range(state[0], len(out)):
        lowest = scores[i].min()
        survived = 0
        while survived == 0:
            state[0], state[1] = i, at[0]
            a = _below(halves, at, alternatives)
            if a < 0:
                return
            # Differences of 64-bit integers fit into 64 bits without a sign, whatever wraps on the way.
            survived = _survives(halves, at, np.uint64(scores[i, a]) - np.uint64(lowest), t, s)
            out[i] = a
        if survived < 0:
            return
    state[0], state[1] = len(out), at[0]
