"""Blocks of records along a public order, and how far one replaced record can move them.

Records are sorted by a total order on their domain that is fixed before any data are seen, and cut into
J = floor(n / k) blocks of k, the last one of k + n mod k. When one record is replaced by any other, block j
loses one record and gains one; what it gains is what the next block loses. So along the blocks the exchanged
records form one chain that only rises (or only falls) in the order, of at most J steps.

    |s_1 - s'_1| + .. + |s_J - s'_J|  <=  variation of an attribute along such a chain  =:  D_i           (1)

    widest_i      most that one step can be: R_i for a number on a grid of R_i steps
    place_i(x)    where a level lies on the attribute's public line; two levels differ by at most the distance
                  of their places. length_i = place of the last level - place of the first: R_i for a number

    natural, one attribute        D = length                              the chain never turns back       (2)
    lexicographic                 D_1 = length_1, D_i = J widest_i        the others may jump at each step (3)
    corner, corners in turn       D_i = J widest_i                                                          (4)
    snake, g_1 .. g_{m-1} columns D_i = J W_i + E_i (g_1 .. g_{i-1}),  i < m                                (5)
                                  D_m = (g_1 .. g_{m-1}) length_m                                           (6)
    where W_i is the widest column of attribute i, E_i the distance between the starts of its first and last
    column; all of them at most J widest_i.

Snake: attributes 1..m-1 are cut into columns of equally many levels. Cells are visited in reflected
mixed-radix order (the first attribute slowest, each next one forwards and backwards in turn), and inside a cell
records go by the last attribute, up in even cells and down in odd ones. So the last attribute is a
triangular wave of the position, which gives (6). Another attribute moves at most W_i a step while its column
stays, and also by the distance of the column starts when it changes; these add up to E_i in each of the
g_1 .. g_{i-1} sweeps, which gives (5). Ties go by all attributes in turn, so that the order is total.

Corners in turn takes the k remaining records nearest to one corner of the domain after the other, so each block
is cut from an order of its own; a replacement still exchanges at most one record of each block.

Source: Soria-Comas 2013 (thesis), sections 6.2 and 6.3.1-6.3.3, for insensitive blocks, corner and corners in turn;
snake and (1)-(6) are ours. Departure: the thesis divides the sensitivity by k and stops there; (4) is what its
orders really reach.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.microaggregation.ranking import block_starts, stable_order

__all__ = [
    "CORNER_STEPS",
    "Axis",
    "Blocks",
    "Corner",
    "CornersInTurn",
    "Lexicographic",
    "Natural",
    "Order",
    "OrderName",
    "Snake",
    "corner_sequence",
]

OrderName = Literal["natural", "lexicographic", "corner", "corners_in_turn", "snake"]

Levels = Sequence[NDArray[np.int64]]

# Distances to a corner are compared in steps of 2^-24 of the attribute's width; their squares fit into 63 bits.
CORNER_STEPS = 2**24
_LARGEST_KEY = 2**62


@dataclass(frozen=True, slots=True)
class Axis:
    """One attribute of the public domain as levels 0..levels-1.

    widest: the most that replacing one level by another changes the attribute's statistic of a block.
    places: where the levels lie on the attribute's line, never falling; None where a level is its own place.
    corner_distances: distance of every level from the lower and from the upper corner, 0..CORNER_STEPS;
    None for numbers, whose corners are the first and the last level.
    """

    levels: int
    widest: int
    places: NDArray[np.int64] | None = None
    corner_distances: NDArray[np.int64] | None = None

    def place(self, level: int) -> int:
        return level if self.places is None else int(self.places[level])

    @property
    def length(self) -> int:
        return self.place(self.levels - 1) - self.place(0)

    def from_corner(self, values: NDArray[np.int64], upper: bool) -> NDArray[np.int64]:
        """Return how far each value lies from the corner, in steps."""
        if self.corner_distances is not None:
            table: NDArray[np.int64] = self.corner_distances[int(upper)]
            return table[values]
        last = max(self.levels - 1, 1)
        distance = last - values if upper else values
        return distance * CORNER_STEPS // last


@dataclass(frozen=True, slots=True)
class Blocks:
    """Row numbers block by block: block j is rows[starts[j] : starts[j + 1]]."""

    rows: NDArray[np.int64]
    starts: NDArray[np.int64]


class Order(Protocol):
    """A public way to cut records into blocks, and the D_i of (1) that it is proven to keep."""

    @property
    def name(self) -> OrderName: ...

    def cut(self, levels: Levels, axes: Sequence[Axis], k: int) -> Blocks:
        """Return the blocks of these records, given as one array of levels for each attribute."""
        ...

    def sensitivities(self, axes: Sequence[Axis], blocks: int) -> tuple[int, ...]:
        """Return D_i for this many blocks, in grid steps."""
        ...


@dataclass(frozen=True, slots=True)
class Lexicographic:
    """The order by the first attribute, then the second, and so on."""

    name: OrderName = "lexicographic"

    def cut(self, levels: Levels, axes: Sequence[Axis], k: int) -> Blocks:
        return _cut(levels[0], levels[1:], k)

    def sensitivities(self, axes: Sequence[Axis], blocks: int) -> tuple[int, ...]:
        """(2), (3)."""
        return _capped([axes[0].length, *(blocks * axis.widest for axis in axes[1:])], axes, blocks)


@dataclass(frozen=True, slots=True)
class Natural(Lexicographic):
    """The order of one attribute by itself."""

    name: OrderName = "natural"


@dataclass(frozen=True, slots=True)
class Corner:
    """The order by the distance from the lower corner of the domain, each attribute scaled to its width."""

    name: OrderName = "corner"

    def cut(self, levels: Levels, axes: Sequence[Axis], k: int) -> Blocks:
        return _cut(_from_corner(levels, axes, (False,) * len(axes)), levels, k)

    def sensitivities(self, axes: Sequence[Axis], blocks: int) -> tuple[int, ...]:
        """(4)."""
        return tuple(blocks * axis.widest for axis in axes)


@dataclass(frozen=True, slots=True)
class CornersInTurn:
    """The k remaining records nearest to one corner after the other, opposite corners first."""

    name: OrderName = "corners_in_turn"

    def cut(self, levels: Levels, axes: Sequence[Axis], k: int) -> Blocks:
        n = len(levels[0])
        starts = block_starts(n, k)
        by_attributes = np.lexsort(tuple(reversed(levels)))  # ties at equal distance go by all attributes
        sorted_levels = [values[by_attributes] for values in levels]
        corners = corner_sequence(len(axes), len(starts) - 1)
        rankings = [stable_order(_from_corner(sorted_levels, axes, corner)) for corner in corners]
        taken = np.zeros(n, np.bool_)
        cursors = [0] * len(corners)
        rows = np.empty(n, np.int64)
        for block, (start, stop) in enumerate(itertools.pairwise(starts.tolist())):
            turn = block % len(corners)
            cursors[turn] = _take_nearest(rankings[turn], cursors[turn], taken, rows[start:stop])
        return Blocks(by_attributes[rows], starts)

    def sensitivities(self, axes: Sequence[Axis], blocks: int) -> tuple[int, ...]:
        """(4)."""
        return tuple(blocks * axis.widest for axis in axes)


@dataclass(frozen=True, slots=True)
class Snake:
    """Cells of a grid along a reflected path, inside each cell by the last attribute; `columns` are g_1..g_{m-1}."""

    columns: tuple[int, ...]
    name: OrderName = "snake"

    def cut(self, levels: Levels, axes: Sequence[Axis], k: int) -> Blocks:
        cell = np.zeros(len(levels[0]), np.int64)
        for values, axis, columns in zip(levels, axes, self.columns, strict=False):
            width, count = _columns(axis, columns)
            column = values // width
            # After an even number of cells the next attribute runs forwards, after an odd number backwards.
            cell = cell * count + np.where(cell & 1, count - 1 - column, column)
        last, top = levels[-1], axes[-1].levels - 1
        key = cell * (top + 1) + np.where(cell & 1, top - last, last)
        return _cut(key, levels[:-1], k)

    def sensitivities(self, axes: Sequence[Axis], blocks: int) -> tuple[int, ...]:
        """(5), (6)."""
        cells, reach = 1, []
        for axis, columns in zip(axes, self.columns, strict=False):
            width, count = _columns(axis, columns)
            starts = [axis.place(column * width) for column in range(count)]
            ends = [axis.place(min((column + 1) * width, axis.levels) - 1) for column in range(count)]
            widest = max(end - start for start, end in zip(starts, ends, strict=True))
            reach.append(blocks * widest + (starts[-1] - starts[0]) * cells)
            cells *= count
        return _capped([*reach, cells * axes[-1].length], axes, blocks)

    def fits(self, axes: Sequence[Axis]) -> bool:
        """Return whether cell and last attribute fit into one key of 62 bits."""
        return math.prod(self.columns) * axes[-1].levels < _LARGEST_KEY


def corner_sequence(attributes: int, longest: int) -> list[tuple[bool, ...]]:
    """Return corners, True for the upper bound: each differs most from the last, ties from the one before, and so on.

    At most `longest` of them, each once; the first is the lower corner of all attributes.
    """
    unused = list(itertools.product((False, True), repeat=attributes))
    sequence = [unused.pop(0)]
    while unused and len(sequence) < longest:
        candidates = unused
        for earlier in reversed(sequence):
            apart = [sum(a != b for a, b in zip(corner, earlier, strict=True)) for corner in candidates]
            candidates = [corner for corner, far in zip(candidates, apart, strict=True) if far == max(apart)]
            if len(candidates) == 1:
                break
        sequence.append(candidates[0])
        unused.remove(candidates[0])
    return sequence


def _columns(axis: Axis, columns: int) -> tuple[int, int]:
    """Return the levels in a column, and how many columns that makes: at most as many as asked for."""
    width = -(-axis.levels // columns)
    return width, -(-axis.levels // width)


def _capped(reach: Sequence[int], axes: Sequence[Axis], blocks: int) -> tuple[int, ...]:
    """Cap each reach at `blocks` times the widest step: no chain of that many steps moves an attribute further."""
    return tuple(min(d, blocks * axis.widest) for d, axis in zip(reach, axes, strict=True))


def _from_corner(levels: Levels, axes: Sequence[Axis], corner: Sequence[bool]) -> NDArray[np.int64]:
    """Return the squared distance from the corner, each attribute scaled to its width: (6.7) of the thesis, squared."""
    squared = np.zeros(len(levels[0]), np.int64)
    for values, axis, upper in zip(levels, axes, corner, strict=True):
        distance = axis.from_corner(values, upper)
        squared += distance * distance
    return squared


def _take_nearest(ranking: NDArray[np.int64], cursor: int, taken: NDArray[np.bool_], block: NDArray[np.int64]) -> int:
    """Fill `block` with the first rows of the ranking that are not taken; return where the search ended."""
    found = 0
    while found < len(block):
        ahead = ranking[cursor : cursor + 2 * (len(block) - found)]
        free = np.flatnonzero(~taken[ahead])[: len(block) - found]
        block[found : found + len(free)] = ahead[free]
        taken[ahead[free]] = True
        found += len(free)
        cursor += len(ahead) if found < len(block) else int(free[-1]) + 1
    return cursor


def _cut(key: NDArray[np.int64], ties: Levels, k: int) -> Blocks:
    """Cut blocks along the key, equal keys by the attributes in `ties`.

    The order inside a block does not matter, so equal keys are put in order only where they lie on both sides
    of a border.
    """
    rows = stable_order(key)
    starts = block_starts(len(key), k)
    along = key[rows]
    borders = starts[1:-1]
    torn = np.unique(along[borders][along[borders] == along[borders - 1]])
    if len(torn) and ties:
        first, behind = np.searchsorted(along, torn, "left"), np.searchsorted(along, torn, "right")
        lengths = behind - first
        places = np.arange(lengths.sum()) + np.repeat(first - np.cumsum(lengths) + lengths, lengths)
        tied = rows[places]
        rows[places] = tied[np.lexsort((*(values[tied] for values in reversed(ties)), key[tied]))]
    return Blocks(rows, starts)
