"""How far discrete Laplace noise strays, and how many answers show its scale. Floats, for readers only.

    P(|N| > w) = 2 a^(w + 1) / (1 + a),   a = e^(-1 / h), h = steps / epsilon                                       (1)
    half-width = the least whole w for which (1) is at most gamma                                                   (2)

Of r noises of scale h the mean of |N| has the standard error h / sqrt(r), because |N| has the standard deviation h
where h is large; so it lies within a tenth of h with probability 0.95 from r = (1.96 / 0.1)^2 on:

    r = 385                                                                                                         (3)

Noise of k cells with one scale counts k times in every answer, where each cell's own figure is known or is seen in
many answers: ceil(r / k) answers, and one more to tell the figures from the noise.
"""

from __future__ import annotations

from math import ceil, exp, log

__all__ = ["ANSWERS", "answers_that_show_scale", "half_width"]

ANSWERS = 385


def half_width(steps: float, epsilon: float, gamma: float) -> int:
    """Return (2); 0 without noise."""
    if steps <= 0:
        return 0
    h = steps / epsilon
    outside = (1 + exp(-1 / h)) / 2 * gamma
    return max(0, ceil(-h * log(outside) - 1e-9) - 1)


def answers_that_show_scale(cells: int) -> int:
    """Return how many answers show, to within a tenth, the scale that this many cells share: (3)."""
    return ceil(ANSWERS / max(cells, 1)) + 1
