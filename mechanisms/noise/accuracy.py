"""How far noise strays: variances, intervals and regions. Floats, for utility only; no promise rests on them.

b = e^-epsilon throughout; D is the sensitivity; intervals are symmetric about 0 and given by their whole width.

Laplace     density e^(-|x|/h) / 2h;  discrete: a^|i| (1 - a)/(1 + a), a = e^(-1/h)
            Var = 2 h^2;  discrete: 2 a / (1 - a)^2                                                            (1)
            the L1 norm of m of them is gamma(m), so the smallest region holding a share is |x_1| + .. <= h q    (2)
Staircase   density M on |x| < d and M b^(i+1) on d + i D <= |x| < d + (i+1) D,  M = (1 - b) / 2(d (1 - b) + D b)
            Var = 2M (d^3/3 + b D (d^2/(1-b) + d D (1+b)/(1-b)^2 + D^2 (1 + 4b + b^2)/3(1-b)^3))                 (3)
            least at d = D ((b (1+b) / 2)^(1/3) - b) / (1 - b), where it is D^2 ((b (1+b) / 2)^(2/3) + b) / (1-b)^2  (4)
            E|Y| is least at d = D / (1 + e^(epsilon/2)), where it is D e^(epsilon/2) / (e^epsilon - 1)          (5)
            on the grid Y is the noise with d = r - 1/2, rounded to the nearest integer: Var = (3) - 1/12       (6)
Box         density c b^i on box_i less box_(i-1),  box_i = product of [-(z_l + i s_l), z_l + i s_l]
            Var_l = sum_i P(i) (z_l + i s_l)^2 / 3,  P(i) proportional to b^i vol_i                             (7)
            on the grid: z_l + 1/2 in place of z_l, then rounded: Var_l = (7) - 1/12                            (8)

Source: Soria-Comas 2013 (thesis), chapter 4; Geng & Viswanath 2014 for (4) and (5), with gamma = d / D.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import cbrt, ceil, exp, expm1, factorial, floor, log, prod

from penstock.mechanisms.noise.series import geometric_sum

__all__ = [
    "Region",
    "best_core_for_magnitude",
    "best_core_for_variance",
    "best_core_for_width",
    "best_step",
    "box_region",
    "box_variances",
    "discrete_laplace_variance",
    "discrete_laplace_width",
    "grid_box_variances",
    "grid_staircase_variance",
    "laplace_region",
    "laplace_variance",
    "laplace_width",
    "staircase_magnitude",
    "staircase_variance",
    "staircase_width",
]


def laplace_variance(scale: float) -> float:
    """(1)."""
    return 2 * scale**2


def laplace_width(scale: float, level: float) -> float:
    """P(|x| > w/2) = e^(-w/2h)."""
    return -2 * scale * log(1 - level)


def discrete_laplace_variance(scale: float) -> float:
    """(1)."""
    return 2 * exp(-1 / scale) / expm1(-1 / scale) ** 2


def discrete_laplace_width(scale: float, level: float) -> int:
    """Return twice the least integer w that |noise| exceeds with probability 2 a^(w+1) / (1 + a) <= 1 - level."""
    a = exp(-1 / scale)
    return 2 * max(0, ceil(-scale * log((1 - level) * (1 + a) / 2)) - 1)


def staircase_variance(sensitivity: float, core: float, epsilon: float) -> float:
    """(3), where `core` is d."""
    b, q = exp(-epsilon), -expm1(-epsilon)
    steps = core**2 / q + core * sensitivity * (1 + b) / q**2 + sensitivity**2 * (1 + 4 * b + b**2) / (3 * q**3)
    return 2 * _peak(sensitivity, core, epsilon) * (core**3 / 3 + b * sensitivity * steps)


def staircase_magnitude(sensitivity: float, core: float, epsilon: float) -> float:
    """Return E|Y|."""
    b, q = exp(-epsilon), -expm1(-epsilon)
    steps = core / q + sensitivity * (1 + b) / (2 * q**2)
    return 2 * _peak(sensitivity, core, epsilon) * (core**2 / 2 + b * sensitivity * steps)


def staircase_width(sensitivity: float, core: float, epsilon: float, level: float) -> float:
    """Return the width of the symmetric interval that holds the noise with probability `level`.

    P(|Y| > d + (i - 1) D + y) = b^i (1 - y (1 - b) / D) D / (d (1 - b) + D b),   0 <= y < D.
    """
    b, q = exp(-epsilon), -expm1(-epsilon)
    outside = (1 - level) * (core * q + sensitivity * b) / sensitivity
    if outside > b:
        return level / _peak(sensitivity, core, epsilon)
    shell = floor(-log(outside) / epsilon)
    inside_shell = sensitivity * (1 - outside * exp(epsilon * shell)) / q
    return 2 * (core + (shell - 1) * sensitivity + inside_shell)


def best_core_for_variance(sensitivity: float, epsilon: float) -> float:
    """Return the d of (4)."""
    b = exp(-epsilon)
    return sensitivity * (cbrt(b * (1 + b) / 2) - b) / -expm1(-epsilon)


def best_core_for_magnitude(sensitivity: float, epsilon: float) -> float:
    """Return the d of (5)."""
    return sensitivity / (1 + exp(epsilon / 2))


def best_core_for_width(sensitivity: float, epsilon: float, level: float) -> float:
    """Return the d of the narrowest interval, by search. Up to epsilon 1 it gains less than 0.1 % on Laplace noise."""
    low, high = 0.0, sensitivity
    best = low
    # The width has kinks and several valleys in d, so the first search is a fine one.
    for parts in (10_000, 100, 100, 100):
        cores = [low + (high - low) * i / parts for i in range(parts + 1)]
        best = min(cores, key=lambda core: staircase_width(sensitivity, core, epsilon, level))
        spacing = (high - low) / parts
        low, high = max(0.0, best - spacing), min(sensitivity, best + spacing)
    return best


def grid_staircase_variance(sensitivity: int, step: int, epsilon: float) -> float:
    """(6): the variance of `staircase(sensitivity, step, ...)`."""
    return staircase_variance(sensitivity, step - 0.5, epsilon) - 1 / 12


def best_step(sensitivity: int, epsilon: float) -> int:
    """Return the step r of least variance (6): (3) has one valley in d, so r - 1/2 is next to its bottom."""
    near = floor(best_core_for_variance(sensitivity, epsilon) + 0.5)
    within = {min(max(step, 1), sensitivity) for step in (near, near + 1)}
    return min(within, key=lambda step: grid_staircase_variance(sensitivity, step, epsilon))


def _peak(sensitivity: float, core: float, epsilon: float) -> float:
    """Return the density M in the middle."""
    q = -expm1(-epsilon)
    return q / (2 * (core * q + sensitivity * exp(-epsilon)))


@dataclass(frozen=True, slots=True)
class Region:
    """The smallest region that holds the noise with a given probability. `size` is its area or volume.

    extent: of Laplace noise, the L1 norm of its border; of box noise, beta, where the region is the product of
    [-(z_l + beta s_l), z_l + beta s_l].
    """

    extent: float
    size: float


def laplace_region(scale: float, answers: int, level: float) -> Region:
    """(2): q is the quantile of gamma(m), and the size of the region (2 h q)^m / m!."""
    from scipy.special import gammaincinv

    radius = scale * float(gammaincinv(answers, level))
    return Region(radius, (2 * radius) ** answers / factorial(answers))


def box_variances(half_widths: Sequence[float], core: Sequence[float], epsilon: float) -> tuple[float, ...]:
    """(7), one for each answer."""
    sides, q = _sides(half_widths, core), Fraction(-expm1(-epsilon))
    total = geometric_sum(lambda i: _volume(sides, i), len(sides), q)

    def square(s: Fraction, z: Fraction) -> Fraction:
        return geometric_sum(lambda i: _volume(sides, i) * (z + i * s) ** 2, len(sides) + 2, q)

    return tuple(float(square(s, z) / total) / 3 for s, z in sides)


def grid_box_variances(half_widths: Sequence[int], core: Sequence[int], epsilon: float) -> tuple[float, ...]:
    """(8): the variances of `box(half_widths, core, ...)`."""
    return tuple(variance - 1 / 12 for variance in box_variances(half_widths, [z + 0.5 for z in core], epsilon))


def box_region(half_widths: Sequence[float], core: Sequence[float], epsilon: float, level: float) -> Region:
    """Return the first boxes that are needed, the last one in part: the density falls from box to box.

    P(outside box_n) = c ((1 - b) sum of b^i vol_i over i > n  -  b^(n+1) vol_n),   1/c = (1 - b) sum of b^i vol_i.
    """
    sides, q = _sides(half_widths, core), Fraction(-expm1(-epsilon))
    peak = 1 / (q * geometric_sum(lambda i: _volume(sides, i), len(sides), q))

    def outside(n: int) -> float:
        farther = geometric_sum(lambda i: _volume(sides, n + 1 + i), len(sides), q)
        return exp(-epsilon * (n + 1)) * float(peak * (q * farther - _volume(sides, n)))

    most = 1
    while outside(most) > 1 - level:
        most *= 2
    last = bisect_left(range(most), level - 1, key=lambda n: -outside(n))
    size = float(_volume(sides, last)) - (1 - level - outside(last)) / (float(peak) * exp(-epsilon * last))
    low, high = -float(min(z / s for s, z in sides)), float(last)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if _volume(sides, Fraction(middle)) > size else (middle, high)
    return Region(high, size)


def _sides(half_widths: Sequence[float], core: Sequence[float]) -> list[tuple[Fraction, Fraction]]:
    return [(Fraction(s), Fraction(z)) for s, z in zip(half_widths, core, strict=True)]


def _volume(sides: list[tuple[Fraction, Fraction]], i: int | Fraction) -> Fraction:
    """Return the volume of box_i."""
    return prod((2 * (z + i * s) for s, z in sides), start=Fraction(1))
