"""Ingest: the declared columns of the source, checked, on the confidential side of the run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mechanisms.refusal import TooFewRecords
from tasks.ingest_parts import ingest_parts
from tasks.job import Job
from tasks.look import answered
from tasks.parts import Part
from tasks.source import changed, digest_source, open_source, read_source, source_state
from tasks.step import step
from tasks.tables import save_columns

__all__ = ["Ingested", "ingest"]


@dataclass(frozen=True, slots=True)
class Ingested:
    """A reference to the working copy of the source.

    units: folder with the unit of every row, where a unit may have several.
    parts: its parts, each a working table of its own, where it is never held together; then `folder` is that of all.
    """

    folder: Path
    digest: str
    rows: int
    units: Path | None = None
    parts: tuple[Part, ...] = ()


@step("ingest")
def ingest(job: Job) -> Ingested:
    """Read the source. A resumed run whose source has changed starts over: nothing of it was published."""
    if job.plan.in_parts:
        parts, digest = ingest_parts(job)
        rows = sum(part.rows for part in parts)
        _require_enough(job, rows)
        job.run.commit("source", {"digest": digest})
        return Ingested(parts[0].folder.parent, digest, rows, parts=tuple(parts))
    unit = job.plan.unit
    dataset = open_source(job.plan.source, job.plan.declared, unit=unit)
    as_found = source_state(dataset)
    with ThreadPoolExecutor(1) as beside:
        hashing = beside.submit(digest_source, dataset, job.home.secret_key())
        columns = answered(job, hashing.result, lambda: read_source(dataset, job.plan.declared, unit=unit))
        digest = hashing.result()
    if source_state(dataset) != as_found:
        raise changed(job.plan.source)
    rows = len(next(iter(columns.values())))
    _require_enough(job, rows)
    before = job.run.committed("source")
    if before is not None and before["digest"] != digest:
        job.run.restart()
    folder, units = job.run.path("scratch") / "ingested", None
    if unit is not None:
        units = job.run.path("scratch") / "units"
        save_columns(units, {"unit": columns.pop(unit)})
    save_columns(folder, columns)
    job.run.commit("source", {"digest": digest})
    return Ingested(folder, digest, rows, units)


def _require_enough(job: Job, rows: int) -> None:
    if rows < job.plan.min_rows:
        raise TooFewRecords.at(
            "validate.min_rows",
            rule="the source has fewer records",
            got=job.plan.min_rows,
            remedy="Check that the source is complete.",
        )
