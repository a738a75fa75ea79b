"""The scale of noise as a quotient of two machine integers, rounded up.

    t / s >= sensitivity / epsilon                                                          (1)
    t <= 2^31 and s <= 2^31,   or   t <= 2^62 and s = 1                                     (2)
    t / s <= (1 + 2^-30) sensitivity / epsilon   where the right-hand side is 1/2 or more   (3)

The quotient is exact where its reduced fraction satisfies (2). More noise than asked for is less privacy loss than
promised, so rounding up keeps every promise; rounding down would break it.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np

from penstock.mechanisms.refusal import SettingRefused

__all__ = ["LARGEST_SCALE", "require_epsilon", "require_sensitivity", "require_size", "scale_at_least"]

LARGEST_SCALE = 2**62
_SMALL_BITS = 31
_SMALL = 2**_SMALL_BITS


def scale_at_least(sensitivity: int, epsilon: Fraction) -> Fraction:
    """Return the t / s of (1) to (3) that the samplers use; callers record it with the release."""
    exact = require_sensitivity(sensitivity) / require_epsilon(epsilon)
    if exact.numerator <= _SMALL and exact.denominator <= _SMALL:
        return exact
    s = 2 ** max(0, _SMALL_BITS - floor(exact).bit_length())
    scale = Fraction(ceil(exact * s), s)
    if scale > LARGEST_SCALE:
        raise SettingRefused.at(
            "sensitivity",
            rule="must be at most 2^62 after division by epsilon",
            remedy="Choose a coarser grid or a larger epsilon.",
        )
    return scale


def require_epsilon(epsilon: Fraction) -> Fraction:
    """Refuse an epsilon that is not an exact number above 0."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | Fraction) or epsilon <= 0:
        raise SettingRefused.at(
            "epsilon", rule="must be an exact fraction above 0", got=epsilon, remedy="Write it as Fraction(1, 2)."
        )
    # A fraction made from NumPy's integers would overflow in silence.
    return Fraction(int(epsilon.numerator), int(epsilon.denominator))


def require_sensitivity(sensitivity: int, field: str = "sensitivity") -> Fraction:
    """Refuse a sensitivity that is not a whole number above 0. With 0 the exact answer would be released.

    The value is not quoted: some models compute it from the records.
    """
    if isinstance(sensitivity, bool) or not isinstance(sensitivity, int | np.integer) or sensitivity < 1:
        raise SettingRefused.at(
            field,
            rule="must be a whole number of grid steps, at least 1; at 0 the exact answer would be released",
            remedy="Count the sensitivity in steps of the grid, rounded up.",
        )
    return Fraction(int(sensitivity))


def require_size(size: int) -> None:
    if size < 0:
        raise ValueError("size must not be negative")
