"""The exact figures of a table that are not its totals, made again: contributors, weighted figures, sampling errors.

    contributors     different units in each row                                                                (1)
    count, total     sum of w, sum of w x over the records of a cell; a margin has the sum of its cells          (2)
    mean             total / count, within the declared domain; none where the count is 0                        (3)
    sampling error   sqrt(c sum over r of (t_r - t)^2), t of (2) and (3), t_r by the replicate weights w_r      (4)

Where strata are stated instead of replicates, (4) is that of _strata.py. Sums of products are rounded, in another order
than the mechanism's; so a figure may differ by a billionth of what is added up. The formula (4): Wolter 2007,
"Introduction to Variance Estimation".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.measures.cells._strata import stratified
from penstock.measures.cells.contributors import different_in_rows
from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.totals import Cells, folded, unweighted
from penstock.measures.checks import RecheckImpossible

__all__ = ["Rows", "exact_rows", "weighted_rows"]

Floats = NDArray[np.float64]

_TOLERANCE = 1e-9
_SAMPLING = "_sampling_error"


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """One figure in every row, and the size of what is added up for it there."""

    values: NDArray[Any]
    sizes: Floats

    def fits(self, values: NDArray[Any]) -> bool:
        """Return whether these are the same figures; where one has no value the other has none."""
        if self.values.dtype.kind == "i":
            return np.array_equal(self.values, values)
        near = np.abs(values - self.values) <= _TOLERANCE * self.sizes
        return bool(np.where(np.isnan(self.values), np.isnan(values), near).all())


def exact_rows(output: TableOutput, cells: Cells) -> Mapping[str, Rows]:
    """Return those of the figures that are (1) to (4), by name; under noise there are none."""
    figures, found = output.layout.figures, dict[str, Rows]()
    if output.units is not None and any(figure.statistic == "contributors" for figure in figures):
        number = different_in_rows(output, cells, output.units)
        found["contributors"] = Rows(number, number.astype(np.float64))
    if output.guarantee.model != "k_anon" or "weight" not in output.guarantee.parameters:
        return found
    values = {}
    for name in _columns(output):
        measured = unweighted(output, cells, name)
        values[name] = np.ldexp(measured.values.astype(np.float64), measured.exponent)
    column, replicates, scale = _weights(output)
    found |= _made(output, cells, values, _weight(output, column))
    if "strata" in output.guarantee.parameters["weight"]:
        weighted = {name: each.values for name, each in found.items() if name != "contributors"}
        made = stratified(output, cells, _weight(output, column), values, weighted)
        return {**found, **{f"{name}{_SAMPLING}": Rows(each, 2 * found[name].sizes) for name, each in made.items()}}
    if not replicates:
        return found
    squares = {name: np.zeros(output.layout.rows) for name in found if name != "contributors"}
    for replicate in replicates:
        again = _made(output, cells, values, _weight(output, replicate))
        for name in squares:
            squares[name] = squares[name] + np.square(again[name].values - found[name].values)
    spread = max(1.0, sqrt(float(scale) * len(replicates)))
    errors = {name: Rows(np.sqrt(float(scale) * each), spread * found[name].sizes) for name, each in squares.items()}
    return {**found, **{f"{name}{_SAMPLING}": each for name, each in errors.items()}}


def weighted_rows(output: TableOutput, cells: Cells) -> Mapping[str, Rows]:
    """(2) and (3) of values and weights as they were stored, before anything was clamped, rounded or hidden."""
    if "weight" not in output.guarantee.parameters:
        return {}
    values = {name: output.original[name].astype(np.float64) for name in _columns(output)}
    return _made(output, cells, values, output.original[_weights(output)[0]].astype(np.float64), within=False)


def _columns(output: TableOutput) -> list[str]:
    return list(dict.fromkeys(figure.column for figure in output.layout.figures if figure.column is not None))


def _weights(output: TableOutput) -> tuple[str, tuple[str, ...], Fraction]:
    """Return the weight, its replicates, and c of (4)."""
    stated = output.guarantee.parameters["weight"]
    return stated["column"], tuple(stated.get("replicates", ())), Fraction(stated.get("scale", "0"))


def _weight(output: TableOutput, name: str) -> Floats:
    column, stored = output.declared.get(name), output.original.get(name)
    if column is None or column.role != "weight" or stored is None or bool(np.isnan(stored).any()):
        raise RecheckImpossible.at(
            name, rule="must be a column of weights with a value in every record", remedy="Report this defect."
        )
    weights = stored.astype(np.float64)
    return np.clip(weights, *column.bounds) if column.outside == "clamp" else weights


def _made(
    output: TableOutput, cells: Cells, values: Mapping[str, Floats], weights: Floats, *, within: bool = True
) -> dict[str, Rows]:
    """(2) and (3) by these weights; within: whether a mean is kept inside the domain."""

    def added(each: Floats) -> Rows:
        sums, sizes = np.zeros(len(cells.counts)), np.zeros(len(cells.counts))
        np.add.at(sums, cells.places, each)
        np.add.at(sizes, cells.places, np.abs(each))
        layout = output.layout
        by_level = [[folded(layout, level, of) for level in layout.levels] for of in (sums, sizes)]
        return Rows(np.concatenate(by_level[0]), np.concatenate(by_level[1]))

    count = added(weights)
    made = {"weighted_count": count}
    for name, each in values.items():
        total = made[f"{name}_weighted_sum"] = added(weights * each)
        mean = np.full(output.layout.rows, np.nan)
        np.divide(total.values, count.values, out=mean, where=count.values > 0)
        bounds = output.declared[name].bounds
        size = np.full(output.layout.rows, max(map(abs, bounds)))
        made[f"{name}_weighted_mean"] = Rows(np.clip(mean, *bounds) if within else mean, size)
    published = {figure.name for figure in output.layout.figures}
    return {name: each for name, each in made.items() if name in published}
