"""The checks of the noise of a table: what it spends, whether it suffices, whether the figures come from it.

    epsilon_spent    c sum of the epsilons of all entries <= epsilon, c records of each unit, in exact fractions; every
                     measure is drawn once in the cells, alone unless box noise draws several together
    scales_suffice   steps_i >= what the adjacency needs, the Laplace scale being steps_i / epsilon:

        dp           t B_i, B_i of a margin cell the largest of its possible cells, 0 where it has none; t = 2 under
                     replace, 1 under add_remove; without dimensions max(high - low, B), where t = 1, and
                     high - low where the grand total is exact, so that no record leaves the source
        bdp          one scale            replace     max(max V_i, max over i != j of M_i + M_j)
                                          add_remove  max M_i
                                          within_cell max V_i
                     every cell its own   2 M_i under replace, M_i under add_remove
                     public membership    V_i
        idp          max(max over i with records, j != i, of M_i + B_j,
                         max over i with records of max(high_i - min v, max v - low_i))

                     and at least 1, because 0 prints the exact figure: that is allowed for empty cells that are printed
                     as zeros, and for cells that are declared impossible (impossible.py); counts are not drawn at all
                     where everybody's cell is public, or where the only count is the public number of records
    figures_as_noised   what is published is the noisy total, which is the total counted again where there are no steps

M_i = max |v|, V_i = max v - min v over the records of cell i, 0 without records; low_i, high_i its public bounds,
B_i = max(|low_i|, |high_i|). A count is the sum of v = 1, so the same lines give 2, 1 and 0 for it.

Source: O'Keefe & Charest 2019, section 5, corrected (a replaced record may leave one cell and enter another);
Dwork & Roth 2014, Theorem 3.6; idp is ours, checked against all replacements in the tests.

All of them hold for every output of a sound mechanism, whatever was drawn: a check that sound noise could fail would
make it depend on the noise whether a table appears, and the promise would no longer be epsilon alone. How likely noise
as small as this is (_noise_size.py) is therefore measured and not checked. Where margins were measured, published cells
are fitted to all noisy totals, and only means are traced here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from penstock.measures.cells._figures import traced
from penstock.measures.cells._noise_size import box_within, chance, laplace_within
from penstock.measures.cells._promise import Entry, Promise
from penstock.measures.cells.impossible import IMPOSSIBLE, impossible_cells
from penstock.measures.cells.totals import COUNT, Measured, Recounted, folded
from penstock.measures.checks import Check, verdict

__all__ = ["epsilon_spent", "figures_as_noised", "noise_chance", "scales_suffice"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# No total of a cell is this large, so its difference from a noisy one that is not larger does not overflow.
_LARGEST = 2**62


def epsilon_spent(promise: Promise, table: Recounted) -> Check:
    each = promise.epsilon / promise.rows_per_unit
    broken = [measure for measure in promise.measures if not _is_drawn_once(promise, measure)]
    if sum(entry.epsilon for entry in promise.entries) > each:
        broken = list(promise.measures)
    records = "" if promise.rows_per_unit == 1 else f" divided by {promise.rows_per_unit} records"
    return verdict(
        "epsilon_spent",
        f"all figures together spend at most epsilon = {promise.epsilon}{records}, and each is drawn once",
        "they do",
        "more is spent than promised, or a figure is drawn without epsilon or twice",
        broken,
    )


def _is_drawn_once(promise: Promise, measure: str) -> bool:
    entries = [entry for entry in promise.entries if measure in entry.measures]
    levels = {entry.level for entry in entries}
    free = measure == COUNT and promise.counts_are_public
    return (
        (free or {*promise.cell_levels} <= levels)
        and len(levels) == len(entries)
        and all(entry.epsilon > 0 and (len(entry.measures) == 1 or promise.noise == "box") for entry in entries)
    )


def scales_suffice(promise: Promise, table: Recounted) -> Check:
    return verdict(
        "scales_suffice",
        f"every cell has at least the noise that {promise.adjacency} needs",
        "every cell has",
        "a cell has less, or another one than stated",
        dict.fromkeys(name for entry in promise.entries for name in _insufficient(promise, table, entry)),
    )


def _insufficient(promise: Promise, table: Recounted, entry: Entry) -> Iterator[str]:
    """Yield the measures of an entry whose steps are too few, or, under dp, not those that are stated."""
    stated = promise.model != "dp" or _is_stated(promise, table, entry)
    for place, measure in enumerate(entry.measures):
        needed = _needed(promise, table, entry, measure)
        if not stated or not bool((_hidden(table, "steps", entry, place) >= needed).all()):
            yield measure


def _is_stated(promise: Promise, table: Recounted, entry: Entry) -> bool:
    """Return whether as many cells as stated have the stated B in each measure."""
    widths, _, cells = _by_class(promise, table, entry)
    drawn = {tuple(row): number for row, number in zip(widths.tolist(), cells.tolist(), strict=True) if any(row)}
    stated = {found.half_widths: found.cells for found in entry.classes}
    return drawn == stated and len(stated) == len(entry.classes)


def _by_class(promise: Promise, table: Recounted, entry: Entry) -> tuple[Integers, Integers, Integers]:
    """Return the different B, which of them each cell has, and how many cells have each."""
    widths = np.stack([_hidden(table, "steps", entry, place) for place in range(len(entry.measures))], axis=1)
    widths = widths // promise.touched
    if bool((widths == widths[0]).all()):  # sorting many equal rows takes long
        return widths[:1], np.zeros(len(widths), np.int64), np.array([len(widths)])
    found, which, cells = np.unique(widths, axis=0, return_inverse=True, return_counts=True)
    return found, which.ravel(), cells


def _needed(promise: Promise, table: Recounted, entry: Entry, measure: str) -> Integers:
    """Return the fewest steps that each cell of a level needs."""
    counts, measured, layout = table.cells.counts, table.measured[measure], table.output.layout
    if promise.model == "dp":
        bounds = measured.bounds
        if promise.has_impossible:
            bounds = np.where(impossible_cells(layout, table.output.guarantee.parameters[IMPOSSIBLE]), 0, bounds)
        if promise.is_one_row and promise.adjacency == "replace":
            within = measured.high - measured.low
            bounds = within if promise.exact_total else np.maximum(within, bounds)
        found: Integers = folded(layout, layout.levels[entry.level], bounds, np.maximum)
        return promise.touched * found
    if promise.model == "idp":
        needed = np.full_like(counts, _local(counts, measured))
    elif promise.scale == "one":
        needed = np.full_like(counts, _bootstrap(promise.adjacency, counts, measured))
    elif promise.scale == "per_cell":
        needed = (2 if promise.adjacency == "bootstrap_replace" else 1) * measured.sizes
    else:
        needed = measured.largest - measured.smallest
    needed = np.maximum(needed, 1)
    if promise.empty_cells == "zero":
        needed[counts == 0] = 0
    return needed


def _bootstrap(adjacency: str, counts: Integers, measured: Measured) -> int:
    """Return how far the whole table moves when a record of D replaces another, or is added or removed."""
    sizes = np.sort(measured.sizes[counts > 0])
    if adjacency == "bootstrap_add_remove":
        return int(sizes[-1])
    widest = int((measured.largest - measured.smallest).max())
    if adjacency == "bootstrap_within_cell" or len(sizes) < 2:
        return widest
    return max(widest, int(sizes[-2:].sum()))


def _local(counts: Integers, measured: Measured) -> int:
    """Return how far the whole table moves when any record of the domain replaces one of D."""
    filled = counts > 0
    stays = np.maximum(measured.high - measured.smallest, measured.largest - measured.low)[filled].max()
    if len(counts) < 2:
        return int(stays)
    bounds = np.sort(measured.bounds)
    # A record in the only cell with the largest bound can at most enter the cell with the next largest.
    entered = np.where(measured.bounds == bounds[-1], bounds[-2], bounds[-1])
    return max(int(stays), int((measured.sizes + entered)[filled].max()))


def figures_as_noised(promise: Promise, table: Recounted) -> Check:
    broken = [
        measure
        for entry in promise.entries
        for place, measure in enumerate(entry.measures)
        if not _exact_without_steps(table, entry, place)
    ]
    broken += [figure for figure in traced(promise, table) if figure not in broken]
    return verdict(
        "figures_as_noised",
        "what is published is made from the noisy totals, and noise is only where it was promised",
        "it is",
        "a figure is not its noisy total, or noise is where none may be",
        broken,
    )


def noise_chance(promise: Promise, table: Recounted) -> float:
    """Return an upper bound on the chance of noise as small as this, if it is sound."""
    spending = [entry for entry in promise.entries if entry.epsilon > 0]
    return chance([part for entry in spending for part in _within(promise, table, entry)])


def _exact_without_steps(table: Recounted, entry: Entry, place: int) -> bool:
    steps = _hidden(table, "steps", entry, place)
    return bool(((steps > 0) | (_noise(table, entry, place) == 0)).all())


def _within(promise: Promise, table: Recounted, entry: Entry) -> Iterator[Floats]:
    """Yield U of every noise of an entry."""
    epsilon = float(entry.epsilon)
    if promise.noise == "laplace":
        for place in range(len(entry.measures)):
            steps = _hidden(table, "steps", entry, place)
            drawn = steps > 0
            yield laplace_within(_noise(table, entry, place)[drawn], steps[drawn] / epsilon)
        return
    sizes = np.stack([_noise(table, entry, place) for place in range(len(entry.measures))], axis=1)
    widths, which, _ = _by_class(promise, table, entry)
    place_of = {tuple(row): place for place, row in enumerate(widths.tolist())}
    for found in entry.classes:
        rows = which == place_of.get(found.half_widths, -1)  # scales_suffice reports cells without a stated class
        yield box_within(sizes[rows], found.half_widths, found.core, epsilon / promise.touched)


def _noise(table: Recounted, entry: Entry, place: int) -> Integers:
    """Return the sizes of the noise of one measure in the cells of a level."""
    layout, measure = table.output.layout, entry.measures[place]
    total = folded(layout, layout.levels[entry.level], table.measured[measure].sums)
    found: Integers = np.abs(np.clip(_hidden(table, "noised", entry, place), -_LARGEST, _LARGEST) - total)
    return found


def _hidden(table: Recounted, part: str, entry: Entry, place: int) -> Integers:
    return np.asarray(table.output.hidden[f"{part} {entry.level} {entry.measures[place]}"])
