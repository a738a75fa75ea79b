"""What the pages of a release are made of: the facts for those who decide about it, and those for data users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from penstock.mechanisms.guarantee import Guarantee
from penstock.reports.table_sheet import TableSheet

__all__ = [
    "ConfidentialReport",
    "PublicReport",
    "RowsAre",
    "SeveralConfidential",
    "SeveralPublic",
    "SharedConfidential",
    "SharedPublic",
]

Facts = Mapping[str, Any]
RowsAre = Literal["records", "cells"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidentialReport:
    """Everything about one run, for those who decide about it.

    records: the rows of the release; rows_are: what they are; source_records: the rows of the source, not all of which
    may be used; used: how many were, where it is a number of each individual's.
    decision: verdict, results [gate, verdict, rule, value, interval, reason].
    checks: [name, passed, rule, found], the promise re-checked on the output.
    measurements: [name, value, interval, concerns, direction, n, columns, by_column, attacker,
    weights, missing, beside]. undefined: names of measures that have no value for these columns.
    clamped: columns that may be clamped [column, values, clamped, true, bias, biased, cells [cell, true, bias]].
    validation: expectations, failed. steps: [name, seconds].
    looks: how many other runs looked at these data and published nothing or declared something new, how many outputs
    they left out, and how many may.
    tables: for each table of the output how many cells and totals it has [cells, totals].
    relaxation: of figures whose noise follows the data, what that bought and leaks [model, records, outside, figures
    [name, what, epsilon, cells, without_noise, gains, outside, outside_cells, exact_neighbours, together, answers,
    tells, worst [cell, records, used, declared, smooth, gain, half_width, declared_half_width, outside, neighbours,
    tells]]].
    """

    name: str
    run: str
    started: str
    spec: Facts
    guarantee: Guarantee
    records: int
    source_records: int
    decision: Facts
    checks: Sequence[Facts]
    measurements: Sequence[Facts]
    undefined: Sequence[str]
    validation: Facts
    steps: Sequence[Facts]
    versions: Mapping[str, str]
    looks: str
    rows_are: RowsAre = "records"
    clamped: Sequence[Facts] = ()
    used: int | None = None
    tables: Mapping[str, Facts] = field(default_factory=dict)
    relaxation: Facts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicReport:
    """The facts that a data user may know.

    columns: [name, type, domain, outside, categories, role, treatment]; gates: [gate, rule, verdict];
    files: [name, bytes, sha256]; usage: sentences on how to use the data.
    records: the rows of the release; rows_are: what they are; tables: the figures themselves, if the rows are cells.
    noise: [column, epsilon, delta, moved, together, order, k, expected_error, unit_error, noise_error], if there is
    any; the last two in the column's own unit, None for categories; delta, moved: None where there is none; together:
    other columns with which epsilon is spent; order, k and noise_error of blocks only.
    linked: tables beside the records [name, key, columns]; labels: columns published in buckets [column, labels [label,
    records]], the records over all. known: of groups with buckets [columns, factors, unbounded_from], how much somebody
    learns who knows the buckets of 0, 1, .. other members. where: which records it is about, if not about all.
    edition: of data that change; earlier: its published editions before this one [release, edition, date].
    title: what the release is called for readers, if not by its name.
    """

    name: str
    release: str
    date: str
    records: int
    guarantee: Guarantee
    columns: Sequence[Facts]
    noise: Sequence[Facts]
    gates: Sequence[Facts]
    files: Sequence[Facts]
    usage: Sequence[str]
    log_head: str
    rows_are: RowsAre = "records"
    tables: Mapping[str, TableSheet] = field(default_factory=dict)
    linked: Sequence[Facts] = ()
    labels: Sequence[Facts] = ()
    known: Sequence[Facts] = ()
    where: str | None = None
    edition: str | None = None
    earlier: Sequence[Facts] = ()
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedConfidential:
    """A file that several outputs share, for those who decide: what somebody can do who combines its columns, and what
    was found of all of them together; the rest as above."""

    name: str
    outputs: Sequence[str]
    together: Sequence[str]
    records: int
    decision: Facts
    checks: Sequence[Facts]
    measurements: Sequence[Facts]
    undefined: Sequence[str]
    clamped: Sequence[Facts]
    guarantee: None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPublic:
    """A file that several outputs share, for data users. columns: as above, with the promise of each."""

    name: str
    outputs: Sequence[str]
    records: int
    together: Sequence[str]
    columns: Sequence[Facts]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralConfidential:
    """One run with several outputs, for those who decide about it.

    together: what they promise together, and that nothing covers some of them. outputs: each as if it were alone, known
    by its name; shared: the files that several share; left_out: the names of those that are not published.
    """

    name: str
    run: str
    started: str
    spec: Facts
    together: Sequence[str]
    source_records: int
    decision: Facts
    validation: Facts
    steps: Sequence[Facts]
    versions: Mapping[str, str]
    looks: str
    outputs: Sequence[ConfidentialReport]
    left_out: Sequence[str] = ()
    shared: Sequence[SharedConfidential] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralPublic:
    """A release with several outputs, for data users; together, outputs, shared: as above. gates: [output, gate, rule,
    verdict]."""

    name: str
    release: str
    date: str
    together: Sequence[str]
    outputs: Sequence[PublicReport]
    gates: Sequence[Facts]
    files: Sequence[Facts]
    log_head: str
    where: str | None = None
    shared: Sequence[SharedPublic] = ()
    edition: str | None = None
    earlier: Sequence[Facts] = ()
    title: str | None = None
