"""Exact numbers as floats that can be compared with a limit, such that rounding never turns a breach into a pass.

A limit is written in decimals: 0.3 means 3/10, and the float that stands for it is slightly less. So floats
are read as the shortest decimals that stand for them, d(x):

    not_below(q) = a float x with d(x) >= q,   not_above(q) = a float x with d(x) <= q,   both next to q            (1)

d rises with x and d(float(L)) = L for every L of up to 15 digits, so by (1) not_below(q) <= float(L) exactly if
q <= L, and not_above(q) >= float(L) exactly if q >= L.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter

__all__ = ["not_above", "not_below"]


def not_below(exact: Fraction) -> float:
    """Round up, for numbers of which large ones are unsafe."""
    rounded = float(exact)
    return rounded if Fraction(repr(rounded)) >= exact else nextafter(rounded, inf)


def not_above(exact: Fraction) -> float:
    """Round down, for numbers of which small ones are unsafe."""
    rounded = float(exact)
    return rounded if Fraction(repr(rounded)) <= exact else nextafter(rounded, -inf)
