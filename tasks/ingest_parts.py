"""Ingest in parts: every part of the source read and checked by itself, here or on a cluster."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.dataset as ds

from mechanisms.columns import Column
from mechanisms.refusal import TableEmpty
from records import durable
from tasks.job import Job
from tasks.look import answered
from tasks.parts import Part, SourceTooLarge, cut, left_for_data, save_whole
from tasks.plan import Plan
from tasks.source import changed, digest_source, open_source, read_source, source_state
from tasks.spread import spread
from tasks.swap_parts import BYTES_A_RECORD

__all__ = ["ReadOrder", "ingest_parts", "read_part"]


@dataclass(frozen=True, slots=True)
class ReadOrder:
    """A part of the source at this path, with these columns."""

    source: str
    declared: Mapping[str, Column]
    part: Part


def ingest_parts(job: Job) -> tuple[list[Part], str]:
    """The parts of the source as working tables, and the digest of the whole."""
    plan = job.plan
    dataset = open_source(plan.source, plan.declared)
    before = source_state(dataset)
    digest = digest_source(dataset, job.home.secret_key())  # the key never leaves this machine
    known = job.run.committed("source")
    if known is not None and known["digest"] != digest:
        job.run.restart()
    scratch = job.run.path("scratch")
    for left in scratch.glob("parts-*"):  # of an attempt that died
        shutil.rmtree(left)
    # A name of its own: a worker of an attempt that died may still be writing.
    folder = scratch / durable.fresh_name("parts")
    folder.mkdir(mode=0o700, parents=True)
    parts, read = answered(job, lambda: digest, lambda: _read_parts(plan, dataset, folder))
    if source_state(dataset) != before or read != [part.rows for part in parts]:
        raise changed(plan.source)
    return parts, digest


def _read_parts(plan: Plan, dataset: ds.Dataset, folder: Path) -> tuple[list[Part], list[int]]:
    """The parts, and how many rows were read of each."""
    parts = cut(dataset, plan.declared, folder, plan.memory)
    if not parts:
        raise TableEmpty.at("source.path", rule="must have at least one record", remedy="Check the source.")
    rows = sum(part.rows for part in parts)
    if plan.layout is None and plan.memory is not None and rows * BYTES_A_RECORD > left_for_data(plan.memory):
        raise SourceTooLarge.at(
            "run.memory",
            rule=f"one column of all records must fit: {BYTES_A_RECORD} bytes a record while it is ranked and swapped",
            got=plan.memory,
            remedy="Allow more, or run where there is more.",
        )
    orders = [ReadOrder(plan.source, plan.declared, part) for part in parts]
    return parts, spread("read a part", read_part, orders, plan.address)


def read_part(order: ReadOrder) -> int:
    """Read one part; the number of its rows."""
    part = order.part
    dataset = open_source(order.source, order.declared, file=part.file)
    (fragment,) = dataset.get_fragments()
    some = fragment.subset(row_group_ids=list(part.row_groups))
    columns = read_source(
        ds.FileSystemDataset([some], dataset.schema, dataset.format, dataset.filesystem), order.declared
    )
    save_whole(part.folder, columns)
    return len(next(iter(columns.values())))
