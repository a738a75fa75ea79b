"""Ingest in parts: every part of the source read and checked by itself, here or on a cluster."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.dataset as ds

from penstock.mechanisms.columns import Column
from penstock.mechanisms.combinations import CombinationImpossible, Impossible, require_possible
from penstock.mechanisms.mechanism import ByColumn
from penstock.mechanisms.recode import stored_names
from penstock.mechanisms.refusal import Refusal, TableEmpty, ValueMissing, ValueOutsideDomain
from penstock.mechanisms.registry import mechanism_of
from penstock.records.files import durable
from penstock.tasks.files.fingerprint import Fingerprint, Sums, digest_of_values, key_of_values
from penstock.tasks.files.source import open_source, read_source
from penstock.tasks.files.source_digest import SourceDigest, digest_source
from penstock.tasks.files.source_files import changed, root_of, source_state
from penstock.tasks.look import answered
from penstock.tasks.parts._spread import spread
from penstock.tasks.parts.swap import BYTES_A_RECORD
from penstock.tasks.parts.working_copy import Part, SourceTooLarge, cut, left_for_data, save_whole
from penstock.tasks.run.job import Job
from penstock.tasks.run.plan import Plan

__all__ = ["PartRead", "PartsRead", "ReadOrder", "ingest_parts", "read_part", "start_over_if_changed"]


@dataclass(frozen=True, slots=True)
class ReadOrder:
    """A part of the source at this path, with these columns.

    used: those that are kept. key: for the values alone (tasks.files.fingerprint); the key of the home goes nowhere.
    excluded: combinations that no record may have, by output.
    """

    source: str
    declared: Mapping[str, Column]
    used: tuple[str, ...]
    part: Part
    key: bytes = field(repr=False)
    excluded: Mapping[str | None, Impossible] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PartRead:
    """One part that was read: its share of the digest of all values, and the refusal of its values, if there is one."""

    sums: Sums
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class PartsRead:
    """The parts of a source as working tables, the digest of the whole, and what the values of each part add to it."""

    parts: list[Part]
    told: SourceDigest
    sums: list[Sums]


def ingest_parts(job: Job, declared: Mapping[str, Column], used: Collection[str]) -> PartsRead:
    """Read the declared columns of the source in parts, and keep the used ones."""
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
    sums: list[Sums] = []

    def read() -> list[Part]:
        parts, found = _read_parts(plan, dataset, declared, used, folder, key_of_values(key))
        sums.extend(each.sums for each in found)
        _require_fit(found)
        return parts

    # Every part was read to its end, whatever was refused in it; where none was read, nothing but a size was revealed.
    names = stored_names(plan.data_columns)
    parts = answered(job, lambda: told, read, lambda: digest_of_values(key, names, sums) if sums else None)
    if source_state(dataset) != before or [each.records for each in sums] != [part.rows for part in parts]:
        raise changed(plan.source)
    return PartsRead(parts, told, sums)


def _read_parts(
    plan: Plan, dataset: ds.Dataset, declared: Mapping[str, Column], used: Collection[str], folder: Path, key: bytes
) -> tuple[list[Part], list[PartRead]]:
    """Return the parts, and what came of reading each by itself."""
    parts = cut(dataset, declared, folder, plan.memory)
    if not parts:
        raise TableEmpty.at("source.path", rule="must have at least one record", remedy="Check the source.")
    rows = sum(part.rows for part in parts)
    by_column = any(isinstance(mechanism_of(each.params).in_parts, ByColumn) for each in plan.outputs)
    if by_column and plan.memory is not None and rows * BYTES_A_RECORD > left_for_data(plan.memory):
        raise SourceTooLarge.at(
            "run.memory",
            rule=f"must hold one column of all records: {BYTES_A_RECORD} bytes per record while it is swapped",
            got=plan.memory,
            remedy="Allow more, or run where there is more.",
        )
    orders = [ReadOrder(plan.source, declared, tuple(used), part, key, plan.excluded) for part in parts]
    return parts, spread("read a part", read_part, orders, plan.address)


def _require_fit(found: Sequence[PartRead]) -> None:
    """Refuse what reading all at once would refuse: missing values of all parts, then those outside their domain, then
    combinations that cannot be."""
    for kind in (ValueMissing, ValueOutsideDomain, CombinationImpossible):
        refused = [each.refusal for each in found if isinstance(each.refusal, kind)]
        kind.raise_for(dict.fromkeys(fault for refusal in refused for fault in refusal.faults))


def start_over_if_changed(job: Job, told: SourceDigest) -> None:
    """Start the run over if an earlier attempt read another source: what it made of that is of no use."""
    before = job.run.committed("source")
    if before is not None and not told.is_of(before["digest"]):
        job.run.restart()


def read_part(order: ReadOrder) -> PartRead:
    """Read one part. A refusal for its values is returned, not raised: the digest is of the values of all parts."""
    part = order.part
    dataset = open_source(order.source, order.declared, file=part.file)
    (fragment,) = dataset.get_fragments()
    some = fragment.subset(row_group_ids=list(part.row_groups))
    fingerprint = Fingerprint(order.key)
    try:
        columns = read_source(
            ds.FileSystemDataset([some], dataset.schema, dataset.format, dataset.filesystem),
            order.declared,
            used=order.used,
            fingerprint=fingerprint,
        )
        require_possible(columns, order.declared, order.excluded)
    except (ValueMissing, ValueOutsideDomain, CombinationImpossible) as refusal:
        return PartRead(fingerprint.sums(), type(refusal)(*refusal.faults))  # without its traceback, which holds values
    save_whole(part.folder, columns)
    return PartRead(fingerprint.sums())
