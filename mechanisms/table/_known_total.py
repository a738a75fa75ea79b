"""Counts of a table whose grand total n is public, fitted to it: whole numbers that add up to n.

    cells alone were drawn      x_c = y_c + v_c / V * (n - sum of y),   V the sum of all v_c                        (1)
                                Var of a figure whose cells have the variance v = v (1 - v / V)                     (2)
    margins were drawn too      least squares with x >= 0 and sum of x = n   (_cube)                                (3)

By (2) N cells of the same variance v have v (1 - 1/N) each, and the grand total has none. Where the variances of a
level differ, as in box noise with bounds of single cells, (3) takes the largest one, so what is stated is an upper
bound. What rounding moves a figure by is added to Var as its square.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.table import _cube
from penstock.mechanisms.table._folding import Axis, plain
from penstock.mechanisms.table._margins import summed
from penstock.mechanisms.table._rounding import rounded, rounded_with_groups

__all__ = ["fitted_to", "variances_fitted_to"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def fitted_to(
    total: int,
    noisy: Sequence[Integers],
    variances: Sequence[Floats],
    shape: tuple[int, ...],
    kept: Sequence[Sequence[Axis]],
    *,
    nonnegative: bool,
) -> tuple[Integers, Floats]:
    """Return the counts of all levels, row by row, and their variances.

    noisy: of the cells, or of them and all margins but the grand total. kept: the dimensions of every level.
    """
    levels = [tuple(axes) for axes in kept]
    if len(noisy) == 1:
        cells = noisy[0] + variances[0] / variances[0].sum() * float(total - int(noisy[0].sum()))
        whole, moves = rounded_with_groups(cells.reshape(shape), levels, nonnegative=False, total=total)
    else:
        plain_levels = plain(levels)
        drawn = plain_levels[: len(noisy)]
        widest = [float(each.max()) for each in variances]
        measured = [values.astype(np.float64) for values in noisy]
        cube = _cube.reconciled(measured, widest, shape, drawn, total=total, nonnegative=nonnegative)
        whole, moves = rounded(cube, plain_levels, nonnegative=nonnegative, total=total)
    spread = variances_fitted_to(variances, shape, levels)
    # The sum of all cells is n, whatever is rounded.
    stated = [each + move**2 if axes else each for axes, each, move in zip(levels, spread, moves, strict=True)]
    return np.concatenate(summed(whole.ravel(), shape, levels)), np.concatenate(stated)


def variances_fitted_to(
    variances: Sequence[Floats], shape: tuple[int, ...], kept: Sequence[Sequence[Axis]]
) -> list[Floats]:
    """Return an upper bound on the variance of each figure, level by level, without the bound at 0 and rounding."""
    levels, everything = [tuple(axes) for axes in kept], float(variances[0].sum())
    spread = [each * np.maximum(1 - each / everything, 0.0) for each in summed(variances[0], shape, levels)]
    if len(variances) > 1:
        widest = [float(each.max()) for each in variances]
        measured = plain(levels[: len(variances)])
        best = _cube.reconciled_variances(widest, shape, measured, plain(levels), exact_total=True)
        spread = [np.minimum(each, least) for each, least in zip(spread, best, strict=True)]
    return [each if axes else 0.0 * each for axes, each in zip(levels, spread, strict=True)]
