"""Tables of counts, totals and means by declared dimensions, with noise by model or exact.

    count_i = number of records in cell i,   total_i = sum of their values, clamped, on a public grid            (1)
    noisy_i = (1) + N_i,   N_i independent between cells, drawn once                                              (2)

    dp       N by public bounds (draws)
    bdp, idp N by the actual records, its size secret (_relaxed)
    k_anon   no noise; a table with a cell of fewer than k records, but not of none, is refused

Every declared cell exists before a record is read. What is published is made from (2) and public facts alone
(_figures), so margins and means cost nothing and reveal nothing more.

Settings: settings.py. Who spends what: _chosen.py. Promise: _promise.py. Sources: named there.
Limits: a mean of a cell whose noisy count is near 0 means little; its standard error says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Columns, Declared
from penstock.mechanisms.combinations import Impossible
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.layout import Layout
from penstock.mechanisms.noise.totals import noisy as noisy_total
from penstock.mechanisms.protected import Protected
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refusal import Fault, SettingRefused, TooFewRecords
from penstock.mechanisms.sound import require_sound
from penstock.mechanisms.table import settings
from penstock.mechanisms.table._bounds import Limits
from penstock.mechanisms.table._chosen import (
    Entry,
    chosen_facts,
    is_too_wide,
    limits_by_measure,
    noise_kind,
    settle,
    touched,
    value_limits,
    variances_by_measure,
)
from penstock.mechanisms.table._exact import contributors_of_cells, exact_figures
from penstock.mechanisms.table._figures import figures, fitted
from penstock.mechanisms.table._folding import axes_of_levels
from penstock.mechanisms.table._margins import summed
from penstock.mechanisms.table._promise import promise_of
from penstock.mechanisms.table._relaxed import bootstrap_steps, individual_steps
from penstock.mechanisms.table._weights import in_steps, value_grid, weighted_values
from penstock.mechanisms.table._zeros import require_possible_cells
from penstock.mechanisms.table.cells import Cells, Integers, build_cells
from penstock.mechanisms.table.merging import from_columns
from penstock.mechanisms.table.noise import cell_noise
from penstock.mechanisms.table.scales import Scales
from penstock.mechanisms.table.settings import COUNT, Params, clamped, layout, measures
from penstock.mechanisms.without_domain import promised_without_domain

__all__ = [
    "Params",
    "cells_from_columns",
    "chosen_facts",
    "count_cells",
    "counts_units",
    "excludes",
    "faults",
    "layout",
    "memory_of_cells",
    "needs_all",
    "of_units",
    "promise",
    "protect",
    "protect_cells",
    "spends",
    "takes_resolution",
    "takes_units",
]


# Cells are held several times: by the mechanism, by the re-check, and once more while parts are added.
_BYTES_A_CELL = 400


def faults(params: Params, declared: Declared) -> list[Fault]:
    """Return every reason why these settings do not fit, also those that only the samplers know."""
    found = settings.faults(params, declared)
    if not found and (is_too_wide(params, declared) or not _can_be_drawn(params, declared)):
        rule = "must allow noise that can be drawn within these bounds"
        found.append(Fault("epsilon", rule, "Choose another noise, a larger epsilon or tighter bounds."))
    return found


def _can_be_drawn(params: Params, declared: Declared) -> bool:
    return all(noise.can_be_drawn for entry in settle(params, declared) for noise in entry.classes)


def spends(params: Params) -> bool:
    """Return whether these settings spend epsilon; an exact table has none."""
    return params.epsilon is not None


def takes_units(params: Params) -> bool:
    """Return whether a unit may have several records, of which a number is used: for differential privacy."""
    return params.model == "dp"


def takes_resolution(params: Params) -> bool:
    """Return whether columns may have a resolution in place of a domain: no noise under bdp follows the domain."""
    return params.model == "bdp"


def counts_units(params: Params) -> bool:
    """Return whether it is units that are counted, so that all records of each are used."""
    return params.model == "k_anon"


def of_units(params: Params, unit: str) -> Params:
    """Return these settings for records of units, by the column that says whose record it is."""
    return params.model_copy(update={"contributors": unit}) if counts_units(params) else params


def excludes(params: Params) -> Impossible:
    """Return the combinations that no record may have."""
    return params.impossible


def needs_all(params: Params) -> str | None:
    """Return why the table cannot be made of parts of the records; None where it can."""
    if params.weight is not None:
        return "weighted figures are not added up in parts"
    return None


def promise(params: Params, declared: Declared) -> Guarantee:
    """Return what a table with these settings promises, and what it does not."""
    SettingRefused.raise_for(faults(params, declared))
    told = promise_of(params, noise_kind(params, declared) or "none", clamped(params, declared))
    return promised_without_domain(told, declared, measures(params))


def protect(
    columns: Columns, declared: Declared, params: Params, randomness: Randomness, units: Integers | None = None
) -> Protected:
    """Return the table under `promise(params, declared)`; dimensions as codes of `layout(params, declared)`.

    units: a number for each record that says whose it is, where contributors are counted.
    """
    promise(params, declared)  # settings are refused before the data are looked at
    if (units is None) != (params.contributors is None):
        raise ValueError("the unit of every record is given where contributors are counted, and only there")
    cells = count_cells(columns, declared, params)
    if params.model != "k_anon":
        return protect_cells(cells, declared, params, randomness)
    if units is not None:
        _require_contributors(contributors_of_cells(columns, declared, params, units), params)
    return protect_cells(cells, declared, params, randomness, exact_figures(columns, declared, params, units))


def count_cells(columns: Columns, declared: Declared, params: Params) -> Cells:
    """Return (1) of these records; `merging` puts the cells of parts of a table together."""
    require_sound(
        columns, declared, clamped=True, may_be_empty=(params.model, params.adjacency) == ("dp", "add_remove")
    )
    return _build(columns, declared, params, value_limits(params, declared))


def cells_from_columns(stored: Columns, declared: Declared, params: Params) -> Cells:
    """Return the cells of a part that `merging.as_columns` stored."""
    shape = tuple(len(declared[name].categories or ()) for name in params.dimensions)
    return from_columns(stored, shape, tuple(name for name in measures(params) if name != COUNT))


def memory_of_cells(params: Params, declared: Declared) -> int:
    """Return the bytes that the cells of a table take, where they are counted in parts."""
    cells = prod(len(declared[name].categories or ()) for name in params.dimensions if name in declared)
    return cells * _BYTES_A_CELL * (1 + len({*params.sums, *params.means}))


def protect_cells(
    cells: Cells,
    declared: Declared,
    params: Params,
    randomness: Randomness,
    exact: Mapping[str, NDArray[Any]] = MappingProxyType({}),
) -> Protected:
    """Return the table of all the records that were counted: the only place where noise is drawn.

    exact: figures that are not made from cells.
    """
    guarantee = promise(params, declared)
    limits = limits_by_measure(params, declared)
    require_possible_cells(cells.counts, params, declared)
    if params.contributors is None:
        _require_contributors(cells.counts, params)
    drawn, entries = layout(params, declared), settle(params, declared)
    noisy, hidden = _measured(cells, drawn, entries, params, limits, randomness)
    variances = variances_by_measure(entries)
    totals = {
        name: fitted(
            noisy[name],
            variances.get(name),
            drawn,
            nonnegative=bool((limits[name].low >= 0).all()),
            is_whole=name == COUNT or (name in declared and declared[name].type == "integer"),
            total=int(cells.counts.sum()) if name == COUNT and params.exact_total else None,
        )
        for name in measures(params)
    }
    released = {**drawn.codes(), **figures(totals, drawn, params, declared, exact)}
    facts = chosen_facts(params, declared)
    return Protected({name: released[name] for name in drawn.columns}, guarantee, chosen=facts, hidden=hidden)


def _require_contributors(numbers: Integers, params: Params) -> None:
    """Refuse a cell of fewer than k records or contributors, unless it has none."""
    if params.k is not None and bool(((numbers > 0) & (numbers < params.k)).any()):
        counted = "records" if params.contributors is None else f"different values of {params.contributors}"
        raise TooFewRecords.at(
            "k",
            rule=f"must not exceed the number of {counted} in any cell that is not empty",
            got=params.k,
            remedy="Merge categories.",
        )


def _build(columns: Columns, declared: Declared, params: Params, limits: Mapping[str, Limits]) -> Cells:
    """(1)."""
    codes = {
        name: columns[name] if columns[name].dtype.kind in "iu" else declared[name].codes(columns[name], name)
        for name in params.dimensions
    }
    shape = [len(declared[name].categories or ()) for name in params.dimensions]
    values = {}
    for name in dict.fromkeys((*params.sums, *params.means)):
        grid = value_grid(params, declared, name)
        values[name] = grid.index(columns[name])
        values[name] += grid.first
        if name in params.bounds:
            places = np.ravel_multi_index(tuple(codes[axis] for axis in params.dimensions), shape)
            np.clip(values[name], limits[name].low[places], limits[name].high[places], out=values[name])
    if in_steps(params):
        values = weighted_values(values, columns, params, declared)
    return build_cells(codes, shape, values, len(next(iter(columns.values()))))


def _measured(
    cells: Cells,
    drawn: Layout,
    entries: Sequence[Entry],
    params: Params,
    limits: Mapping[str, Limits],
    randomness: Randomness,
) -> tuple[dict[str, list[Integers]], dict[str, Integers]]:
    """(2) by measure and level, and the secret account of it; exact where nothing is drawn."""
    exact = {COUNT: cells.counts, **{name: cells.measures[name].sums for name in cells.measures}}
    noisy = {name: [exact[name]] for name in measures(params)}
    hidden: dict[str, Integers] = {}
    for entry in entries:
        axes = axes_of_levels(drawn)[entry.level]
        truth = {name: summed(exact[name], cells.shape, [axes])[0] for name in entry.measures}
        noise, steps = _draw(entry, cells, params, limits, randomness)
        for place, name in enumerate(entry.measures):
            total = noisy_total(truth[name], noise[:, place])
            noisy[name][entry.level : entry.level + 1] = [total]
            hidden[f"noised {entry.level} {name}"] = total
            hidden[f"steps {entry.level} {name}"] = steps[:, place]
    return noisy, hidden


def _draw(
    entry: Entry, cells: Cells, params: Params, limits: Mapping[str, Limits], randomness: Randomness
) -> tuple[Integers, Integers]:
    """Draw noise; return it and its steps, one row for each cell of the level, one column for each measure."""
    if entry.which is not None:
        noise = np.zeros((len(entry.which), len(entry.measures)), np.int64)
        for place, kind in enumerate(entry.classes):
            rows = entry.which == place
            number = int(np.count_nonzero(rows))
            noise[rows if number < len(noise) else slice(None)] = kind.draw(number, randomness)
        widths = np.array([kind.half_widths for kind in entry.classes], np.int64)
        return noise, touched(params) * entry.by_cell(widths)
    (name,) = entry.measures
    if params.model == "bdp":
        steps, adjacency = bootstrap_steps(cells, name, params), params.adjacency
    else:
        steps, adjacency = individual_steps(cells, name, None if name == COUNT else limits[name]), "from_D"
    noise = np.zeros((len(steps), 1), np.int64)
    some = steps > 0
    noise[some, 0] = cell_noise(Scales(adjacency, entry.epsilon, steps[some]), randomness)  # type: ignore[arg-type]
    return noise, steps[:, np.newaxis]
