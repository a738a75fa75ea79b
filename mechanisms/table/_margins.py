"""Margins of a noisy table as post-processing: sums of its cells, or cells that fit measured margins as well.

Level l, l = 0 the cells themselves, has for each of its cells c a measurement y_l(c) with public variance v_l(c);
(A_l x)(c) is the sum of x over the cells of c, m_l of them.

    x = argmin sum over l, c of ((A_l x)(c) - y_l(c))^2 / v_l(c)                                                 (1)
    where no value is negative and that x falls below 0: the argmin among x >= 0 with the sum of that x, or 0    (1')
    published: A_l x of every level, so that everything adds up                                                  (2)

Where the variances of a level are equal, sum A_l' A_l / v_l is diagonal in the spaces of interactions of the
dimensions: on that of the dimensions S its value is

    h_S = sum over levels l that keep S of m_l / v_l                                                             (3)

so a linear system in it is solved by means over the dimensions and differences of them; else, and where a level has
groups of categories, whose sizes differ, by conjugate gradients.
With x >= 0, (1) is solved by alternating directions: with u the running excess and r = 3 / v_0 for each cell,

    x <- (sum A_l' A_l / v_l + r)^-1 (sum A_l' y_l / v_l + r (z - u)),   z <- max(x + u, 0),   u <- u + x - z    (4)

until x and z agree and stand still to 1e-6 of the cells' standard errors; each x keeps its sum, as y (S - sum of x) /
(sum of y) is added to it, y = (..)^-1 1. x >= 0 alone would lift the sum of a thin table by far more than its error,
because all that falls below 0 is cut off: 5,000 cells with 1,000 records at epsilon 1 by 80, of which 17 was stated.
Other margins are lifted and lowered by it within about their errors. Without the bound, the variance of x is at
most that of any measurement (Gauss-Markov), and by (3), where the variances of a level are equal,

    Var((A_T x)(c)) = m_T^2 / N * sum over S inside T of (product over d in S of (size_d - 1)) / h_S,   N cells    (5)

Where v_l(c) = 0 nothing was drawn, and the figure is 0 by declaration: cells that cannot have records (_zeros), and
margins without any other. x is fixed at 0 there, and (1) is over the other measurements; its system is then not
diagonal as in (3), so that it is solved by conjugate gradients in the cells that are left.

With groups the stated variance is that of two independent measurements together, which least squares only improve on:

    Var((A_T x)(c)) <= 1 / (1 / v_T(c) + 1 / (A_T v_0)(c)),   and v_0(c) in the cells; 0 where nothing was drawn  (6)

Source: Hay et al. 2010, "Boosting the accuracy of differentially private histograms through consistency", for (2) as
post-processing; Boyd et al. 2011, section 3.1, for (4); (3) and (5) are the analysis of variance of a full factorial.

Rounding to whole numbers is not in these variances (_figures).

Weights must be public: under the relaxations of differential privacy v is secret, and (1) must not be used there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.table._folding import Axis, folded, is_grouped, plain, unfolded

__all__ = ["reconciled", "reconciled_variances", "summed"]

Floats = NDArray[np.float64]
Axes = tuple[int, ...]

_PRECISION = 1e-6  # of a standard error
_STRENGTH = 3.0  # r of (4), in units of 1 / v_0: of 1, 3, 10 and 30 the one with the fewest rounds
_MOST_ROUNDS = 5000
_STEPS_A_ROUND = 10  # of conjugate gradients, which go on from the round before


def summed(cells: NDArray[Any], shape: tuple[int, ...], kept: Sequence[Sequence[Axis]]) -> list[NDArray[Any]]:
    """Return, for each tuple of axes that are kept or grouped, the sums of the cells over the others."""
    table = cells.reshape(shape)
    return [folded(table, axes).reshape(-1) for axes in kept]


def reconciled(
    measured: Sequence[Floats],
    variances: Sequence[Floats],
    shape: tuple[int, ...],
    kept: Sequence[Sequence[Axis]],
    *,
    nonnegative: bool,
) -> Floats:
    """Return x of (1); level l keeps the axes kept[l], and the first keeps all."""
    system = _System(variances, shape, [tuple(axes) for axes in kept])
    cells = measured[0].reshape(shape)
    # The correction to the cells is small beside them, and so is what rounding loses of it.
    aim = system.weighted([y - total for y, total in zip(measured, summed(cells, shape, kept), strict=True)])
    free = system.solve(aim, np.zeros(shape), np.zeros(shape), _MOST_ROUNDS)
    if not nonnegative or bool((cells + free >= 0).all()):
        return (cells + free).ravel()
    moved = max(float(free.sum()), -float(cells.sum()))  # the sum of what is added to the cells: none is below 0
    errors = np.sqrt(np.where(variances[0] > 0, variances[0], 1.0)).reshape(shape)  # x = z = 0 where nothing was drawn
    strength, least = _STRENGTH / errors**2, -cells
    z, u = np.maximum(least, 0.0), np.zeros(shape)
    even = system.solve(system.drawn.astype(np.float64), strength, np.zeros(shape), _MOST_ROUNDS)
    x = loose = z
    for _ in range(_MOST_ROUNDS):
        loose = system.solve(aim + strength * (z - u), strength, loose, _STEPS_A_ROUND)
        x = loose + even * ((moved - float(loose.sum())) / float(even.sum()))
        before, z = z, np.maximum(x + u, least)
        u += x - z
        if max(float((np.abs(x - z) / errors).max()), float((np.abs(z - before) / errors).max())) <= _PRECISION:
            break
    return np.maximum(cells + z, 0.0).ravel()


def reconciled_variances(
    variances: Sequence[Floats], shape: tuple[int, ...], kept: Sequence[Sequence[Axis]]
) -> list[Floats]:
    """Return an upper bound on the variance of each figure of (2), level by level, without the bound at 0."""
    levels = [tuple(axes) for axes in kept]
    if is_grouped(levels):
        sums = summed(variances[0], shape, levels[1:])
        both = zip(variances[1:], sums, strict=True)
        return [np.array(variances[0], np.float64), *(_of_two(own, added) for own, added in both)]
    if not _equal(variances):
        return [np.asarray(each, np.float64).copy() for each in variances]
    axes_of = plain(levels)
    values = _interactions(variances, shape, axes_of)
    spread = []
    shares = [(frozenset(part), prod(shape[axis] - 1 for axis in part) / value) for part, value in values.items()]
    for axes, each in zip(axes_of, variances, strict=True):
        kept_axes = frozenset(axes)
        inside = sum(share for part, share in shares if part <= kept_axes)
        spread.append(np.full(len(each), _collapsed(shape, axes) ** 2 / prod(shape) * inside))
    return spread


class _System:
    """sum over levels of A_l' A_l / v_l, applied and solved."""

    def __init__(self, variances: Sequence[Floats], shape: tuple[int, ...], levels: Sequence[Sequence[Axis]]) -> None:
        self._shape = shape
        self._levels = levels
        self._weights = [
            unfolded(np.divide(1, each, out=np.zeros(len(each)), where=each > 0), shape, axes)
            for axes, each in zip(levels, variances, strict=True)
        ]
        self.drawn = self._weights[0] > 0
        alike = _equal(variances) and not is_grouped(levels)
        self._values = _interactions(variances, shape, plain(levels)) if alike else None

    def weighted(self, measured: Sequence[Floats]) -> Floats:
        """Return the sum of A_l' y_l / v_l."""
        aim = np.zeros(self._shape)
        for axes, weight, values in zip(self._levels, self._weights, measured, strict=True):
            aim += weight * unfolded(values, self._shape, axes)
        return aim * self.drawn

    def solve(self, aim: Floats, strength: Floats, start: Floats, most: int) -> Floats:
        """Return x with (system + strength) x = aim; by conjugate gradients in at most `most` steps."""
        if self._values is not None:
            added = float(strength.flat[0])  # the same for all cells where their variances are the same
            return self._by_interactions({part: 1 / (value + added) for part, value in self._values.items()}, aim)
        diagonal = np.where(self.drawn, self._weights[0] + strength, 1.0)
        return _conjugate_gradients(lambda x: self._apply(x) + strength * x, aim, start, diagonal, most)

    def _apply(self, x: Floats) -> Floats:
        found = np.zeros(self._shape)
        for axes, weight in zip(self._levels, self._weights, strict=True):
            found += weight * unfolded(folded(x, axes), self._shape, axes)
        return found * self.drawn

    def _by_interactions(self, factors: Mapping[Axes, float], values: Floats) -> Floats:
        """Return values with the part in each space of interactions multiplied by its factor.

        The part of S is the sum over T inside S of (-1)^(|S| - |T|) times the means that keep T.
        """
        found = np.zeros(self._shape)
        for axes in factors:
            factor = sum(
                (-1) ** (len(part) - len(axes)) * value for part, value in factors.items() if set(axes) <= set(part)
            )
            found += factor * values.mean(axis=_gone(self._shape, axes), keepdims=True)
        return found


