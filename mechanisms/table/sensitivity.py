"""How far one record moves a table built from D, under the bootstrap adjacencies: exact L1 sensitivities.

    M_i = max |v|,  V_i = max v - min v        over the records v of D in cell i; a cell without records has none
    sensitivity = max |f(D_1) - f(D_2)|_1      over adjacent D_1, D_2 that consist of records of D              (1)

    output                      bootstrap_replace                       bootstrap_add_remove   bootstrap_within_cell
    one count                   1; 0 if it is 0 or n in D               1; 0 if it is 0 in D   0
    contingency table           2; 0 if one cell has all the records    1                      0
    total of all records        max v - min v                           max |v|                max v - min v
    total of cell i             max(V_i, M_i); V_i if it has all        M_i                    V_i
    magnitude table             max(max V_i, max over i != j of         max M_i                max V_i
                                M_i + M_j)

Why. A replacement takes a record r out of its cell and puts s into its own: in two cells |r| + |s|, in one |r - s|. An
addition or removal moves one cell by |r|. Within a cell, |r - s|, and no count changes. Each pair occurs, because D_1
may be any records of D. A total of all records has one cell for this purpose; where D has more, it moves less.

Source: O'Keefe & Charest 2019, section 5, corrected. The paper gives V_i, max V_i and 1 for replacements: they hold
only where they stand above. It overlooks that a replaced record may leave one cell and enter another.

These numbers are properties of D, so they are secret, and so is every scale made from them. Sensitivity 0 means that
all data sets made of records of D give the same answer; releasing it exactly reveals it. One measure at a time:
several measures of the same records, and their counts, each have an epsilon, and the epsilons add up.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from penstock.mechanisms.refusal import SettingRefused
from penstock.mechanisms.table.cells import Cells, Integers

__all__ = [
    "BootstrapAdjacency",
    "cell_total_sensitivity",
    "contingency_table_sensitivity",
    "count_sensitivity",
    "largest_sizes",
    "magnitude_table_sensitivity",
    "ranges",
    "require_adjacency",
    "total_sensitivity",
]

BootstrapAdjacency = Literal["bootstrap_replace", "bootstrap_add_remove", "bootstrap_within_cell"]


def count_sensitivity(cells: Cells, cell: int, adjacency: BootstrapAdjacency) -> int:
    """Return the sensitivity of one count: a record enters or leaves it, unless D has no record that could."""
    require_adjacency(adjacency, get_args(BootstrapAdjacency))
    count, records = int(cells.counts[cell]), int(cells.counts.sum())
    if adjacency == "bootstrap_replace":
        return int(0 < count < records)
    return int(count > 0) if adjacency == "bootstrap_add_remove" else 0


def contingency_table_sensitivity(cells: Cells, adjacency: BootstrapAdjacency) -> int:
    """Return the sensitivity of all counts together: a replaced record leaves one cell and enters another."""
    require_adjacency(adjacency, get_args(BootstrapAdjacency))
    filled = int(np.count_nonzero(cells.counts))
    if adjacency == "bootstrap_replace":
        return 2 if filled > 1 else 0
    return int(filled > 0) if adjacency == "bootstrap_add_remove" else 0


def total_sensitivity(cells: Cells, measure: str, adjacency: BootstrapAdjacency) -> int:
    """Return the sensitivity of the total of all records: max v - min v, or max |v| if a record is added or removed."""
    require_adjacency(adjacency, get_args(BootstrapAdjacency))
    filled, magnitudes = cells.counts > 0, cells.measures[measure]
    if not filled.any():
        return 0
    if adjacency == "bootstrap_add_remove":
        return int(magnitudes.largest_size.max())
    return int(magnitudes.largest[filled].max()) - int(magnitudes.smallest[filled].min())


def cell_total_sensitivity(cells: Cells, measure: str, cell: int, adjacency: BootstrapAdjacency) -> int:
    """Return the sensitivity of one cell's total alone: max(V_i, M_i), M_i or V_i. A whole table of them needs more."""
    require_adjacency(adjacency, get_args(BootstrapAdjacency))
    size, spread = int(largest_sizes(cells, measure)[cell]), int(ranges(cells, measure)[cell])
    if adjacency == "bootstrap_add_remove":
        return size
    alone = int(cells.counts[cell]) == int(cells.counts.sum())
    return spread if adjacency == "bootstrap_within_cell" or alone else max(spread, size)


def magnitude_table_sensitivity(cells: Cells, measure: str, adjacency: BootstrapAdjacency) -> int:
    """Return the table's sensitivity: max(max V_i, the two largest M_i of different cells), max M_i or max V_i."""
    require_adjacency(adjacency, get_args(BootstrapAdjacency))
    sizes, widest = largest_sizes(cells, measure), int(ranges(cells, measure).max())
    if adjacency == "bootstrap_add_remove":
        return int(sizes.max())
    filled = sizes[cells.counts > 0]
    if adjacency == "bootstrap_within_cell" or len(filled) < 2:
        return widest
    second, first = (int(size) for size in np.partition(filled, -2)[-2:])
    return max(widest, first + second)


def largest_sizes(cells: Cells, measure: str) -> Integers:
    """Return M_i of every cell."""
    return cells.measures[measure].largest_size


def ranges(cells: Cells, measure: str) -> Integers:
    """Return V_i of every cell: never a sensitivity where a record may change its cell."""
    magnitudes = cells.measures[measure]
    spread: Integers = magnitudes.largest - magnitudes.smallest
    return spread


def require_adjacency(adjacency: str, allowed: tuple[str, ...]) -> None:
    """Refuse an adjacency under which no constant is proven."""
    if adjacency not in allowed:
        raise SettingRefused.at(
            "adjacency",
            rule="must be one of " + ", ".join(allowed),
            got=adjacency,
            remedy="Choose the adjacency that the promise names.",
        )
