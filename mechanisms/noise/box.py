"""Box noise on the grid, for several answers that one record can change together.

    box_i = product over l of {-(z_l + i D_l), ..., z_l + i D_l},   i = 0, 1, ...                              (1)
    P(Y = y) = c b^S(y),   b = e^-epsilon,   S(y) = the first i with y in box_i                                 (2)
    |S(y) - S(y + d)| <= 1 for |d_l| <= D_l,   so   P(Y = y) <= e^epsilon P(Y = y + d)                          (3)

One record changes answer l by at most D_l, and 0 <= z_l <= D_l - 1 is the core. (2) is the mixture of "I with P(i)
proportional to b^i |box_i|, then uniform on box_I". Sampler: I is the sum of m + 1 geometric (b) numbers, so has
P(i) = C(i + m, m) b^i (1 - b)^(m+1); v_l is uniform on 0..I+l-1 and w_l on 0..2D_l-1, l = 1..m; all is drawn again
unless v_l 2D_l + w_l < 2 (z_l + I D_l) + 1 for every l, which has probability |box_I| / product of 2D_l (I + l); and
then v_l 2D_l + w_l, counted from the lower end, is uniform in the box.

Source: Soria-Comas 2013 (thesis), section 4.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import expm1, factorial, prod

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.noise.scale import require_epsilon, require_sensitivity, require_size, scale_at_least
from penstock.mechanisms.noise.series import geometric_sum
from penstock.mechanisms.noise.staircase import LARGEST_SENSITIVITY, MOST_ATTEMPTS
from penstock.mechanisms.noise.words import feed
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refusal import SettingRefused

__all__ = ["acceptance", "box"]

_SMALLEST_EPSILON = Fraction(1, 2**40)


def box(
    half_widths: Sequence[int], core: Sequence[int], epsilon: Fraction, size: int, randomness: Randomness
) -> NDArray[np.int64]:
    """Return independent draws of (2), one in each row, with 1 / scale_at_least(1, epsilon) in place of epsilon."""
    scale = scale_at_least(1, epsilon)
    if require_epsilon(epsilon) < _SMALLEST_EPSILON:
        raise SettingRefused.at(
            "epsilon", rule="must be at least 2^-40", got=epsilon, remedy="Choose a larger epsilon."
        )
    require_size(size)
    if len(half_widths) < 1 or len(half_widths) != len(core):
        raise ValueError("one half-width and one core for each answer, and at least one answer")
    for d, z in zip(half_widths, core, strict=True):
        if require_sensitivity(d, "half_widths") > LARGEST_SENSITIVITY:
            raise SettingRefused.at(
                "half_widths", rule="must be at most 2^61 steps of the grid", remedy="Choose a coarser grid."
            )
        if isinstance(z, bool) or not isinstance(z, int | np.integer) or not 0 <= z < d:
            raise SettingRefused.at(
                "core", rule="must be a whole number from 0 to the half-width minus 1", remedy="Choose a smaller core."
            )
    if acceptance(half_widths, core, 1 / scale) < 1 / MOST_ATTEMPTS:
        raise SettingRefused.at(
            "core",
            rule="must not be so small, for this many answers, that a draw takes over 10,000 attempts on average",
            remedy="Choose a larger core, a smaller epsilon or fewer answers.",
        )
    from penstock.mechanisms.noise.kernels import box_values

    out = np.empty((size, len(half_widths)), np.int64)
    widths, cores = np.array(half_widths, np.int64), np.array(core, np.int64)
    t, s = scale.numerator, scale.denominator
    feed(lambda halves, state: box_values(out, halves, state, widths, cores, t, s), size, randomness)
    return out


def acceptance(half_widths: Sequence[int], core: Sequence[int], epsilon: Fraction) -> Fraction:
    """Return P(an attempt is accepted) = (1 - b)^(m+1) / m! sum_i b^i prod_l (2 (z_l + i D_l) + 1) / 2D_l."""
    answers = len(half_widths)
    one_minus_b = Fraction(-expm1(-epsilon))

    def relative_volume(i: int) -> Fraction:
        return prod(
            (Fraction(2 * (int(z) + i * int(d)) + 1, 2 * int(d)) for d, z in zip(half_widths, core, strict=True)),
            start=Fraction(1),
        )

    return geometric_sum(relative_volume, answers, one_minus_b) * one_minus_b ** (answers + 1) / factorial(answers)
