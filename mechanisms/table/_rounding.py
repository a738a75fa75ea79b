"""Whole numbers near the figures of a cube, such that every published level stays near.

    x   real cells of a cube,   w   whole cells, w >= 0 where x >= 0
    debt of a figure = sum of x over its cells - sum of w over them                                              (1)

Rounding each cell by itself, or by the running sums of the cells in one order, moves the sum of m cells that do not lie
side by side by up to the square root of m. Here every published figure has a debt: cell after cell takes the whole
number that the mean of the debts of its figures is next to, and passes over all cells go on until none changes or ten
are done. Then the sum of all cells is set right in single cells, those that owe most. Published figures move by less
than 2 as a rule (tests/mechanisms/table/test_table_rounding.py); no bound is proven, so what is left of
every debt is returned, and stands, squared, in the standard error of its figure. One number for a whole level would be
wrong in the cells that are set right at the end, which are often the same ones.

Groups of categories are not looked at: their figures move by what the sum of their cells moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.table._cube import Axes
from penstock.mechanisms.table._folding import Axis, is_grouped, plain
from penstock.mechanisms.table._margins import summed

__all__ = ["rounded", "rounded_with_groups"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_PASSES = 10
_EXACT = 2.0**53


def rounded_with_groups(
    cube: Floats,
    published: Sequence[Sequence[Axis]],
    *,
    nonnegative: bool,
    total: int | None = None,
    possible: NDArray[np.bool_] | None = None,
) -> tuple[Integers, list[Floats]]:
    """Return the same as `rounded`, where published levels may have groups of categories."""
    levels = [tuple(level) for level in published]
    known = plain([level for level in levels if not is_grouped([level])])
    found, moved = rounded(cube, known, nonnegative=nonnegative, total=total, possible=possible)
    moves, left = dict[tuple[Axis, ...], Floats](zip(known, moved, strict=True)), cube - found
    return found, [
        moves[level] if level in moves else np.round(summed(left, cube.shape, [level])[0], 9) for level in levels
    ]


def rounded(
    cube: Floats,
    published: Sequence[Axes],
    *,
    nonnegative: bool,
    total: int | None = None,
    possible: NDArray[np.bool_] | None = None,
) -> tuple[Integers, list[Floats]]:
    """Return w and, for each published level, the debts that are left; total: what w must add up to, if given.
    possible: the cells that may have records, where some may not; the others, which are 0, stay so.

    Where a figure is too large to be told from its neighbours, cells are rounded by themselves.
    """
    from penstock.mechanisms.table._kernels import spread

    if float(np.abs(cube).sum()) >= _EXACT:
        return np.rint(cube).astype(np.int64), [
            np.full(prod(cube.shape[axis] for axis in axes), 0.5 * cube.size) for axes in published
        ]
    shape = cube.shape
    # The sum of all cells stands among the levels, so that little is left to be set right.
    levels = [*published, *([] if () in published else [()])]
    below = np.floor(cube).ravel()
    strides = np.array([_strides(shape, axes) for axes in levels], np.int64).reshape(len(levels), len(shape))
    starts = np.cumsum([0, *(prod(shape[axis] for axis in axes) for axes in levels)], dtype=np.int64)
    debts, whole = np.zeros(starts[-1]), np.zeros(cube.size, np.int64)
    least = -below.astype(np.int64) if nonnegative else np.full(cube.size, -(2**62))
    may_move = np.ones(cube.size, np.bool_) if possible is None else possible.ravel()
    sizes, added = np.array(shape, np.int64), cube.ravel() - below
    for _ in range(_PASSES):
        if not spread(added, whole, least, may_move, sizes, starts[:-1].copy(), strides, debts):
            break
        added = np.zeros(cube.size)
    left = round(float(debts[starts[levels.index(())]])) if total is None else total - int(below.sum() + whole.sum())
    owed = _by_cell(debts, shape, levels, starts) if left else debts
    for _ in range(abs(left)):
        one = 1 if left > 0 else -1
        may = np.where((whole + one >= least) & may_move, one * owed, -np.inf)
        cell = int(np.argmax(may))
        whole[cell] += one
        for level, place in enumerate(_places(cell, shape, strides, starts)):
            debts[place] -= one
            owed.reshape(shape)[_alike(cell, shape, levels[level])] -= one
    found = (below.astype(np.int64) + whole).reshape(shape)
    # What sums of fractions lose is not left, or equal figures would have errors that differ in the last digit.
    left_over: list[Floats] = np.split(np.round(debts, 9), starts[1:-1])
    return found, left_over[: len(published)]


def _strides(shape: tuple[int, ...], axes: Axes) -> list[int]:
    """Return how far the place of a figure moves with each digit of a cell."""
    return [prod(shape[other] for other in axes if other > axis) if axis in axes else 0 for axis in range(len(shape))]


def _places(cell: int, shape: tuple[int, ...], strides: Integers, starts: Integers) -> list[int]:
    digits = np.array(np.unravel_index(cell, shape))
    return [int(start + stride @ digits) for start, stride in zip(starts[:-1], strides, strict=True)]


def _alike(cell: int, shape: tuple[int, ...], axes: Axes) -> tuple[Any, ...]:
    """Return the cells that count in the same figure of a level."""
    digits = np.unravel_index(cell, shape)
    return tuple(digits[axis] if axis in axes else slice(None) for axis in range(len(shape)))


def _by_cell(debts: Floats, shape: tuple[int, ...], levels: Sequence[Axes], starts: Integers) -> Floats:
    owed = np.zeros(shape)
    for axes, first, last in zip(levels, starts, starts[1:], strict=False):
        owed += debts[first:last].reshape([shape[axis] if axis in axes else 1 for axis in range(len(shape))])
    return owed.ravel()
