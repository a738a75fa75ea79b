"""Tables 1 and 2 of individual differential privacy. Reproduction, no guarantee.

    Laplace noise of scale D / epsilon holds a share p within +-D ln(1 / (1 - p)) / epsilon                  (1)
    noise (D / alpha) Z with a density of Z proportional to 1 / (1 + |z|^gamma), see _smooth.py               (2)
    discrete Laplace noise, a = e^-epsilon:   P(N = i) = (1 - a) / (1 + a) a^|i|,   E|N| = 2 a / (1 - a^2)   (3)
    the same, clamped to -1..1:   P(-1) = P(1) = a / (1 + a),   E|N| = 2 a / (1 + a)                         (4)

Table 1 sets (1) at the local sensitivity D = 1 beside (2) at the smooth sensitivity D = 1, with the admissibility
that the source prints and, which it does not have, the tight one. Table 2 sets (3) beside (4).

Source: Soria-Comas, Domingo-Ferrer, Sánchez & Megías 2017, sections 6.1.4 and 6.3.

Why neither is a release: (4) clamps to the true count +-1, which is post-processing that knows the data. It says
with certainty where the count lies to within 1, and after a few repetitions exactly. Table 1 compares unlike promises:
that of (1) holds for the scale of the actual data only, and nothing bounds what this scale reveals.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.noise.accuracy import laplace_width
from penstock.reproduction.computed._smooth import Admissibility, half_width, printed_admissibility, tight_admissibility

__all__ = ["clamped_count_error", "errors_of_counts", "intervals_of_medians"]

Table = NDArray[np.float64]


def intervals_of_medians(epsilon: float, level: float, gammas: Sequence[float]) -> Table:
    """Return Table 1, half-widths: a row for each gamma, columns (1), (2) as printed, (2) with tight admissibility."""
    laplace = laplace_width(1 / epsilon, level) / 2
    return np.array(
        [
            [laplace, *(half_width(gamma, level) / each.alpha for each in _admissibilities(epsilon, gamma))]
            for gamma in gammas
        ]
    )


def errors_of_counts(epsilons: Sequence[float]) -> Table:
    """Return Table 2, expected absolute errors: one row for each epsilon, in columns (3) and (4)."""
    return np.array([[1 / np.sinh(epsilon), clamped_count_error(epsilon)[[0, 2]].sum()] for epsilon in epsilons])


def clamped_count_error(epsilon: float) -> Table:
    """Return the probabilities (4) of the errors -1, 0 and 1."""
    a = np.exp(-epsilon)
    probabilities: Table = np.array([a, 1 - a, a]) / (1 + a)
    return probabilities


def _admissibilities(epsilon: float, gamma: float) -> tuple[Admissibility, Admissibility]:
    return printed_admissibility(epsilon, gamma), tight_admissibility(epsilon, gamma)
