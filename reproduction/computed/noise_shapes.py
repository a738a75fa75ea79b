"""Chapter 4 of the thesis: which noise is smaller than which, and the densities that it draws. No guarantee.

The sensitivity is 1, b = e^-epsilon. One noise is smaller than another if it lies within every interval around 0 with
at least the same probability (Definition 6):

    Laplace       P(|Y| <= x) = 1 - e^(-epsilon x)                                                           (1)
    staircase     density M on |x| < d, M b^(i+1) on d + i <= |x| < d + i + 1,  M = (1-b) / 2(d (1-b) + b)   (2)
    rearranged    the staircase with the core m, that has in each [i, i+1] the mass of Laplace noise:
                  m = (1 - b - epsilon b) / (epsilon (1 - b))                                                (3)
    box noise     for two answers with half-widths s and core z, the density of one of them, i the first box that
                  reaches x, j the other answer:   2 M b^i (z_j + s_j i + s_j / (e^epsilon - 1))             (4)

Source: Soria-Comas 2013 (thesis), Definitions 6 to 8, sections 4.3 to 4.5. (2) has one more in the exponent than
Theorem 1 prints.
"""

from __future__ import annotations

from math import exp, expm1

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "box_marginals",
    "laplace_within",
    "rearranged_core",
    "staircase_density",
    "staircase_within",
]

Points = NDArray[np.float64]


def laplace_within(points: Points, epsilon: float) -> Points:
    """(1)."""
    within: Points = -np.expm1(-epsilon * points)
    return within


def rearranged_core(epsilon: float) -> Points:
    """(3), as an array of one number."""
    b = exp(-epsilon)
    return np.array([(1 - b - epsilon * b) / (epsilon * (1 - b))])


def staircase_density(points: Points, core: float, epsilon: float) -> Points:
    """(2)."""
    b = exp(-epsilon)
    step = np.where(np.abs(points) < core, 0, np.floor(np.abs(points) - core) + 1)
    density: Points = _peak(core, epsilon) * b**step
    return density


def staircase_within(points: Points, core: float, epsilon: float) -> Points:
    """Return P(|Y| <= x) of (2): whole steps, and a part of one."""
    b, peak = exp(-epsilon), _peak(core, epsilon)
    whole = np.floor(np.maximum(points - core, 0))
    part = np.maximum(points - core, 0) - whole
    within: Points = 2 * peak * (np.minimum(points, core) + b * (1 - b**whole) / (1 - b) + b ** (whole + 1) * part)
    return within


def box_marginals(
    points: Points, half_widths: tuple[float, float], core: tuple[float, float], epsilon: float
) -> Points:
    """(4): one row for each answer. M makes the volumes between the boxes, with their densities, add up to 1."""
    b = exp(-epsilon)
    inner = np.arange(2000)
    volumes = np.prod([2 * (z + inner * s) for z, s in zip(core, half_widths, strict=True)], axis=0)
    peak = 1 / float((np.diff(volumes, prepend=0.0) * b**inner).sum())
    rows = []
    for place, other in ((0, 1), (1, 0)):
        box = np.maximum(0, np.floor((np.abs(points) - core[place]) / half_widths[place] + 1))
        s, z = half_widths[other], core[other]
        rows.append(2 * peak * b**box * (z + s * box + s / expm1(epsilon)))
    return np.array(rows)


def _peak(core: float, epsilon: float) -> float:
    b = exp(-epsilon)
    return (1 - b) / (2 * (core * (1 - b) + b))
