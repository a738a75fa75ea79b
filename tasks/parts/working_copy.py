"""The working copy of a source that is never held together: one working table for each part.

A part is some row groups of one file of the source, so a path and numbers say which it is. Its columns are read,
checked and written once, in a folder that every process of the run reaches; what is needed later is a column of all
parts, or all columns of a part, or some rows of either.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import shutil
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.refusal import Refusal
from penstock.records.files import durable
from penstock.tasks.files.columns import save_columns
from penstock.tasks.files.memory_release import give_back_memory

__all__ = [
    "Part",
    "SourceTooLarge",
    "StoredColumn",
    "cut",
    "left_for_data",
    "let_go",
    "piecework",
    "rows_at_once",
    "save_whole",
    "slices",
    "text_bytes",
]

# On a cluster without a limit: enough for a task of seconds.
_ROWS_OF_A_PART = 1 << 20
# What libraries keep of a large source once they have read any of it: as measured, 26 to 45 MB, whatever its size.
_KEPT = 40 * 10**6
# What a row takes while it is read, counted and counted again, and each of its columns beside it.
_BYTES_A_ROW, _BYTES_A_VALUE = 256, 48


class SourceTooLarge(Refusal):
    """The source cannot be read within the memory that exists, or that the spec allows."""

    code = "source-too-large"
    kind = "data"
    remedy = "Allow more memory, declare fewer columns, or set run.memory."


@dataclass(frozen=True, slots=True)
class Part:
    """Row groups of one file of the source, and where their working table lies."""

    file: str
    row_groups: tuple[int, ...]
    rows: int
    folder: Path


def left_for_data(memory: int) -> int:
    """Return what is left of a limit when the libraries have theirs."""
    return memory - _KEPT


def text_bytes(declared: Mapping[str, Column]) -> int:
    """Return the most bytes that the categories of one row take where they are held as texts."""
    return sum(max(len(str(each).encode()) for each in column.categories or ("",)) for column in declared.values())


def rows_at_once(memory: int | None, declared: Mapping[str, Column]) -> int:
    """Return how many rows of these columns one process may hold."""
    if memory is None:
        return _ROWS_OF_A_PART
    return left_for_data(memory) // (_BYTES_A_ROW + _BYTES_A_VALUE * len(declared) + text_bytes(declared))


def cut(dataset: ds.Dataset, declared: Mapping[str, Column], folder: Path, memory: int | None) -> list[Part]:
    """Return the parts of a source, from the footers of its files; refuse a row group that alone is too large."""
    most = rows_at_once(memory, declared)
    parts: list[Part] = []

    def add(file: str, groups: list[int], rows: int) -> None:
        if rows:
            parts.append(Part(file, tuple(groups), rows, folder / f"{len(parts):08d}"))

    for fragment in dataset.get_fragments():
        together: list[int] = []
        rows = 0
        for group in fragment.row_groups:
            if memory is not None and group.num_rows > most:
                raise SourceTooLarge.at(
                    "run.memory",
                    rule="must be enough for every row group of the source",
                    got=memory,
                    remedy="Allow more, or write the source with smaller row groups.",
                )
            if together and rows + group.num_rows > most:
                add(fragment.path, together, rows)
                together, rows = [], 0
            together.append(group.id)
            rows += group.num_rows
        add(fragment.path, together, rows)
    return parts


@contextmanager
def piecework() -> Iterator[None]:
    """Run work after which nothing is kept. What was there before is set aside, so that `let_go` need not search it."""
    gc.freeze()
    try:
        yield
    finally:
        let_go()
        gc.unfreeze()


def let_go() -> None:
    """Give what is no longer used back to the system, as soon as a piece of work is done.

    Great Expectations leaves its frames in cycles, and the C library keeps freed arrays for later ones: both grow with
    the number of pieces unless somebody asks for them.
    """
    gc.collect()
    give_back_memory()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only in the GNU C library
    if trim is not None:
        trim(0)


def save_whole(folder: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write a working table that appears whole; if another process was faster, its table stays, which is the same."""
    beside = folder.with_name(durable.fresh_name(f".{folder.name}"))
    save_columns(beside, columns)
    try:
        os.rename(beside, folder)
    except OSError:
        if not (folder / "index.json").is_file():
            raise
        shutil.rmtree(beside)


class StoredColumn:
    """One column of a working table in parts, read by rows and never kept."""

    def __init__(self, folders: Sequence[Path], name: str) -> None:
        found = [_place(folder, name) for folder in folders]
        self._files = [file for file, _, _ in found]
        self._kinds = [np.dtype(kind) for _, kind, _ in found]
        self._starts = [0, *accumulate(length for _, _, length in found)]
        # A missing whole number has made its part floating point, and so the whole column.
        self.dtype = np.result_type(*self._kinds)

    def __len__(self) -> int:
        return self._starts[-1]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        start, stop, _ = rows.indices(len(self))
        values = np.empty(max(stop - start, 0), self.dtype)
        part = bisect_right(self._starts, start) - 1
        while start < stop:
            end = min(stop, self._starts[part + 1])
            kind = self._kinds[part]
            offset = (start - self._starts[part]) * kind.itemsize
            read = np.fromfile(self._files[part], kind, end - start, offset=offset)
            if len(read) != end - start:
                raise ValueError("a column of a working table is not as it was written")
            values[len(values) - (stop - start) : len(values) - (stop - end)] = read
            start, part = end, part + 1
        return values


def slices(rows: int, most: int) -> list[slice]:
    """Return slices that cover all these rows, at most `most` at a time."""
    return [slice(start, min(start + most, rows)) for start in range(0, rows, most)]


def _place(folder: Path, name: str) -> tuple[Path, str, int]:
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    for place, (found, kind, length) in enumerate(index):
        if found == name:
            return folder / f"{place}.column", kind, length
    raise ValueError("a working table has every column")
