"""Records as points between which an attacker, or a loss, is measured: axes of numbers, ranks and categories.

    number     (x - low) / (high - low) of its declared domain
    ordinal    code / (C - 1)
    nominal    0 where equal, 1 where different
               or, for a column with a taxonomy, delta(x, y) of penstock.mechanisms.taxonomy (1), on its grid of 2^-16
    missing    0 from missing; 1 + y^2 squared from a number or rank that is y by its domain, further than any two are;
               1 from a category

Squared distances between categories are multiples of 2^-32 up to 1, so their sums are exact, and ties of records of
categories are ties. Source: Soria-Comas 2013 (thesis), (6.6) and section 6.4.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.measures.asked import Asked
from penstock.measures.measurement import MeasureUndefined
from penstock.measures.records.comparison import Comparison
from penstock.measures.rows import is_missing, numbers
from penstock.mechanisms.columns import Column, Columns, Declared
from penstock.mechanisms.points import points
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.taxonomy import GRID, Taxonomy

__all__ = ["Places", "Semantic", "complete_in", "needs_taxonomy", "places", "semantic", "with_taxonomy"]

Floats = NDArray[np.float64]
Rows = NDArray[np.bool_]

# A table of squared distances of so many categories takes 128 MB.
_MOST_CATEGORIES = 4096


@dataclass(frozen=True, slots=True)
class Places:
    """The points of both sides. axes: the column of each axis: numbers and ranks first (`numeric` of them), then
    whether these lack a value, where some do, then categories, those with tables of squared distances last."""

    original: Floats
    released: Floats
    axes: tuple[str, ...]
    numeric: int
    squares: Floats


@dataclass(frozen=True, slots=True)
class Semantic:
    """A nominal column with a taxonomy: places of its values in a table of scores, 2^16 times the distance."""

    original: NDArray[np.int64]
    released: NDArray[np.int64]
    scores: NDArray[np.int64]


def with_taxonomy(pair: Comparison) -> tuple[str, ...]:
    """Return the judged columns that have a taxonomy."""
    return tuple(name for name in pair.names if pair.declared[name].taxonomy is not None)


def needs_taxonomy(asked: Asked, declared: Declared) -> Iterator[Fault]:
    """Yield a fault where distances by taxonomy are asked for and no column has one."""
    if asked.scaling == "taxonomy" and all(column.taxonomy is None for column in declared.values()):
        rule = "must be given only where a column that is judged has a taxonomy"
        yield Fault("scaling", rule, "Declare its taxonomy, or remove this.", asked.scaling)


def complete_in(pair: Comparison, names: Sequence[str]) -> Rows:
    """Return which records have a value in all of these columns, on both sides."""
    complete = np.ones(pair.records, np.bool_)
    for name in names:
        for side in (pair.original, pair.released):
            complete &= ~np.isnan(numbers(side[name], pair.declared[name], name))
    return complete


def places(pair: Comparison, names: Sequence[str], rows: Rows, *, by_taxonomy: bool) -> Places:
    """Return the points of these records in these columns. by_taxonomy: whether categories of a column with a taxonomy
    are as far apart as it says."""
    declared = pair.declared
    ordered = [name for name in names if declared[name].type != "nominal"]
    tabled = [name for name in names if by_taxonomy and declared[name].taxonomy is not None]
    plain = [name for name in names if name not in ordered and name not in tabled]
    lacking = [name for name in ordered if any(_missing(side, declared, name, rows).any() for side in _sides(pair))]
    tables = [semantic(pair, name, rows) for name in tabled]
    sides = []
    for place, side in enumerate(_sides(pair)):
        kept = {name: side[name] if rows.all() else side[name][rows] for name in (*ordered, *plain)}
        kept |= {name: _at_the_lowest(kept[name], declared[name], name) for name in lacking}
        parts = [points(kept, declared, ordered, "domain")] if ordered else []
        parts += [_missing(side, declared, name, rows).astype(np.float64)[:, None] for name in lacking]
        parts += [np.nan_to_num(numbers(kept[name], declared[name], name), nan=-1)[:, None] for name in plain]
        parts += [(table.original, table.released)[place].astype(np.float64)[:, None] for table in tables]
        joined = np.hstack(parts) if parts else np.zeros((int(np.count_nonzero(rows)), 0))
        sides.append(np.ascontiguousarray(joined + 0.0))  # one zero, so that equal points have equal bits
    most = max((len(table.scores) for table in tables), default=1)
    squares = np.zeros((len(tables), most, most))
    for square, table in zip(squares, tables, strict=True):
        square[: len(table.scores), : len(table.scores)] = (table.scores / GRID) ** 2
    return Places(sides[0], sides[1], (*ordered, *lacking, *plain, *tabled), len(ordered), squares)


def _sides(pair: Comparison) -> tuple[Columns, Columns]:
    return pair.original, pair.released


def _missing(side: Columns, declared: Declared, name: str, rows: Rows) -> Rows:
    return is_missing(side[name], declared[name], name)[rows]


def _at_the_lowest(values: NDArray[Any], column: Column, name: str) -> NDArray[Any]:
    """Return a column of numbers or ranks with the lowest of its domain where it has no value."""
    if column.numeric:
        return np.where(is_missing(values, column, name), column.bounds[0], values)
    return np.maximum(column.codes(values, name), 0)


def semantic(pair: Comparison, name: str, rows: Rows | slice = slice(None)) -> Semantic:
    """Return a column with a taxonomy as places in its table of scores; missing is 1 apart from every category."""
    column = pair.declared[name]
    codes = [column.codes(side[name][rows], name) for side in (pair.original, pair.released)]
    occurring, place = np.unique(np.concatenate(codes), return_inverse=True)
    if len(occurring) > _MOST_CATEGORIES:
        raise MeasureUndefined.at(
            name,
            rule=f"must have at most {_MOST_CATEGORIES:,} categories that occur, to be compared in its taxonomy",
            remedy="Group them (recode).",
        )
    return Semantic(place[: len(codes[0])], place[len(codes[0]) :], _scores(column, occurring))


def _scores(column: Column, codes: NDArray[np.int64]) -> NDArray[np.int64]:
    listed: tuple[Any, ...] = column.categories or ()
    labels = [str(listed[code]) for code in codes.tolist() if code >= 0]
    apart = GRID * (1 - np.eye(len(codes), dtype=np.int64))
    present = np.flatnonzero(codes >= 0)
    apart[np.ix_(present, present)] = Taxonomy(column.taxonomy or {}).scores(labels, labels)
    return apart
