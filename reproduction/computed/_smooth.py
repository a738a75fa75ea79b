"""The noise that goes with a smooth sensitivity S. Numbers to compare with, no guarantee.

    S = max_k e^(-k beta) A_k,   A_k the largest local sensitivity within k replacements                 (1)
    released would be   f(D) + (S / alpha) Z,   Z with a density proportional to 1 / (1 + |z|^gamma)     (2)
    alpha = epsilon / (2 (gamma-1)^((gamma-1)/gamma)),   beta = epsilon / (2 max(1, gamma-1))            (3)
    alpha = epsilon / (4 gamma),   beta = epsilon / gamma                                                (4)
    P(|Z| <= z) = I_v(1/gamma, 1 - 1/gamma),   v = z^gamma / (1 + z^gamma)                               (5)

(3) is enough for epsilon: with h the density, |d ln h(z) / dz| = gamma |z|^(gamma-1) / (1 + |z|^gamma) is at most
(gamma-1)^((gamma-1)/gamma), so a shift by alpha costs epsilon/2; and |d ln(e^l h(e^l z)) / dl| is at most
max(1, gamma-1), so a stretch by e^beta costs epsilon/2. (4) is what the sources print. It is far from tight for small
gamma, and not enough for all: with gamma = 10 the loss is about 1.05 epsilon. (1) must use the beta of the noise.
With beta = epsilon, as printed, S varies from neighbour to neighbour by more than the noise covers. S of medians and of
the maximum: `penstock.mechanisms.statistics.smooth`.

Source: Nissim, Raskhodnikova & Smith 2007, "Smooth sensitivity and sampling in private data analysis", for (1), (2)
and (4); individual differential privacy (Soria-Comas et al. 2017), sections 6.1.2 and 6.1.4; (3) and (5) are ours.

Limits: floats throughout, so nothing here may be released. A median is released by `quantiles`.
"""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import betaincinv

__all__ = [
    "Admissibility",
    "half_width",
    "printed_admissibility",
    "tight_admissibility",
]


@dataclass(frozen=True, slots=True)
class Admissibility:
    """Limits to how far noise may be shifted, in units of its scale, and stretched, in logarithms."""

    alpha: float
    beta: float


def tight_admissibility(epsilon: float, gamma: float) -> Admissibility:
    """(3)."""
    _require_heavy_tail(epsilon, gamma)
    return Admissibility(epsilon / (2 * (gamma - 1) ** ((gamma - 1) / gamma)), epsilon / (2 * max(1.0, gamma - 1)))


def printed_admissibility(epsilon: float, gamma: float) -> Admissibility:
    """(4)."""
    _require_heavy_tail(epsilon, gamma)
    return Admissibility(epsilon / (4 * gamma), epsilon / gamma)


def half_width(gamma: float, level: float) -> float:
    """Return z of (5) at this probability."""
    _require_heavy_tail(1.0, gamma)
    # From the far end: v is close to 1, and 1 - v has more digits.
    w = float(betaincinv(1 - 1 / gamma, 1 / gamma, 1 - level))
    return float(((1 - w) / w) ** (1 / gamma))


def _require_heavy_tail(epsilon: float, gamma: float) -> None:
    if not (epsilon > 0 and gamma > 1):
        raise ValueError("epsilon is above 0, gamma above 1")
