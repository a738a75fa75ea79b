"""Whether there is memory for what the footers of a source announce, asked before any row is read.

A constant column takes no room in a file and as much as any other in memory, so the size of a file says nothing.
"""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.dataset as ds

from penstock.mechanisms.columns import Column
from penstock.tasks.files.source_files import unreadable
from penstock.tasks.parts.working_copy import SourceTooLarge, text_bytes

__all__ = ["available", "require_room", "require_room_for_names", "require_room_to_look"]

# As measured from source to bundle (docs/scale.md): 16 to 41 bytes for each value of a release at once. A column that
# is only looked at once takes its decoded form and a copy; the digest of values takes two words per record.
_A_VALUE_KEPT, _A_VALUE_SEEN, _A_RECORD = 40, 16, 16
# Of a record's unit (units.py): its place in dictionaries before and after these are put together, and its number; its
# name or digest in both. Of a group of rows: its names as they are stored, decoded, and those of one batch.
_A_PLACE, _A_NAME, _A_GROUP = 40, 2 * 72, 3


def require_room(dataset: ds.Dataset, columns: Mapping[str, Column], kept: Collection[str]) -> None:
    """Refuse a source whose columns do not fit into memory; kept: those that later steps hold too."""
    a_record = _A_RECORD + text_bytes({name: columns[name] for name in kept})
    a_record += sum(_A_VALUE_KEPT if name in kept else _A_VALUE_SEEN for name in columns)
    records, texts = _announced(dataset)
    if records * a_record + sum(texts.values()) > available():
        raise SourceTooLarge.at(
            "source.path",
            rule="must fit into memory with its declared columns decoded",
            remedy="Run where there is more, declare fewer columns, or set run.memory, which reads it in parts.",
        )


def require_room_to_look(dataset: ds.Dataset) -> None:
    """Refuse a source with a column that would not fit into memory; columns are looked at one after the other."""
    records, texts = _announced(dataset)
    if records * _A_VALUE_SEEN + max(texts.values(), default=0) > available():
        raise SourceTooLarge.at(
            "DATA",
            rule="must fit into memory with each of its columns decoded",
            remedy="Run where there is more, or draft from some of the files.",
        )


def require_room_for_names(dataset: ds.Dataset, unit: str) -> None:
    """Refuse a source of which the numbers of its units do not fit into memory, or the names in one group of rows."""
    records, texts = _announced(dataset)
    largest = max(map(_largest_group(unit), dataset.get_fragments()), default=0)
    names = min(records * _A_NAME, 2 * texts[unit])
    if records * _A_PLACE + names + _A_GROUP * largest > available():
        raise SourceTooLarge.at(
            "source.path",
            rule="must fit into memory with whose records they are",
            remedy="Run where there is more, or name the units by shorter texts or whole numbers.",
        )


def _largest_group(name: str) -> Callable[[ds.Fragment], int]:
    """Return the most bytes that a column has in one group of rows of a file, by the footer."""

    def largest(fragment: ds.Fragment) -> int:
        footer = fragment.metadata
        places = [place for place, found in enumerate(footer.schema.names) if found == name]
        groups = (footer.row_group(group.id).column(place) for group in fragment.row_groups for place in places)
        return max((max(0, column.total_uncompressed_size) for column in groups), default=0)

    return largest


def _announced(dataset: ds.Dataset) -> tuple[int, Counter[str]]:
    """Return the number of records and the bytes of their texts by the footers; refuse contradictory footers."""
    texts = {field.name for field in dataset.schema if not _has_width(field.type)}
    records, size = 0, Counter[str]()
    for fragment in dataset.get_fragments():
        try:
            groups, footer = fragment.row_groups, fragment.metadata
            whole = sum(footer.row_group(place).num_rows for place in range(footer.num_row_groups))
        except (pa.ArrowException, OSError) as error:
            raise unreadable(dataset.filesystem, fragment.path, error) from None
        if whole != footer.num_rows or any(group.num_rows < 0 for group in groups):
            raise unreadable(dataset.filesystem, fragment.path, ValueError("the footer contradicts itself"))
        records += sum(group.num_rows for group in groups)
        for place in range(footer.num_columns):
            name = footer.schema.column(place).name
            if name in texts:
                size[name] += sum(
                    max(0, footer.row_group(group.id).column(place).total_uncompressed_size) for group in groups
                )
    return records, size


def _has_width(kind: pa.DataType) -> bool:
    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind))


def available() -> int:
    """Return the bytes this process can still take: of the machine, its group of processes, its own address space."""
    free = [psutil.virtual_memory().available, *_left_of_groups()]
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY:
        free.append(most - psutil.Process().memory_info().vms)
    return max(0, min(free))


def _left_of_groups(own: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> list[int]:
    """Return what Linux control groups (version 2) leave, from the process's own to the outermost; none elsewhere."""
    try:
        paths = [line.partition("::")[2] for line in own.read_text().splitlines() if line.startswith("0::")]
    except OSError:
        return []
    left = []
    for path in paths:
        here = root / path.strip("/")
        for group in (here, *(above for above in here.parents if above.is_relative_to(root))):
            try:
                most = (group / "memory.max").read_text().strip()
                told = (group / "memory.stat").read_text().split()
            except OSError:
                continue
            if most.isdigit():
                # Not memory.current: that counts the cache of files, which the system gives up.
                used = dict(zip(told[::2], map(int, told[1::2]), strict=True))
                left.append(int(most) - used.get("anon", 0) - used.get("shmem", 0))
    return left
