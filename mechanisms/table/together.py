"""Tables that are counted together: the cells of one table of all their dimensions, added up for each of them.

    cells of dimensions A = cells of dimensions B, A inside B, put together over what A lacks                     (1)

    counts, sums, sizes    added                       exact: whole numbers below 2^62
    smallest, largest      of the cells that have records
    x_1, x_2               the two largest of all that the cells have

So one pass over the records serves several tables, and each gets just what a pass of its own would have found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Declared
from penstock.mechanisms.refusal import ValueOutsideDomain
from penstock.mechanisms.table.cells import Cells, Magnitudes
from penstock.mechanisms.table.settings import COUNT, Params, measures

__all__ = ["counted_together", "taken"]

Integers = NDArray[np.int64]

# So few that all figures of a measure stay in the cache while the records pass.
_MOST_TOGETHER = 2**14
_LIMIT = 2**62


def counted_together(tables: Mapping[str, Params], declared: Declared) -> dict[str, Params]:
    """Return for each table, by name, the settings of the table whose cells are counted for it: equal ones are counted
    once. Left out are tables with bounds of their own, where a value counts as another number, and weighted ones."""
    groups: list[tuple[tuple[str, ...], list[str]]] = []
    shareable = {name: params for name, params in tables.items() if not params.bounds and params.weight is None}
    for name, params in sorted(shareable.items(), key=lambda each: -_size(each[1].dimensions, declared)):
        for place, (dimensions, members) in enumerate(groups):
            union = tuple(dict.fromkeys((*dimensions, *params.dimensions)))
            if _like(shareable[members[0]]) == _like(params) and _size(union, declared) <= _MOST_TOGETHER:
                groups[place] = (union, [*members, name])
                break
        else:
            groups.append((params.dimensions, [name]))
    return {
        name: _whole(dimensions, [shareable[member] for member in members])
        for dimensions, members in groups
        if len(members) > 1
        for name in members
    }


def taken(cells: Cells, whole: Params, params: Params) -> Cells:
    """(1): the cells of one table from those of the table that was counted for it."""
    places = [whole.dimensions.index(name) for name in params.dimensions]
    gone = [place for place in range(len(whole.dimensions)) if place not in places]
    shape = tuple(cells.shape[place] for place in places)

    def apart(figures: Integers) -> Integers:
        """Return a row for each cell of the table, a column for each cell that is put together in it."""
        table = figures.reshape(cells.shape).transpose((*places, *gone))
        return table.reshape(prod(shape), -1)

    counts = apart(cells.counts)
    wanted = [name for name in measures(params) if name != COUNT]
    return Cells(
        shape, counts.sum(axis=1), {name: _together(name, cells.measures[name], counts, apart) for name in wanted}
    )


def _together(name: str, one: Magnitudes, counts: Integers, apart: Any) -> Magnitudes:
    filled = counts > 0
    some = filled.any(axis=1)
    sizes = apart(one.sizes).sum(axis=1)
    # A sum that left 64 bits may look small; as a float it does not.
    if bool((apart(one.sizes).sum(axis=1, dtype=np.float64) >= 1.5 * _LIMIT).any() or (sizes >= _LIMIT).any()):
        raise ValueOutsideDomain.at(
            name, rule="must add up to less than 2^62 in every cell", remedy="Choose a coarser grid."
        )
    firsts, seconds = apart(one.largest_size).copy(), apart(one.second_size)
    rows, best = np.arange(len(firsts)), firsts.argmax(axis=1)
    largest = firsts[rows, best]
    firsts[rows, best] = 0
    return Magnitudes(
        sums=apart(one.sums).sum(axis=1),
        sizes=sizes,
        smallest=np.where(some, np.where(filled, apart(one.smallest), _LIMIT).min(axis=1), 0),
        largest=np.where(some, np.where(filled, apart(one.largest), -_LIMIT).max(axis=1), 0),
        largest_size=largest,
        second_size=np.maximum(firsts.max(axis=1), seconds.max(axis=1)),
    )


def _whole(dimensions: tuple[str, ...], tables: Sequence[Params]) -> Params:
    """Return settings of a table that has the cells and measures of all of these."""
    summed = tuple(dict.fromkeys(name for each in tables for name in (*each.sums, *each.means)))
    return tables[0].model_copy(
        update={
            "dimensions": dimensions,
            "sums": summed,
            "means": (),
            "count": True,
            "shares": {},
            "totals": None,
            "levels": {},
            "impossible": [],  # each table looks at its own cells
        }
    )


def _like(params: Params) -> tuple[Any, ...]:
    """Return what tables must have in common to be counted together: what decides which records may be counted."""
    return (params.model, params.adjacency, params.rows_per_unit)


def _size(dimensions: Sequence[str], declared: Declared) -> int:
    return prod(len(declared[name].categories or ()) for name in dimensions)
