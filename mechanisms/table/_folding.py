"""Cells put together into the figures of a level: along each axis dropped, kept, or grouped.

    (A x)(g_1, .., g_m) = sum of x over the cells whose category of each kept axis is, or is in, g                (1)
    (A' y)(c)           = y of the figure that cell c is in                                                       (2)

A level is a tuple of axes: a number keeps the axis as it is, Grouped puts its categories into groups, which need not
be neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.layout import Layout

__all__ = ["Axis", "Grouped", "axes_of_levels", "folded", "is_grouped", "plain", "unfolded"]


Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Grouped:
    """One axis whose categories are put together: for each the place of its group. No group is empty.

    places: the groups as an array. order: categories group by group; None where they stand so. starts: where in that
    order each group begins. They are kept because least squares fold thousands of times.
    """

    axis: int
    groups: tuple[int, ...]
    places: Integers = field(init=False, repr=False, compare=False)
    order: Integers | None = field(init=False, repr=False, compare=False)
    starts: Integers = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        places = np.array(self.groups, np.int64)
        order = np.argsort(places, kind="stable")
        object.__setattr__(self, "places", places)
        object.__setattr__(self, "order", None if bool((np.diff(places) >= 0).all()) else order)
        object.__setattr__(self, "starts", np.searchsorted(places[order], np.arange(places.max() + 1)))


Axis = int | Grouped


def axes_of_levels(drawn: Layout) -> list[tuple[Axis, ...]]:
    """Return what each level keeps of the cube's axes."""
    places = {name: axis for axis, name in enumerate(drawn.dimensions)}
    kept: dict[str, Axis] = {**places}
    kept |= {name: Grouped(places[each.dimension], each.groups) for name, each in drawn.coarser.items()}
    return [tuple(kept[name] for name in level) for level in drawn.levels]


def plain(levels: Sequence[Sequence[Axis]]) -> list[tuple[int, ...]]:
    """Return the axes that each level keeps as they are, which is all of it where there are no groups."""
    return [tuple(each for each in level if isinstance(each, int)) for level in levels]


def is_grouped(levels: Sequence[Sequence[Axis]]) -> bool:
    """Return whether some level has groups."""
    return any(isinstance(each, Grouped) for level in levels for each in level)


def folded(cube: NDArray[Any], level: Sequence[Axis], fold: np.ufunc = np.add) -> NDArray[Any]:
    """Return (1) as a cube whose dropped axes have length 1; with another fold where one is given."""
    gone = tuple(axis for axis in range(cube.ndim) if axis not in _numbers(level))
    found: NDArray[Any] = fold.reduce(cube, axis=gone, keepdims=True)
    for each in level:
        if isinstance(each, Grouped):
            sorted_out = found if each.order is None else found.take(each.order, axis=each.axis)
            found = fold.reduceat(sorted_out, each.starts, axis=each.axis)
    return found


def unfolded(values: NDArray[Any], shape: Sequence[int], level: Sequence[Axis]) -> NDArray[Any]:
    """Return (2), as an array that broadcasts over the cells."""
    sizes = [1] * len(shape)
    for each in level:
        axis, size = (each.axis, len(each.starts)) if isinstance(each, Grouped) else (each, shape[each])
        sizes[axis] = size
    found = values.reshape(sizes)
    for each in level:
        if isinstance(each, Grouped):
            found = found.take(each.places, axis=each.axis)
    return found


def _numbers(level: Sequence[Axis]) -> list[int]:
    return [each.axis if isinstance(each, Grouped) else each for each in level]
