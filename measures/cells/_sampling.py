"""The check of sampling errors under noise: of what the noisy sums of squares are, and of what stands beside them.

    sampling error = sqrt(Q)                        Q the noisy sum of squares, in the unit of the figure, where   (1)
    Q >= 2 sqrt(V)                                  V the variance of its noise; none elsewhere; both 0 where a    (2)
                                                    cell is impossible
    combined error = sqrt(standard error^2 + sampling error^2), none where the sampling error is none               (3)

Where margins were measured, or tables are linked, Q was fitted to all noisy sums and is not what was drawn; then (3) is
all that is looked at here. V is computed again, so a Q within a millionth of the limit (2) may have an error or not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.measures.cells._noise_size import box_variance, laplace_variance
from penstock.measures.cells._promise import Entry, Promise
from penstock.measures.cells.totals import COUNT, Recounted, folded
from penstock.mechanisms.layout import Figure, error_of

__all__ = ["errors_fit"]

Floats = NDArray[np.float64]

_TOLERANCE = 1e-9
_NEAR = 1e-6


def errors_fit(promise: Promise, table: Recounted, figure: Figure, errors: NDArray[Any]) -> bool:
    """Return whether a sampling error is (1) and (2), or a combined one (3)."""
    if figure.statistic.endswith("_combined_error"):
        return _is_combined(table, figure, errors)
    known = ~np.isnan(errors)
    if promise.is_fitted:
        exact = table.output.released[error_of(figure.name.removesuffix("_sampling_error"))] == 0
        return bool(((errors > 0) | (exact & (errors == 0)))[known].all())
    measure = f"squares of {figure.column or COUNT}"
    unit = float(np.ldexp(1.0, table.measured[measure].exponent))
    squares = _in_rows(table, np.asarray(table.output.hidden[f"noised 0 {measure}"]).astype(np.float64)) * unit
    least = 2 * np.sqrt(_in_rows(table, _variances(promise, table, measure))) * unit
    near = np.abs(errors[known] ** 2 - squares[known]) <= _TOLERANCE * np.abs(squares[known])
    border = np.abs(squares - least) <= _NEAR * least
    return bool(near.all() and ((known == (squares >= least)) | border).all())


def _is_combined(table: Recounted, figure: Figure, errors: NDArray[Any]) -> bool:
    of, released = figure.name.removesuffix("_combined_error"), table.output.released
    noise, sampling = released.get(error_of(of)), released.get(f"{of}_sampling_error")
    if noise is None or sampling is None:
        return False
    squares = noise**2 + sampling**2
    near = np.abs(errors**2 - squares) <= _TOLERANCE * squares
    return bool(np.where(np.isnan(sampling), np.isnan(errors), near).all())


def _in_rows(table: Recounted, by_cell: Floats) -> Floats:
    layout = table.output.layout
    return np.concatenate([folded(layout, level, by_cell) for level in layout.levels])


def _variances(promise: Promise, table: Recounted, measure: str) -> Floats:
    """Return V of every cell, in squared steps: 0 where nothing was drawn, none where a cell has no stated noise."""
    entry = next(each for each in promise.entries if each.level == 0 and measure in each.measures)
    steps = [np.asarray(table.output.hidden[f"steps 0 {name}"]) for name in entry.measures]
    widths = np.stack(steps, axis=1) // promise.touched
    found = np.where(widths.any(axis=1), np.nan, 0.0)
    for place in range(len(entry.classes)):
        rows = (widths == np.array(entry.classes[place].half_widths)).all(axis=1)
        found[rows] = _variance(promise, entry, place, entry.measures.index(measure))
    return found


def _variance(promise: Promise, entry: Entry, place: int, answer: int) -> float:
    """Return V of a class of cells."""
    each, epsilon = entry.classes[place], float(entry.epsilon) / promise.touched
    if promise.noise == "laplace":
        return laplace_variance(each.half_widths[answer] / epsilon)
    return box_variance(each.half_widths, each.core, epsilon, answer)
