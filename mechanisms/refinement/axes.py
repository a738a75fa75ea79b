"""The points that an answer can be, and which of them lie near a true one.

An axis has the points 0 .. M-1 with public weights w; C_i is the sum of the weights before i, and T that of all. Around
a true point x lie balls B(r) = {y : d(x, y) <= r}. For a threshold t < T,

    r*     = the smallest r with w(B(r)) > t                                                                      (1)
    inside = {y : d(x, y) < r*},   shell = {y : d(x, y) = r*},   outside = the rest                               (2)

so w(inside) <= t < w(inside) + w(shell). All positions 0 .. T-1 belong to points, as many to each as its weight says:
those of the inside first, then the shell, then the outside. A position that is uniform in one of them is a point of it
with probability in proportion to its weight, and everything is whole numbers.

    Line     d(x, y) = |x - y|, for numbers on their grid and for ordinal categories; searched by bisection
    Matrix   any distances, for nominal categories, taxonomies and distances that are given
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.taxonomy import score_table

__all__ = ["Axis", "Line", "Matrix", "Regions", "axis_of"]

Ints = NDArray[np.int64]


class Regions(Protocol):
    """(2) for several true points; inside, shell: the weight of each region, one for each true point."""

    @property
    def inside(self) -> Ints: ...

    @property
    def shell(self) -> Ints: ...

    def points(self, which: Ints, positions: Ints) -> Ints:
        """Return the points at these positions; which: the place of the true point that each position is about."""
        ...

    def beyond(self, which: Ints, points: Ints) -> Ints:
        """Return the distance of each of these points from its true point, minus r*: below 0 inside, 0 on the shell."""
        ...

    def steps_beyond(self, which: int) -> tuple[Ints, Ints]:
        """Return the distance of every point from one true point, and that minus r*."""
        ...


class Axis(Protocol):
    """Points with weights and distances."""

    @property
    def weights(self) -> Ints: ...

    @property
    def widest(self) -> int:
        """Return the largest distance of two points."""
        ...

    def regions(self, true: Ints, threshold: int) -> Regions:
        """Return (2) for each true point. threshold: below the sum of all weights."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Points in a row."""

    weights: Ints

    @property
    def widest(self) -> int:
        return len(self.weights) - 1

    def regions(self, true: Ints, threshold: int) -> Regions:
        before = np.concatenate([[0], np.cumsum(self.weights)])
        low, high = np.zeros_like(true), np.full_like(true, len(self.weights) - 1)
        while (low < high).any():  # (1) lies in low .. high
            middle = (low + high) // 2
            is_enough = _ball(before, true, middle)[2] > threshold
            low, high = np.where(is_enough, low, middle + 1), np.where(is_enough, middle, high)
        return _OnLine(before, true, low)


def _ball(before: Ints, true: Ints, radius: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the first point of each closed ball, the one behind its last, and its weight; empty for radius -1."""
    first = np.maximum(true - radius, 0)
    behind = np.minimum(np.maximum(true + radius + 1, first), len(before) - 1)
    return first, behind, before[behind] - before[first]


@dataclass(frozen=True, slots=True, eq=False)
class _OnLine:
    before: Ints
    true: Ints
    radius: Ints

    @property
    def inside(self) -> Ints:
        return _ball(self.before, self.true, self.radius - 1)[2]

    @property
    def shell(self) -> Ints:
        return _ball(self.before, self.true, self.radius)[2] - self.inside

    def points(self, which: Ints, positions: Ints) -> Ints:
        open_first, _, inside = (each[which] for each in _ball(self.before, self.true, self.radius - 1))
        first, _, ball = (each[which] for each in _ball(self.before, self.true, self.radius))
        left = self.before[open_first] - self.before[first]  # the weight of the shell's point on the left
        past = positions - ball
        place = np.where(
            positions < inside,
            self.before[open_first] + positions,
            np.where(
                positions < ball,
                # The shell's point on the left, or else the one on the right, which is behind the inside.
                self.before[first] + positions - inside + np.where(positions - inside < left, 0, inside),
                past + np.where(past < self.before[first], 0, ball),
            ),
        )
        return np.searchsorted(self.before, place, side="right") - 1

    def beyond(self, which: Ints, points: Ints) -> Ints:
        apart: Ints = np.abs(points - self.true[which])
        return apart - self.radius[which]

    def steps_beyond(self, which: int) -> tuple[Ints, Ints]:
        apart = np.abs(np.arange(len(self.before) - 1) - self.true[which])
        return apart, apart - self.radius[which]


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """Points with any distances: one row for each true point, one column for each point."""

    weights: Ints
    distances: Ints

    @property
    def widest(self) -> int:
        return int(self.distances.max())

    def regions(self, true: Ints, threshold: int) -> Regions:
        apart = self.distances[true]
        order = np.argsort(apart, axis=1, kind="stable")
        up_to = np.cumsum(self.weights[order], axis=1)
        reached = (up_to > threshold).argmax(axis=1)  # the first point whose ball, or half of it, is heavy enough
        radius = np.take_along_axis(apart, order, axis=1)[np.arange(len(true)), reached]
        inside = np.where(apart < radius[:, None], self.weights, 0).sum(axis=1)
        shell = np.where(apart == radius[:, None], self.weights, 0).sum(axis=1)
        return _InMatrix(apart, order, up_to, radius, inside, shell)


@dataclass(frozen=True, slots=True, eq=False)
class _InMatrix:
    apart: Ints
    order: Ints
    up_to: Ints
    radius: Ints
    inside: Ints
    shell: Ints

    def points(self, which: Ints, positions: Ints) -> Ints:
        found = np.empty_like(positions)
        for place in np.unique(which):
            mine = which == place
            found[mine] = self.order[place][np.searchsorted(self.up_to[place], positions[mine], side="right")]
        return found

    def beyond(self, which: Ints, points: Ints) -> Ints:
        return self.apart[which, points] - self.radius[which]

    def steps_beyond(self, which: int) -> tuple[Ints, Ints]:
        return self.apart[which], self.apart[which] - self.radius[which]


def axis_of(weights: Ints, column: Column) -> Axis:
    """Return the points of a declared column: in a row where they have an order, else by their distances."""
    if column.numeric or column.type == "ordinal":
        return Line(weights)
    categories = len(weights)
    return Matrix(weights, score_table(column)[:categories, :categories])  # the first candidates are the categories
