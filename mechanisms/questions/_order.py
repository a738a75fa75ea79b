"""The steps of one group in ascending order: counted, or sorted; what order statistics look up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Counted", "Ordered", "Sorted", "Window"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Window:
    """Some steps that occur, in a row, and how often each does.

    before: how many records lie below them. outer: the steps next to them on both sides that occur, or the places just
    outside the grid.
    """

    steps: Ints
    times: Ints
    before: int
    outer: tuple[int, int]


class Ordered(Protocol):
    """The steps of one group, x_1 <= ... <= x_size."""

    @property
    def size(self) -> int: ...

    def at(self, rank: int) -> int:
        """Return x_rank, rank from 1 to size."""
        ...

    def between(self, first: int, last: int) -> Window:
        """Return all steps from x_first to x_last, ranks from 1 to size."""
        ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Counted:
    """steps: those that occur, rising; upto: how many records lie at each or below. points: those of the grid."""

    steps: Ints
    upto: Ints
    points: int

    @property
    def size(self) -> int:
        return int(self.upto[-1]) if len(self.upto) else 0

    def at(self, rank: int) -> int:
        return int(self.steps[np.searchsorted(self.upto, rank)])

    def between(self, first: int, last: int) -> Window:
        start, end = (int(np.searchsorted(self.upto, rank)) for rank in (first, last))
        before = int(self.upto[start - 1]) if start else 0
        under = int(self.steps[start - 1]) if start else -1
        over = int(self.steps[end + 1]) if end + 1 < len(self.steps) else self.points
        times = np.diff(self.upto[start : end + 1], prepend=before)
        return Window(self.steps[start : end + 1], times, before, (under, over))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sorted:
    """values: a sorted part of all keys; a key less `offset` is a step."""

    values: NDArray[Any]
    offset: int
    points: int

    @property
    def size(self) -> int:
        return len(self.values)

    def at(self, rank: int) -> int:
        return int(self.values[rank - 1]) - self.offset

    def between(self, first: int, last: int) -> Window:
        start = int(np.searchsorted(self.values, self.values[first - 1], side="left"))
        end = int(np.searchsorted(self.values, self.values[last - 1], side="right"))
        steps, times = np.unique(self.values[start:end], return_counts=True)
        under = int(self.values[start - 1]) - self.offset if start else -1
        over = int(self.values[end]) - self.offset if end < len(self.values) else self.points
        return Window(steps.astype(np.int64) - self.offset, times, start, (under, over))
