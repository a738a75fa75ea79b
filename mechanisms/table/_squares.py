"""Squares of what records add, in whole numbers, and the sampling errors that noisy sums of them make.

    a = |u v|                what a record adds to a weighted figure, in steps (_weights (4)), at most A anywhere    (1)
    f(a) = floor((floor(a / 2^s)^2 + h) / 2^t),   h = floor(2^t / 2)                                               (2)
    q = f(a),   0 <= q <= R_i = max(1, f(A_i))     in cell i, where a <= A_i                                       (3)
    Q = sum of q,   noisy and public                                                                               (4)
    sampling error = sqrt(Q)   where Q >= 2 standard errors of its noise, else none                                (5)

s is the least with A / 2^s < 2^30, so that no square leaves 62 bits, t the least with f(A) < 2^20 + 1; both follow from
declarations alone. f does not fall as a grows, so by (3) one record adds a whole number from 0 to R_i to (4), which is
all that the proof of its noise needs (draws.py): Q is one more measure, of the bound R_i. One step of Q is worth the
square of one of the figure, times 2^(2s + t); where A is below 2^10, q is the square itself.

(4) estimates the variance of the figure t = sum of z over a sample that takes each record by itself, with probability
1 / w (Poisson sampling): z = w x has the Horvitz-Thompson estimator sum (1 - 1/w) z^2 = sum w (w - 1) x^2. Instead,
(4) is sum z^2, which is larger by sum w x^2 and does not ask how 1 / w came about. Of a stratified sample of single
records with replacement the estimator is sum over h of n/(n-1) (sum z^2 - (sum z)^2 / n); it is at most (4) where no
z is negative, and at most n/(n-1) times it otherwise. Of records that were sampled together, as in clusters, (4) has
none of the products and may be far too small.

An error of sqrt(Q) is half that of Q, relative to its size, so by (5) what is stated has a standard error of at most
about a quarter of itself; a square root of noise would be noise, and a 0 would say that the sample has no error.

Source: Horvitz & Thompson 1952; Saerndal, Swensson & Wretman 1992, "Model Assisted Survey Sampling", section 3.5
(Poisson sampling); Wolter 2007, "Introduction to Variance Estimation", chapter 1 (with replacement). (2), (5): ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["SURE", "Squaring", "combined_errors", "sampling_errors"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Standard errors of its noise that a sum of squares must have.
SURE = 2
_BITS, _SQUARED_BITS = 30, 20


@dataclass(frozen=True, slots=True)
class Squaring:
    """f of (2) for sizes of at most A; s and t as shifts."""

    before: int
    after: int

    @classmethod
    def of(cls, most: int) -> Squaring:
        """Return f for sizes of at most this."""
        before = max(0, most.bit_length() - _BITS)
        return cls(before, max(0, ((most >> before) ** 2).bit_length() - _SQUARED_BITS))

    def squared(self, sums: Integers) -> Integers:
        """(2) of whole numbers up to A in size."""
        sizes = np.abs(sums) >> self.before
        found: Integers = (sizes * sizes + (1 << self.after >> 1)) >> self.after
        return found

    def bounds(self, sizes: Integers) -> Integers:
        """Return R_i of (3), for the A_i."""
        return np.maximum(1, self.squared(sizes))

    def step(self, eta: Fraction) -> Fraction:
        """Return what one step of Q is worth, eta one of the figure."""
        return eta**2 * (1 << 2 * self.before + self.after)


def sampling_errors(squares: NDArray[Any], variances: Floats) -> Floats:
    """(5) in every row, in units of the root of one step of the squares; variances in squared steps of them."""
    sure = squares >= SURE * np.sqrt(variances)
    return np.sqrt(np.where(sure, squares, np.nan))


def combined_errors(noise: Floats, sampling: Floats) -> Floats:
    """Return sqrt(noise^2 + sampling^2): noise is independent of the sample, so variances add up."""
    found: Floats = np.hypot(noise, sampling)
    return found
