"""Values sorted inside their groups, all groups of one size at once.

Groups of equal size lie side by side, so that each size is one matrix with a group in each row, and
sorting its rows is one vectorised call. Mechanisms make groups of very few sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Grouping", "grouping"]

Keys = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Grouping:
    """order: the rows, group by group, smaller groups first; blocks: (first place, groups, size) of each size."""

    order: NDArray[np.int64]
    blocks: tuple[tuple[int, int, int], ...]

    def sorted(self, keys: Keys) -> Keys:
        """Return the keys group by group, rising inside each group."""
        arranged = keys.take(self.order)
        for block in self.matrices(arranged):
            block.sort(axis=1)
        return arranged

    def matrices(self, arranged: Keys) -> Iterator[Keys]:
        """Yield one matrix for each size of group, a group in each row; views of `arranged`."""
        for first, groups, size in self.blocks:
            yield arranged[first : first + groups * size].reshape(groups, size)

    def largest_share(self, keys: Keys) -> float:
        """max over groups of (occurrences of the group's most frequent key) / (size of the group)."""
        share = 0.0
        for block in self.matrices(self.sorted(keys)):
            size = block.shape[1]
            repeats = np.zeros(block.shape, np.bool_)  # equal to the key before it in the same group
            np.equal(block[:, 1:], block[:, :-1], out=repeats[:, 1:])
            longest = 1
            if repeats.any():
                longest = int(np.diff(np.flatnonzero(~repeats), append=block.size).max())
            share = max(share, longest / size)
        return share


def grouping(labels: NDArray[np.int64]) -> Grouping:
    """Return the groups that labels 0, 1, ... make; numbers without a row make no group."""
    from penstock.measures.kernels import rows_by_group

    sizes = np.bincount(labels)
    by_size = np.argsort(sizes, kind="stable")
    rank = np.empty_like(by_size)
    rank[by_size] = np.arange(len(by_size))
    order = rows_by_group(rank.take(labels), np.cumsum(sizes[by_size]) - sizes[by_size])
    blocks, first = [], 0
    for size, groups in zip(*np.unique(sizes[sizes > 0], return_counts=True), strict=True):
        blocks.append((first, int(groups), int(size)))
        first += int(groups) * int(size)
    return Grouping(order, tuple(blocks))
