"""How far a noisy table strays. Floats, for utility only; no promise rests on them.

Discrete Laplace noise N of scale b, a = e^(-1/b):

    standard error = sqrt(Var N) = sqrt(2 a) / (1 - a)                                                          (1)
    P(|N| > w) = 2 a^(w+1) / (1 + a)                    for whole w >= 0                                        (2)
    w_i least with (2) <= gamma / k   =>   P(|N_i| <= w_i in all k cells) >= 1 - gamma                          (3)

Continuous Laplace noise of one scale b:

    P(|N_i| <= b ln(k / gamma) in all k cells) = (1 - gamma / k)^k >= 1 - gamma                                 (4)

Source: Dwork & Roth 2014, Th. 3.8, for (4). O'Keefe & Charest 2019, Th. 4, print gamma for 1 - gamma, and forget to
take sizes. (4) is not true of discrete noise: between two whole numbers (2) may exceed gamma / k by up to
2 / (1 + a). So a table with integer noise is described by (3).

Under bootstrap adjacencies everything here is secret, because it shows the scale, and the scale shows extremes of the
data. Under differential privacy it may be published.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from mechanisms.noise.accuracy import discrete_laplace_variance, discrete_laplace_width
from mechanisms.tables.scales import Scales

__all__ = ["half_widths", "largest_laplace_error", "standard_errors", "table_half_widths"]

_LARGEST = 2**63 - 1


def standard_errors(scales: Scales) -> NDArray[np.float64]:
    """(1) of every cell; 0 where the scale is 0."""
    distinct, which = _distinct(scales)
    errors = [sqrt(discrete_laplace_variance(scale)) if scale else 0.0 for scale in distinct]
    return np.array(errors, np.float64)[which]


def half_widths(scales: Scales, level: float) -> NDArray[np.int64]:
    """Of every cell, the least w such that its own noise lies in -w..w with probability at least `level`."""
    _require_chance("level", level)
    distinct, which = _distinct(scales)
    # Noise is never larger than 2^63 - 1 (mechanisms.noise).
    widths = [min(discrete_laplace_width(scale, level) // 2, _LARGEST) if scale else 0 for scale in distinct]
    return np.array(widths, np.int64)[which]


def table_half_widths(scales: Scales, gamma: float) -> NDArray[np.int64]:
    """w_i of (3): all cells at once stay within them with probability at least 1 - gamma."""
    _require_chance("gamma", gamma)
    return half_widths(scales, 1 - gamma / len(scales.steps))


def largest_laplace_error(cells: int, scale: float, gamma: float) -> float:
    """b ln(k / gamma) of (4), for continuous noise only."""
    _require_chance("gamma", gamma)
    return scale * log(cells / gamma)


def _distinct(scales: Scales) -> tuple[list[float], NDArray[np.int64]]:
    """The different scales, and which of them each cell has."""
    steps, which = np.unique(scales.steps, return_inverse=True)
    return [float(int(step) / scales.epsilon) for step in steps], which


def _require_chance(name: str, chance: float) -> None:
    if not 0 < chance < 1:
        raise ValueError(f"{name} lies between 0 and 1")
