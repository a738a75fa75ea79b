"""What the files of linked tables show of each other: every figure that several of them have is the same number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.mechanisms.layout import Layout
from penstock.mechanisms.linked_layout import rows_of_level, tables_of

__all__ = ["figures_apart"]


def figures_apart(layout: Layout, tables: Mapping[str, Mapping[str, pa.Table]]) -> Iterator[str]:
    """Yield a rule for each column in which two files differ about a figure of both.

    tables: the files of each table, by stem and suffix; each has the rows of its layout. In CSV everything is text.
    """
    if not layout.tables:
        return
    first: dict[tuple[str, tuple[str, ...]], np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
    apart: list[str] = []
    for table in tables_of(layout):
        for file in tables.get(f"tables/{table.name}", {}).values():
            for name in table.columns[len(table.dimensions) :]:
                values = _numbers(file.column(name))
                for level in table.levels:
                    key = tuple(each for each in layout.dimensions if each in level)
                    found = values[rows_of_level(table, key)]
                    if not np.array_equal(first.setdefault((name, key), found), found, equal_nan=True):
                        apart.append(name)
    for name in dict.fromkeys(apart):
        yield f"must have the same {name} wherever two tables show the same figure"


def _numbers(column: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return a column as numbers, NaN where a figure does not exist."""
    if pa.types.is_string(column.type):
        column = pc.if_else(pc.equal(column, ""), None, column)
    found: np.ndarray[tuple[int], np.dtype[np.float64]] = column.cast(pa.float64()).to_numpy()
    return found
