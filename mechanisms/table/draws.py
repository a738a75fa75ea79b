"""Noise for the measures of a cell under differential privacy: which kind, how large, drawn.

One change touches t cells: 2 under `replace`, because a record may leave one cell and enter another, 1 under
`add_remove`. In each it moves measure l by at most B_l; a replacement inside one cell moves it by 2 B_l at most:

    epsilon_cell = epsilon / t      one move by up to B costs epsilon_cell, so t of them cost epsilon           (1)

    laplace     scale B / epsilon_cell                                      one measure
    staircase   sensitivity B, epsilon_cell                                 one measure
    box         half-widths B_l, epsilon_cell                               all measures of a cell together

(1) by shells: a move by d with |d_l| <= B_l changes the shell of staircase and box noise by one at most,
and a move by 2d by two. Laplace noise of scale 2 B / epsilon is the same as (1); staircase noise of sensitivity 2 B and
epsilon is not: two cells that move by B each would cost a shell each, 2 epsilon together.

Laplace and staircase noise need a share of epsilon for every measure; box noise does not. `best_kind` compares the
sum of the variances in units of B_l^2.

Source: Soria-Comas 2013 (thesis), sections 4.2 to 4.5; penstock.mechanisms.noise. Everything here is public.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil, exp, expm1, prod, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.noise import box, discrete_laplace, scale_at_least, staircase
from penstock.mechanisms.noise.accuracy import (
    best_step,
    discrete_laplace_variance,
    discrete_laplace_width,
    grid_box_variances,
    grid_staircase_variance,
    staircase_width,
)
from penstock.mechanisms.noise.series import geometric_sum
from penstock.mechanisms.noise.staircase import MOST_ATTEMPTS
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refusal import SettingRefused

__all__ = ["Kind", "Noise", "best_kind", "noise_of", "standard_error"]

Kind = Literal["laplace", "staircase", "box"]

# Each measure by itself, with its share of epsilon.
_SPLIT: tuple[Kind, ...] = ("laplace", "staircase")

# Staircase and box noise must be better by a hundredth to be worth the longer explanation.
_WORTH_IT = 0.99
# With more measures in one box nearly every attempt of the sampler would be drawn again.
MOST_IN_A_BOX = 6
# Cores are looked for among _CORES parts of the half-widths, every _FEW first and then near the best of them.
_CORES, _FEW = 256, 8
# At an epsilon of 40 the formulas cancel to 0, which cannot be a weight; a billionth of a step is as good as none.
_LEAST_VARIANCE = 1e-18


class _NoChance:
    """A source that is enough to draw nothing, which shows whether the samplers accept their settings."""

    from_system = False

    def words(self, count: int) -> NDArray[np.uint64]:
        raise ValueError("nothing is drawn here")

    def streams(self, count: int) -> list[Randomness]:
        return [self] * count


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise for the measures of one cell that are drawn together; laplace and staircase have one.

    inner: the core of box noise, the step of staircase noise, nothing for laplace.
    """

    kind: Kind
    half_widths: tuple[int, ...]
    inner: tuple[int, ...]
    epsilon: Fraction

    @property
    def variances(self) -> tuple[float, ...]:
        """Return one for each measure, in squared steps; above 0."""
        return _variances(self)

    def half_width(self, measure: int, level: float) -> int:
        """Return the least w, in steps, such that a measure's noise lies in -w..w with at least this probability."""
        if self.kind == "laplace":
            return discrete_laplace_width(float(scale_at_least(self.half_widths[0], self.epsilon)), level) // 2
        if self.kind == "staircase":
            # On the grid: the nearest whole number (penstock.mechanisms.noise.accuracy).
            width = staircase_width(self.half_widths[0], self.inner[0] - 0.5, float(self.epsilon), level)
            return max(0, ceil((width - 1) / 2))
        return _box_half_width(self, measure, level)

    def draw(self, cells: int, randomness: Randomness) -> NDArray[np.int64]:
        """Return independent draws, one row for each cell, one column for each measure."""
        if self.kind == "laplace":
            return discrete_laplace(self.half_widths[0], self.epsilon, cells, randomness)[:, np.newaxis]
        if self.kind == "staircase":
            return staircase(self.half_widths[0], self.inner[0], self.epsilon, cells, randomness)[:, np.newaxis]
        return box(self.half_widths, self.inner, self.epsilon, cells, randomness)

    @property
    def can_be_drawn(self) -> bool:
        """Return whether the samplers accept these settings."""
        try:
            self.draw(0, _NoChance())
        except SettingRefused:
            return False
        return True

    def facts(self) -> dict[str, list[int] | int]:
        """Return the noise as public data."""
        named: dict[str, list[int] | int] = {"half_widths": list(self.half_widths)}
        if self.kind == "staircase":
            named["step"] = self.inner[0]
        elif self.kind == "box":
            named["core"] = list(self.inner)
        return named


