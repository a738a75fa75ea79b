"""Ingest in parts: every part of the source read and checked by itself, here or on a cluster."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.dataset as ds

from mechanisms.columns import Column
from mechanisms.refusal import TableEmpty
from records import durable
from tasks.fingerprint import Fingerprint, Sums, key_of_values
from tasks.job import Job
from tasks.look import answered
from tasks.parts import Part, SourceTooLarge, cut, left_for_data, save_whole
from tasks.plan import Plan
from tasks.source import changed, open_source, read_source, source_state
from tasks.source_digest import SourceDigest, digest_source
from tasks.source_files import root_of
from tasks.spread import spread
from tasks.swap_parts import BYTES_A_RECORD

__all__ = ["PartsRead", "ReadOrder", "ingest_parts", "read_part", "start_over_if_changed"]


@dataclass(frozen=True, slots=True)
class ReadOrder:
    """A part of the source at this path, with these columns.

    used: those that are kept. key: for the values alone (tasks.fingerprint); the key of the home goes nowhere.
    """

    source: str
    declared: Mapping[str, Column]
    used: tuple[str, ...]
    part: Part
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class PartsRead:
    """The parts of a source as working tables, the digest of the whole, and what the values of each part add to it."""

    parts: list[Part]
    told: SourceDigest
    sums: list[Sums]


def ingest_parts(job: Job, declared: Mapping[str, Column], used: Collection[str]) -> PartsRead:
    """The declared columns of the source in parts, of which the used ones are kept."""
    plan, key = job.plan, job.home.secret_key()
    dataset = open_source(plan.source, declared)
    before = source_state(dataset)
    told = digest_source(dataset, root_of(plan.source), key)
    start_over_if_changed(job, told)
    scratch = job.run.path("scratch")
    for left in scratch.glob("parts-*"):  # of an attempt that died
        shutil.rmtree(left)
    # A name of its own: a worker of an attempt that died may still be writing.
    folder = scratch / durable.fresh_name("parts")
    folder.mkdir(mode=0o700, parents=True)
    values = key_of_values(key)
    parts, sums = answered(job, lambda: told, lambda: _read_parts(plan, dataset, declared, used, folder, values))
    if source_state(dataset) != before or [each.records for each in sums] != [part.rows for part in parts]:
        raise changed(plan.source)
    return PartsRead(parts, told, sums)


def _read_parts(
    plan: Plan, dataset: ds.Dataset, declared: Mapping[str, Column], used: Collection[str], folder: Path, key: bytes
) -> tuple[list[Part], list[Sums]]:
    """The parts, each read by itself, and what the values of each add to the digest of all."""
    parts = cut(dataset, declared, folder, plan.memory)
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
    orders = [ReadOrder(plan.source, declared, tuple(used), part, key) for part in parts]
    return parts, spread("read a part", read_part, orders, plan.address)


def start_over_if_changed(job: Job, told: SourceDigest) -> None:
    """What an earlier attempt of this run made of another source is of no use."""
    before = job.run.committed("source")
    if before is not None and not told.is_of(before["digest"]):
        job.run.restart()


def read_part(order: ReadOrder) -> Sums:
    """Read one part; what its values add to the digest of all."""
    part = order.part
    dataset = open_source(order.source, order.declared, file=part.file)
    (fragment,) = dataset.get_fragments()
    some = fragment.subset(row_group_ids=list(part.row_groups))
    fingerprint = Fingerprint(order.key)
    columns = read_source(
        ds.FileSystemDataset([some], dataset.schema, dataset.format, dataset.filesystem),
        order.declared,
        used=order.used,
        fingerprint=fingerprint,
    )
    save_whole(part.folder, columns)
    return fingerprint.sums()
