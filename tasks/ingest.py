"""Ingest: the declared columns of the source, checked, on the confidential side of the run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.combinations import require_possible
from penstock.mechanisms.recode import stored_names
from penstock.mechanisms.refusal import TableEmpty, TooFewRecords
from penstock.tasks.files.columns import save_columns
from penstock.tasks.files.fingerprint import Fingerprint, Sums, digest_of_values, key_of_values
from penstock.tasks.files.source import open_source, read_source
from penstock.tasks.files.source_digest import SourceDigest, digest_source
from penstock.tasks.files.source_files import changed, root_of, source_state
from penstock.tasks.look import answered
from penstock.tasks.parts.ingest import ingest_parts, start_over_if_changed
from penstock.tasks.parts.working_copy import Part
from penstock.tasks.run.job import Job
from penstock.tasks.run.plan import Plan
from penstock.tasks.run.step import step

__all__ = ["Ingested", "ingest"]


@dataclass(frozen=True, slots=True)
class Ingested:
    """A reference to the working copy of the source.

    digest, formerly, by_folder, files: of its content (penstock.tasks.files.source_digest).
    values: digest of its values (penstock.tasks.files.fingerprint).
    units: folder with the unit of every row, where a unit may have several.
    parts: its parts, each a working table of its own, where it is never held together; `folder` then holds all of them.
    """

    folder: Path
    digest: str
    rows: int
    units: Path | None = None
    parts: tuple[Part, ...] = ()
    values: str | None = None
    formerly: str | None = None
    by_folder: bool = False
    files: tuple[str, ...] = ()

    @property
    def digests(self) -> tuple[str, ...]:
        """Return the digests under which answers about just these records are kept; the former one ignores
        partitions."""
        return (self.digest,) if self.formerly is None or self.by_folder else (self.digest, self.formerly)


@step("ingest")
def ingest(job: Job, also: Collection[str] = ()) -> Ingested:
    """Read the source. A resumed run whose source has changed starts over: nothing of it was published.

    also: columns that a suite asks about, besides those that the release uses.
    """
    plan = job.plan
    used = {**{name: plan.declared[name] for name in also}, **plan.used_columns}
    source = (_in_parts if plan.in_parts else _at_once)(job, {**plan.declared, **used}, used)
    if job.run.committed("source") is None:  # otherwise it is the same source, under this digest or its former one
        job.run.commit("source", {"digest": source.digest})
    return source


def _in_parts(job: Job, declared: Mapping[str, Column], used: Collection[str]) -> Ingested:
    read = ingest_parts(job, declared, used)
    rows = sum(part.rows for part in read.parts)
    _require_enough(job, rows)
    values = _digest_of_values(job, read.sums)
    return _ingested(read.parts[0].folder.parent, rows, read.told, values, parts=tuple(read.parts))


def _at_once(job: Job, declared: Mapping[str, Column], used: Collection[str]) -> Ingested:
    plan, key = job.plan, job.home.secret_key()
    dataset = open_source(plan.source, declared, unit=plan.unit)
    as_found = source_state(dataset)
    fingerprint = Fingerprint(key_of_values(key))

    @cache
    def values() -> str:
        return _digest_of_values(job, [fingerprint.sums()])

    with ThreadPoolExecutor(1) as beside:
        hashing = beside.submit(digest_source, dataset, root_of(plan.source), key)
        columns = answered(
            job,
            hashing.result,
            lambda: _possible(
                plan,
                read_source(
                    dataset, declared, unit=plan.unit, used=used, fingerprint=fingerprint, narrow=not _asks_values(plan)
                ),
            ),
            values,  # a source that is refused was read to its end, so its values are known too
        )
        told = hashing.result()
    if source_state(dataset) != as_found:
        raise changed(plan.source)
    _require_enough(job, len(next(iter(columns.values()))))
    start_over_if_changed(job, told)
    columns = _chosen(plan, columns)
    rows = len(next(iter(columns.values())))
    folder, units = job.run.path("scratch") / "ingested", None
    if plan.unit is not None:
        units = job.run.path("scratch") / "units"
        save_columns(units, {"unit": columns.pop(plan.unit)})
    codes, numbers = np.dtype(np.int32), np.dtype(np.int64)
    kinds = {name: numbers if declared[name].categories is None else codes for name in columns}
    save_columns(folder, columns, kinds=kinds)
    return _ingested(folder, rows, told, values(), units=units)


def _digest_of_values(job: Job, sums: Iterable[Sums]) -> str:
    return digest_of_values(job.home.secret_key(), stored_names(job.plan.data_columns), sums)


def _ingested(
    folder: Path,
    rows: int,
    told: SourceDigest,
    values: str,
    *,
    units: Path | None = None,
    parts: tuple[Part, ...] = (),
) -> Ingested:
    return Ingested(folder, told.content, rows, units, parts, values, told.formerly, told.by_folder, told.files)


def _possible(plan: Plan, columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the columns; refuse records that the release is about and that cannot be, by its declarations."""
    if any(plan.excluded.values()):
        require_possible(_satisfying(plan, columns), plan.declared, plan.excluded)
    return columns


def _asks_values(plan: Plan) -> bool:
    """Return whether the values decide something between reading and writing them."""
    return bool(plan.where) or any(plan.excluded.values())


def _chosen(plan: Plan, columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the records that the release is about. Where a promise hides how many they are, there may be none."""
    chosen = _satisfying(plan, columns)
    if plan.where and not plan.spends and not len(next(iter(chosen.values()))):
        raise TableEmpty.at("source.where", rule="must leave at least one record", remedy="Choose others.")
    return chosen


def _satisfying(plan: Plan, columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    if not plan.where:
        return columns
    from penstock.mechanisms.questions import satisfied  # for those who choose records

    kept = satisfied(plan.where, columns, plan.declared)
    return {name: values[kept] for name, values in columns.items()}


def _require_enough(job: Job, rows: int) -> None:
    if rows < job.plan.min_rows:
        raise TooFewRecords.at(
            "validate.min_rows",
            rule="must not exceed the number of records of the source",
            got=job.plan.min_rows,
            remedy="Check that the source is complete.",
        )
