"""Columns and tables that a mechanism makes from the data: staged with the records, found again after a crash.

A linked table lies beside the records as linked/<name>.parquet, its rows in the mechanism's own order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from penstock.mechanisms.columns import Column
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.protected import Linked
from penstock.records.files import durable
from penstock.records.files.digest import plain_file
from penstock.tasks.files.columns import read_release, write_release

__all__ = ["StagedTable", "columns_of", "read_linked", "stage_linked", "stated_columns", "stated_tables", "tables_of"]

Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StagedTable:
    """A reference to a linked table. key: the column that the records have too."""

    name: str
    key: str
    declared: Mapping[str, Column]
    data: Path
    digest: str

    @property
    def is_as_staged(self) -> bool:
        return self.data.is_file() and plain_file(self.data) == self.digest


def stage_linked(folder: Path, linked: Mapping[str, Linked], guarantee: Guarantee) -> tuple[StagedTable, ...]:
    """Write every linked table to disk, the guarantee in its metadata."""
    staged = []
    for name, table in linked.items():
        folder.mkdir(mode=0o700, exist_ok=True)
        data = folder / f"{name}.parquet"
        rows = len(table.columns[table.key])
        write_release(data, table.columns, table.declared, guarantee, np.arange(rows))
        durable.sync(data)
        staged.append(StagedTable(name, table.key, table.declared, data, plain_file(data)))
    return tuple(staged)


def read_linked(table: StagedTable) -> Linked:
    """Return a linked table as it was staged, categories as codes."""
    rows = pq.read_metadata(table.data).num_rows
    return Linked(table.key, read_release(table.data, table.declared, np.arange(rows)), table.declared)


def stated_columns(columns: Mapping[str, Column], known: Mapping[str, Column]) -> list[dict[str, Any]]:
    """Return columns as facts, in a list, because facts sort their keys; columns known before are only named."""
    return [
        {"name": name, "made": None if known.get(name) == column else column.model_dump(mode="json")}
        for name, column in columns.items()
    ]


def columns_of(stated: Sequence[Facts], known: Mapping[str, Column]) -> dict[str, Column]:
    """Return the columns that `stated_columns` was given."""
    return {
        fact["name"]: known[fact["name"]] if fact["made"] is None else Column.model_validate(fact["made"])
        for fact in stated
    }


def stated_tables(tables: Sequence[StagedTable], known: Mapping[str, Column]) -> list[dict[str, Any]]:
    """Return linked tables as facts."""
    return [
        {
            "name": table.name,
            "key": table.key,
            "digest": table.digest,
            "columns": stated_columns(table.declared, known),
        }
        for table in tables
    ]


def tables_of(folder: Path, stated: Sequence[Facts], known: Mapping[str, Column]) -> tuple[StagedTable, ...]:
    """Return the tables that `stated_tables` was given."""
    return tuple(
        StagedTable(
            fact["name"],
            fact["key"],
            columns_of(fact["columns"], known),
            folder / f"{fact['name']}.parquet",
            fact["digest"],
        )
        for fact in stated
    )