def _conjugate_gradients(
    apply: Callable[[Floats], Floats], aim: Floats, start: Floats, diagonal: Floats, most: int
) -> Floats:
    from scipy.sparse.linalg import LinearOperator, cg

    shape, size = aim.shape, aim.size
    operator = LinearOperator((size, size), matvec=lambda x: apply(x.reshape(shape)).ravel(), dtype=np.float64)
    scaled = LinearOperator((size, size), matvec=lambda x: (x.reshape(shape) / diagonal).ravel(), dtype=np.float64)
    x, _ = cg(operator, aim.ravel(), x0=start.ravel(), rtol=1e-10, atol=0.0, maxiter=most, M=scaled)
    return np.asarray(x).reshape(shape)


def _interactions(variances: Sequence[Floats], shape: tuple[int, ...], levels: Sequence[Axes]) -> dict[Axes, float]:
    """Return h_S of (3), for every set of dimensions."""
    every = [part for size in range(len(shape) + 1) for part in combinations(range(len(shape)), size)]
    weights = [
        (frozenset(axes), _collapsed(shape, axes) / float(each[0]))
        for axes, each in zip(levels, variances, strict=True)
    ]
    return {
        part: sum(weight for axes, weight in weights if inside <= axes)
        for part, inside in zip(every, map(frozenset, every), strict=True)
    }


def _of_two(own: Floats, added: Floats) -> Floats:
    """(6)."""
    drawn = (own > 0) & (added > 0)
    return np.divide(own * added, own + added, out=np.zeros(len(own)), where=drawn)


def _equal(variances: Sequence[Floats]) -> bool:
    return all(bool((each == each[0]).all()) for each in variances)


def _collapsed(shape: tuple[int, ...], axes: Axes) -> int:
    """Return m_l: how many cells are summed into one that keeps these axes."""
    return prod(shape[axis] for axis in _gone(shape, axes))


def _gone(shape: tuple[int, ...], axes: Axes) -> Axes:
    return tuple(axis for axis in range(len(shape)) if axis not in axes)
