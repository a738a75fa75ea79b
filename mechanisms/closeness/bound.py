"""The factor t of closeness as an exact fraction, and the number of buckets that goes with it.

    t = floor(10^12 (1 + x + x^2/2! + ... + x^64/64!)) / 10^12 <= e^x,   x = epsilon > 0                         (1)
    b = max(2, floor(t) + 1)                                                                                     (2)

Every partial sum of the series lies below e^x, so (1) never promises more than e^epsilon allows; for x up to 5 what is
left out is below 10^-44. With b <= t + 1 buckets of equal mass a group can hold one bucket at t times its share and all
others at 1/t of theirs.

Source: Soria-Comas 2013 (thesis), section 7.2.1, where t is a whole number.
"""

from __future__ import annotations

from fractions import Fraction

__all__ = ["LARGEST_T", "below_exp", "bucket_number"]

# More than a hundred buckets make groups of thousands of records; nobody reads that many.
LARGEST_T = 100
_DIGITS = 10**12
_TERMS = 64
_LARGEST_EPSILON = 5


def below_exp(epsilon: Fraction) -> Fraction:
    """(1); for any epsilon above 5 the value at 5, which is above LARGEST_T."""
    x = min(epsilon, Fraction(_LARGEST_EPSILON))
    total = term = Fraction(1)
    for power in range(1, _TERMS + 1):
        term *= x / power
        total += term
    return Fraction(_DIGITS * total.numerator // total.denominator, _DIGITS)


def bucket_number(t: Fraction) -> int:
    """(2)."""
    return max(2, t.numerator // t.denominator + 1)
