"""The checks of what a table shows: its columns, its rows, its margins, and where its figures come from.

    columns_as_declared   the columns of the layout and no others, each of its kind; standard errors under dp only
    rows_as_declared      row p of a level whose dimensions have s_1, .., s_m categories is the cell of the digits of p
                          in the mixed radix s_1, .., s_m, the last digit fastest; a dimension that it lacks is a total;
                          the label of group g of a coarser level comes after all categories and all groups before it
    margins_add_up        a count or sum of a margin = the sum of the published cells that it has
    traced                a count or sum of a cell = its noisy total times the step; mean = total / count, clamped to
                          the declared domain, and none where the count is below 1; where the grand total of counts
                          is exact, the counts of the cells add up to the number of records instead

Whole numbers must agree exactly, others within a billionth of the sizes that are added: sums of multiples of a power
of two are exact until they get large.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.measures.cells._linked import linked_add_up
from penstock.measures.cells._promise import Promise
from penstock.measures.cells._sampling import errors_fit
from penstock.measures.cells.exact import exact_rows
from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.totals import COUNT, Recounted, folded
from penstock.measures.checks import Check, verdict
from penstock.mechanisms.layout import Figure, Layout, error_of

__all__ = ["columns_as_declared", "margins_add_up", "rows_as_declared", "traced"]

_TOLERANCE = 1e-9
# Whole numbers below this add up without overflow.
_LARGEST_SUM = 2.0**62


def columns_as_declared(promise: Promise, table: Recounted) -> Check:
    output = table.output
    layout, released = output.layout, output.released
    must_not = [name for name, column in output.declared.items() if column.role == "identifier"]
    broken = [name for name in released if name not in layout.columns or name in must_not]
    broken += [name for name in layout.dimensions if not _is_stored(output, name, "i")]
    for figure in layout.figures:
        values = _stored(output, figure)
        if values is None or bool((np.isinf(values) if _may_be_left_out(figure) else ~np.isfinite(values)).any()):
            broken.append(figure.name)
        error = error_of(figure.name)
        if layout.has_error(figure) and (
            promise.model != "dp"
            or not _is_stored(output, error, "f")
            or not bool((np.isnan(released[error]) | ((released[error] >= 0) & np.isfinite(released[error]))).all())
        ):
            broken.append(error)
    return verdict(
        "columns_as_declared",
        "the columns of the table are those of its layout, whole where they must be, without any identifier, and have "
        "standard errors only where the size of the noise is public",
        "they are",
        "a column is missing, is too many, or holds something else",
        dict.fromkeys(broken),
    )


def _may_be_left_out(figure: Figure) -> bool:
    """Return whether a figure may have no value: a mean of nobody, and an error that its replicates or its noise do not
    give."""
    return figure.kind == "mean" or figure.is_error


def rows_as_declared(promise: Promise, table: Recounted) -> Check:
    output = table.output
    layout = output.layout
    return verdict(
        "rows_as_declared",
        "every declared cell and margin has its row, in the declared order, whether it is empty or not",
        "every one has",
        "a row is missing, or stands elsewhere",
        (
            name
            for name in layout.dimensions
            if not _is_stored(output, name, "i") or not np.array_equal(output.released[name], _digits(layout, name))
        ),
    )


def _digits(layout: Layout, name: str) -> NDArray[np.int64]:
    begins, parts = {name: 0}, []
    total = len(layout.dimensions[name])
    for coarse, each in layout.coarser.items():
        if each.dimension == name:
            begins[coarse] = total
            total += len(each.labels)
    for level in layout.levels:
        sizes = layout.shape(level)
        rows = np.arange(prod(sizes))
        places = [place for place, kept in enumerate(level) if kept in begins]
        for place in places:
            parts.append(begins[level[place]] + rows // prod(sizes[place + 1 :]) % sizes[place])
        if not places:
            parts.append(np.full_like(rows, total))
    return np.concatenate(parts)


def margins_add_up(promise: Promise, table: Recounted) -> Check:
    output = table.output
    added = [figure for figure in output.layout.figures if figure.adds_up]
    return verdict(
        "margins_add_up",
        "every count and every sum of a margin is the sum of the published cells",
        "every one is",
        "a margin is another number",
        (figure.name for figure in added if not _adds_up(output, figure)),
    )


def _adds_up(output: TableOutput, figure: Figure) -> bool:
    layout, values = output.layout, _stored(output, figure)
    if values is None:
        return False
    if layout.tables:
        return linked_add_up(layout, values, 0.0 if figure.whole else _TOLERANCE)
    cells = values[: layout.starts[1]]
    expected, sizes = _in_all_rows(layout, cells), _in_all_rows(layout, np.abs(cells.astype(np.float64)))
    if expected.dtype == values.dtype and figure.whole:
        return np.array_equal(values, expected)
    return bool((np.abs(values - expected) <= _TOLERANCE * sizes).all())


def traced(promise: Promise, table: Recounted) -> Iterator[str]:
    """Yield the figures that are not made from the noisy totals, or from the exact ones where there is no noise."""
    exact = exact_rows(table.output, table.cells)
    for figure in table.output.layout.figures:
        values = _stored(table.output, figure)
        if values is None:
            yield figure.name
        elif figure.name in exact:
            if not exact[figure.name].fits(values):
                yield figure.name
        elif figure.is_error:
            if not errors_fit(promise, table, figure, values):
                yield figure.name
        elif promise.exact_total and figure.statistic == "count":
            if int(values[: table.output.layout.starts[1]].sum()) != table.cells.records:
                yield figure.name
        elif figure.kind == "mean":
            if not _is_mean(promise, table, figure, values):
                yield figure.name
        elif not promise.is_fitted and not _is_total(promise, table, figure, values):
            yield figure.name


def _is_total(promise: Promise, table: Recounted, figure: Figure, values: NDArray[Any]) -> bool:
    measure = figure.column or COUNT
    noisy, exponent = _noisy(promise, table, measure), table.measured[measure].exponent
    cells = values[: len(noisy)]
    as_floats = noisy.astype(np.float64)
    if figure.whole and exponent == 0 and np.abs(as_floats).sum() < _LARGEST_SUM:
        return np.array_equal(cells, noisy)
    return np.array_equal(cells.astype(np.float64), np.ldexp(as_floats, exponent))


def _is_mean(promise: Promise, table: Recounted, figure: Figure, means: NDArray[Any]) -> bool:
    output, column = table.output, figure.column or ""
    if promise.is_fitted:
        published = {found.column or COUNT: found for found in output.layout.figures if found.adds_up}
        if not {column, COUNT} <= set(published):
            return True  # fitted totals that nobody publishes leave nothing to compare with
        total, count = (_stored(output, published[name]) for name in (column, COUNT))
        if total is None or count is None:
            return False
    else:
        exponent = table.measured[column].exponent
        total = np.ldexp(_in_all_rows(output.layout, _noisy(promise, table, column)).astype(np.float64), exponent)
        count = _count(promise, table)
        if count is None:
            return True  # fitted counts that nobody publishes leave nothing to compare with
        count = np.ldexp(count.astype(np.float64), table.measured[COUNT].exponent)
    low, high = output.declared[column].bounds
    # As much as one record may add: 1, or its largest weight.
    least = float(np.ldexp(float(table.measured[COUNT].bounds.max()), table.measured[COUNT].exponent))
    expected = np.clip(total / np.maximum(count, least), low, high)
    near = np.abs(means - expected) <= _TOLERANCE * np.maximum(np.abs(expected), max(abs(low), abs(high)))
    return bool(np.where(count >= least, near, np.isnan(means)).all())


def _count(promise: Promise, table: Recounted) -> NDArray[Any] | None:
    """Return the counts by which means were divided: the noisy ones, or, where these were fitted to the number of
    records, the published ones, if there are any."""
    if not promise.exact_total or promise.is_one_row:
        return _in_all_rows(table.output.layout, _noisy(promise, table, COUNT))
    published = [figure for figure in table.output.layout.figures if figure.statistic == "count"]
    return _stored(table.output, published[0]) if published else None


def _noisy(promise: Promise, table: Recounted, measure: str) -> NDArray[np.int64]:
    """Return the totals of the cells from which everything is made; exact where nothing is drawn."""
    if any(entry.level == 0 and measure in entry.measures for entry in promise.entries):
        return np.asarray(table.output.hidden[f"noised 0 {measure}"])
    return table.measured[measure].sums


def _in_all_rows(layout: Layout, cells: NDArray[Any]) -> NDArray[Any]:
    """Return the cells and all their margins; as floats where whole numbers might overflow."""
    if cells.dtype.kind == "i" and np.abs(cells.astype(np.float64)).sum() >= _LARGEST_SUM:
        cells = cells.astype(np.float64)
    return np.concatenate([folded(layout, level, cells) for level in layout.levels])


def _stored(output: TableOutput, figure: Figure) -> NDArray[Any] | None:
    """Return the values of a figure, or None where they are not what it must hold."""
    return output.released[figure.name] if _is_stored(output, figure.name, "i" if figure.whole else "f") else None


def _is_stored(output: TableOutput, name: str, kind: str) -> bool:
    values = output.released.get(name)
    return values is not None and values.dtype.kind == kind and values.shape == (output.layout.rows,)
