"""What to expect of a table before any row is read: standard errors, intervals, the largest error of all cells.

    standard error       sqrt(Var N), in the unit of the figure; of a summed margin sqrt(cells) times that        (1)
    95 % interval        the least w with P(|N| <= w) >= 0.95                                                     (2)
    all k cells at once  the least w with P(|N| <= w) >= 1 - gamma / k, so that all noises are within it with
                         probability at least 1 - gamma                                                           (3)

Noise only: what clamping takes away, and what least squares gain, is not in (2) and (3). Under the relaxations the
size of the noise is secret and not known before; it is at most that of dp with the same bounds.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

from penstock.mechanisms import clamping, phrases
from penstock.mechanisms.columns import Declared
from penstock.mechanisms.layout import Layout
from penstock.mechanisms.linked_layout import tables_of
from penstock.mechanisms.table import _weighted_words as weighted_words
from penstock.mechanisms.table._chosen import Entry, limits_by_measure, settle, touched, variances_by_measure
from penstock.mechanisms.table._exact_total import EXACT_TOTAL
from penstock.mechanisms.table._known_total import variances_fitted_to
from penstock.mechanisms.table._linked_fit import linked_variances
from penstock.mechanisms.table._margins import reconciled_variances
from penstock.mechanisms.table._mechanism import Params
from penstock.mechanisms.table._weights import in_steps, step_of
from penstock.mechanisms.table.draws import MOST_IN_A_BOX, Kind, Noise, noise_of
from penstock.mechanisms.table.settings import COUNT, clamped, layout, measures, spenders

__all__ = ["expect"]

_LEVEL = 0.95
_GAMMA = 0.05


def expect(params: Params, declared: Declared, records: int | None) -> tuple[str, ...]:
    """Return sentences for the person who chooses the settings; none of them depends on the data."""
    drawn = layout(params, declared)
    cells, margins = drawn.cell_rows, drawn.rows - drawn.cell_rows
    sentences = [f"{cells:,} cells and {margins:,} totals and sub-totals; each is published, empty or not."]
    if params.model == "k_anon":
        fewer = "fewer than k" if params.contributors is None else f"fewer than k different {params.contributors}"
        sentences.append(f"There is no noise. The release is refused if a cell has records, but {fewer}.")
    elif params.model == "dp":
        entries = settle(params, declared)
        if params.tables:
            sentences.append(_of_tables(params, entries, drawn))
        for entry in entries:
            sentences += _expected(entry, drawn.levels[entry.level], cells, params, declared)
        if params.tables or params.margins == "measured":
            sentences.append(
                f"After least squares, standard errors at most: {_fitted(entries, drawn, params, declared)}."
            )
        elif margins:
            sentences.append(
                f"A total of j cells has sqrt(j) times the standard error of one, the grand total {sqrt(cells):.3g} "
                "times; margins that are measured have less, and the cells more."
            )
        if params.exact_total:
            sentences.append(EXACT_TOTAL)
        sentences += _alternatives(params, declared)
    else:
        sentences += _at_most(params, declared)
    sentences += clamping.expected(clamped(params, declared), declared, "totals and means")
    sentences += weighted_words.expected(params)
    if params.rows_per_unit is not None:
        sentences.append(phrases.records_left_out(params.rows_per_unit)[2])
    return (*sentences, "Work: one pass over the records for counts and one for each summed column.")


def _expected(entry: Entry, level: tuple[str, ...], cells: int, params: Params, declared: Declared) -> list[str]:
    number = cells if entry.which is None else len(entry.which)
    where = f"by {', '.join(level)}" if level else "in total"
    if len(entry.classes) > 1:
        where += " where its bound is largest"
    told = []
    for place, name in enumerate(entry.measures):
        noise = max(entry.classes, key=lambda each, place=place: each.half_widths[place])  # type: ignore[misc]
        step = _step(name, params, declared)
        told.append(
            f"{_called(name, params)} {where}: standard error {_figure(sqrt(noise.variances[place]) * step)}, "
            f"95 % interval ± {_figure(noise.half_width(place, _LEVEL) * step)}; all {number:,} at once within "
            f"± {_figure(noise.half_width(place, 1 - _GAMMA / number) * step)} with probability {1 - _GAMMA:g} "
            f"({noise.kind}, epsilon {entry.epsilon})."
        )
    return told


def _of_tables(params: Params, entries: tuple[Entry, ...], drawn: Layout) -> str:
    """Return which tables there are, and that what they share is drawn once."""
    tables = "; ".join(f"{name} by {', '.join(own)}" for name, own in params.tables.items())
    measured = len({entry.level for entry in entries})
    shown = sum(len(table.levels) for table in tables_of(drawn))
    return (
        f"{len(params.tables)} tables, which agree: {tables}. They show {shown:,} levels, {len(drawn.levels):,} "
        f"of them different; {measured:,} are drawn, each once, whichever tables show it. Rounding moves a figure by "
        "less than 2 as a rule; how much it was is in the stated errors."
    )


def _fitted(entries: tuple[Entry, ...], drawn: Layout, params: Params, declared: Declared) -> str:
    """Return the standard errors of all levels once the figures have been made to add up."""
    dimensions = list(drawn.dimensions)
    kept = [[dimensions.index(name) for name in level] for level in drawn.levels]
    shape = drawn.shape(drawn.cube)
    told = []
    for name, variances in variances_by_measure(entries).items():
        to_total = params.exact_total and name == COUNT
        if drawn.tables:
            most = linked_variances(variances, shape, kept, exact_total=to_total)
        else:
            each = (variances_fitted_to if to_total else reconciled_variances)(variances, shape, kept)
            most = [float(spread.max()) for spread in each]
        errors = [_figure(sqrt(variance) * _step(name, params, declared)) for variance in most]
        places = [f"by {', '.join(level)}" if level else "in total" for level in drawn.levels]
        told.append(
            f"{_called(name, params)} "
            + ", ".join(f"{error} {where}" for error, where in zip(errors, places, strict=True))
        )
    return "; ".join(told)


def _alternatives(params: Params, declared: Declared) -> list[str]:
    """Return the standard errors of every kind of noise, so that the choice can be followed."""
    entries = [entry for entry in settle(params, declared) if entry.level == 0]
    epsilon = sum((entry.epsilon for entry in entries), Fraction(0)) / touched(params)
    limits, names = limits_by_measure(params, declared), measures(params)
    widths = tuple(int(limits[name].largest.max()) for name in names)
    shares = [params.shares.get(name, Fraction(1, len(names))) for name in names]

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
    sentences = ["The size of the noise follows the data: it is secret, and not known before they are read."]
    limits = limits_by_measure(params, declared)
    touched = 1 if params.adjacency in ("bootstrap_add_remove", "bootstrap_within_cell") else 2
    for entry in settle(params, declared):
        for name in entry.measures:
            reach = limits[name].largest.max()
            if params.adjacency == "bootstrap_within_cell":
                reach = (limits[name].high - limits[name].low).max()
            scale = float(touched * int(reach) / entry.epsilon) * _step(name, params, declared)
            sentences.append(f"{name}: standard error at most {_figure(sqrt(2) * scale)} (laplace, {entry.epsilon}).")
    if COUNT in measures(params) and COUNT not in spenders(params):
        sentences.append("Counts are exact, because everybody's cell is public.")
    return sentences


def _called(measure: str, params: Params) -> str:
    return f"weighted {measure}" if in_steps(params) else measure


def _step(measure: str, params: Params, declared: Declared) -> float:
    return float(step_of(params, declared, measure))


def _figure(number: float) -> str:
    """Return a number with three significant digits."""
    return f"{float(f'{number:.3g}'):,g}"
