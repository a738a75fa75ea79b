"""Chapter 6 of the thesis: semantic MDAV and the exponential mechanism on the Adult file. Reproduction, no guarantee.

The taxonomies of the source are not published, and those at hand are smaller. So a number is close if it is within
20 % of the print, or if the print is within four standard deviations of ten runs, in logarithms, of the exact
expectation; it is not reproducible if it is neither, and then stands there as it comes out of the taxonomies at hand.
Close is no evidence here: with the categories of the taxonomies shuffled about as many numbers are. It says that the
size of a number comes from the categories' counts and the mechanism, whatever the taxonomies mean.
What the print tells of itself does not hang on them: its SSE0 are ten times too small, its Scores are products.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import exp, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.taxonomy import GRID, Taxonomy, boundaries, score_table
from penstock.reproduction.beside_print import Row, Verdict, as_printed, half_a_unit, printed_tables, statement
from penstock.reproduction.computed import (
    central,
    chances_of_linkage,
    choices,
    expected_error_of_choices,
    groups_around_boundaries,
    groups_by_distance,
    linked_by_choices,
)
from penstock.reproduction.entry import DataSet, Figure, Given, Printed, Table
from penstock.reproduction.thesis_6 import scores_are_products, two_panels
from penstock.tasks.files.source import SourceUnreadable, open_source, read_source

__all__ = ["ADULT", "TABLES", "Adult"]

_FILE = "tables_6_3_and_6_4"
_FILES = ("adult.parquet", "taxonomy/occupation_wordnet30.json", "taxonomy/native_country_wordnet30.json")
_EPSILONS = (0.01, 0.1, 1.0, 10.0)
_SOURCE_RUNS, _DEVIATIONS = 10, 4.0


@dataclass(frozen=True, eq=False)
class Adult:
    """Both columns as declared with their taxonomies, the pairs of categories, and which of them every record has."""

    declared: Mapping[str, Column]
    pairs: NDArray[np.int64]
    of_record: NDArray[np.int64]

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        return np.bincount(self.of_record)

    @cached_property
    def apart(self) -> list[NDArray[np.float64]]:
        """Return the semantic distance of categories, one row each, from concepts, categories first."""
        return [score_table(column) / GRID for column in self.declared.values()]

    @cached_property
    def boundaries(self) -> list[tuple[int, int]]:
        return [boundaries(column) for column in self.declared.values()]

    @cached_property
    def across(self) -> list[float]:
        return [float(delta[ends]) for delta, ends in zip(self.apart, self.boundaries, strict=True)]

    @cached_property
    def linkage(self) -> NDArray[np.float64]:
        return chances_of_linkage(self.apart, self.pairs, self.counts)


@dataclass(frozen=True, slots=True)
class Measured:
    """Squared error, per cent of records linked, and the standard deviation of that in one run."""

    sse: float
    linked: float
    deviation: float = 0.0


def read_adult(folder: Path) -> Adult:
    """Read two columns of the Adult file, and their taxonomies."""
    declared = {}
    for name, file in zip(printed_tables(_FILE)["columns"], _FILES[1:], strict=True):
        parents = _parents(folder / file)
        leaves = Taxonomy(dict(sorted(parents.items()))).leaves
        declared[name] = Column(role="quasi_identifier", type="nominal", categories=leaves, taxonomy=parents)
    columns = read_source(open_source(str(folder / _FILES[0]), declared), declared)
    codes = np.column_stack([column.codes(columns[name], name) for name, column in declared.items()])
    pairs, of_record = np.unique(codes, axis=0, return_inverse=True)
    return Adult(declared, pairs, of_record.reshape(-1))


def _parents(path: Path) -> dict[str, Any]:
    """Read the concepts of a taxonomy with their parents."""
    try:
        parents = json.loads(path.read_text(encoding="utf-8"))
    # Text that is no JSON, and bytes that are no text, are ValueErrors.
    except (OSError, ValueError, RecursionError):
        parents = None
    if not isinstance(parents, dict):
        raise SourceUnreadable.at(
            "--data",
            rule="must hold a taxonomy in JSON, its concepts with their parents",
            got=str(path),
            remedy="Take the file as it was published.",
        )
    return parents


def against_mdav(printed: Printed, given: Given) -> list[Row]:
    """Return the rows of Table 6.3."""
    adult: Adult = given.data
    rows = []
    for place, line in enumerate(printed["rows"]):
        k, text, right = line["k"], line["printed"], line["corrected"]["sse"]
        plain = by_distance(adult, k)
        row = _judged(f"k {k}, sse", plain.sse, right)
        rows.append(_as_corrected(row, text["sse"]))
        rows.append(_judged(f"k {k}, record_linkage", plain.linked, text["record_linkage"]))
        for cell in line["with_noise"]:
            chosen = by_choice(adult, k, float(cell["epsilon"]))
            rows += _factors(f"k {k}, epsilon {cell['epsilon']}", cell["printed"], plain, chosen)
        given.progress((place + 1) / len(printed["rows"]))
    return [
        *rows,
        scores_are_products([cell for line in printed["rows"] for cell in line["with_noise"]]),
        statement(
            "SSE0 by the factors of both tables, times what is printed",
            "1",
            _times_too_small(),
            corrected="10",
            note="SSE0 = SSE of Table 6.4 x (SSEf of Table 6.3 / SSEf of Table 6.4)^2, for every epsilon and k from 5",
        ),
    ]


def against_choices_alone(printed: Printed, given: Given) -> list[Row]:
    """Return the rows of Table 6.4, and how many pairs of categories the file has."""
    adult: Adult = given.data
    rows = []
    for place, line in enumerate(printed["rows"]):
        epsilon, text = float(line["epsilon"]), line["unaggregated"]["printed"]
        alone, start = by_choice(adult, 1, epsilon), f"epsilon {line['epsilon']}, k"
        rows.append(_judged(f"{start} 1, sse", alone.sse, text["sse"]))
        share = alone.deviation / alone.linked
        rows.append(_judged(f"{start} 1, record_linkage", alone.linked, text["record_linkage"], share))
        for cell in line["aggregated"]:
            rows += _factors(f"{start} {cell['k']}", cell["printed"], alone, by_choice(adult, cell["k"], epsilon))
        given.progress((place + 1) / len(printed["rows"]))
    pairs = printed_tables(_FILE)["pairs"]
    return [
        *rows,
        scores_are_products([cell for line in printed["rows"] for cell in line["aggregated"]]),
        statement(
            "pairs of categories in the file",
            pairs["printed"],
            str(len(adult.pairs)),
            corrected=pairs["corrected"],
            note="in the complete records of the training file",
        ),
    ]


@cache
def by_distance(adult: Adult, k: int) -> Measured:
    """Return what semantic MDAV gives."""
    groups = groups_by_distance(adult.apart, adult.pairs, adult.counts, adult.across, k)
    different, times = np.unique(groups, axis=0, return_counts=True)
    return _measured(adult, different, times, central(adult.apart, adult.pairs, different))


@cache
def insensitive(adult: Adult, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different groups around the corners, and how often each occurs; with k = 1 every record by itself."""
    if k == 1:
        return np.eye(len(adult.pairs), dtype=np.int64), adult.counts
    groups = groups_around_boundaries(adult.apart, adult.pairs, adult.of_record, adult.boundaries, k)
    return np.unique(groups, axis=0, return_counts=True)


