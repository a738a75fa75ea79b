"""Chapter 6 of the thesis: MDAV and noise on the Census file. Reproduction, no guarantee.

A printed number with noise in it is made from means of ten runs; ours are a hundred. A factor is a quotient or a
root of one, and a Score a product of two, so it is compared in logarithms:

    |ln printed - ln f| <= 4 sqrt(sum over means m of p^2 (s / m)^2 (1/10 + 1/100)),  f = product of m^p        (1)

with half a unit of the last digit besides; m, s are mean and standard deviation of our runs, p is 1, -1, 1/2 or -1/2.
To first order that is the rule of penstock.reproduction.beside_print.

Either rule takes s from our own runs, so a method with more noise than the source's would be close everywhere, and one
a little off as well. That is why all distances of Table 6.5 are weighed together, too:

    T = sqrt(mean of (printed - |m|)^2 / (s^2 (1/10 + 1/100) + u^2 / 3)),  u half a unit of the last digit       (2)

T must lie among what ten of our runs beside the other ninety give, drawn 200 times: one print in a hundred does not
by chance alone. The tables share their runs, so it speaks for Tables 6.1 and 6.2 as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import exp, inf, prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.measures import measure
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from penstock.reproduction.beside_print import (
    Row,
    Verdict,
    as_printed,
    beside,
    half_a_unit,
    of_runs,
    printed_tables,
    statement,
)
from penstock.reproduction.computed import (
    changes_by_run,
    corner_means,
    expected_squared_error,
    masked_runs,
    mdav_means,
    observed_bounds,
    relative_changes,
)
from penstock.reproduction.entry import DataSet, Figure, Given, Printed, Table
from penstock.reproduction.pictures import Panel, figure_of
from penstock.tasks.files.source import open_source, read_source

__all__ = [
    "CENSUS",
    "TABLES",
    "Census",
    "as_far_as_ten_runs",
    "factor_row",
    "percent_linked",
    "read_census",
    "scores_are_products",
]

Values = NDArray[np.float64]

_RUNS, _SOURCE_RUNS, _DEVIATIONS = 100, 10, 4.0
_TIMES_DRAWN = 200
_EPSILONS = (0.01, 0.1, 1.0, 10.0)
# Above every value in the file; it is read and not protected.
_LARGEST = 10**9


@dataclass(frozen=True, eq=False)
class Census:
    """The four attributes, one in each column. Compared as an object, so that its runs are drawn once."""

    values: Values


@dataclass(frozen=True, slots=True)
class Runs:
    """What is measured of every run: squared error, per cent of records linked, and changes of mean and variance."""

    sse: Values
    linked: Values
    changes: Values


def read_census(path: Path) -> Values:
    """Read four attributes of the Census file, one in each column."""
    names = printed_tables("table_6_1")["columns"]
    declared = dict.fromkeys(names, Column(role="quasi_identifier", type="continuous", domain=(0, _LARGEST)))
    columns = read_source(open_source(str(path), declared), declared)
    return np.column_stack([columns[name] for name in names])


def against_mdav(printed: Printed, given: Given) -> list[Row]:
    """Return the rows of Table 6.1."""
    census: Census = given.data
    rows = []
    for place, line in enumerate(printed["rows"]):
        k = line["k"]
        masked = mdav_means(census.values, k)
        error = float(((masked - census.values) ** 2).sum())
        percent = percent_linked(census.values, [masked])[0]
        rows.append(beside(f"k {k}, sse", error, line["printed"]["sse"]))
        rows.append(beside(f"k {k}, record_linkage", percent, line["printed"]["record_linkage"]))
        for cell in line["with_noise"]:
            runs = drawn(census, k, float(cell["epsilon"]))
            rows += _factors(f"k {k}, epsilon {cell['epsilon']}", cell, error, percent, runs)
        given.progress((place + 1) / len(printed["rows"]))
    return [*rows, scores_are_products([cell for line in printed["rows"] for cell in line["with_noise"]], 0.0005)]


def against_noise_alone(printed: Printed, given: Given) -> list[Row]:
    """Return the rows of Table 6.2."""
    census: Census = given.data
    rows = []
    for place, line in enumerate(printed["rows"]):
        alone, start = drawn(census, 1, float(line["epsilon"])), f"epsilon {line['epsilon']}, k"
        text = line["unaggregated"]["printed"]
        rows.append(of_runs(f"{start} 1, sse", alone.sse, text["sse"], source_runs=_SOURCE_RUNS))
        linked = of_runs(f"{start} 1, record_linkage", alone.linked, text["record_linkage"], source_runs=_SOURCE_RUNS)
        rows.append(linked)
        for cell in line["aggregated"]:
            runs = drawn(census, cell["k"], float(line["epsilon"]))
            rows += _factors(f"{start} {cell['k']}", cell, alone.sse, alone.linked, runs)
        given.progress((place + 1) / len(printed["rows"]))
    return [*rows, scores_are_products([cell for line in printed["rows"] for cell in line["aggregated"]])]


def changes_of_statistics(printed: Printed, given: Given) -> list[Row]:
    """Return the rows of Table 6.5."""
    census: Census = given.data
    sizes = sorted({line["k"] for line in printed["rows"]})
    groups = {k: (insensitive(census, k), census.values if k == 1 else mdav_means(census.values, k)) for k in sizes}
    changes = {k: [relative_changes(census.values, means) for means in groups[k]] for k in sizes}
    rows, drawn_of_all, in_print = [], [], []
    for number, line in enumerate(printed["rows"]):
        place = ("mean", "variance").index(line["statistic"]), printed["columns"].index(line["column"])
        name = f"{line['statistic']} of {line['column']}, k {line['k']}"
        for epsilon, text in zip(printed["epsilon"], line["printed"]["with_noise"], strict=True):
            moved = drawn(census, line["k"], float(epsilon)).changes[:, *place]
            # What is printed is the size of a mean of ten runs.
            sized = moved * np.sign(moved.mean())
            rows.append(of_runs(f"{name}, epsilon {epsilon}", sized, text, source_runs=_SOURCE_RUNS))
            drawn_of_all.append(sized)
            in_print.append(text)
        for column, found in zip(("insensitive_mdav", "mdav"), changes[line["k"]], strict=True):
            rows.append(beside(f"{name}, {column}", float(found[place]), line["printed"][column]))
        given.progress((number + 1) / len(printed["rows"]))
    return [*rows, as_far_as_ten_runs(np.array(drawn_of_all), in_print)]


def as_far_as_ten_runs(runs: Values, in_print: Sequence[str]) -> Row:
    """Return whether all printed means together are as far from ours as means of ten runs are, by (2).

    runs: our runs of one printed number in each row.
    """
    half = np.array([half_a_unit(text) for text in in_print])

    def apart(means: Values, others: Values) -> float:
        variance = others.var(axis=1, ddof=1) * (1 / _SOURCE_RUNS + 1 / others.shape[1]) + half**2 / 3
        return sqrt(float(((np.abs(means) - np.abs(others.mean(axis=1))) ** 2 / variance).mean()))

    found = apart(np.array([float(text) for text in in_print]), runs)
    words = seeded(_TIMES_DRAWN).words(_TIMES_DRAWN * runs.shape[1])
    by_chance = [
        apart(runs[:, order[:_SOURCE_RUNS]].mean(axis=1), runs[:, order[_SOURCE_RUNS:]])
        for order in np.argsort(words.reshape(_TIMES_DRAWN, -1), axis=1)
    ]
    low, high = min(by_chance), max(by_chance)
    where = "nearer" if found < low else "farther" if found > high else "as far as ten runs"
    note = f"{found:.2f} standard deviations in the mean square, ten runs of ours {low:.2f} to {high:.2f}"
    row = statement("all means together, distance from ours", "as far as ten runs", where, note=note)
    return replace(row, verdict="close") if row.holds else row


@cache
def insensitive(census: Census, k: int) -> Values:
    """Return the means of the groups around the corners, in the sequence that was found."""
    names = printed_tables("table_6_1")["columns"]
    fastest_first = printed_tables("table_6_5")["corners"]["fastest_first"]
    return corner_means(census.values, k, [names.index(name) for name in fastest_first])


@cache
def drawn(census: Census, k: int, epsilon: float) -> Runs:
    """Return a hundred runs of the noise on the groups; every k and epsilon has a seed of its own."""
    files = masked(census.values, insensitive(census, k), k, epsilon, _RUNS)
    errors = ((files - census.values) ** 2).sum(axis=(1, 2))
    return Runs(errors, percent_linked(census.values, files), changes_by_run(census.values, files))


def masked(census: Values, means: Values, k: int, epsilon: float, runs: int) -> Values:
    """Return files with the noise of the source on the means of groups of k, one for each run."""
    return masked_runs(means, observed_bounds(census), k, epsilon, runs, seeded(round(1000 * epsilon) * 100 + k))


def percent_linked(census: Values, files: Values | Sequence[Values]) -> Values:
    """Return the percentage of record linkages of every masked file."""
    names = printed_tables("table_6_1")["columns"]
    declared = {
        name: Column(role="quasi_identifier", type="continuous", domain=(0.0, float(bound)))
        for name, bound in zip(names, observed_bounds(census), strict=True)
    }
    original, linked = dict(zip(names, census.T, strict=True)), measure("record_linkage")
    shares = [linked(original, dict(zip(names, file.T, strict=True)), declared).value for file in files]
    return 100 * np.array(shares)


def factor_row(name: str, parts: Sequence[tuple[Values | float, float]], cell: Printed, key: str) -> Row:
    """Return a row for a product of powers of means of runs, by (1); a part without runs is a number."""
    runs = [(np.atleast_1d(values), power) for values, power in parts]
    text = cell["printed"][key]
    corrected = cell.get("corrected", {}).get(key)
    means = [float(values.mean()) for values, _ in runs]
    factor = prod(mean**power for mean, (_, power) in zip(means, runs, strict=True)) if all(means) else inf
    if corrected is not None or not all(means):
        return beside(name, factor, text, corrected=corrected)
    shares = [
        (power * values.std(ddof=1) / mean) ** 2 * (1 / _SOURCE_RUNS + 1 / len(values))
        for mean, (values, power) in zip(means, runs, strict=True)
        if len(values) > 1
    ]
    reach = exp(_DEVIATIONS * sqrt(sum(shares)))
    low, high = factor / reach - half_a_unit(text), factor * reach + half_a_unit(text)
    is_close = low <= float(text) <= high
    verdict: Verdict = "same" if as_printed(factor, text) == text else "close" if is_close else "differs"
    shown = [as_printed(value, text, further=3) for value in (factor, low, high)]
    note = f"{_RUNS} runs, the source {_SOURCE_RUNS}"
    return Row(name, text, None, shown[0], verdict, note, (shown[1], shown[2]))


def scores_are_products(cells: Sequence[Printed], half: float | None = None) -> Row:
    """Return what the printed Scores are: a product of the printed factors, but for what rounding leaves open."""
    words = {True: "SSEf x RLf", False: "something else"}
    return statement(
        "Score, defined as",
        "SSEf / RLf",
        words[all(_is_product(cell, half) for cell in cells)],
        corrected=words[True],
        note=f"all {len(cells)} printed Scores are products",
    )


def _is_product(cell: Printed, half: float | None) -> bool:
    texts = [(cell["printed"] | cell.get("corrected", {}))[key] for key in ("sse_factor", "linkage_factor", "score")]
    (sse, sse_half), (linked, linked_half), (score, score_half) = ((float(text), half_a_unit(text)) for text in texts)
    sse_half = sse_half if half is None else half
    # Either factor may have been cut off.
    least, most = (sse - sse_half) * (linked - linked_half), (sse + 2 * sse_half) * (linked + 2 * linked_half)
    return least <= score + score_half and score - score_half <= most


def _factors(name: str, cell: Printed, error: Values | float, percent: Values | float, runs: Runs) -> list[Row]:
    """Return the rows of two factors and their Score."""
    sse: list[tuple[Values | float, float]] = [(error, 0.5), (runs.sse, -0.5)]
    linked: list[tuple[Values | float, float]] = [(percent, 1.0), (runs.linked, -1.0)]
    return [
        factor_row(f"{name}, sse_factor", sse, cell, "sse_factor"),
        factor_row(f"{name}, linkage_factor", linked, cell, "linkage_factor"),
        factor_row(f"{name}, score", [*sse, *linked], cell, "score"),
    ]


def errors_and_linkage(_: Printed, given: Given) -> list[Figure]:
    """Return Figure 6.4: error and linkage for many k."""
    census: Census = given.data
    upper, sizes = observed_bounds(census.values), (1, 2, 3, 5, 8, 10, *range(15, 101, 5))
    numbers = []
    for k in sizes:
        grouped = insensitive(census, k)
        plain = [census.values if k == 1 else mdav_means(census.values, k), grouped]
        errors = [float(((means - census.values) ** 2).sum()) for means in plain]
        errors += [
            float(expected_squared_error(census.values, grouped, upper, k, epsilon).sum()) for epsilon in _EPSILONS
        ]
        linked = [float(percent_linked(census.values, [means])[0]) for means in plain]
        linked += [
            float(percent_linked(census.values, masked(census.values, grouped, k, epsilon, _SOURCE_RUNS)).mean())
            for epsilon in _EPSILONS
        ]
        numbers.append([k, *errors, *linked])
    lines = ("MDAV", "insensitive MDAV", *(f"epsilon {epsilon:g}" for epsilon in _EPSILONS))
    return [two_panels("Soria-Comas 2013, Figure 6.4", "Census", lines, numbers)]


def two_panels(title: str, file: str, lines: Sequence[str], numbers: Sequence[Sequence[float]]) -> Figure:
    """Return a figure of errors and of linkages over k, both on logarithmic scales."""
    table = np.array(numbers)
    panels = [
        Panel(
            x="k",
            y=name,
            logarithmic="y",
            series={line: (table[:, 0], table[:, 1 + panel * len(lines) + place]) for place, line in enumerate(lines)},
        )
        for panel, name in enumerate(("squared error", "records linked, per cent"))
    ]
    return figure_of(
        title,
        f"{file} file: squared error and per cent of records linked over k, by MDAV, by insensitive MDAV, and with "
        "noise at four epsilon. Less noise and larger groups make the error smaller, down to that of groups.",
        panels,
        columns=("k", *(f"error, {line}" for line in lines), *(f"linked, {line}" for line in lines)),
        numbers=numbers,
    )


_ROWS: Sequence[tuple[int, Callable[[Printed, Given], list[Row]], Any]] = (
    (1, against_mdav, errors_and_linkage),
    (2, against_noise_alone, None),
    (5, changes_of_statistics, None),
)
CENSUS = DataSet(("census_casc.parquet",), lambda folder: Census(read_census(folder / "census_casc.parquet")))
TABLES = (
    *(
        Table(
            name=f"thesis-6.{number}",
            file=f"table_6_{number}",
            key=None,
            rows=rows,
            needs=CENSUS,
            runs=_RUNS,
            criterion="to the printed digits or within the chance of ten runs",
            figures=figures,
        )
        for number, rows, figures in _ROWS
    ),
    Table(
        name="thesis-6.figures",
        file="figures_6_1_to_6_3",
        key=None,
        rows=None,
        unavailable="the points stand in pictures alone, without numbers",
    ),
)
