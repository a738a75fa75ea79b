"""What to expect of a table before any row is read: standard errors, intervals, the largest error of all cells.

    standard error       sqrt(Var N), in the unit of the figure; of a summed margin sqrt(cells) times that        (1)
    95 % interval        the least w with P(|N| <= w) >= 0.95                                                     (2)
    all k cells at once  the least w with P(|N| <= w) >= 1 - gamma / k, so that all noises are within it with
                         probability at least 1 - gamma                                                           (3)

    standard error of a mean over a count n   at most sqrt(Var total + B^2 Var count) / n, B the largest |mean|      (4)

Source of (4): _figures.py, with the largest mean that the bounds allow. Noise only: what clamping takes away, and what
least squares gain, is not in (2) to (4). Under the relaxations the size of the noise of totals is secret and not known
before; it is at most that of dp with the same bounds. That of counts is public, and (1) to (3) hold for them.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms import clamping, phrases
from penstock.mechanisms.columns import Declared
from penstock.mechanisms.layout import Layout
from penstock.mechanisms.linked_layout import tables_of
from penstock.mechanisms.phrases import counted
from penstock.mechanisms.table import _weighted_words as weighted_words
from penstock.mechanisms.table._chosen import (
    Entry,
    figures_alone,
    limits_by_measure,
    reach,
    settle,
    share_of,
    touched,
    variances_by_measure,
)
from penstock.mechanisms.table._exact_total import COUNT_IS_NUMBER, EXACT_TOTAL, count_is_number_of_records
from penstock.mechanisms.table._folding import Axis, axes_of_levels, plain
from penstock.mechanisms.table._known_total import variances_fitted_to
from penstock.mechanisms.table._linked_fit import linked_variances
from penstock.mechanisms.table._margins import reconciled_variances, summed
from penstock.mechanisms.table._mechanism import Params
from penstock.mechanisms.table._weights import in_steps, squares_of, step_of
from penstock.mechanisms.table._zeros import possible_cells
from penstock.mechanisms.table.draws import MOST_IN_A_BOX, Kind, Noise, noise_of
from penstock.mechanisms.table.settings import COUNT, clamped, layout, measures, spenders
from penstock.mechanisms.without_domain import expected_without_domain

__all__ = ["expect"]

_LEVEL = 0.95
_GAMMA = 0.05
_COUNT_OF_A_CELL = 1_000  # an example: how large the cells are is not known before
_MOST_TOLD = 32  # levels


def expect(params: Params, declared: Declared, records: int | None) -> tuple[str, ...]:
    """Return sentences for the person who chooses the settings; none of them depends on the data."""
    drawn = layout(params, declared)
    cells, margins = drawn.cell_rows, drawn.rows - drawn.cell_rows
    totals = "1 total" if margins == 1 else f"{margins:,} totals and sub-totals"
    sentences = [f"{counted(cells, 'cell')} and {totals}; each is published, empty or not."]
    if not params.dimensions:
        sentences = ["One row: figures of the whole file."]
    if params.impossible:
        impossible = cells - int(np.count_nonzero(possible_cells(params, declared)))
        cells -= impossible
        sentences.append(f"Of these cells {impossible:,} cannot have records, by declaration: they are exact zeros.")
    sentences += _of_levels(drawn)
    if params.model == "k_anon":
        of = params.contributors
        fewer = "fewer than k" if of is None else f"fewer than k different values of {of}"
        sentences.append(f"There is no noise. The release is refused if a cell has records, but {fewer}.")
    elif params.model == "dp":
        entries = settle(params, declared)
        if params.tables:
            sentences.append(_of_tables(params, entries, drawn))
        for entry in entries:
            sentences += _expected(entry, drawn.levels[entry.level], cells, params, declared)
        sentences += _means(entries, params, declared)
        if params.tables or params.margins == "measured":
            sentences.append(
                f"After least squares, standard errors at most: {_fitted(entries, drawn, params, declared)}. What "
                "rounding to whole numbers moves a figure by, less than 2 as a rule, will be in the stated errors too."
            )
        elif params.levels and len(drawn.levels) <= _MOST_TOLD:
            sentences.append(f"Added up, standard errors at most: {_fitted(entries, drawn, params, declared)}.")
        elif margins:
            sentences.append(
                f"A total of j cells has sqrt(j) times the standard error of one, the grand total {sqrt(cells):.3g} "
                "times; margins that are measured have less, and the cells more."
            )
        if params.exact_total:
            sentences.append(EXACT_TOTAL if params.dimensions else COUNT_IS_NUMBER)
        sentences += _alternatives(params, declared)
    else:
        sentences += _at_most(params, declared)
    sentences += expected_without_domain(declared, measures(params))
    sentences += clamping.expected(clamped(params, declared), declared, "totals and means")
    sentences += weighted_words.expected(params)
    if params.rows_per_unit is not None:
        sentences.append(phrases.records_left_out(params.rows_per_unit)[2])
    return (*sentences, "Work: one pass over the records for counts and one for each summed column.")


def _expected(entry: Entry, level: tuple[str, ...], cells: int, params: Params, declared: Declared) -> list[str]:
    number = cells if entry.which is None else int(np.count_nonzero(entry.which >= 0))
    where = f"by {', '.join(level)}" if level else "in total"
    if len(entry.classes) > 1:
        where += " where its bound is largest"
    of_each = "" if params.rows_per_unit is None else f" for each of at most {counted(params.rows_per_unit, 'record')}"
    told = []
    for place, name in enumerate(entry.measures):
        noise = max(entry.classes, key=lambda each, place=place: each.half_widths[place])  # type: ignore[misc]
        step = _step(name, params, declared)
        if name in squares_of(params):
            told.append(
                f"Sampling error of {_called(squares_of(params)[name], params)} {where}: noise of standard error "
                f"{_figure(sqrt(noise.variances[place]) * step)} on its square, epsilon {entry.epsilon}{of_each}; "
                f"{weighted_words.sure_from(name, noise, place, params)}."
            )
            continue
        at_once = noise.half_width(place, 1 - _GAMMA / number) * step
        within = f"all {number:,} at once within ± {_figure(at_once)} with probability {1 - _GAMMA:g}"
        told.append(
            f"{_called(name, params)}{_unpublished(name, params)} {where}: standard error "
            f"{_figure(sqrt(noise.variances[place]) * step)}, 95 % interval "
            f"± {_figure(noise.half_width(place, _LEVEL) * step)}{'' if number == 1 else f'; {within}'} "
            f"({noise.kind}, epsilon {entry.epsilon}{of_each})."
        )
    return told


def _means(entries: tuple[Entry, ...], params: Params, declared: Declared) -> list[str]:
    """Return (4) for each mean, with the largest noise of any cell."""
    largest: dict[str, float] = {}
    for entry in (each for each in entries if each.level == 0 or params.tables):
        for place, name in enumerate(entry.measures):
            variance = max(noise.variances[place] for noise in entry.classes) * _step(name, params, declared) ** 2
            largest[name] = max(variance, largest.get(name, 0.0))
    told = []
    for name in params.means:
        low, high = declared[name].bounds
        error = sqrt(largest[name] + max(abs(low), abs(high)) ** 2 * largest.get(COUNT, 0.0)) / _COUNT_OF_A_CELL
        told.append(
            f"mean of {name}: standard error at most {_figure(min(error, high - low))} in a cell whose "
            f"{_called(COUNT, params)} is {_COUNT_OF_A_CELL:,}, whatever the mean is; over half the count, twice that."
        )
    return told


def _of_tables(params: Params, entries: tuple[Entry, ...], drawn: Layout) -> str:
    """Return which tables there are, and that what they share is drawn once."""
    tables = "; ".join(f"{name} by {', '.join(own)}" for name, own in params.tables.items())
    measured = len({entry.level for entry in entries})
    shown = sum(len(table.levels) for table in tables_of(drawn))
    return (
        f"{len(params.tables)} tables, which agree: {tables}. They show {shown:,} levels, {len(drawn.levels):,} "
        f"of them different; {measured:,} are drawn, each once, whichever tables show it."
    )


def _of_levels(drawn: Layout) -> list[str]:
    """Return a sentence for each dimension that is shown by coarser levels too."""
    told = []
    for name, categories in drawn.dimensions.items():
        # A label of each shows whether the levels were named in their order.
        levels = [
            f"{own} ({len(each.labels):,}, such as {each.labels[0]})"
            for own, each in drawn.coarser.items()
            if each.dimension == name
        ]
        if levels:
            told.append(
                f"{name} has totals by {' and by '.join(levels)}, in the column of its {len(categories):,} categories, "
                f"such as {categories[0]}; a record counts in one group of each level."
            )
    return told


def _fitted(entries: tuple[Entry, ...], drawn: Layout, params: Params, declared: Declared) -> str:
    """Return the standard errors of all levels once the figures have been made to add up."""
    shape, kept = drawn.shape(drawn.cube), axes_of_levels(drawn)
    told = []
    for name, variances in variances_by_measure(entries).items():
        if name in squares_of(params):
            continue
        to_total = params.exact_total and name == COUNT
        if drawn.tables:
            most = linked_variances(variances, shape, plain(kept), exact_total=to_total)
        else:
            made = reconciled_variances if params.margins == "measured" else _summed_variances
            each = (variances_fitted_to if to_total else made)(variances, shape, kept)
            if params.impossible:  # a margin of few possible cells is better known by their sum
                each = [np.minimum(*both) for both in zip(each, summed(variances[0], shape, kept), strict=True)]
            most = [float(spread.max()) for spread in each]
        errors = [_figure(sqrt(variance) * _step(name, params, declared)) for variance in most]
        places = [f"by {', '.join(level)}" if level else "in total" for level in drawn.levels]
        told.append(
            f"{_called(name, params)} "
            + ", ".join(f"{error} {where}" for error, where in zip(errors, places, strict=True))
        )
    return "; ".join(told)


def _summed_variances(
    variances: list[NDArray[np.float64]], shape: tuple[int, ...], kept: list[tuple[Axis, ...]]
) -> list[NDArray[np.float64]]:
    return summed(variances[0], shape, kept)


def _alternatives(params: Params, declared: Declared) -> list[str]:
    """Return the standard errors of every kind of noise, so that the choice can be followed."""
    limits, names = limits_by_measure(params, declared), figures_alone(params)
    entries = [entry for entry in settle(params, declared) if entry.level == 0 and {*entry.measures} <= {*names}]
    epsilon = sum((entry.epsilon for entry in entries), Fraction(0)) / touched(params)
    widths = tuple(int(reach(limits[name], params).max()) for name in names)
    part = sum((share_of(params, name) for name in names), Fraction(0))
    shares = [share_of(params, name) / part for name in names]

    def errors(kind: Kind) -> str:
        each = [noise_of(kind, (w,), share * epsilon) for w, share in zip(widths, shares, strict=True)]
        return _errors([sqrt(noise.variances[0]) for noise in each], names, params, declared)

    told = [f"laplace {errors('laplace')}", f"staircase {errors('staircase')}"]
    if 1 < len(names) <= MOST_IN_A_BOX:
        box: Noise = noise_of("box", widths, epsilon)
        told.append(f"box {_errors([sqrt(variance) for variance in box.variances], names, params, declared)}")
    return [f"Standard errors of a cell by kind of noise: {'; '.join(told)}. Used: {entries[0].classes[0].kind}."]


def _errors(errors: list[float], names: tuple[str, ...], params: Params, declared: Declared) -> str:
    return ", ".join(
        f"{_called(name, params)} {_figure(error * _step(name, params, declared))}"
        for name, error in zip(names, errors, strict=True)
    )


def _at_most(params: Params, declared: Declared) -> list[str]:
    sentences = []
    if any(name != COUNT for name in measures(params)):
        sentences.append("The size of the noise of totals follows the data: it is secret, and not known before.")
    limits = limits_by_measure(params, declared)
    touched = 1 if params.adjacency in ("bootstrap_add_remove", "bootstrap_within_cell") else 2
    for entry in settle(params, declared):
        for name in entry.measures:
            if name == COUNT:
                sentences.append(_relaxed_count(entry, touched, layout(params, declared).cell_rows))
                continue
            most = limits[name].largest.max()
            if params.adjacency == "bootstrap_within_cell":
                most = (limits[name].high - limits[name].low).max()
            scale = float(touched * int(most) / entry.epsilon) * _step(name, params, declared)
            sentences.append(f"{name}: standard error at most {_figure(sqrt(2) * scale)} (laplace, {entry.epsilon}).")
    if COUNT in measures(params) and COUNT not in spenders(params):
        is_number = count_is_number_of_records(params)
        sentences.append(COUNT_IS_NUMBER if is_number else "Counts are exact, because everybody's cell is public.")
    return sentences


def _relaxed_count(entry: Entry, touched: int, cells: int) -> str:
    """Return (1) to (3) for a count under a relaxation, whose noise is that of one record."""
    noise = noise_of("laplace", (touched,), entry.epsilon)
    told = (
        f"{COUNT}: standard error {_figure(sqrt(noise.variances[0]))}, 95 % interval ± {noise.half_width(0, _LEVEL):,}"
    )
    if cells > 1:
        at_once = noise.half_width(0, 1 - _GAMMA / cells)
        told += f"; all {cells:,} at once within ± {at_once:,} with probability {1 - _GAMMA:g}"
    return f"{told} (laplace, {entry.epsilon})."


def _unpublished(measure: str, params: Params) -> str:
    """Return a remark on a total that is drawn for a mean only."""
    return " (total, not published: its mean is made of it)" if measure not in (COUNT, *params.sums) else ""


def _called(measure: str, params: Params) -> str:
    return f"weighted {measure}" if in_steps(params) else measure


def _step(measure: str, params: Params, declared: Declared) -> float:
    return float(step_of(params, declared, measure))


def _figure(number: float) -> str:
    """Return a number with three significant digits."""
    rounded = float(f"{number:.3g}")
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:g}"  # else millions were 1e+06
