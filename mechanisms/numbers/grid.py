"""Numbers as whole numbers on a public grid, exactly, so that noise can be whole numbers too.

    q(x) = floor(x / eta + 1/2) - floor(a / eta)      for x clamped to the declared [a, b]            (1)
    0 <= q(x) <= R,   R = ceil(b / eta) - floor(a / eta)                                              (2)
    |q(x) - q(y)| <= ceil(|x - y| / eta)                                                              (3)

eta is a power of two, so x / eta is exact in binary floating point and (1) is computed without rounding. It
depends on the declared domain alone: 1 for whole numbers, and as coarse as needed to keep R within 2^24;
for continuous columns about 2^20 steps. A column for which only a resolution is declared has the largest power of two
within it, and 2^29 steps on either side of 0. Rounding half to even would break (3): 1/2 and 3/2 would lie 2 apart.

Source: ours; why floats carry no promise: Mironov 2012, "On significance of the least significant bits for
differential privacy".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.numbers.reach import REACH_IN_BITS, step_of
from penstock.mechanisms.refusal import SettingRefused

__all__ = ["Grid", "grid_of"]

# Whole numbers keep eta = 1 up to this many steps; sums over 2^32 records of them still fit into 63 bits.
_FINEST_INTEGER = 2**24
# A step of 2^-20 of the domain widens noise by a millionth, and nobody will miss what lies between.
_CONTINUOUS_STEPS = 2**20
# Quotients x / eta stay below this, where halves are still exact in float64.
_LARGEST_INDEX = 2**51


@dataclass(frozen=True, slots=True)
class Grid:
    """The points eta * (first + q), q = 0..steps, and the declared bounds [low, high] inside them."""

    exponent: int
    first: int
    steps: int
    low: float
    high: float
    whole: bool

    @property
    def eta(self) -> Fraction:
        """Return the distance of two neighbouring points."""
        return Fraction(2) ** self.exponent

    def index(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """(1); every value must be a number, and is clamped to the bounds."""
        if self.whole and self.exponent == 0 and values.dtype.kind in "iu":
            if values.dtype == np.uint64:  # beyond the signed range it would turn negative
                values = np.minimum(values, np.uint64(np.iinfo(np.int64).max))
            whole: NDArray[np.int64] = values.astype(np.int64)  # a copy, which is then changed in place
            np.clip(whole, int(self.low), int(self.high), out=whole)
            if self.first:
                whole -= self.first
            return whole
        scaled = np.ldexp(np.clip(values.astype(np.float64), self.low, self.high), -self.exponent)
        below = np.floor(scaled)
        # scaled + 1/2 could round up to the next whole number; the difference of two neighbours cannot.
        return (below + (scaled - below >= 0.5)).astype(np.int64) - self.first

    def values(self, index: NDArray[np.int64]) -> NDArray[Any]:
        """Return the points with these indices, clamped to the bounds; whole numbers as int64."""
        points = np.clip(np.ldexp((index + self.first).astype(np.float64), self.exponent), self.low, self.high)
        return points.astype(np.int64) if self.whole else points


def grid_of(column: Column, name: str, *, finest: int | None = None) -> Grid:
    """Return the grid of a numeric column, from its declaration alone, with at most `finest` steps where given."""
    if column.domain is None:
        raise SettingRefused.at(
            f"columns.{name}.domain", rule="must be declared", remedy="Declare its bounds from public knowledge."
        )
    if column.resolution is not None and finest is None:
        return _around_0(column)
    low, high = (Fraction(bound) for bound in column.domain)
    whole = column.type == "integer"
    finest = finest or (_FINEST_INTEGER if whole else _CONTINUOUS_STEPS)
    per_step = (high - low) / finest
    # One below the binary logarithm of the finest step at most, so only upward steps are left.
    exponent = 0 if whole else per_step.numerator.bit_length() - per_step.denominator.bit_length() - 1
    while _steps(low, high, exponent) > finest + 2:
        exponent += 1
    eta = Fraction(2) ** exponent
    if max(abs(low), abs(high)) / eta >= _LARGEST_INDEX:
        raise SettingRefused.at(
            f"columns.{name}.domain",
            rule="must be wider for numbers of this size: its grid is finer than a float64 holds",
            got=column.domain,
            remedy="Widen it, or release the difference from a public constant.",
        )
    first, steps = math.floor(low / eta), _steps(low, high, exponent)
    return Grid(exponent, first, steps, float(low), float(high), whole)


def _around_0(column: Column) -> Grid:
    """Return the grid of a column without a known domain: 2^29 steps on either side of 0, each the largest power of two
    within the resolution."""
    low, high = column.bounds
    steps = 1 << REACH_IN_BITS
    whole = column.type == "integer"
    return Grid(step_of(column.resolution or Fraction(1)), -steps, 2 * steps, low, high, whole)


def _steps(low: Fraction, high: Fraction, exponent: int) -> int:
    eta = Fraction(2) ** exponent
    return math.ceil(high / eta) - math.floor(low / eta)
