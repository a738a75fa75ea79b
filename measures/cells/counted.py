"""The records of a table counted again part by part, and the parts put together.

    counts, sums, sizes    added, in whole numbers
    smallest, largest      of the parts that have records in the cell
    x_1, x_2               the two largest of the four that two parts have
    clamped                added, in whole numbers
    true, bias             added as floats, so in another order the last digit may differ; no check uses them

No code is shared with the mechanism, which puts its own parts together (penstock.mechanisms.table.merging).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.measures.checks import RecheckImpossible
from penstock.mechanisms.columns import Columns

__all__ = ["Counted", "CountedMeasure", "as_columns", "from_columns", "together"]

Integers = NDArray[np.int64]

_LARGEST_SUM = 2**62


@dataclass(frozen=True, slots=True, eq=False)
class CountedMeasure:
    """One measure by cell, in steps: sum, extremes, X = sum of |v|, the two largest |v|; and the sum as it was stored.

    Extremes are 0 in a cell without records. clamped, bias: see penstock.measures.clamping.
    """

    sums: Integers
    smallest: Integers
    largest: Integers
    sizes: Integers
    first: Integers
    second: Integers
    true: NDArray[np.float64]
    clamped: Integers
    bias: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Counts and measures of every cell, and the number of records behind them."""

    records: int
    counts: Integers
    measures: Mapping[str, CountedMeasure]


def together(one: Counted, other: Counted) -> Counted:
    """Return both parts as one."""
    if one.counts.shape != other.counts.shape or set(one.measures) != set(other.measures):
        raise ValueError("parts of one table have the same cells and measures")
    joined = {name: _together(name, one, other) for name in one.measures}
    return Counted(one.records + other.records, one.counts + other.counts, joined)


def _together(name: str, one: Counted, other: Counted) -> CountedMeasure:
    a, b = one.measures[name], other.measures[name]
    sizes = a.sizes + b.sizes
    if bool((sizes >= _LARGEST_SUM).any()):
        raise RecheckImpossible.at(
            name, rule="must add up to less than 2^62 steps in every cell", remedy="Report this defect."
        )
    both = (one.counts > 0) & (other.counts > 0)
    # Where one of the two has no records, its extremes are 0 and the sum is that of the other.
    smallest = np.where(both, np.minimum(a.smallest, b.smallest), a.smallest + b.smallest)
    largest = np.where(both, np.maximum(a.largest, b.largest), a.largest + b.largest)
    tops = np.sort(np.stack([a.first, a.second, b.first, b.second]), axis=0)
    true, clamped, bias = a.true + b.true, a.clamped + b.clamped, a.bias + b.bias
    return CountedMeasure(a.sums + b.sums, smallest, largest, sizes, tops[3], tops[2], true, clamped, bias)


_FIELDS = ("sums", "smallest", "largest", "sizes", "first", "second", "true", "clamped", "bias")


def as_columns(counted: Counted) -> Columns:
    """Return arrays with names, to be stored."""
    stored: dict[str, NDArray[Any]] = {"records": np.array([counted.records]), "counts": counted.counts}
    for name, measure in counted.measures.items():
        stored |= {f"{part} {name}": getattr(measure, part) for part in _FIELDS}
    return stored


def from_columns(stored: Columns, measures: tuple[str, ...]) -> Counted:
    """Return what `as_columns` stored."""
    found = {name: CountedMeasure(*(stored[f"{part} {name}"] for part in _FIELDS)) for name in measures}
    return Counted(int(stored["records"][0]), stored["counts"], found)
