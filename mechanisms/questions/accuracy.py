"""How far answers stray, before anything is asked: floats for planning, on which no promise rests.

    discrete Laplace, scale h      P(|N| > w) = 2 a^(w+1) / (1 + a),   a = e^(-1/h)                                (1)
    staircase D, r, epsilon        P(|Y| > w) = P(|Z| > w + 1/2), Z the continuous staircase with core r - 1/2      (2)
    half-width at a confidence c   the least whole w with P(|N| > w) <= 1 - c, rounded up                          (3)

`least_of` finds the least epsilon of a readable list, three significant digits each, at which something holds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import exp, expm1, floor
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.noise.accuracy import discrete_laplace_variance, grid_staircase_variance

__all__ = [
    "CONFIDENCE",
    "Curve",
    "Expected",
    "LaplaceNoise",
    "SpreadOfNoise",
    "StaircaseNoise",
    "curve_of",
    "curve_of_errors",
    "half_width",
    "is_held",
    "least_of",
    "readable_epsilons",
    "scan_for_least",
]

CONFIDENCE = Fraction(19, 20)
# Floats are rounded; a tail counts as this much heavier than it was computed, so that (3) is never too small.
_HEAVIER = 1 + 1e-9
# A picture shows this many bars, and all but this much of the probability.
_BARS, _BEYOND = 101, 0.005
# From here on no noise leaves 64 bits, however epsilon is divided.
LEAST_EPSILON, MOST_EPSILON = Fraction(1, 2**20), 64


@dataclass(frozen=True, slots=True)
class Curve:
    """Points and their probabilities; of: of the error, answer minus truth, or of the answer itself."""

    of: Literal["error", "answer"]
    points: tuple[float, ...]
    probabilities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Expected:
    """What to expect of an answer, in the unit of the statistic; None where nothing is known without the data.

    half_width: with at least this confidence the answer is that near to the truth.
    is_upper_bound: errors are those of the worst case, because the size of the noise follows the data and is secret.
    is_typical: errors are those for data spread as the prior says; those of the actual data may be larger.
    rank_error: by how many records the answer misses its rank at most, with this confidence.
    """

    standard_error: float | None = None
    half_width: float | None = None
    confidence: Fraction = CONFIDENCE
    curve: Curve | None = None
    answers: Curve | None = None
    rank_error: float | None = None
    is_upper_bound: bool = False
    is_typical: bool = False
    sentences: tuple[str, ...] = field(default=())


class SpreadOfNoise(Protocol):
    """Whole-number noise, symmetric about 0."""

    @property
    def variance(self) -> float: ...

    def outside(self, w: int) -> float:
        """Return P(|N| > w), for w >= 0."""
        ...


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """(1)."""

    scale: float

    @property
    def variance(self) -> float:
        return discrete_laplace_variance(self.scale)

    def outside(self, w: int) -> float:
        a = exp(-1 / self.scale)
        return 2 * exp(-(w + 1) / self.scale) / (1 + a)


@dataclass(frozen=True, slots=True)
class StaircaseNoise:
    """(2)."""

    sensitivity: int
    step: int
    epsilon: float

    @property
    def variance(self) -> float:
        return max(0.0, grid_staircase_variance(self.sensitivity, self.step, self.epsilon))

    def outside(self, w: int) -> float:
        b, q = exp(-self.epsilon), -expm1(-self.epsilon)
        width, core, place = self.sensitivity, self.step - 0.5, w + 0.5
        whole = core * q + width * b
        if place <= core:
            return 1 - place * q / whole
        shell = floor((place - core) / width)
        return exp(-self.epsilon * (shell + 1)) * (width - (place - core - shell * width) * q) / whole


def is_held(outside: float, confidence: Fraction) -> bool:
    """Return whether no more than 1 - confidence lies outside, for certain."""
    return outside * _HEAVIER <= float(1 - confidence)


def half_width(noise: SpreadOfNoise, confidence: Fraction) -> int:
    """(3)."""
    most = 1
    while not is_held(noise.outside(most), confidence):
        most *= 2
    return bisect_left(range(most), True, key=lambda w: is_held(noise.outside(w), confidence))


def curve_of(noise: SpreadOfNoise, unit: float) -> Curve:
    """Return the probabilities of errors in bars of equal width about 0; what lies beyond the last is left out."""
    reach = max(1, half_width(noise, 1 - Fraction(_BEYOND)))
    bar = -(-(2 * reach + 1) // _BARS) | 1  # odd, so that 0 is in the middle of its bar
    side = (reach + bar // 2) // bar

    def chance(place: int) -> float:
        if place == 0:
            return 1 - noise.outside(bar // 2)
        nearest = abs(place) * bar - bar // 2
        return (noise.outside(nearest - 1) - noise.outside(nearest + bar - 1)) / 2

    places = range(-side, side + 1)
    return Curve("error", tuple(place * bar * unit for place in places), tuple(chance(place) for place in places))


@cache
def readable_epsilons() -> tuple[Fraction, ...]:
    """Return all numbers of three significant digits from 1/1,000,000 to 64, rising."""
    found = [Fraction(digits, 10**8) * 10**power for power in range(9) for digits in range(100, 1000)]
    return tuple(each for each in found if LEAST_EPSILON <= each <= MOST_EPSILON)


def least_of(holds: Callable[[Fraction], bool], least: Fraction) -> Fraction | None:
    """Return the least readable epsilon, at least `least`, at which something holds that then holds for all larger."""
    listed = [each for each in readable_epsilons() if each >= least]
    place = bisect_left(listed, True, key=holds)
    return listed[place] if place < len(listed) else None


def scan_for_least(holds: Callable[[Fraction], bool], least: Fraction) -> Fraction | None:
    """Return the same where it may hold, fail and hold again as epsilon grows: each is tried in turn."""
    return next((each for each in readable_epsilons() if each >= least and holds(each)), None)


def curve_of_errors(errors: NDArray[np.float64], chances: NDArray[np.float64]) -> Curve:
    """Return the probabilities of errors in bars about 0, given many errors and their probabilities."""
    order = np.argsort(np.abs(errors), kind="stable")
    inside = np.cumsum(chances[order]) <= 1 - _BEYOND
    reach = max(float(np.abs(errors[order][inside]).max(initial=0.0)), float(np.abs(errors).max()) * 1e-9) or 1.0
    half = _BARS // 2
    edges = np.linspace(-reach, reach, _BARS + 1) * (1 + 0.5 / half)
    found, _ = np.histogram(errors, edges, weights=chances)
    return Curve("error", tuple(((edges[1:] + edges[:-1]) / 2).tolist()), tuple(found.tolist()))
