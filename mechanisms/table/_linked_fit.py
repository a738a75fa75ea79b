"""Figures of linked tables: every level that was measured is fitted to all others over their common cube.

    x = least squares over the cube (_cube), x >= 0 where no value is negative                                   (1)
    figures = sums of whole cells near x (_rounding), so that every one that two tables show is the same number  (2)
    stated variance of a figure = its variance under (1) without x >= 0 + square of its move under (2), and 1/4 where
                                  the sum of all cells was rounded too                                            (3)

The cube is a means to (2): of interactions that no level measures it has nothing, and nothing of them is published.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.table import _cube
from penstock.mechanisms.table._rounding import rounded

__all__ = ["linked", "linked_variances"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def linked(
    total: int | None,
    noisy: Sequence[Integers],
    variances: Sequence[Floats],
    shape: tuple[int, ...],
    kept: Sequence[Sequence[int]],
    *,
    nonnegative: bool,
) -> tuple[Integers, Floats]:
    """Return the figures of all levels, row by row, and their variances; noisy: of the first levels of `kept`.

    total: what the cells add up to, where that is public.
    """
    levels = [tuple(axes) for axes in kept]
    measured, drawn = [values.astype(np.float64) for values in noisy], levels[: len(noisy)]
    each = [float(of_level.max()) for of_level in variances]
    cube = _cube.reconciled(measured, each, shape, drawn, total=total, nonnegative=nonnegative)
    whole, moves = rounded(cube, levels, nonnegative=nonnegative, total=total)
    spread = linked_variances(variances, shape, levels, exact_total=total is not None)
    rounding = [
        0.0 * move if total is not None and not axes else move**2 for axes, move in zip(levels, moves, strict=True)
    ]
    if total is None:
        rounding = [move + 0.25 for move in rounding]
    figures = [_cube.level_sums(whole, axes) for axes in levels]
    stated = [v + move for v, move in zip(spread, rounding, strict=True)]
    return np.concatenate(figures), np.concatenate(stated)


def linked_variances(
    variances: Sequence[Floats], shape: tuple[int, ...], kept: Sequence[Sequence[int]], *, exact_total: bool
) -> list[float]:
    """Return the variance of each level under (1) without x >= 0; kept: first those that were measured."""
    levels = [tuple(axes) for axes in kept]
    each = [float(of_level.max()) for of_level in variances]
    return _cube.reconciled_variances(each, shape, levels[: len(variances)], levels, exact_total=exact_total)