@cache
def by_choice(adult: Adult, k: int, epsilon: float) -> Measured:
    """Return what the exponential mechanism gives on insensitive groups, in expectation."""
    groups, times = insensitive(adult, k)
    return _measured(adult, groups, times, choices(adult.apart, adult.pairs, groups, adult.across, epsilon))


def _measured(adult: Adult, groups: Any, times: Any, chances: Any) -> Measured:
    error = float(times @ expected_error_of_choices(adult.apart, adult.pairs, groups, chances))
    linked, deviation = (100 / adult.counts.sum() * linked_by_choices(adult.linkage, groups, chances, times)).tolist()
    return Measured(error, linked, deviation)


def _factors(name: str, printed: Printed, base: Measured, found: Measured) -> list[Row]:
    """Return the rows of two factors and their Score."""
    error, linked = sqrt(base.sse / found.sse), base.linked / found.linked
    share = sqrt(sum((part.deviation / part.linked) ** 2 for part in (base, found)))
    return [
        _judged(f"{name}, sse_factor", error, printed["sse_factor"]),
        _judged(f"{name}, linkage_factor", linked, printed["linkage_factor"], share),
        _judged(f"{name}, score", error * linked, printed["score"], share),
    ]


def _judged(name: str, value: float, printed: str, deviation: float = 0.0) -> Row:
    """Return a row: deviation is that of one run, as a share of the value."""
    within = printed_tables(_FILE)["within"]
    reach, text = exp(_DEVIATIONS * deviation / sqrt(_SOURCE_RUNS)), float(printed)
    low, high = value / reach - half_a_unit(printed), value * reach + half_a_unit(printed)
    shown = [as_printed(number, printed, further=3) for number in (value, low, high)]
    interval = (shown[1], shown[2]) if deviation else None
    if as_printed(value, printed) == printed:
        return Row(name, printed, None, shown[0], "same", "", interval)
    if deviation and low <= text <= high:
        return Row(name, printed, None, shown[0], "close", f"exact, the source {_SOURCE_RUNS} runs", interval)
    if abs(value - text) <= within * text + half_a_unit(printed):
        return Row(name, printed, None, shown[0], "close", f"to within {within:.0%}, on other taxonomies", interval)
    because = f"not reproducible because {printed_tables(_FILE)['because']}"
    return Row(name, printed, None, shown[0], "not reproducible", because, interval)


