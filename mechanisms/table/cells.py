"""Records counted and added up by cell, one pass for the counts and one for each measure.

    cell(r) = (.. (c_1 s_2 + c_2) s_3 + ..) s_m + c_m         c_d the record's category of dimension d, 0..s_d - 1  (1)
              0 without dimensions: all records in one cell
    sum of |v| over the records of a cell < 2^62                                                                   (2)

Every declared cell exists before a record is read, so whether a cell is there says nothing about the data. By (2) no
sum overflows in any order of adding, and neither does twice a value or a difference of two, which sensitivities need;
and noise is added to sums below 2^62 without overflow (penstock.mechanisms.noise). Everything here is confidential.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Columns
from penstock.mechanisms.parallel import in_parallel
from penstock.mechanisms.refusal import SettingRefused, ValueOutsideDomain

__all__ = ["MOST_CELLS", "Cells", "Magnitudes", "build_cells"]

Integers = NDArray[np.int64]

# About a gigabyte for each measure; nobody reads a larger table.
MOST_CELLS = 2**24
# Records at a time: their places stay in the cache between the loops.
_CHUNK = 2**14


@dataclass(frozen=True, slots=True, eq=False)
class Magnitudes:
    """One measure by cell; all 0 in a cell without records.

    sizes: the sum of |v|. largest_size, second_size: the largest |v| and the largest |v| of the other records.
    """

    sums: Integers
    sizes: Integers
    smallest: Integers
    largest: Integers
    largest_size: Integers
    second_size: Integers


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """shape: the number of declared categories of each dimension. Arrays have one entry per cell, numbered by (1)."""

    shape: tuple[int, ...]
    counts: Integers
    measures: Mapping[str, Magnitudes]


def build_cells(codes: Columns, shape: Sequence[int], values: Columns, records: int | None = None) -> Cells:
    """Return the cells of records with these category codes, a column per dimension, and int64 values, one per measure.

    records: how many there are, where no column may show it: without dimensions all of them are in the only cell.
    A missing category has code -1 and belongs to no cell: it is refused, unless it was declared as a category.
    """
    cells, records = _number_of_cells(codes, shape), _number_of_records(codes, values, records)
    from penstock.mechanisms.table._kernels import tally

    narrow = {name: _as_the_kernels_read(column) for name, column in codes.items()}
    counts = np.zeros(cells, np.int64)

    def count() -> None:
        for _, places in _places(narrow, shape, records):
            tally(counts, places)

    def table_of(name: str) -> Integers:
        return _added_up(_places(narrow, shape, records), cells, values[name], name)

    # Finding the places again takes less time than two measures lose when they compete for one cache.
    _, *tables = in_parallel(lambda make: make(), [count, *(partial(table_of, name) for name in values)])
    measures = {name: _magnitudes(table, counts) for name, table in zip(values, tables, strict=True)}
    return Cells(tuple(int(categories) for categories in shape), counts, measures)


def _places(codes: Columns, shape: Sequence[int], records: int) -> Iterator[tuple[slice, Integers]]:
    """Yield slices of the records, each with their cells (1); the array is used again for the next slice."""
    from penstock.mechanisms.table._kernels import locate

    buffer = np.empty(min(_CHUNK, records), np.int64)
    for start in range(0, records, _CHUNK):
        rows = slice(start, min(start + _CHUNK, records))
        places = buffer[: rows.stop - start]
        places.fill(0)
        for (name, column), categories in zip(codes.items(), shape, strict=True):
            # Refused before the places are used: codes outside would point beyond the table.
            if not locate(places, column[rows], categories):
                raise ValueOutsideDomain.at(
                    name,
                    rule="must have a declared category in every record",
                    remedy="Correct the categories or the data.",
                )
        yield rows, places


def _added_up(placed: Iterable[tuple[slice, Integers]], cells: int, values: NDArray[np.int64], name: str) -> Integers:
    """Return one measure by cell, as the kernels write it."""
    from penstock.mechanisms.table._kernels import LIMIT, collect

    table = np.tile(np.array([0, 0, LIMIT, -LIMIT, 0, 0], np.int64), (cells, 1))
    contiguous = np.ascontiguousarray(values)
    for rows, places in placed:
        if not collect(table, places, contiguous[rows]):
            raise ValueOutsideDomain.at(
                name, rule="must add up to less than 2^62 in every cell", remedy="Choose a coarser grid."
            )
    return table


def _magnitudes(table: Integers, counts: Integers) -> Magnitudes:
    table[counts == 0] = 0
    return Magnitudes(*(np.ascontiguousarray(column) for column in table.T))


def _number_of_cells(codes: Columns, shape: Sequence[int]) -> int:
    if len(codes) != len(shape) or min(shape, default=1) < 1:
        raise ValueError("one column of codes and at least one category for each dimension")
    cells = prod(int(categories) for categories in shape)
    if cells > MOST_CELLS:
        raise SettingRefused.at(
            "dimensions",
            rule="must form at most 2^24 cells",
            got=" x ".join(str(categories) for categories in shape),
            remedy="Take fewer dimensions or coarser categories.",
        )
    return cells


def _number_of_records(codes: Columns, values: Columns, stated: int | None) -> int:
    columns = [*codes.values(), *values.values()]
    if stated is None and not columns:
        raise ValueError("the number of records, where no column shows it")
    records = columns[0].size if stated is None else stated
    if any(column.shape != (records,) for column in columns):
        raise ValueError("one code and one value a record in every column")
    if any(column.dtype.kind not in "iu" for column in codes.values()):
        raise ValueError("categories are whole numbers, the codes")
    if any(column.dtype != np.int64 for column in values.values()):
        raise ValueError("values are int64, whole numbers on a grid")
    return records


def _as_the_kernels_read(codes: NDArray[np.integer]) -> NDArray[np.integer]:
    if codes.dtype.kind == "i":
        return np.ascontiguousarray(codes)
    # Beyond the signed range a number would turn negative, and then be refused all the same.
    return codes.astype(np.int32 if codes.dtype.itemsize < 4 else np.int64)
