"""Tables counted record by record in exact fractions, and settings for them: what the tests of tables share.

A record is a mapping from column to value. Values of a summed column are clamped to its domain, then to the first
entry of `bounds` that fits the record's cell, and rounded half up to a multiple of the grid step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import ceil, floor
from typing import Any

import numpy as np

from penstock.mechanisms.columns import Column
from penstock.mechanisms.table import Params

Record = Mapping[str, Any]
Cell = tuple[str, ...]

AREAS, SIZES = ("north", "south"), ("small", "large")
DECLARED = {
    "person": Column(role="identifier"),
    "area": Column(role="quasi_identifier", type="nominal", categories=AREAS),
    "size": Column(role="quasi_identifier", type="ordinal", categories=SIZES),
    "x": Column(role="confidential", type="integer", domain=(-1, 2)),
    "y": Column(role="confidential", type="continuous", domain=(0, 10)),
}
# Settings of each model that fit DECLARED.
MODELS: dict[str, dict[str, Any]] = {
    "dp": {"model": "dp", "epsilon": "1", "adjacency": "replace"},
    "bdp": {
        "model": "bdp",
        "epsilon": "1",
        "adjacency": "bootstrap_replace",
        "scale": "one",
        "empty_cells": "noise",
        "acknowledges": ["bdp"],
    },
    "idp": {"model": "idp", "epsilon": "1", "adjacency": "from_D", "acknowledges": ["idp"]},
    "k_anon": {"model": "k_anon", "k": 2},
}


def table(model: str = "dp", **chosen: Any) -> Params:
    """A table by area and size; None takes a setting away."""
    settings = {"dimensions": ["area", "size"], **MODELS[model], **chosen}
    return Params.model_validate({name: value for name, value in settings.items() if value is not None})


def columns_of(records: Sequence[Record], declared: Mapping[str, Column] = DECLARED) -> dict[str, np.ndarray]:
    """Arrays as a mechanism takes them, categories as text; a column that the records lack is at its lowest."""
    arrays = {}
    for name, column in declared.items():
        if column.role == "identifier":
            continue
        lowest = column.categories[0] if column.categories is not None else (column.domain or (0, 0))[0]
        values = [record.get(name, lowest) for record in records]
        arrays[name] = np.array(values, object) if column.categories is not None else np.array(values)
    return arrays


def limits(params: Params, declared: Mapping[str, Column], measure: str, cell: Mapping[str, str]) -> tuple[Any, Any]:
    """The bounds of a measure in one cell."""
    for entry in params.bounds.get(measure, ()):
        if all(cell[dimension] in categories for dimension, categories in entry.cells.items()):
            return entry.domain
    domain = declared[measure].domain
    assert domain is not None
    return domain


def steps(
    record: Record, measure: str, params: Params, declared: Mapping[str, Column], eta: Fraction = Fraction(1)
) -> int:
    """What a record adds to its cell, in steps of the grid."""
    if measure == "count":
        return 1
    low, high = declared[measure].domain or (0, 0)
    value = floor(min(max(Fraction(record[measure]), Fraction(low)), Fraction(high)) / eta + Fraction(1, 2))
    lowest, highest = limits(params, declared, measure, {name: record[name] for name in params.dimensions})
    return min(max(value, floor(Fraction(lowest) / eta)), ceil(Fraction(highest) / eta))


def reach(params: Params, declared: Mapping[str, Column], measure: str, cell: Mapping[str, str]) -> int:
    """The most that one record adds to a cell, by size; steps of 1."""
    if measure == "count":
        return 1
    low, high = limits(params, declared, measure, cell)
    return max(abs(floor(low)), abs(ceil(high)))


def cells_of(level: Sequence[str], declared: Mapping[str, Column] = DECLARED) -> list[Cell]:
    return list(product(*(declared[name].categories or () for name in level)))


def totals(
    records: Iterable[Record],
    level: Sequence[str],
    measure: str,
    params: Params,
    declared: Mapping[str, Column] = DECLARED,
    eta: Fraction = Fraction(1),
) -> list[int]:
    """The exact totals of the cells of a level, the last dimension fastest."""
    found = dict.fromkeys(cells_of(level, declared), 0)
    for record in records:
        found[tuple(record[name] for name in level)] += steps(record, measure, params, declared, eta)
    return list(found.values())


def records_of(areas: Sequence[str] = AREAS, sizes: Sequence[str] = SIZES, **values: Iterable[Any]) -> Iterator[Record]:
    """Every record of a small domain: all cells, all combinations of these values."""
    for area, size, *combination in product(areas, sizes, *values.values()):
        yield {"area": area, "size": size, **dict(zip(values, combination, strict=True))}