def _as_corrected(row: Row, printed: str) -> Row:
    """Return the row of a misprint, judged by what it must read."""
    held: Verdict = "corrected" if row.holds else row.verdict
    note = f"must read {row.printed}, ten times as much; {row.note}"
    return Row(row.name, printed, row.printed, row.recomputed, held, note, row.interval)


def _times_too_small() -> str:
    """Return how many times as much as printed SSE0 is by the factors of both tables; "unclear" if they differ."""
    tables = printed_tables(_FILE)
    alone = {line["epsilon"]: line for line in tables["table_6_4"]["rows"]}
    times = set()
    for line in tables["table_6_3"]["rows"][1:]:
        for cell in line["with_noise"]:
            other = alone[cell["epsilon"]]
            [factor] = [c["printed"]["sse_factor"] for c in other["aggregated"] if c["k"] == line["k"]]
            ratio = float(cell["printed"]["sse_factor"]) / float(factor)
            implied = float(other["unaggregated"]["printed"]["sse"]) * ratio**2
            times.add(round(implied / float(line["printed"]["sse"])))
    return str(times.pop()) if len(times) == 1 else "unclear"


def errors_and_linkage(_: Printed, given: Given) -> list[Figure]:
    """Return Figure 6.5: error and linkage for many k, on the taxonomies at hand."""
    adult: Adult = given.data
    numbers = []
    for k in (2, *range(5, 101, 5)):
        groups, times = insensitive(adult, k)
        plain = [by_distance(adult, k), _measured(adult, groups, times, central(adult.apart, adult.pairs, groups))]
        found = [*plain, *(by_choice(adult, k, epsilon) for epsilon in _EPSILONS)]
        numbers.append([k, *(each.sse for each in found), *(each.linked for each in found)])
    lines: Sequence[str] = ("MDAV", "insensitive MDAV", *(f"epsilon {epsilon:g}" for epsilon in _EPSILONS))
    return [two_panels("Soria-Comas 2013, Figure 6.5, on other taxonomies", "Adult", lines, numbers)]


ADULT = DataSet(_FILES, read_adult)
_CRITERION = (
    "to the printed digits, within the chance of ten runs, or to within 20 %, about as many as with shuffled categories"
)
TABLES = (
    Table(
        name="thesis-6.3",
        file=_FILE,
        key="table_6_3",
        rows=against_mdav,
        needs=ADULT,
        criterion=_CRITERION,
        figures=errors_and_linkage,
    ),
    Table(
        name="thesis-6.4", file=_FILE, key="table_6_4", rows=against_choices_alone, needs=ADULT, criterion=_CRITERION
    ),
)
