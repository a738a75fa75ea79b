"""Cells of parts of the records, put together: exactly what one pass over all the records gives.

    counts, sums, sizes    added                       exact: whole numbers below 2^62
    smallest, largest      of the parts that have records in the cell
    x_1, x_2               the two largest of the four that two parts have

Every line is associative and commutative, so the parts may come in any order. Everything here is confidential.
"""

from __future__ import annotations

import numpy as np

from penstock.mechanisms.columns import Columns
from penstock.mechanisms.refusal import ValueOutsideDomain
from penstock.mechanisms.table.cells import Cells, Magnitudes

__all__ = ["as_columns", "from_columns", "merged"]

# As in the kernels: no sum of a cell may reach it.
_LIMIT = 2**62
_FIGURES = ("sums", "sizes", "smallest", "largest", "largest_size", "second_size")


def merged(one: Cells, other: Cells) -> Cells:
    """Return the cells of both parts together."""
    if one.shape != other.shape or set(one.measures) != set(other.measures):
        raise ValueError("parts of one table have the same cells and measures")
    measures = {name: _merged(name, one, other) for name in one.measures}
    return Cells(one.shape, one.counts + other.counts, measures)


def _merged(name: str, one: Cells, other: Cells) -> Magnitudes:
    a, b = one.measures[name], other.measures[name]
    sizes = a.sizes + b.sizes
    if bool((sizes >= _LIMIT).any()):
        raise ValueOutsideDomain.at(
            name, rule="must add up to less than 2^62 in every cell", remedy="Choose a coarser grid."
        )
    only_a, only_b = other.counts == 0, one.counts == 0  # an empty cell has zeros, which are no extremes
    return Magnitudes(
        sums=a.sums + b.sums,
        sizes=sizes,
        smallest=np.where(only_a, a.smallest, np.where(only_b, b.smallest, np.minimum(a.smallest, b.smallest))),
        largest=np.where(only_a, a.largest, np.where(only_b, b.largest, np.maximum(a.largest, b.largest))),
        largest_size=np.maximum(a.largest_size, b.largest_size),
        second_size=np.maximum(np.minimum(a.largest_size, b.largest_size), np.maximum(a.second_size, b.second_size)),
    )


def as_columns(cells: Cells) -> Columns:
    """Return the cells as arrays with names, to be stored."""
    stored = {"counts": cells.counts}
    for name, magnitudes in cells.measures.items():
        stored |= {f"{figure} {name}": getattr(magnitudes, figure) for figure in _FIGURES}
    return stored


def from_columns(stored: Columns, shape: tuple[int, ...], measures: tuple[str, ...]) -> Cells:
    """Return what `as_columns` stored."""
    return Cells(
        shape,
        stored["counts"],
        {name: Magnitudes(*(stored[f"{figure} {name}"] for figure in _FIGURES)) for name in measures},
    )
