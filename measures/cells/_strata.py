"""Sampling errors by strata, made again from the records: one sorting by stratum, row and unit for each level.

    z(r)   = w, w x or w (x - m) / W of record r in its row                                                        (1)
    Z_i    = sum of z over the records of unit i in the row                                                        (2)
    v      = sum over strata h of n_h / (n_h - 1) * (sum of (Z_i - M_h)^2 over the n_h units of h),                (3)
             M_h = sum of Z_i / n_h, and Z_i = 0 of a unit without a record in the row

Unlike the mechanism, a mean is linearised record by record before units are put together. Source: Lumley 2010,
"Complex Surveys", chapters 2 and 3.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from penstock.measures.cells.contributors import rows_of_records
from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.totals import Cells
from penstock.measures.checks import RecheckImpossible

__all__ = ["stratified"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def stratified(
    output: TableOutput,
    cells: Cells,
    weights: Floats,
    values: Mapping[str, Floats],
    figures: Mapping[str, Floats],
) -> dict[str, Floats]:
    """Return the sampling error of each weighted figure in every row; figures: their values."""
    strata, units = _strata(output), output.units
    units = np.arange(len(strata)) if units is None else units
    sizes = _sizes(strata, units)
    found: dict[str, list[Floats]] = {name: [] for name in figures}
    start = 0
    for rows, number in rows_of_records(output, cells):
        order = np.lexsort((units, rows, strata))
        at, where, whose = rows[order], strata[order], units[order]
        new_row = _begins(at, where)
        unit_begins, row_begins = np.flatnonzero(new_row | _begins(whose)), np.flatnonzero(new_row)
        total = np.bincount(rows, weights, number)

        def variance(
            z: Floats,
            order: Integers = order,
            by_unit: Integers = unit_begins,
            by_row: Integers = row_begins,
            row: Integers = at,
            stratum: Integers = where,
            number: int = number,
        ) -> Floats:
            sums = np.add.reduceat(z[order], by_unit)
            groups = np.searchsorted(by_unit, by_row)
            present = np.diff(np.append(groups, len(by_unit)))
            n = sizes[stratum[by_row]].astype(np.float64)
            mean = np.add.reduceat(sums, groups) / n
            squares = np.add.reduceat((sums - np.repeat(mean, present)) ** 2, groups) + (n - present) * mean * mean
            variances = np.zeros(number)
            np.add.at(variances, row[by_row], squares * n / (n - 1))
            return variances

        for name in figures:
            column = name.removesuffix("_weighted_sum").removesuffix("_weighted_mean")
            z, stated = weights, figures[name][start : start + number]
            if name.endswith("_weighted_sum"):
                z = weights * values[column]
            elif name.endswith("_weighted_mean"):
                with np.errstate(invalid="ignore", divide="ignore"):
                    z = weights * (values[column] - stated[rows]) / total[rows]
            found[name].append(np.where(np.isnan(stated), np.nan, np.sqrt(variance(z))))
        start += number
    return {name: np.concatenate(levels) for name, levels in found.items()}


def _strata(output: TableOutput) -> Integers:
    name = output.guarantee.parameters["weight"]["strata"]
    column, stored = output.declared.get(name), output.original.get(name)
    codes = None if column is None or column.categories is None or stored is None else column.codes(stored, name)
    if codes is None or bool((codes < 0).any()):
        raise _impossible(name, "must be a column of strata with a declared category in every record")
    return codes


def _sizes(strata: Integers, units: Integers) -> Integers:
    """Return how many units each stratum has."""
    order = np.lexsort((strata, units))
    s, u = strata[order], units[order]
    other = _begins(u)
    if bool((~other[1:] & (s[1:] != s[:-1])).any()):
        raise _impossible("units", "must each lie in one stratum")
    sizes = np.bincount(s[other], minlength=int(strata.max(initial=0)) + 1)
    if bool((sizes == 1).any()):
        raise _impossible("strata", "must have two units or more, or none")
    return sizes


def _begins(*keys: Integers) -> NDArray[np.bool_]:
    """Return where a key differs from the one before it."""
    found = np.ones(len(keys[0]), np.bool_)
    found[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return found


def _impossible(field: str, rule: str) -> RecheckImpossible:
    return RecheckImpossible.at(field, rule=rule, remedy="Report this defect.")
