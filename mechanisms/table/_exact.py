"""Exact figures that are not sums of whole numbers: contributors, weighted figures and their sampling errors.

    contributors = number of different units with a record in the cell or margin                                 (1)
    count = sum w,   total = sum w x,   mean = total / count, none where the count is 0                           (2)
    sampling error = sqrt(c sum over r of (t_r - t)^2),   t a figure of (2), t_r the same with the weights w_r    (3)

A unit counts once in each row, so (1) of a margin is not the sum of its cells. c is the published factor of the
replicates: 1/R for balanced repeated replication, (R - 1)/R for the jackknife that leaves out one, 1/R for the
bootstrap. Where t_r does not exist, because a replicate has no weight there, neither does (3). It is an error of the
sample, not of protection: nothing here is noisy, and nothing here may be published under differential privacy.

Where strata are declared instead of replicates: _strata.py.

Weights are taken as they are, values on the grid of the column, and products are added in double precision.

Source: Wolter 2007, "Introduction to Variance Estimation", 2nd ed., chapters 3 (balanced half-samples), 4 (jackknife)
and 5 (bootstrap), of their estimators those about the estimate from the whole sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Columns, Declared
from penstock.mechanisms.layout import Layout
from penstock.mechanisms.refusal import TooFewRecords, ValueOutsideDomain
from penstock.mechanisms.table._folding import axes_of_levels, unfolded
from penstock.mechanisms.table._strata import Sampled, sampled
from penstock.mechanisms.table._weights import CONTRIBUTORS, strata_of, value_grid, weights_of
from penstock.mechanisms.table.settings import Params, layout

__all__ = ["contributors_of_cells", "exact_figures"]

_FARTHEST = 1e150  # products with declared values stay finite

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def exact_figures(
    columns: Columns, declared: Declared, params: Params, units: Integers | None
) -> dict[str, NDArray[Any]]:
    """Return (1) to (3) as columns of the table; units: whose record each is, where contributors are counted.

    The columns must have been found as declared.
    """
    drawn = layout(params, declared)
    places = _places(columns, declared, drawn)
    if params.weight is not None:
        _require_weights(columns, declared, params, places, units)
    released: dict[str, NDArray[Any]] = {}
    if units is not None and any(figure.name == CONTRIBUTORS for figure in drawn.figures):
        by_level = [_different(rows[places], units, number) for rows, number in _rows(drawn)]
        released[CONTRIBUTORS] = np.concatenate(by_level)
    if params.weight is not None:
        released |= _weighted(columns, declared, params, drawn, places, units)
    return released


def contributors_of_cells(columns: Columns, declared: Declared, params: Params, units: Integers) -> Integers:
    """(1) of the cells."""
    drawn = layout(params, declared)
    return _different(_places(columns, declared, drawn), units, drawn.starts[1])


def _require_weights(
    columns: Columns, declared: Declared, params: Params, places: Integers, units: Integers | None
) -> None:
    """Refuse records without weight, which would count towards k and add nothing, and replicates that leave out fewer
    than k records or contributors of a cell: an exact sampling error would be about them alone."""
    column, *replicates = weights_of(params)
    weights = declared[column].clamped(columns[column].astype(np.float64))
    if bool((weights <= 0).any()):
        rule = "must be above 0 in every record: one without weight would count towards k and add nothing"
        raise ValueOutsideDomain.at(column, rule=rule, remedy="Leave such records out of the source.")
    if bool((weights > _FARTHEST).any()):
        raise ValueOutsideDomain.at(column, rule="must be at most 1e150, to be added up", remedy="Correct the weights.")
    if not replicates or params.k is None:
        return
    changed = np.zeros(len(places), np.bool_)
    for name in replicates:
        changed |= declared[name].clamped(columns[name].astype(np.float64)) != weights
    whose = np.arange(len(places)) if units is None else units
    several = _different(places[changed], whose[changed], int(places.max(initial=0)) + 1)
    if bool(((several > 0) & (several < params.k)).any()):
        rule = "must give another weight to none of the records of a cell, or to at least k of them"
        raise TooFewRecords.at("weight.replicates", rule=rule, remedy="Take replicates of the whole sample.")


def _places(columns: Columns, declared: Declared, drawn: Layout) -> Integers:
    """Return the cell of every record."""
    places = np.zeros(len(next(iter(columns.values()))), np.int64)
    for name, categories in drawn.dimensions.items():
        places = places * len(categories) + declared[name].codes(columns[name], name)
    return places


def _rows(drawn: Layout) -> Iterator[tuple[Integers, int]]:
    """Yield for each level the row of every cell, counted from the first of the level, and how many rows it has."""
    shape = drawn.shape(drawn.levels[0])
    for level, axes in zip(drawn.levels, axes_of_levels(drawn), strict=True):
        number = prod(drawn.shape(level))
        numbers = unfolded(np.arange(number, dtype=np.int64), shape, axes)
        yield np.broadcast_to(numbers, shape).ravel(), number


def _different(rows: Integers, units: Integers, number: int) -> Integers:
    """Return how many different units each row has."""
    most = int(units.max(initial=0)) + 1
    pairs = np.sort(rows * most + units)
    first = np.ones(len(pairs), np.bool_)
    first[1:] = pairs[1:] != pairs[:-1]
    return np.bincount(pairs[first] // most, minlength=number).astype(np.int64, copy=False)


def _weighted(
    columns: Columns, declared: Declared, params: Params, drawn: Layout, places: Integers, units: Integers | None
) -> dict[str, Floats]:
    """(2), and its sampling errors."""
    figures = [
        figure for figure in drawn.figures if figure.statistic in ("weighted_count", "weighted_sum", "weighted_mean")
    ]
    values: dict[str, Floats] = {}
    for name in dict.fromkeys(figure.column for figure in figures if figure.column is not None):
        grid = value_grid(params, declared, name)
        values[name] = (grid.index(columns[name]) + grid.first) * np.float64(grid.eta)
    rows = list(_rows(drawn))

    def added(contributed: Floats) -> Floats:
        cells = np.bincount(places, contributed, drawn.starts[1])
        return np.concatenate([np.bincount(each, cells, number) for each, number in rows])

    def made(weight: str) -> dict[str, Floats]:
        """(2) by these weights."""
        w = declared[weight].clamped(columns[weight].astype(np.float64))
        count = added(w)
        totals = {name: added(w * each) for name, each in values.items()}
        with np.errstate(invalid="ignore", divide="ignore"):
            means = {name: np.where(count > 0, totals[name] / count, np.nan) for name in totals}
        found = {}
        for figure in figures:
            if figure.column is None:
                found[figure.name] = count
            elif figure.kind == "sum":
                found[figure.name] = totals[figure.column]
            else:
                found[figure.name] = np.clip(means[figure.column], *declared[figure.column].bounds)
        return found

    column, *replicates = weights_of(params)
    released = made(column)
    for strata in strata_of(params):
        design = sampled(
            declared[strata].codes(columns[strata], strata), len(declared[strata].categories or ()), units, strata
        )
        weights = declared[column].clamped(columns[column].astype(np.float64))
        return released | _stratified(design, drawn, places, weights, values, released)
    if params.weight is None or params.weight.scale is None:
        return released
    squares = {name: np.zeros(drawn.rows) for name in released}
    for replicate in replicates:
        for name, figure in made(replicate).items():
            squares[name] += (figure - released[name]) ** 2
    scale = float(params.weight.scale)
    return {**released, **{f"{name}_sampling_error": np.sqrt(scale * each) for name, each in squares.items()}}


def _stratified(
    design: Sampled,
    drawn: Layout,
    places: Integers,
    weights: Floats,
    values: Mapping[str, Floats],
    figures: dict[str, Floats],
) -> dict[str, Floats]:
    """Return the sampling errors of these figures by strata."""
    found: dict[str, list[Floats]] = {name: [] for name in figures}
    for (rows, number), start in zip(_rows(drawn), drawn.starts, strict=False):
        means = {
            name: figures[f"{name}_weighted_mean"][start : start + number]
            for name in values
            if f"{name}_weighted_mean" in figures
        }
        count, totals, of_means = design.variances(rows[places], number, weights, values, means)
        each = {"weighted_count": count}
        each |= {f"{name}_weighted_sum": v for name, v in totals.items()}
        each |= {f"{name}_weighted_mean": v for name, v in of_means.items()}
        for name in figures:
            found[name].append(np.sqrt(each[name]))
    return {f"{name}_sampling_error": np.concatenate(levels) for name, levels in found.items()}
