"""e^(-v x) for a fixed fraction x > 0 and whole numbers v, between two whole numbers as close as one likes.

    low <= 2^precision e^(-v x) <= high                                                              (1)
    e^-y lies between neighbouring partial sums of 1 - y + y^2/2! - ...,   0 <= y <= 1               (2)
    e^(-2 y) = (e^-y)^2,   e^(-v x) = product of e^(-2^i x) over the binary digits i of v            (3)

Every product is rounded down on the lower side and up on the upper one, so (1) holds whatever the precision; rounding
costs closeness only. Whole numbers throughout, no float.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

__all__ = ["Decay"]


class Decay:
    """(1) at one precision; values once computed are kept."""

    def __init__(self, x: Fraction, precision: int) -> None:
        if x <= 0 or precision < 1:
            raise ValueError("x is above 0, the precision at least one bit")
        self._precision = precision
        self._powers = [self._first(x)]
        self._known = {0: (1 << precision, 1 << precision)}

    def at(self, v: int) -> tuple[int, int]:
        """Return low and high of (1): by (3), those of v without its highest digit, times those of that digit."""
        found = self._known.get(v)
        if found is None:
            place = v.bit_length() - 1
            while len(self._powers) <= place:
                self._powers.append(self._product(self._powers[-1], self._powers[-1]))
            # Of neighbouring v only this last product differs.
            found = self._known[v] = self._product(self.at(v ^ 1 << place), self._powers[place])
        return found

    def _first(self, x: Fraction) -> tuple[int, int]:
        """(1) for v = 1."""
        halvings = ceil(x).bit_length()
        y = x / 2**halvings
        one = 1 << self._precision
        term, high = Fraction(one), Fraction(one)
        low, place = high - y * term, 1
        term *= y
        while high - low > 1:
            high = low + term * y / (place + 1)
            low = high - term * y * y / ((place + 1) * (place + 2))
            term *= y * y / ((place + 1) * (place + 2))
            place += 2
        bounds = floor(low), ceil(high)
        for _ in range(halvings):
            bounds = self._product(bounds, bounds)
        return bounds

    def _product(self, one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
        return one[0] * other[0] >> self._precision, -(-one[1] * other[1] >> self._precision)