@lru_cache(maxsize=2**12)
def _variances(noise: Noise) -> tuple[float, ...]:
    """Return them; kept, because exact sums for box noise take a millisecond, and every output of a release asks."""
    rate = float(noise.epsilon)
    exact: tuple[float, ...]
    if noise.kind == "laplace":
        exact = (discrete_laplace_variance(float(scale_at_least(noise.half_widths[0], noise.epsilon))),)
    elif noise.kind == "staircase":
        exact = (grid_staircase_variance(noise.half_widths[0], noise.inner[0], rate),)
    else:
        exact = grid_box_variances(noise.half_widths, noise.inner, rate)
    return tuple(max(variance, _LEAST_VARIANCE) for variance in exact)


@cache
def noise_of(kind: Kind, half_widths: tuple[int, ...], epsilon: Fraction) -> Noise:
    """Return the noise of this kind with the least variance, for measures that move by at most `half_widths`.

    Only noise that can be drawn: at a large epsilon the best step is so small that the sampler would reject for ever.
    For box noise, only cores that are the same part of every half-width. epsilon: epsilon_cell.
    """
    if kind == "laplace":
        return Noise(kind, half_widths, (), epsilon)
    if kind == "staircase":
        steps = {best_step(half_widths[0], float(epsilon)), 2 * half_widths[0] // MOST_ATTEMPTS + 1}
        return _smallest([Noise(kind, half_widths, (step,), epsilon) for step in sorted(steps)])
    parts = range(0, _CORES, _FEW)
    boxes = [_box(half_widths, part, epsilon) for part in parts]
    best = parts[boxes.index(_smallest(boxes))]
    near = range(max(0, best - _FEW), min(_CORES, best + _FEW + 1))
    return _smallest([_box(half_widths, part, epsilon) for part in near])


def _smallest(candidates: list[Noise]) -> Noise:
    """Return the smallest of those that can be drawn, or of all if none can."""
    return min([noise for noise in candidates if noise.can_be_drawn] or candidates, key=_size)


def _box(half_widths: tuple[int, ...], part: int, epsilon: Fraction) -> Noise:
    """Return box noise whose core is this part of every half-width."""
    return Noise("box", half_widths, tuple(min(width - 1, width * part // _CORES) for width in half_widths), epsilon)


@cache
def best_kind(
    half_widths: tuple[int, ...], epsilon: Fraction, shares: tuple[Fraction, ...], together: bool = True
) -> Kind:
    """Return the kind of noise with the least error for the measures of a cell, which share epsilon_cell like this.

    together: whether box noise may be chosen, which ignores the shares.
    """
    drawn: dict[Kind, list[Noise]] = {
        kind: [noise_of(kind, (width,), share * epsilon) for width, share in zip(half_widths, shares, strict=True)]
        for kind in _SPLIT
    }
    if together and 1 < len(half_widths) <= MOST_IN_A_BOX:
        drawn["box"] = [noise_of("box", half_widths, epsilon)]
    # Laplace noise stays in any case, so that there is one to name in a refusal.
    able = [kind for kind, noises in drawn.items() if kind == "laplace" or all(n.can_be_drawn for n in noises)]
    sizes = {kind: sum(map(_size, drawn[kind])) for kind in able}
    best = min(sizes, key=lambda kind: sizes[kind])
    return best if sizes[best] < _WORTH_IT * sizes["laplace"] else "laplace"


def standard_error(variance: float, step: Fraction) -> float:
    """Return the standard error in the unit of the column."""
    return sqrt(variance) * float(step)


def _size(noise: Noise) -> float:
    return sum(variance / width**2 for variance, width in zip(noise.variances, noise.half_widths, strict=True))


def _box_half_width(noise: Noise, measure: int, level: float) -> int:
    """Return it by the mixture: in box i, with probability b^i |box_i|, a measure is uniform on -(z + i D)..z + i D.

    P(|Y| > w) = sum over i >= j of P(i) (1 - (2w + 1) / (2 (z + i D) + 1)),   j the first box beyond w.
    """
    rate, answers = float(noise.epsilon), len(noise.half_widths)
    one_minus_b = Fraction(-expm1(-rate))
    sides = [(Fraction(2 * d), 2 * z + 1) for d, z in zip(noise.half_widths, noise.inner, strict=True)]
    width, core = noise.half_widths[measure], noise.inner[measure]
    others = [side for place, side in enumerate(sides) if place != measure]

    def volume(i: int, lengths: Sequence[tuple[Fraction, int]]) -> Fraction:
        return prod((i * d + z for d, z in lengths), start=Fraction(1))

    everything = geometric_sum(lambda i: volume(i, sides), answers, one_minus_b)

    def outside(w: int) -> float:
        j = max(0, -((core - w - 1) // width))
        beyond = geometric_sum(
            lambda i: volume(j + i, others) * (2 * (core + (j + i) * width - w)), answers, one_minus_b
        )
        return exp(-rate * j) * float(beyond / everything)

    most = width
    while outside(most) > 1 - level:
        most *= 2
    return bisect_left(range(most), level - 1, key=lambda w: -outside(w))
