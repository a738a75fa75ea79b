"""Values as keys that are equal exactly when the values are, and records that are identical.

Equality is all that risk measures and re-checks ask of most columns, so every type of column is
brought to one: 64-bit integers. A number becomes its bit pattern (with one NaN), a category its code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.refusal import ColumnTypeWrong

__all__ = ["identical", "is_missing", "keys", "mixed", "numbers"]

Keys = NDArray[np.int64]

# Multipliers of the finaliser of SplitMix64 (Steele, Lea & Flood 2014; Stafford's variant 13).
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def numbers(values: NDArray[Any], column: Column, name: str) -> NDArray[np.float64]:
    """Return numbers as they are and categories as codes, NaN where missing.

    A nominal column with `missing: category` has no missing values: code -1 is one more category.
    """
    if column.numeric:
        return _stored_as_number(values, column, name).astype(np.float64, copy=False)
    codes = column.codes(values, name)
    found = codes.astype(np.float64)
    if not (column.type == "nominal" and column.missing == "category"):
        found[codes < 0] = np.nan
    return found


def is_missing(values: NDArray[Any], column: Column, name: str) -> NDArray[np.bool_]:
    """Return where a value is missing, whatever the column's rule for it."""
    if not column.numeric:
        return column.codes(values, name) < 0
    stored = _stored_as_number(values, column, name)
    return np.isnan(stored) if stored.dtype.kind == "f" else np.zeros(len(stored), np.bool_)


def keys(values: NDArray[Any], column: Column, name: str) -> Keys:
    """Return 64-bit keys, equal exactly when what is written to a file is: NaN equals NaN, but -0 is not 0.

    Keys of an integer array and of a float array do not compare: the type is part of the value.
    """
    if not column.numeric:
        return column.codes(values, name)
    stored = _stored_as_number(values, column, name)
    if stored.dtype.kind != "f":
        return stored.astype(np.int64, copy=False)
    one_nan = stored.astype(np.float64, copy=False)
    missing = np.isnan(one_nan)
    if missing.any():
        one_nan = np.where(missing, np.nan, one_nan)
    return np.ascontiguousarray(one_nan).view(np.int64)


def mixed(columns: Iterable[Keys], records: int) -> NDArray[np.uint64]:
    """Return a 64-bit hash of every record. One column is mixed one to one; more can collide."""
    hashes = np.zeros(records, np.uint64)
    for column in columns:
        hashes ^= column.view(np.uint64)
        hashes ^= hashes >> np.uint64(30)
        hashes *= _FIRST
        hashes ^= hashes >> np.uint64(27)
        hashes *= _SECOND
        hashes ^= hashes >> np.uint64(31)
    return hashes


def identical(columns: Sequence[Keys]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return sets of identical records: `order` lists the rows set by set, `starts` the borders and finally n.

    Rows are sorted by hash and neighbours compared exactly, so different records never share a
    set. If two different records had the same hash, one set could come in several pieces; code
    that counts sets must err on the safe side then, and does. At least one record.
    """
    order = np.argsort(mixed(columns, len(columns[0])))
    border = np.zeros(len(order) - 1, np.bool_)
    for column in columns:
        along = column[order]
        border |= along[1:] != along[:-1]
    return order, np.concatenate(([0], np.flatnonzero(border) + 1, [len(order)]))


def _stored_as_number(values: NDArray[Any], column: Column, name: str) -> NDArray[Any]:
    if values.dtype.kind not in "iuf":
        raise ColumnTypeWrong.at(
            name,
            rule=f"must be an array of numbers for type {column.type or 'weight'}",
            got=str(values.dtype),
            remedy="Convert it before calling.",
        )
    return values
