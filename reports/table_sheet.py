"""A released table as it is drawn on a page: for every number its text and its place on an axis.

Rows of one level share an axis for each figure; a total on the axis of its cells would squash them. The axis of a count
or a sum begins at zero or below, and so does every other on which no interval shows how much of a difference may be
noise. A column without a value has no axis, nor have errors that are figures of their own. A value whose standard error
se is published is shown with the interval

    [value - 1.96 se, value + 1.96 se]                                                                            (1)

About 95 % of the noise lies inside (exactly 95 % of normal noise, 94 % of Laplace noise); sampling error is not in it.
Where sampling errors are stated beside those of the noise they are figures of their own, without an interval; in an
exact table of a sample se is the sampling error of the figure, where the table has it.
Numbers are shown to the second digit of the smallest standard error of their column, and without one to five digits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.layout import Figure, Layout, error_of

__all__ = ["Axis", "Level", "Mark", "Row", "TableSheet", "described", "must_fit", "sheet_of"]

_HALF_WIDTH = 1.96
_DIGITS = 5
_MOST_PLACES = 9
_WIDEST = 1e15  # from here on numbers are written as 1.2345e+15
_SAMPLING = "_sampling_error"
_FIGURE_SPACE = "\u2007"  # as wide as a digit, so that numbers line up
_NOT_STATED = "not stated"  # an error that was left out is not one that does not exist
_LARGEST = 1e300  # above this, and below its inverse, axes would overflow


@dataclass(frozen=True, slots=True)
class Mark:
    """One number. at, low, high: places of value and interval on the axis, from 0 to 100; None if there is none.

    error: padded on the left, so that all errors of a column have the same length.
    """

    value: str
    error: str | None
    at: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """above: for each label the groups of coarser levels that it is in, if there are any, in words."""

    labels: tuple[str, ...]
    marks: tuple[Mark, ...]
    above: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Axis:
    """The numbers at both ends, and the place of zero if it lies between them."""

    first: str
    last: str
    zero: float | None


@dataclass(frozen=True, slots=True)
class Level:
    """Rows with the same dimensions, or coarser levels of them. axes: of each figure, None where nothing is drawn;
    stated: for each whether an error stands beside any of its numbers. count: how many such rows are in the file."""

    dimensions: tuple[str, ...]
    axes: tuple[Axis | None, ...]
    stated: tuple[bool, ...]
    rows: tuple[Row, ...]
    count: int


@dataclass(frozen=True, slots=True)
class TableSheet:
    """The part of a table that a page shows. levels: totals first, the cells last. errors: whether those of the noise
    are published. combined: whether errors of noise and sampling together are, too. unknown: figures with noise, of
    none of which the error is stated. sampled: for each figure whether its sampling error stands beside it."""

    figures: tuple[str, ...]
    descriptions: tuple[str, ...]
    levels: tuple[Level, ...]
    cells: int
    totals: int
    errors: bool
    combined: bool = False
    unknown: tuple[str, ...] = ()
    sampled: tuple[bool, ...] = ()

    @property
    def shown(self) -> int:
        return sum(len(level.rows) for level in self.levels)


def described(figure: Figure) -> str:
    """Return what a figure is, in words."""
    if figure.column is None:
        named = {
            "count": "number of records",
            "contributors": "number of different contributors",
            "weighted_count_combined_error": "error of the weighted count from noise and sampling together",
        }
        if figure.statistic in named:
            return named[figure.statistic]
        told = figure.statistic.replace("_", " ")
    elif figure.statistic == "weighted_sum_combined_error":
        return f"error of the weighted sum of {figure.column} from noise and sampling together"
    else:
        told = f"{figure.statistic.replace('_', ' ').removesuffix(' sampling error')} of {figure.column}"
    if not figure.statistic.endswith(_SAMPLING):
        return told
    return f"sampling error of the {told.removesuffix(' sampling error')}"


def must_fit(layout: Layout, columns: Mapping[str, NDArray[Any]]) -> None:
    """Raise ValueError unless these are the columns of the layout, row by row."""
    if missing := [name for name in layout.columns if name not in columns]:
        raise ValueError(f"the table has no column {', '.join(missing)}")
    if any(columns[name].shape != (layout.rows,) for name in layout.columns):
        raise ValueError("every column must have one value for each row of the layout")
    if any(not np.array_equal(columns[name], codes) for name, codes in layout.codes().items()):
        raise ValueError("the rows must be in the order of the layout")
    if any(np.isinf(columns[name]).any() for name in layout.columns):
        raise ValueError("a figure must be a finite number, or NaN where it is not defined")


def sheet_of(
    layout: Layout,
    columns: Mapping[str, NDArray[Any]],
    most_rows: int = 200,
    words: Mapping[str, str] = MappingProxyType({}),
) -> TableSheet:
    """Return the table, or for a long one the totals and the first cells, `most_rows` in all.

    words: what figures are, where more is to be said than their names do.
    """
    must_fit(layout, columns)
    counts = [stop - start for start, stop in zip(layout.starts, layout.starts[1:], strict=False)]
    order = [*sorted(range(1, len(counts)), key=lambda place: _rank(layout, layout.levels[place])), 0]
    cells, totals = counts[0], sum(counts[1:])
    room = most_rows - min(cells, max(most_rows // 4, most_rows - totals))
    levels = []
    for place in order:
        shown = min(counts[place], most_rows if place == 0 else room)
        room -= shown
        most_rows -= shown
        levels.append(_level(layout, columns, place, shown))
    figures = _shown(layout)
    sampled = tuple(_error_beside(layout, figure) == figure.name + _SAMPLING for figure in figures)
    return TableSheet(
        figures=tuple(figure.name for figure in figures),
        descriptions=tuple(words.get(figure.name, described(figure)) for figure in figures),
        levels=tuple(levels),
        cells=cells,
        totals=totals,
        errors=layout.errors,
        unknown=tuple(
            figure.name
            for place, figure in enumerate(figures)
            if any(level.axes[place] for level in levels)
            and layout.has_error(figure)
            and not any(level.stated[place] for level in levels)
        ),
        combined=any(figure.statistic.endswith("_combined_error") for figure in layout.figures),
        sampled=sampled,
    )


def _rank(layout: Layout, level: tuple[str, ...]) -> tuple[int, ...]:
    """Return what puts levels with few dimensions first and, where some are coarser, of the same dimensions the
    coarser."""
    if not layout.coarser:
        return (len(level),)
    order, coarse = list(layout.dimensions), list(layout.coarser)
    dimensions = [order.index(layout.dimension_of(name)) for name in level]
    return (len(level), *dimensions, *(coarse.index(name) if name in coarse else len(coarse) for name in level))


def _shown(layout: Layout) -> list[Figure]:
    """Return the figures with an axis of their own: without noise, a sampling error stands beside its figure."""
    return [figure for figure in layout.figures if layout.errors or not figure.statistic.endswith(_SAMPLING)]


def _error_beside(layout: Layout, figure: Figure) -> str | None:
    """Return the column of the error that stands beside a figure; None where it has none."""
    if layout.errors:
        return error_of(figure.name) if layout.has_error(figure) else None
    sampling = figure.name + _SAMPLING
    return sampling if any(other.name == sampling for other in layout.figures) else None


def _level(layout: Layout, columns: Mapping[str, NDArray[Any]], place: int, shown: int) -> Level:
    dimensions = layout.levels[place]
    rows = slice(layout.starts[place], layout.starts[place] + shown)
    shown_in = {name: layout.dimension_of(name) for name in dimensions}
    known = {name: layout.labels(column) for name, column in shown_in.items()}
    labels = [[known[name][code] for code in columns[shown_in[name]][rows].tolist()] for name in dimensions]
    groups = {name: _groups_above(layout, name) for name in dimensions}
    drawn = []
    for figure in _shown(layout):
        beside = _error_beside(layout, figure)
        errors = [math.nan] * shown if beside is None else columns[beside][rows].tolist()
        drawn.append(_drawn(columns[figure.name][rows].tolist(), errors, figure))
    return Level(
        dimensions=dimensions,
        axes=tuple(axis for axis, _ in drawn),
        stated=tuple(any(mark.error is not None for mark in marks) for _, marks in drawn),
        rows=tuple(
            Row(
                tuple(column[row] for column in labels),
                tuple(marks[row] for _, marks in drawn),
                tuple(groups[name].get(column[row], "") for name, column in zip(dimensions, labels, strict=True)),
            )
            for row in range(shown)
        ),
        count=layout.starts[place + 1] - layout.starts[place],
    )


def _groups_above(layout: Layout, name: str) -> dict[str, str]:
    """Return for each label of a dimension or coarser level the groups above it, those of the coarsest level first."""
    levels = [own for own, each in layout.coarser.items() if each.dimension == layout.dimension_of(name)]
    coarser = [layout.coarser[own] for own in levels[: levels.index(name) if name in levels else None]]
    own = layout.coarser[name].groups if name in layout.coarser else range(len(layout.dimensions[name]))
    return {
        layout.categories(name)[place]: ", ".join(each.labels[each.groups[category]] for each in coarser)
        for category, place in enumerate(own)
        if coarser
    }


def _drawn(values: Sequence[float], errors: Sequence[float], figure: Figure) -> tuple[Axis | None, list[Mark]]:
    """Return, for one figure of the rows of a level, its axis if it has one, and a mark for each row with the interval
    (1)."""
    half_widths = [_HALF_WIDTH * error for error in errors]
    intervals = [(value - half, value + half) for value, half in zip(values, half_widths, strict=True)]
    ends = [end for end in (*values, *(end for ends in intervals for end in ends)) if _drawable(end)]
    if figure.adds_up or figure.statistic == "contributors" or all(map(math.isnan, errors)):
        ends.append(0.0)
    has_axis = not figure.is_error and any(map(_drawable, values))
    low, high, step = _round_ends(min(ends, default=0.0), max(ends, default=0.0))
    places = _places(values, errors)

    def on_axis(number: float) -> float | None:
        return round(100 * (number - low) / (high - low), 2) if has_axis and _drawable(number) else None

    stated = ["" if math.isnan(error) else _text(error, places) for error in errors]
    width = max(map(len, stated), default=0)
    marks = [
        Mark(
            value=_NOT_STATED if figure.is_error and math.isnan(value) else _text(value, 0 if figure.whole else places),
            error=text.rjust(width, _FIGURE_SPACE) if text else None,
            at=on_axis(value),
            low=on_axis(interval[0]),
            high=on_axis(interval[1]),
        )
        for value, text, interval in zip(values, stated, intervals, strict=True)
    ]
    if not has_axis:
        return None, marks
    of_ends = max(0, -math.floor(math.log10(step)))
    return Axis(_text(low, of_ends), _text(high, of_ends), on_axis(0.0) if low < 0 < high else None), marks


def _drawable(number: float) -> bool:
    return abs(number) < _LARGEST


def _round_ends(low: float, high: float) -> tuple[float, float, float]:
    """Return round numbers around low and high, ten to twenty-five steps of 1, 2 or 5 apart, and the step."""
    if high - low < 1e-12 * max(abs(low), abs(high)) or high - low < 1 / _LARGEST:
        half = abs(high) / 2 if abs(high) > 1 / _LARGEST else 0.5
        low, high = low - half, high + half
    most = (high - low) / 10
    unit = 10.0 ** math.floor(math.log10(most))
    step = max(unit * factor for factor in (1, 2, 5) if factor == 1 or unit * factor <= most)
    return math.floor(low / step) * step, math.ceil(high / step) * step, step


def _places(values: Sequence[float], errors: Sequence[float]) -> int:
    """Return how many decimals a column of numbers needs."""
    stated = [error for error in errors if error > 1 / _LARGEST]
    sizes = [abs(value) for value in values if 1 / _LARGEST < abs(value) < _LARGEST]
    if stated:
        places = 1 - math.floor(math.log10(min(stated)))
    else:
        places = _DIGITS - 1 - math.floor(math.log10(max(sizes, default=1.0)))
    return min(max(places, 0), _MOST_PLACES)


def _text(number: float, places: int) -> str:
    if isinstance(number, int):
        return f"{number:,}"
    if math.isnan(number):
        return "undefined"
    if abs(number) >= _WIDEST or places > _MOST_PLACES:
        return f"{number:.{_DIGITS}g}"
    text = f"{number:,.{places}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text
