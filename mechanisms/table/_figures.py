"""From noisy totals to published figures: post-processing, which looks at published numbers and public facts only.

    total of a margin = sum of its cells' totals,   variance likewise                                          (1)
    where margins were measured too: cells by weighted least squares, not below 0 where no value is negative,
    rounded where whole, which adds the square of each figure's move; margins by (1)                           (2)
    counts whose grand total is public: fitted to it, rounded; margins by (1)                                  (5)
    mean = total / count, clamped to the domain; none where the count is below 1, or, weighted, the largest weight  (3)
    Var(mean) ~ (Var(total) + mean^2 Var(count)) / count^2, at most the squared width of the domain        (4)
    sampling error = sqrt(sum of squares), where clear of its noise; combined error = sqrt(sampling^2 + Var)   (6)

Source: _margins.py for (2), _known_total.py for (5), _squares.py for (6); (4) is the delta method for a quotient of
independent noises. Box noise is not independent but uncorrelated, which is all that (4) uses. Variances are None where
the size of the noise is secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Declared
from penstock.mechanisms.layout import Layout, error_of
from penstock.mechanisms.table._folding import Axis, axes_of_levels, plain
from penstock.mechanisms.table._known_total import fitted_to
from penstock.mechanisms.table._linked_fit import linked
from penstock.mechanisms.table._margins import reconciled, reconciled_variances, summed
from penstock.mechanisms.table._rounding import rounded_with_groups
from penstock.mechanisms.table._squares import combined_errors, sampling_errors
from penstock.mechanisms.table._weights import COUNT, least_count, squares_of, step_of
from penstock.mechanisms.table.cells import Integers
from penstock.mechanisms.table.settings import Params

__all__ = ["Total", "figures", "fitted"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """One measure in every row of the table, in steps of its grid; its variances, where they are public."""

    values: NDArray[Any]
    variances: Floats | None


def fitted(
    noisy: Sequence[Integers],
    variances: Sequence[Floats] | None,
    drawn: Layout,
    *,
    nonnegative: bool,
    is_whole: bool,
    total: int | None = None,
) -> Total:
    """(1) or (2): noisy has the totals of the first level, or of every level where margins were measured.

    total: what the cells add up to, where that is public; then (5). Linked tables: _linked_fit.
    """
    shape, kept = drawn.shape(drawn.cube), axes_of_levels(drawn)
    if drawn.tables and variances is not None:
        return Total(*linked(total, noisy, variances, shape, plain(kept), nonnegative=nonnegative))
    if total is not None and variances is None:  # the only count of a table, which is that number
        return Total(np.array([total]), np.zeros(1))
    if total is not None and variances is not None:
        return Total(*fitted_to(total, noisy, variances, shape, kept, nonnegative=nonnegative))
    if len(noisy) == 1 or variances is None:
        added = None if variances is None else np.concatenate(summed(variances[0], shape, kept))
        return Total(_margins(noisy[0], shape, kept), added)
    measured = [values.astype(np.float64) for values in noisy]
    cells: NDArray[Any] = reconciled(measured, variances, shape, kept, nonnegative=nonnegative)
    moves = [np.zeros(1)] * len(kept)
    if is_whole:
        cells, moves = rounded_with_groups(
            cells.reshape(shape), kept, nonnegative=nonnegative, possible=variances[0] > 0
        )
    # No unbiased fit is better than that of least squares, so neither is the sum of the cells as they were drawn.
    best = map(np.minimum, reconciled_variances(variances, shape, kept), summed(variances[0], shape, kept))
    # What cannot have records is not rounded either.
    spread = [np.where(each > 0, each + move**2, 0.0) for each, move in zip(best, moves, strict=True)]
    return Total(_margins(cells, shape, kept), np.concatenate(spread))


def _margins(cells: NDArray[Any], shape: tuple[int, ...], kept: Sequence[Sequence[Axis]]) -> NDArray[Any]:
    """Return the cells and all margins, row by row; bounds and epsilon are such that no sum overflows (_chosen)."""
    return np.concatenate(summed(cells, shape, kept))


def figures(
    totals: Mapping[str, Total], drawn: Layout, params: Params, declared: Declared, exact: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Return the columns of all figures and, where the layout has them, of their standard errors.

    exact: figures that are not made from totals.
    """
    released = dict(exact)
    for figure in drawn.figures:
        if figure.name in exact or figure.is_error:
            continue
        name = figure.column or COUNT
        step, total = float(step_of(params, declared, name)), totals[name]
        if figure.kind == "mean":
            of_count = float(step_of(params, declared, COUNT))
            least = least_count(params, declared)
            values, errors = _means(total, totals[COUNT], step / of_count, least, declared[name].bounds)
        else:
            values = total.values if figure.whole else total.values * step
            errors = None if total.variances is None else np.sqrt(total.variances) * step
        released[figure.name] = values
        if drawn.errors and errors is not None:
            released[error_of(figure.name)] = errors
    for measure, name in squares_of(params).items():
        of = next(figure.name for figure in drawn.figures if figure.adds_up and (figure.column or COUNT) == name)
        step, total = float(step_of(params, declared, measure)), totals[measure]
        if total.variances is not None:
            sampling = sampling_errors(total.values, total.variances) * sqrt(step)
            released[f"{of}_sampling_error"] = sampling
            released[f"{of}_combined_error"] = combined_errors(released[error_of(of)], sampling)
    return released


def _means(
    total: Total, count: Total, step: float, least: int, bounds: tuple[float, float]
) -> tuple[Floats, Floats | None]:
    """(3) and the root of (4), NaN where there is no mean. step: of a total over a count. least: the least count, in
    steps. Squares are of steps: in the unit of the figure they might leave the range of floats."""
    records = np.where(count.values >= least, count.values, np.nan)
    means = np.clip(total.values * step / records, *bounds)
    if total.variances is None or count.variances is None:
        return means, None
    spread = (total.variances + (means / step) ** 2 * count.variances) / records**2
    return means, np.minimum(np.sqrt(spread) * step, bounds[1] - bounds[0])
