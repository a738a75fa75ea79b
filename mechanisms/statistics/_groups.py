"""The values of one column on its grid, in ascending order within each of its groups.

x_(1) <= ... <= x_(n)   of group g   are   values[starts[g]:starts[g + 1]]                       (1)
|x| < 2^61, so that differences, and twice a difference, fit into 64 bits                        (2)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.refusal import ValueMissing

__all__ = ["SortedGroups", "sorted_groups"]

_LARGEST = 2**61


@dataclass(frozen=True, slots=True)
class SortedGroups:
    """(1); a group may be empty."""

    values: NDArray[np.int64]
    starts: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or self.values.dtype != np.int64:
            raise ValueError("values are 64-bit whole numbers: put them on the grid first")
        ends = self.starts[[0, -1]].tolist() if len(self.starts) else None
        if ends != [0, len(self.values)] or bool((np.diff(self.starts) < 0).any()):
            raise ValueError("starts go up from 0 to the number of values")
        if len(self.values) and max(-int(self.values.min()), int(self.values.max())) >= _LARGEST:
            raise ValueError("values are smaller than 2^61 in size")
        falls = np.flatnonzero(self.values[1:] < self.values[:-1]) + 1
        if not np.isin(falls, self.starts).all():
            raise ValueError("values are sorted within each group")

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Return n of each group."""
        return np.diff(self.starts)

    def at_ranks(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return x_(rank) of each group, ranks from 1 to its size."""
        if not bool(((ranks >= 1) & (ranks <= self.sizes)).all()):
            raise ValueError("ranks go from 1 to the size of the group")
        found: NDArray[np.int64] = self.values[self.starts[:-1] + ranks - 1]
        return found

    def totals(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of each group, given one number for each of the values; all together stay below 2^63."""
        if values.shape != self.values.shape:
            raise ValueError("one number for each value")
        upto = np.append(0, np.cumsum(values))
        sums: NDArray[np.int64] = upto[self.starts[1:]] - upto[self.starts[:-1]]
        return sums

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, group: int) -> NDArray[np.int64]:
        """Return the values of one group."""
        return self.values[self.starts[group] : self.starts[group + 1]]


def sorted_groups(values: NDArray[Any], labels: NDArray[np.int64], groups: int) -> SortedGroups:
    """Sort values on the grid into the groups 0..groups-1 that their labels name."""
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueMissing.at(
            "values", rule="must be finite, to have a place in an order", remedy="Drop or fill in missing values."
        )
    if labels.shape != values.shape or (len(labels) and not 0 <= labels.min() <= labels.max() < groups):
        raise ValueError("every value has a label from 0 to groups - 1")
    order = np.lexsort((values, labels))
    return SortedGroups(values[order], np.append(0, np.cumsum(np.bincount(labels, minlength=groups))))
