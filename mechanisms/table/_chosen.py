"""Who spends what of epsilon in a table, and with which noise: by settings and declared columns alone.

    epsilon_record = epsilon / rows_per_unit                                                                    (1)
    epsilon of the cells = (1 - margin_share) (1),   of each measured margin = margin_share (1) / their number   (2)
    epsilon of a measure = its share of (2), or all of (2) for all measures together in box noise                (3)
    epsilon of the squares = a tenth of (2), divided equally, unless shares are given; box noise draws them apart  (4)

By (4) the figures' own standard errors grow by a ninth where sampling errors are asked for; equal shares would double
them, for an error that is worth as much where it matters, in large cells.

Linked tables have the cells of several tables (_linked), which share what one table's cells have, equally; a level that
several tables show is one level. So is a margin that keeps groups of categories (_coarser). A grand total that is exact
(_exact_total) is none of the measured margins of counts; in box noise the other measures of its level are drawn without
it. One record counts in one cell of each level, in one group of a coarser one, and in each measure, so (3) adds up to
(1), and (1), for all the records of one unit, to epsilon (group privacy: Dwork & Roth 2014, Theorem 2.2). Everything
here is public.

A table without dimensions has one cell. A replaced record stays in it, or leaves it where the source is not all of the
data set, so that it moves a measure by at most

    max(high - low, B)                                                                                          (5)
    high - low               where the grand total is exact: then the source is all of the data set (records/ledger)

One cell is touched, and (5) stands in place of B with epsilon undivided; where 0 is a bound (5) is B, so that the noise
is half of what two cells would need. Cells that are impossible (_zeros) are not drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Declared
from penstock.mechanisms.layout import Layout
from penstock.mechanisms.table._bounds import Limits, limits_of
from penstock.mechanisms.table._exact_total import count_is_number_of_records, is_drawn
from penstock.mechanisms.table._folding import axes_of_levels, folded
from penstock.mechanisms.table._linked import cell_levels
from penstock.mechanisms.table._weights import in_steps, squares_of, step_of, value_steps, weighted_limits
from penstock.mechanisms.table._zeros import possible_cells, within_possible
from penstock.mechanisms.table.cells import Integers
from penstock.mechanisms.table.draws import Kind, Noise, best_kind, noise_of, standard_error
from penstock.mechanisms.table.settings import COUNT, Params, layout, levels, measures, spenders

__all__ = [
    "SQUARES_SHARE",
    "Entry",
    "chosen_facts",
    "figures_alone",
    "is_too_wide",
    "limits_by_measure",
    "noise_kind",
    "reach",
    "settle",
    "share_of",
    "touched",
    "value_limits",
    "variances_by_measure",
]

# What all sums of squares spend together.
SQUARES_SHARE = Fraction(1, 10)


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """Measures of one level that are drawn together, and what they may spend.

    classes: under dp the different noises. which: the one that each cell of the level has; -1 where nothing is drawn.
    """

    level: int
    measures: tuple[str, ...]
    epsilon: Fraction
    classes: tuple[Noise, ...] = ()
    which: Integers | None = None

    def by_cell(self, figures: NDArray[Any]) -> NDArray[Any]:
        """Return for each cell the figures of its class, 0 where nothing is drawn."""
        if self.which is None:
            return figures[:0]
        found = figures[self.which]
        found[self.which < 0] = 0
        return found

    def facts(self, level: tuple[str, ...]) -> dict[str, Any]:
        """Return the entry as public data."""
        told: dict[str, Any] = {"level": list(level), "measures": list(self.measures), "epsilon": str(self.epsilon)}
        if self.which is not None:
            sizes = np.bincount(self.which[self.which >= 0], minlength=len(self.classes)).tolist()
            told["classes"] = [
                {"cells": cells, **noise.facts()} for cells, noise in zip(sizes, self.classes, strict=True)
            ]
        return told


def limits_by_measure(params: Params, declared: Declared) -> dict[str, Limits]:
    """Return the bounds of every measure in every cell: of what one record may add, times its weight if it has one."""
    return within_possible(weighted_limits(value_limits(params, declared), params, declared), params, declared)


def value_limits(params: Params, declared: Declared) -> dict[str, Limits]:
    """Return the bounds of the values in every cell; a record counts 0 or 1."""
    dimensions, finest = {name: declared[name].categories or () for name in params.dimensions}, value_steps(params)
    cells = prod(map(len, dimensions.values()))
    found = {COUNT: Limits(np.zeros(cells, np.int64), np.ones(cells, np.int64))}
    for name in measures(params):
        if name != COUNT and name not in squares_of(params):
            found[name] = limits_of(declared[name], name, params.bounds.get(name, ()), dimensions, finest)
    return found


def noise_kind(params: Params, declared: Declared) -> Kind | None:
    """Return the kind of noise asked for, or the best one for the cells with the largest bounds; None without noise."""
    if params.epsilon is None:
        return None
    if params.model != "dp":
        return "laplace"
    if params.noise != "auto":
        return params.noise
    limits = limits_by_measure(params, declared)
    names = figures_alone(params)
    part = sum((share_of(params, name) for name in names), Fraction(0))
    loss = params.epsilon / (params.rows_per_unit or 1) * (1 - (params.margin_share or 0)) * part
    loss /= len(cell_levels(params)) * touched(params)
    widest = tuple(int(reach(limits[name], params).max()) for name in names)
    shares = tuple(share_of(params, name) / part for name in names)
    # Shares say how exact each measure should be relative to the others; box noise ignores them.
    return best_kind(widest, loss, shares, together=not params.shares)


def settle(params: Params, declared: Declared) -> tuple[Entry, ...]:
    """Decide what each measure spends, and under dp with which noise; settings must be without fault."""
    kind = noise_kind(params, declared)
    if params.epsilon is None or kind is None:
        return ()
    entries = _spent(params, params.epsilon, kind)
    if params.model != "dp":
        return tuple(entries)
    limits, drawn = limits_by_measure(params, declared), layout(params, declared)
    possible = possible_cells(params, declared)
    return tuple(_with_noise(entry, kind, params, limits, drawn, possible) for entry in entries)


def is_too_wide(params: Params, declared: Declared) -> bool:
    """Return whether noisy totals might exceed 62 bits: Laplace noise, twice the largest bound, all cells added."""
    if params.epsilon is None:
        return False
    limits = limits_by_measure(params, declared)
    cells = len(limits[COUNT].largest)
    # With few cells, one noise in e^64 is larger than this many scales.
    return any(
        2 * int(limits[name].largest.max()) * (cells + 64) > 2**60 * entry.epsilon
        for entry in _spent(params, params.epsilon, "laplace")
        for name in entry.measures
    )


def _spent(params: Params, epsilon: Fraction, kind: Kind) -> list[Entry]:
    """(1) to (3)."""
    loss = epsilon / (params.rows_per_unit or 1)
    together: list[tuple[str, ...]] = [(name,) for name in spenders(params)]
    if kind == "box":
        together = [names for names in (figures_alone(params), tuple(squares_of(params))) if names]
    margin_share = params.margin_share or Fraction(0)
    own = len(cell_levels(params))
    drawn = levels(params) if params.margins == "measured" else levels(params)[:own]
    entries = []
    for place, level in enumerate(drawn):
        for every in together:
            names = tuple(name for name in every if is_drawn(name, level, params))
            if not names:
                continue
            margins = sum(any(is_drawn(name, each, params) for name in every) for each in drawn[own:])
            share = margin_share / margins if place >= own else (1 - margin_share) / own
            part = sum((share_of(params, name) for name in every), Fraction(0))
            entries.append(Entry(place, names, loss * share * part))
    return entries


def chosen_facts(params: Params, declared: Declared, records: int | None = None) -> dict[str, Any]:
    """Return what `protect` will state as settled; it does not depend on the number of records."""
    drawn, entries = layout(params, declared), settle(params, declared)
    told: dict[str, Any] = {
        "table": params.table,
        "cells": drawn.cell_rows,
        "noise": noise_kind(params, declared) or "none",
        # The step of a count is that of the weights, and part of every other.
        "steps": {
            name: str(step_of(params, declared, name))
            for name in dict.fromkeys((*([COUNT] if in_steps(params) else []), *measures(params)))
            if name != COUNT or in_steps(params)
        },
        "measured": [entry.facts(drawn.levels[entry.level]) for entry in entries],
    }
    if params.exact_total:
        told["exact_total"] = True
    if params.epsilon is not None:
        told["epsilon"] = str(params.epsilon)
    if params.model == "dp":
        told["figures"] = {
            figure.name: _stated_error(figure.column or COUNT, entries, params, declared)
            for figure in drawn.figures
            if figure.adds_up
        }
    return told


def variances_by_measure(entries: Sequence[Entry]) -> dict[str, list[NDArray[np.float64]]]:
    """Return the variances drawn for each measure and level, in squared steps; empty where the noise size is secret."""
    found: dict[str, list[NDArray[np.float64]]] = {}
    for entry in entries:
        if entry.which is not None:
            by_class = np.array([noise.variances for noise in entry.classes])
            for place, name in enumerate(entry.measures):
                found.setdefault(name, []).append(entry.by_cell(by_class)[:, place])
    return found


def _stated_error(measure: str, entries: tuple[Entry, ...], params: Params, declared: Declared) -> dict[str, float]:
    """Return the largest standard error of a cell as drawn, and as a share of the most that one record can add."""
    if measure == COUNT and count_is_number_of_records(params):
        return {"standard_error": 0.0, "expected_error": 0.0}
    entry = next(entry for entry in entries if measure in entry.measures)
    place = entry.measures.index(measure)
    worst = max(entry.classes, key=lambda noise: noise.variances[place])
    step = step_of(params, declared, measure)
    error = standard_error(worst.variances[place], step)
    return {"standard_error": error, "expected_error": error / float(worst.half_widths[place] * step)}


def _with_noise(
    entry: Entry,
    kind: Kind,
    params: Params,
    limits: Mapping[str, Limits],
    drawn: Layout,
    possible: NDArray[np.bool_],
) -> Entry:
    shape, axes = drawn.shape(params.dimensions), axes_of_levels(drawn)[entry.level]
    some = folded(possible, axes, np.maximum).ravel()
    # A record of a margin cell is in one of its cells, so it adds at most the largest bound of them.
    cubes = [reach(limits[name], params).reshape(shape) for name in entry.measures]
    bounds = np.stack([folded(cube, axes, np.maximum).ravel() for cube in cubes], axis=1)[some]
    if params.bounds:
        different, of_drawn = np.unique(bounds, axis=0, return_inverse=True)
    else:  # sorting a million equal rows takes a second
        different, of_drawn = bounds[:1], np.zeros(len(bounds), np.int64)
    loss = entry.epsilon / touched(params)
    classes = tuple(noise_of(kind, tuple(map(int, widths)), loss) for widths in different.tolist())
    which = np.full(len(some), -1, np.int64)
    which[some] = of_drawn.ravel()
    return replace(entry, classes=classes, which=which)


def touched(params: Params) -> int:
    """Return how many cells one change touches; without dimensions there is one cell."""
    return 2 if params.adjacency == "replace" and params.dimensions else 1


def reach(limits: Limits, params: Params) -> Integers:
    """Return by how much one change moves each cell that it touches: B_i, or (5) where there is only one cell."""
    if params.dimensions or params.adjacency != "replace":
        return limits.largest
    within = limits.high - limits.low
    return within if params.exact_total else np.maximum(within, limits.largest)


def figures_alone(params: Params) -> tuple[str, ...]:
    """Return the measures that are drawn and no sums of squares."""
    return tuple(name for name in spenders(params) if name not in squares_of(params))


def share_of(params: Params, measure: str) -> Fraction:
    """Return which part of epsilon a measure spends, of what a level has."""
    squares = squares_of(params)
    if params.shares or not squares:
        return params.shares.get(measure, Fraction(1, len(spenders(params))))
    if measure in squares:
        return SQUARES_SHARE / len(squares)
    return (1 - SQUARES_SHARE) / len(figures_alone(params))
