"""The layouts of linked tables: each by itself, and which rows of the layout of all it consists of.

The layout of all has every level once, whichever tables show it (penstock.mechanisms.layout). A table has its own cells
and the margins that lie inside them, in the order of its own dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.layout import Layout

__all__ = ["columns_of_table", "levels_are_linked", "rows_of_level", "tables_of"]


def levels_are_linked(layout: Layout, *, with_margins: bool) -> bool:
    """Return whether these are the levels of linked tables, each once and in the order of the dimensions: the cells of
    each table, none inside those of another, then every margin of any of them."""
    order = list(layout.dimensions)
    cells, rest = layout.levels[: len(layout.tables)], layout.levels[len(layout.tables) :]
    margins = {part for level in cells for size in range(len(level)) for part in combinations(level, size)}
    return (
        [sorted(level, key=order.index) for level in layout.tables.values()] == [list(level) for level in cells]
        and {name for level in cells for name in level} == set(order)
        and not any(set(one) <= set(other) for one in cells for other in cells if one != other)
        and len(set(layout.levels)) == len(layout.levels)
        and set(rest) == (margins if with_margins else set())
    )


def tables_of(layout: Layout) -> tuple[Layout, ...]:
    """Return the layout of each linked table; the layout itself where it is of one table."""
    return tuple(_table(layout, name, own) for name, own in layout.tables.items()) or (layout,)


def _table(layout: Layout, name: str, own: tuple[str, ...]) -> Layout:
    inside = [tuple(each for each in own if each in level) for level in layout.levels if set(level) < set(own)]
    inside.sort(key=lambda level: (-len(level), [own.index(each) for each in level]))
    return Layout(
        name=name,
        dimensions={each: layout.dimensions[each] for each in own},
        levels=(own, *inside),
        figures=layout.figures,
        errors=layout.errors,
    )


def rows_of_level(layout: Layout, level: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the rows of the layout that are a level of one of its tables, in the order of that level's dimensions."""
    place = next(place for place, each in enumerate(layout.levels) if set(each) == set(level))
    stored = layout.levels[place]
    rows = np.arange(layout.starts[place], layout.starts[place + 1]).reshape(layout.shape(stored))
    return rows.transpose([stored.index(name) for name in level]).ravel()


def columns_of_table(layout: Layout, table: Layout, columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the columns of one of the tables of a layout."""
    rows = np.concatenate([rows_of_level(layout, level) for level in table.levels])
    codes = table.codes()
    return {name: codes[name] if name in codes else columns[name][rows] for name in table.columns}
