"""The check of figures that several linked tables show.

    a figure of a margin = the sum of the published cells of every table that shows it                           (1)

(1) for all tables means that they agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.layout import Layout

__all__ = ["linked_add_up"]


def linked_add_up(layout: Layout, values: NDArray[Any], tolerance: float) -> bool:
    """(1), exactly for whole numbers below 2^53 and else within a part of the sizes that are added."""
    tables = range(len(layout.tables))
    for place in range(len(tables), len(layout.levels)):
        stated = values[layout.starts[place] : layout.starts[place + 1]].astype(np.float64)
        for table in tables:
            if set(layout.levels[place]) <= set(layout.levels[table]):
                cells = values[layout.starts[table] : layout.starts[table + 1]].astype(np.float64)
                total, size = (_over(layout, table, place, each) for each in (cells, np.abs(cells)))
                if not bool((np.abs(stated - total) <= tolerance * size).all()):
                    return False
    return True


def _over(layout: Layout, table: int, place: int, cells: NDArray[np.float64]) -> NDArray[np.float64]:
    own, level = layout.levels[table], layout.levels[place]
    gone = tuple(axis for axis, name in enumerate(own) if name not in level)
    found: NDArray[np.float64] = cells.reshape(layout.shape(own)).sum(axis=gone).ravel()
    return found
