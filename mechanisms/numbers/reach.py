"""How far values may lie from 0 where no domain is known, only what is told apart: a resolution.

    2^e     the largest power of two that is not larger than the resolution                                         (1)
    reach   2^29 steps of 2^e on either side of 0, more than 2^28 times the resolution                              (2)

(2) keeps sums over 2^32 records within 62 bits. It is public: what lies beyond is refused like any value outside a
declared domain. Source: ours.
"""

from __future__ import annotations

from fractions import Fraction

__all__ = ["REACH_IN_BITS", "reach_of", "step_of"]

REACH_IN_BITS = 29


def step_of(resolution: Fraction) -> int:
    """Return e of (1)."""
    exponent = resolution.numerator.bit_length() - resolution.denominator.bit_length()
    return exponent if Fraction(2) ** exponent <= resolution else exponent - 1


def reach_of(resolution: Fraction, *, whole: bool) -> tuple[int, int] | tuple[float, float]:
    """Return (2), as the bounds of a column."""
    reach = Fraction(2) ** (step_of(resolution) + REACH_IN_BITS)
    if whole:
        return -int(reach), int(reach)
    return -float(reach), float(reach)
