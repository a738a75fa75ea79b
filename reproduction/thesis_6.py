"""Chapter 6 of the thesis: MDAV and noise on the Census file. Reproduction, no guarantee.

Of the tables of chapter 6 of the thesis that depend on chance, Table 6.2 stands for all:

    an error is an expectation, and agrees to within 3 % and half a unit of the last digit, because ten runs miss it by
    1 to 2 %, and the source does not say at which corner it starts                                               (1)
    linkages are counted in ten runs, as in the source, and agree if the counts differ by at most four standard
    deviations: they are rare, so nearly Poisson, and the variance of a difference is their sum                   (2)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from penstock.measures import measure
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from penstock.reproduction.beside_print import Row, beside, half_a_unit, near, printed_tables
from penstock.reproduction.computed import (
    corner_means,
    expected_squared_error,
    masked_runs,
    mdav_means,
    observed_bounds,
    relative_changes,
)
from penstock.reproduction.entry import DataSet, Given, Printed, Table
from penstock.tasks.files.source import open_source, read_source

__all__ = ["CENSUS", "TABLES", "error_agrees", "linkages_agree", "percent_linked", "read_census", "ten_runs"]

Values = NDArray[np.float64]

_RUNS, _RECORDS = 10, 1080
# Above every value in the file; it is read and not protected.
_LARGEST = 10**9


def read_census(path: Path) -> Values:
    """Read four attributes of the Census file, one in each column."""
    names = printed_tables("table_6_1")["columns"]
    declared = dict.fromkeys(names, Column(role="quasi_identifier", type="continuous", domain=(0, _LARGEST)))
    columns = read_source(open_source(str(path), declared), declared)
    return np.column_stack([columns[name] for name in names])


def error_of_mdav(printed: Printed, given: Given) -> list[Row]:
    """Return the rows of the thesis, Table 6.1, standard MDAV."""
    census: Values = given.data
    rows = []
    for line in printed["rows"]:
        masked = mdav_means(census, line["k"])
        figures = {"sse": float(((masked - census) ** 2).sum()), "record_linkage": percent_linked(census, [masked])}
        rows += [beside(f"k {line['k']}, {name}", figures[name], line["printed"][name]) for name in figures]
    return rows


def noise_on_groups(printed: Printed, given: Given) -> list[Row]:
    """Return the rows of the thesis, Table 6.2, by (1) and (2)."""
    census: Values = given.data
    upper = observed_bounds(census)
    groups = {k: corner_means(census, k) for k in (1, *(cell["k"] for cell in printed["rows"][0]["aggregated"]))}
    rows = []
    for line in printed["rows"]:
        epsilon, alone = float(line["epsilon"]), line["unaggregated"]["printed"]
        error = {k: float(expected_squared_error(census, groups[k], upper, k, epsilon).sum()) for k in groups}
        linked = {k: percent_linked(census, ten_runs(groups[k], upper, k, epsilon)) for k in groups}
        start, percent = f"epsilon {line['epsilon']}, k", float(alone["record_linkage"])
        rows += [
            _error(f"{start} 1, sse", error[1], alone["sse"]),
            _linkage(f"{start} 1, record_linkage", linked[1], alone["record_linkage"], linked[1], percent),
        ]
        for cell in line["aggregated"]:
            k, factors = cell["k"], cell["printed"]
            expected = percent / float(factors["linkage_factor"])
            fewer = linked[1] / linked[k] if linked[k] else inf
            rows += [
                _error(f"{start} {k}, sse_factor", sqrt(error[1] / error[k]), factors["sse_factor"]),
                _linkage(f"{start} {k}, linkage_factor", fewer, factors["linkage_factor"], linked[k], expected),
            ]
    return rows


def changes_of_statistics(printed: Printed, given: Given) -> list[Row]:
    """Return the rows of the thesis, Table 6.5, standard MDAV."""
    census: Values = given.data
    sizes = {line["k"] for line in printed["rows"]} - {1}
    masked = {1: census} | {k: mdav_means(census, k) for k in sizes}
    changes = {k: relative_changes(census, masked[k]) for k in masked}
    rows = []
    for line in printed["rows"]:
        place = ("mean", "variance").index(line["statistic"]), printed["columns"].index(line["column"])
        name = f"{line['statistic']} of {line['column']}, k {line['k']}"
        rows.append(beside(name, float(changes[line["k"]][place]), line["printed"]["mdav"]))
    return rows


def ten_runs(centroids: Values, upper: Values, k: int, epsilon: float) -> Values:
    """Return ten masked files; every k and epsilon has a seed of its own."""
    return masked_runs(centroids, upper, k, epsilon, _RUNS, seeded(round(1000 * epsilon) * 100 + k))


def percent_linked(census: Values, masked: Values | Sequence[Values]) -> float:
    """Return the mean percentage of record linkages over the masked files."""
    names = printed_tables("table_6_1")["columns"]
    declared = {
        name: Column(role="quasi_identifier", type="continuous", domain=(0.0, float(bound)))
        for name, bound in zip(names, observed_bounds(census), strict=True)
    }
    original, linked = dict(zip(names, census.T, strict=True)), measure("record_linkage")
    shares = [linked(original, dict(zip(names, file.T, strict=True)), declared).value for file in masked]
    return 100 * float(np.mean(shares))


def error_agrees(value: float, printed: str) -> bool:
    """(1)."""
    return abs(value - float(printed)) <= 0.03 * float(printed) + half_a_unit(printed)


def linkages_agree(percent: float, other: float) -> bool:
    """(2) for percentages of ten runs of 1080 records. False alarm below 1e-4."""
    count, other_count = (share / 100 * _RUNS * _RECORDS for share in (percent, other))
    return abs(count - other_count) <= 4 * sqrt(count + other_count)


def _error(name: str, value: float, printed: str) -> Row:
    return near(name, value, printed, error_agrees(value, printed), "to within 3 %")


def _linkage(name: str, value: float, printed: str, percent: float, percent_in_print: float) -> Row:
    return near(name, value, printed, linkages_agree(percent, percent_in_print), "as rare counts")


CENSUS = DataSet(("census_casc.parquet",), lambda folder: read_census(folder / "census_casc.parquet"))
TABLES = (
    Table(name="thesis-6.1", file="table_6_1", key=None, rows=error_of_mdav, needs=CENSUS),
    Table(
        name="thesis-6.2",
        file="table_6_2",
        key=None,
        rows=noise_on_groups,
        needs=CENSUS,
        runs=_RUNS,
        criterion="within the chance of ten runs",
    ),
    Table(name="thesis-6.5", file="table_6_5", key=None, rows=changes_of_statistics, needs=CENSUS),
)
