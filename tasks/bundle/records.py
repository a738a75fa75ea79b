"""What is told of a bundle of records: their columns, the tables beside them, and how large buckets are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.registry import mechanism_of
from penstock.tasks.files.columns import category_codes
from penstock.tasks.files.linked import read_linked
from penstock.tasks.protect import Staged
from penstock.tasks.run.plan import Plan

__all__ = ["bucket_labels", "described_records", "described_tables"]

# The column of a table of buckets that counts.
_COUNT = "records"
_STATED = ("role", "type", "domain", "outside", "categories", "taxonomy", "missing")


def described_records(plan: Plan, staged: Staged) -> list[dict[str, Any]]:
    """Every column of the records, for readers."""
    return _described(plan, staged, staged.declared)


def described_tables(plan: Plan, staged: Staged) -> list[dict[str, Any]]:
    """Every table beside the records: the column by which it belongs to them, and all of its columns."""
    return [
        {"name": table.name, "key": table.key, "columns": _described(plan, staged, table.declared)}
        for table in staged.linked
    ]


def _described(plan: Plan, staged: Staged, columns: Mapping[str, Column]) -> list[dict[str, Any]]:
    treated = mechanism_of(plan.params).treatments(plan.params, plan.declared)
    keys = {table.key for table in staged.linked}
    described = []
    for name, column in columns.items():
        declared = json.loads(column.model_dump_json())
        facts = {key: declared[key] for key in _STATED}
        if name not in plan.declared:  # it links tables, or counts
            facts["role"] = "link" if name in keys else "figure"
        described.append({"name": name, **facts, "type": column.type or "continuous", "treatment": treated[name]})
    return described


def bucket_labels(plan: Plan, staged: Staged) -> list[dict[str, Any]]:
    """Of every column that is told in buckets how many records each has over all; public, because the files tell it.

    column, labels [label, records].
    """
    told = []
    for name, column in _in_buckets(staged.declared, plan.released).items():
        stored = pq.read_table(staged.data, columns=[name], read_dictionary=[name])
        codes = category_codes(stored.column(name), column.categories or ())
        told.append(_counted(name, column, codes, np.ones(len(codes), np.int64)))
    for table in map(read_linked, staged.linked):
        if _COUNT not in table.columns or _COUNT in plan.declared:  # a table of values
            continue
        for name, column in _in_buckets(table.declared, {}).items():
            told.append(_counted(name, column, table.columns[name], table.columns[_COUNT]))
    return told


def _in_buckets(columns: Mapping[str, Column], unchanged: Mapping[str, Column]) -> dict[str, Column]:
    """Their categories are labels of buckets, even where these are the declared ones."""
    return {name: column for name, column in columns.items() if column.categories is not None and name not in unchanged}


def _counted(name: str, column: Column, codes: NDArray[Any], records: NDArray[Any]) -> dict[str, Any]:
    counts = np.zeros(len(column.categories or ()), np.int64)
    np.add.at(counts, codes, records)
    labels = [
        {"label": label, "records": count}
        for label, count in zip(column.categories or (), counts.tolist(), strict=True)
    ]
    return {"column": name, "labels": labels}
