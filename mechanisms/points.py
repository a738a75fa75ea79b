"""Columns as points, so that records of any types have a squared Euclidean distance.

    integer, continuous   (x - lo) / (hi - lo)             scaling "domain": the declared domain becomes [0, 1]
                          (x - mean) / sd                  scaling "standard_deviation"; 0 for a constant column
                          x                                scaling "none"
    ordinal               code / (C - 1)                   C categories; the bare code with scaling "none"
    nominal               e_code / sqrt(2)                 two different categories lie at distance 1

A nominal column whose missing values count as a category has one category more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column, Columns, Declared
from penstock.mechanisms.refusal import ColumnTypeWrong, SettingRefused, ValueMissing

__all__ = ["Scaling", "formulas", "points"]

Scaling = Literal["domain", "standard_deviation", "none"]


def points(columns: Columns, declared: Declared, names: Sequence[str], scaling: Scaling) -> NDArray[np.float64]:
    """Return a row for each record, with one or more coordinates for each named column, in the order of the names."""
    if not names:
        raise SettingRefused.at("columns", rule="must be at least one", remedy="Declare the columns to compare.")
    return np.column_stack([_coordinates(columns[name], declared[name], name, scaling) for name in names])


def formulas(declared: Declared, names: Sequence[str], scaling: Scaling) -> dict[str, str]:
    """Return what `points` computes for each column, in words for the reader of a promise."""
    return {name: _formula(declared[name], scaling) for name in names}


def _formula(column: Column, scaling: Scaling) -> str:
    if column.type == "nominal":
        return "1 between different categories"
    low, high = column.bounds
    if scaling == "none":
        return "x" if column.numeric else "rank of the category"
    if not column.numeric:
        return f"rank of the category / {_plain(high)}"
    if scaling == "standard_deviation":
        return "(x - mean) / standard deviation"
    return f"(x - {_plain(low)}) / {_plain(high - low)}"


def _plain(number: float) -> str:
    return np.format_float_positional(number, trim="-")


def _coordinates(values: NDArray[Any], column: Column, name: str, scaling: Scaling) -> NDArray[np.float64]:
    if column.type == "nominal":
        return _one_hot(values, column, name)
    if column.numeric:
        if values.dtype.kind not in "iuf":
            raise ColumnTypeWrong.at(
                name, rule="must be an array of numbers", got=str(values.dtype), remedy="Convert it."
            )
        numbers: NDArray[np.float64] = values.astype(np.float64)
    else:
        codes = column.codes(values, name)
        numbers = np.where(codes < 0, np.nan, codes)
    if not bool(np.isfinite(numbers).all()):
        raise ValueMissing.at(
            name, rule="must have a finite value in every record, which distances need", remedy="Fill in or drop it."
        )
    if scaling == "none":
        return numbers
    if column.numeric and scaling == "standard_deviation":
        # Compared value by value: the sd of a constant column may come out as a rounding error instead of 0.
        if not len(numbers) or numbers.min() == numbers.max():
            return np.zeros_like(numbers)
        mean, deviation = float(numbers.mean()), float(numbers.std())
        return (numbers - mean) / deviation
    low, high = column.bounds
    return (numbers - low) / (high - low)


def _one_hot(values: NDArray[Any], column: Column, name: str) -> NDArray[np.float64]:
    codes = column.codes(values, name)
    count = len(column.categories or ())
    if column.missing == "category":
        codes = np.where(codes < 0, count, codes)
        count += 1
    elif bool((codes < 0).any()):
        raise ValueMissing.at(name, rule="must have a category in every record", remedy="Declare missing: category.")
    hot = np.zeros((len(codes), count))
    hot[np.arange(len(codes)), codes] = np.sqrt(0.5)
    return hot
