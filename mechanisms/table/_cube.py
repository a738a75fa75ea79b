"""Least squares over a cube of cells of which some levels were measured, the cube itself or not, each once.

Level l keeps some of the dimensions; each of its figures is the sum of m_l = N / N_l cells of the cube and was drawn
with the same public variance v_l, a largest one where they differ. y_l is what was drawn, n the number of records:

    x = argmin sum over l of |A_l x - y_l|^2 / v_l,   sum of x = n where it is given,   x >= 0 where asked        (1)

sum A_l' A_l / v_l is diagonal in the spaces of interactions of the dimensions. On that of the dimensions S it is

    h_S = sum over levels l that keep S of m_l / v_l                                                             (2)

and 0 where no level keeps S: nothing was measured there, no published figure shows it, and x has nothing of it. A sum
that is public is as if the empty set had been measured without variance. Without x >= 0, a figure of level T has

    Var = m_T^2 / N * sum over S inside T of (product over d in S of (size_d - 1)) / h_S                         (3)

without the empty S where n is given: for one level of N cells, v (1 - 1/N).

x >= 0 alone would lift the sum of a sparse table by far more than (3): all that falls below 0 is cut off. So it is
asked only beside a sum that is given: n, or else what least squares without the bound make of it, which has (3). Other
margins of a sparse table are still flattened by it where they were not measured themselves: in 2^24 cells with 100,000
records at epsilon 1 the largest one-dimensional margins were off by three times (3). It is solved by alternating
directions as in _margins (4), with three times the smallest h_S for r.

Source: Hay et al. 2010, "Boosting the accuracy of differentially private histograms through consistency"; (2) and (3)
are the analysis of variance of a factorial of which some interactions are not observed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["closure", "level_sums", "reconciled", "reconciled_variances"]

Floats = NDArray[np.float64]
Axes = tuple[int, ...]

_PRECISION = 1e-3  # of a standard error; whole numbers are made of it afterwards
_STRENGTH = 3.0
_MOST_ROUNDS = 2000
_CHECKED_EVERY = 10


def closure(kept: Sequence[Axes]) -> list[Axes]:
    """Return every set of dimensions that some level keeps, large ones first."""
    every = {part for axes in kept for size in range(len(axes) + 1) for part in combinations(axes, size)}
    return sorted(every, key=lambda axes: (-len(axes), axes))


def reconciled(
    measured: Sequence[Floats],
    variances: Sequence[float],
    shape: tuple[int, ...],
    kept: Sequence[Axes],
    *,
    total: int | None,
    nonnegative: bool,
) -> Floats:
    """Return x of (1), as a cube; total: n, where it is public. Its levels must be in the order of the dimensions."""
    found = _Cube(variances, shape, kept, total).fitted(measured, nonnegative=False)
    if not nonnegative:
        return found
    if total is None:
        total = max(0, round(float(found.sum())))
    return _Cube(variances, shape, kept, total).fitted(measured, nonnegative=True)


def reconciled_variances(
    variances: Sequence[float],
    shape: tuple[int, ...],
    kept: Sequence[Axes],
    published: Sequence[Axes],
    *,
    exact_total: bool,
) -> list[float]:
    """Return (3) for each published level; each must lie inside a measured one."""
    shares = {
        axes: prod(shape[axis] - 1 for axis in axes) / value
        for axes, value in _values(variances, shape, kept).items()
        if axes or not exact_total
    }
    inside = {axes: shares.get(axes, 0.0) for axes in closure(kept)}
    for axis in range(len(shape)):
        for axes in inside:
            if axis in axes:
                inside[axes] += inside[tuple(each for each in axes if each != axis)]
    cells = prod(shape)
    return [(cells / _size(shape, axes)) ** 2 / cells * inside[axes] for axes in published]


def level_sums(cube: NDArray[Any], axes: Axes) -> NDArray[Any]:
    """Return the figures of a level, whose dimensions are in order."""
    found: NDArray[Any] = cube.sum(axis=tuple(axis for axis in range(cube.ndim) if axis not in axes)).reshape(-1)
    return found


def _values(variances: Sequence[float], shape: tuple[int, ...], kept: Sequence[Axes]) -> dict[Axes, float]:
    """(2)."""
    values = dict.fromkeys(closure(kept), 0.0)
    for axes, variance in zip(kept, variances, strict=True):
        values[axes] += prod(shape) / _size(shape, axes) / variance
    for axis in range(len(shape)):  # what a level tells about S it tells about every part of S
        for axes in values:
            values[axes] += 0.0 if axis in axes else values.get(_with(axes, axis), 0.0)
    return values


class _Cube:
    """The sums of (1) over a cube, solved in its spaces of interactions."""

    def __init__(
        self, variances: Sequence[float], shape: tuple[int, ...], kept: Sequence[Axes], total: int | None
    ) -> None:
        self._shape, self._kept, self._total = shape, kept, total
        self._errors = [variance**0.5 for variance in variances]
        self._values = _values(variances, shape, kept)
        self._above = {axes: self._one_more(axes) for axes in self._values}

    def fitted(self, measured: Sequence[Floats], *, nonnegative: bool) -> Floats:
        aim = np.zeros(self._shape)
        for axes, error, values in zip(self._kept, self._errors, measured, strict=True):
            aim += (values / error**2).reshape(self._open(axes))
        if not nonnegative:
            return self._of_total(self._apply({axes: 1 / value for axes, value in self._values.items()}, 0.0, aim))
        strength = _STRENGTH * min(self._values.values())
        factors = {axes: 1 / (value + strength) - 1 / strength for axes, value in self._values.items()}
        z, u = np.zeros(self._shape), np.zeros(self._shape)
        for turn in range(_MOST_ROUNDS):
            x = self._of_total(self._apply(factors, 1 / strength, aim + strength * (z - u)))
            before, z = z, np.maximum(x + u, 0.0)
            u += x - z
            if turn % _CHECKED_EVERY == 0 and self._agree(x - z) and self._agree(z - before):
                break
        size = float(z.sum())
        return z if self._total is None or not size else z * (self._total / size)

    def _of_total(self, x: Floats) -> Floats:
        if self._total is not None:
            x += (self._total - float(x.sum())) / x.size
        return x

    def _agree(self, difference: Floats) -> bool:
        """Return whether no measured level shows a difference."""
        means = self._means(difference)
        return all(
            float(np.abs(means[axes]).max()) * (difference.size / _size(self._shape, axes)) <= _PRECISION * error
            for axes, error in zip(self._kept, self._errors, strict=True)
        )

    def _apply(self, factors: Mapping[Axes, float], identity: float, values: Floats) -> Floats:
        """Return identity times the values, and their part in each space of interactions by its factor.

        The part of S is the sum over T inside S of (-1)^(|S| - |T|) times the means that keep T.
        """
        signed = dict(factors)
        for axis in range(len(self._shape)):
            for axes in signed:
                if axis not in axes:
                    signed[axes] -= signed.get(_with(axes, axis), 0.0)
        parts = {axes: signed[axes] * mean for axes, mean in self._means(values).items()}
        found = identity * values
        for axes in reversed(parts):  # small ones first: each is added to a larger one, and only the largest to all
            above = self._above[axes]
            if above is None:
                found += parts[axes]
            else:
                parts[above] = parts[above] + parts[axes]
        return found

    def _means(self, values: Floats) -> dict[Axes, Floats]:
        means: dict[Axes, Floats] = {}
        for axes, above in self._above.items():
            source = values if above is None else means[above]
            kept = range(len(self._shape)) if above is None else above
            means[axes] = source.mean(axis=tuple(axis for axis in kept if axis not in axes), keepdims=True)
        return means

    def _one_more(self, axes: Axes) -> Axes | None:
        """Return a set of the closure with one dimension more, the one with the fewest categories; None if none is."""
        more = [axis for axis in range(len(self._shape)) if axis not in axes and _with(axes, axis) in self._values]
        return _with(axes, min(more, key=lambda axis: self._shape[axis])) if more else None

    def _open(self, axes: Axes) -> tuple[int, ...]:
        """Return the shape of a level that broadcasts over the cells."""
        return tuple(size if axis in axes else 1 for axis, size in enumerate(self._shape))


def _with(axes: Axes, axis: int) -> Axes:
    return tuple(sorted((*axes, axis)))


def _size(shape: tuple[int, ...], axes: Axes) -> int:
    """Return how many figures a level has."""
    return prod(shape[axis] for axis in axes)
