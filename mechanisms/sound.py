"""Columns as they were declared, or a refusal: what every mechanism asks of its input."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column, Columns, Declared
from penstock.mechanisms.refusal import (
    ColumnMissing,
    ColumnTypeWrong,
    Fault,
    SettingRefused,
    TableEmpty,
    ValueMissing,
    ValueOutsideDomain,
)

__all__ = ["is_missing", "require_sound"]


def is_missing(values: NDArray[Any], column: Column, name: str) -> NDArray[np.bool_]:
    """Return where a value is missing."""
    if not column.numeric:
        return column.codes(values, name) < 0
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), np.bool_)


def require_sound(columns: Columns, declared: Declared, *, clamped: bool = False, may_be_empty: bool = False) -> int:
    """Refuse columns that are not as declared; return the number of records.

    clamped: the mechanism moves values outside the domain to its nearest bound, so they are no reason to refuse.
    may_be_empty: the promise hides how many records there are, so that there is none is no reason either.
    """
    expected = [name for name, column in declared.items() if column.role != "identifier"]
    SettingRefused.raise_for(
        Fault(f"columns.{name}", "must be declared before it is used", "Declare it, or do not pass it.")
        for name in columns
        if name not in declared
    )
    ColumnMissing.raise_for(
        Fault(name, "must be passed, because it is declared", "Pass it, or remove it from the spec.")
        for name in expected
        if name not in columns
    )
    records = columns[expected[0]].size
    if any(columns[name].shape != (records,) for name in expected):
        raise ColumnTypeWrong.at(
            "columns", rule="must have one value per record in every column", remedy="Correct the lengths."
        )
    if records == 0 and not may_be_empty:
        raise TableEmpty.at("columns", rule="must have at least one record", remedy="Check the source.")
    for name in expected:
        _require_as_declared(columns[name], declared[name], name, clamped)
    return records


def _require_as_declared(values: NDArray[Any], column: Column, name: str, clamped: bool) -> None:
    if column.numeric and values.dtype.kind not in "iuf":
        raise ColumnTypeWrong.at(name, rule="must be an array of numbers", got=str(values.dtype), remedy="Convert it.")
    if not column.numeric and values.dtype.kind in "iu":  # looked at as they are: a copy takes longer than the look
        column.require_codes(values, name)
        _require_complete(column, name, has_missing=bool(values.size and values.min() < 0))
        return
    missing = is_missing(values, column, name)
    _require_complete(column, name, has_missing=bool(missing.any()))
    present = values[~missing] if missing.any() else values
    if not column.numeric or not len(present):
        return
    if column.type == "integer" and values.dtype.kind == "f" and bool((present != np.floor(present)).any()):
        raise ColumnTypeWrong.at(
            name, rule="must hold whole numbers only", remedy="Declare it continuous, or round it."
        )
    if clamped:
        return
    low, high = column.domain or (-np.finfo(np.float64).max, np.finfo(np.float64).max)
    if present.min() < low or present.max() > high:
        raise ValueOutsideDomain.at(
            name, rule="must hold only values of the declared domain", remedy="Correct the domain or the data."
        )


def _require_complete(column: Column, name: str, *, has_missing: bool) -> None:
    if has_missing and column.missing == "refuse":
        raise ValueMissing.at(
            name, rule="must have a value in every record", remedy="Complete the data or change `missing`."
        )
