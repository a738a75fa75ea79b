"""Medians of many data sets, and how far their noise strays. Reproduction, no guarantee.

    iDP   E|noise| = LS / epsilon                                             Laplace noise                       (1)
    DP    E|noise| = (S / alpha) E|Z|,   E|Z| = sin(pi/g) / sin(2 pi/g)       g the tail exponent                 (2)

(2): the integral of z^(s-1) / (1 + z^g) over z > 0 is (pi/g) / sin(pi s/g); s = 2 over s = 1. With g = 3 it is 1.
LS is the local and S the smooth sensitivity of the median, of an even number of values that of the lower one; S with
the printed alpha = epsilon / 4g and beta = epsilon / g. The domain is what each data set spans, as in the source, which
voids its differential privacy. Values stand on a grid of 2^30 steps over it.

Source: individual differential privacy, second version, section 6.1.4 and Figure 2; seeds and numbers are ours.
"""

from __future__ import annotations

from math import pi, sin

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.statistics.smooth import smooth_sensitivity_of_median
from penstock.reproduction.computed._smooth import printed_admissibility

__all__ = ["errors_of_medians", "heavy_tailed_density", "samples"]

Table = NDArray[np.float64]

_STEPS = 2**30
_WORD = 2.0**-64


def samples(distribution: str, n: int, sets: int, seed: int) -> Table:
    """Return sorted data sets, one in each row: uniform on 0 to 1, normal or exponential."""
    words = np.asarray(seeded(seed).words(2 * n * sets), dtype=np.uint64).astype(float)
    first, second = ((words + 0.5) * _WORD).reshape(2, sets, n)
    if distribution == "exponential":
        values = -np.log(first)
    elif distribution == "normal":
        values = np.sqrt(-2 * np.log(first)) * np.cos(2 * pi * second)
    else:
        values = first
    return np.sort(values, axis=1)


def errors_of_medians(values: Table, epsilons: list[float], gamma: float) -> NDArray[np.float64]:
    """Return mean errors (1) and (2) over data sets: one row for each epsilon."""
    alphas = [printed_admissibility(epsilon, gamma) for epsilon in epsilons]
    strays = sin(pi / gamma) / sin(2 * pi / gamma)
    middle = (values.shape[1] + 1) // 2 - 1
    local = np.maximum(values[:, middle + 1] - values[:, middle], values[:, middle] - values[:, middle - 1])
    smooth = np.array([[_smooth(each, admitted.beta) for admitted in alphas] for each in values])
    heavy = smooth.mean(axis=0) * strays / [admitted.alpha for admitted in alphas]
    return np.stack([local.mean() / np.array(epsilons), heavy], axis=1)


def heavy_tailed_density(points: Table, gamma: float, scale: float) -> Table:
    """Return the density of scale times Z."""
    density: Table = sin(pi / gamma) * gamma / (2 * pi) / (1 + np.abs(points / scale) ** gamma) / scale
    return density


def _smooth(values: Table, beta: float) -> float:
    """Return S of a data set within what it spans; of an even number of values without the largest one's rank.

    The lower median of n = 2m values is the middle of 2m - 1 ranks, so a value at the upper end, which is the bound
    itself, stands for what lies beyond.
    """
    low, high = values[0], values[-1]
    steps = np.round((values - low) / (high - low) * _STEPS).astype(np.int64)
    odd = steps if len(steps) % 2 else steps[:-1]
    return smooth_sensitivity_of_median(odd, 0, _STEPS, beta) * float(high - low) / _STEPS
