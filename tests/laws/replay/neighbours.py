"""Neighbours of samples of every mechanism: records replaced or removed, at the edges of what is declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column

__all__ = ["added", "removed", "replaced", "replaced_by_a_fellow"]


def _extreme(draw: Any, column: Column, like: np.ndarray) -> Any:
    if column.categories is not None:
        given = [*column.categories, *([None] if column.missing == "category" else [])]
        return draw(st.sampled_from(given))
    low, high = (0, 4) if column.domain is None else column.domain
    middle = (low + high) // 2 if column.type == "integer" else (low + high) / 2
    return like.dtype.type(draw(st.sampled_from([low, high, middle])))


def replaced(draw: Any, columns: Mapping[str, np.ndarray], declared: Mapping[str, Column], rows: int = 1) -> Any:
    """The same columns with so many records in place of others, which may agree with the old ones in some columns."""
    n = len(next(iter(columns.values())))
    found = {name: values.copy() for name, values in columns.items()}
    for place in draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=rows, unique=True)):
        for name, values in found.items():
            if name in declared and declared[name].role != "identifier" and draw(st.integers(0, 3)):
                values[place] = _extreme(draw, declared[name], values)
    return found


def added(draw: Any, columns: Mapping[str, np.ndarray], declared: Mapping[str, Column]) -> Any:
    """The same columns with one record more."""
    again = {name: np.append(values, values[:1]) for name, values in columns.items()}
    for name, values in again.items():
        if name in declared and declared[name].role != "identifier":
            values[-1] = _extreme(draw, declared[name], values)
    return again


def removed(draw: Any, columns: Mapping[str, np.ndarray], rows: int = 1) -> Any:
    """The same columns without so many of the records."""
    n = len(next(iter(columns.values())))
    places = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=min(rows, n), unique=True))
    return {name: np.delete(values, places) for name, values in columns.items()}


def replaced_by_a_fellow(draw: Any, columns: Mapping[str, np.ndarray], within: tuple[str, ...] = ()) -> Any:
    """The same columns with one record written over by another of them; within: columns that it keeps."""
    n = len(next(iter(columns.values())))
    place, fellow = draw(st.integers(0, n - 1)), draw(st.integers(0, n - 1))
    found = {name: values.copy() for name, values in columns.items()}
    for name, values in found.items():
        if name not in within:
            values[place] = values[fellow]
    return found
