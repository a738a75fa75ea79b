"""The earth mover's distance from each class of records to all of them, in whole numbers.

Of N records, n_v have the value v, and of the g in a class c_v. The class has c_v N - n_v g too many of v, in units of
1 / (g N). With cumulated sums C and A of c and n,

    ordered, m values      sum_(i<m) |C_i N - A_i g| / (g N (m - 1))                                               (1)
    equal distances        sum_v max(0, c_v N - n_v g) / (g N)                                                     (2)
    tree of height H       sum over concepts of height / H * min(too many below, too few below) / (g N)            (3)

where "too many below" adds up what is left too many in each child after it was moved inside, and a value that is itself
a concept lies below it as a child of height 0. (3) is exact because the distance is the height of the lowest common
concept: what can be moved lower is moved there.

Source: Li, Li & Venkatasubramanian 2007, t-closeness, sections 4 and 5. (1) is summed over the few values of a class:
between two of them C is constant and A rises, so the sum has two parts, which prefix sums of A give.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.measures.measurement import MeasureUndefined
from penstock.measures.records.classes import Classes
from penstock.measures.records.comparison import Comparison
from penstock.measures.rows import is_missing
from penstock.mechanisms.columns import Column

__all__ = ["farthest"]

Integers = NDArray[np.int64]

# Sums stay below this, so none overflows 64 bits.
_LARGEST = 2**62
_AT_ONCE = 1 << 22


def farthest(column: Column, found: Classes, codes: Integers, pair: Comparison, *, by_taxonomy: bool) -> Fraction:
    """Return the largest distance of a class. codes: the value of each record, as a number in rising order."""
    every, place = np.unique(codes, return_inverse=True)
    records, values, sizes = len(codes), len(every), np.bincount(found.labels)
    if int(sizes.max()) * records * values >= _LARGEST:
        raise MeasureUndefined.at(
            found.name, rule="needs fewer records, or fewer different values", remedy="Recode it into bands."
        )
    if values == 1:
        return Fraction(0)
    order = np.lexsort((place, found.labels))
    place, counts = place[order], np.bincount(place)
    if column.type != "nominal":
        if bool(is_missing(pair.released[found.name][found.rows], column, found.name).any()):
            raise MeasureUndefined.at(
                found.name,
                rule="needs a value in every record that is compared by rank",
                remedy="Remove the gate, or leave the column out.",
            )
        return _largest(_by_rank(place, sizes, counts), sizes, records, values - 1)
    if by_taxonomy and column.taxonomy is not None:
        first = np.zeros(values, np.int64)
        first[place] = order
        stored = column.codes(pair.released[found.name][found.rows], found.name)[first]
        tree = _tree(column, stored)
        return _largest(_in_tree(place, sizes, counts, tree), sizes, records, tree.heights[-1])
    return _largest(_equal(place, sizes, counts), sizes, records, 1)


def _largest(work: Integers, sizes: Integers, records: int, longest: int) -> Fraction:
    """Return the largest work / (g N longest), exactly."""
    near = work / sizes
    best = np.flatnonzero(near >= near.max() * (1 - 1e-12))
    return max(Fraction(int(work[each]), int(sizes[each]) * records * int(longest)) for each in best.tolist())


def _by_rank(place: Integers, sizes: Integers, counts: Integers) -> Integers:
    """(1), not divided. place: ranks, class by class, rising inside each."""
    records, values = len(place), len(counts)
    total = np.cumsum(counts)  # A_i, rising strictly
    before = np.concatenate(([0], np.cumsum(total)))  # sum of A below i
    starts = np.cumsum(sizes) - sizes
    label = np.repeat(np.arange(len(sizes)), sizes)
    # One interval of ranks from each record of a class up to the next one, and one before its first.
    held = np.arange(records) - starts[label] + 1
    until = np.where(held == sizes[label], values - 1, np.append(place[1:], 0))
    intervals = (
        (np.arange(len(sizes)), np.zeros(len(sizes), np.int64), np.zeros(len(sizes), np.int64), place[starts]),
        (label, held, place, until),
    )
    work = np.zeros(len(sizes), np.int64)
    for whose, share, begin, end in intervals:
        end = np.minimum(end, values - 1)
        size = sizes[whose]
        # A_i g <= share N up to here: for whole numbers A_i <= floor(share N / g).
        turn = np.clip(np.searchsorted(total, share * records // size, side="right"), begin, np.maximum(begin, end))
        end = np.maximum(begin, end)
        low = share * records * (turn - begin) - size * (before[turn] - before[begin])
        high = size * (before[end] - before[turn]) - share * records * (end - turn)
        np.add.at(work, whose, low + high)
    return work


def _equal(place: Integers, sizes: Integers, counts: Integers) -> Integers:
    """(2), not divided, over the values that a class has."""
    records, values = len(place), len(counts)
    label = np.repeat(np.arange(len(sizes)), sizes)
    held, times = np.unique(label * values + place, return_counts=True)
    whose, value = held // values, held % values
    work = np.zeros(len(sizes), np.int64)
    np.add.at(work, whose, np.maximum(0, times * records - counts[value] * sizes[whose]))
    return work


class _Tree:
    """Concepts above the values that occur, children before their parents, the root last."""

    def __init__(self, heights: Sequence[int], above: Sequence[int], values: Sequence[int]) -> None:
        """Take for each concept its height and its parent, and for each value its concept."""
        self.heights = heights
        self.above = above
        self.values = values


def _tree(column: Column, codes: Integers) -> _Tree:
    """Return the taxonomy, in which no concept has two parents (disclosure.needs_tree), as a tree with the values that
    occur."""
    parents = column.taxonomy or {}
    heights = dict.fromkeys(parents, 0)
    for concept in parents:
        height, at = 0, concept
        while parents[at]:
            at, height = parents[at][0], height + 1
            heights[at] = max(heights[at], height)
    rising = sorted(parents, key=lambda concept: heights[concept])
    number = {concept: place for place, concept in enumerate(rising)}
    root = len(rising) - 1
    listed = column.categories or ()
    return _Tree(
        [heights[concept] for concept in rising],
        [number[parents[concept][0]] if parents[concept] else root for concept in rising],
        [number[str(listed[code])] if code >= 0 else root for code in codes.tolist()],  # missing: below the root
    )


def _in_tree(place: Integers, sizes: Integers, counts: Integers, tree: _Tree) -> Integers:
    """(3), not divided by g N H."""
    records, values, concepts = len(place), len(counts), len(tree.heights)
    work = np.zeros(len(sizes), np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    step = max(1, _AT_ONCE // (values + 3 * concepts))
    for first in range(0, len(sizes), step):
        some = sizes[first : first + step]
        inside = place[starts[first] : starts[first + len(some)]]
        label = np.repeat(np.arange(len(some)), some)
        held = np.bincount(label * values + inside, minlength=len(some) * values).reshape(len(some), values)
        too_many = held * records - counts * some[:, None]
        more, less = np.zeros((2, concepts, len(some)), np.int64)
        for value, concept in enumerate(tree.values):
            more[concept] += np.maximum(too_many[:, value], 0)
            less[concept] += np.maximum(-too_many[:, value], 0)
        for concept in range(concepts):
            work[first : first + len(some)] += tree.heights[concept] * np.minimum(more[concept], less[concept])
            left, above = more[concept] - less[concept], tree.above[concept]
            if above != concept:
                more[above] += np.maximum(left, 0)
                less[above] += np.maximum(-left, 0)
    return work
