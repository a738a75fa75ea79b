"""A file in which several treatments stand side by side: whether its rows are put together rightly, and its measures.

    one_order           every treatment released its records in the same order
    own_columns         the columns of the file are those of its treatments, all of them, and no others
    same_records        in every row stand, of each column, the value that its treatment gave to that record

Each treatment's promise is counted again on its own columns of the file, elsewhere. Measures look at all columns of
the file together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.measures.asked import Asked
from penstock.measures.checks import Check, verdict
from penstock.measures.measurement import Measurement
from penstock.measures.records.comparison import Groups, compare
from penstock.measures.registry import MEASURES, judge
from penstock.mechanisms.columns import Columns, Declared

__all__ = ["FilePart", "SharedFile"]


@dataclass(frozen=True, slots=True)
class FilePart:
    """What one treatment released, row by row: its columns, and the source row of each.

    groups: secret; for each column that it changed the group of every source row. permutes: whether it swapped values.
    """

    columns: Columns
    origin: NDArray[np.int64]
    groups: Groups
    permutes: bool


@dataclass(frozen=True, slots=True)
class SharedFile:
    """The columns of the file, row by row; original: in the order of the source."""

    original: Columns
    released: Columns
    declared: Declared
    parts: Mapping[str, FilePart]

    @property
    def checks(self) -> tuple[Check, ...]:
        """Return every check of how the file is put together."""
        first = next(iter(self.parts.values())).origin
        own = {name: part for part in self.parts.values() for name in part.columns}
        return (
            verdict(
                "one_order",
                "every output of the file has its records in the same order",
                "they have",
                "an output has another order",
                (name for name, part in self.parts.items() if not np.array_equal(part.origin, first)),
            ),
            verdict(
                "own_columns",
                "the file has the columns of its outputs, and no others",
                "it has",
                "a column is missing, foreign, or of two outputs",
                self._misplaced,
            ),
            verdict(
                "same_records",
                "every row of the file has the values that its outputs gave to one record",
                "every row has",
                "a column is not as it was drawn",
                (name for name, part in own.items() if not _equal(self.released.get(name), part.columns[name])),
            ),
        )

    @property
    def _misplaced(self) -> list[str]:
        of_parts = Counter(name for part in self.parts.values() for name in part.columns)
        twice = {name for name, times in of_parts.items() if times > 1}
        return sorted(twice | (of_parts.keys() ^ self.released.keys()))

    def measures(self) -> Callable[[str, Asked], Measurement]:
        """Return what takes one measure of all columns of the file together."""
        origin = next(iter(self.parts.values())).origin
        by_source: dict[str, NDArray[Any]] = {}
        for name, values in self.released.items():
            by_source[name] = np.empty_like(values)
            by_source[name][origin] = values
        every = compare(self.original, by_source, self.declared, self._groups(self.parts.values()))
        # What was averaged is handed to nobody.
        permuted = self._groups(part for part in self.parts.values() if part.permutes)
        swapped = replace(every, groups=permuted, permuted=True)
        return lambda name, asked: judge(name, swapped if MEASURES[name].inside_groups else every, asked)

    def _groups(self, parts: Iterable[FilePart]) -> dict[str, NDArray[np.integer[Any]]]:
        return {name: labels for part in parts for name, labels in part.groups.items()}


def _equal(released: NDArray[Any] | None, drawn: NDArray[Any]) -> bool:
    if released is None or released.shape != drawn.shape:
        return False
    numeric = released.dtype.kind == drawn.dtype.kind == "f"
    return bool(np.array_equal(released, drawn, equal_nan=numeric))
