"""Records that are never held together, judged column by column: the checks, and the risk that groups leave.

A worker reads one column back from the staged file, puts it beside its original, and leaves verdicts and measures,
which are confidential, in files. What the data lost is then measured here, a few rows of all columns at a time, with
the code and in the order that every release uses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow.parquet as pq

from penstock.measures.asked import Asked
from penstock.measures.checks import Check
from penstock.measures.measurement import Measurement, MeasureUndefined
from penstock.measures.recheck import recheck_columns
from penstock.measures.records.comparison import Comparison, compare
from penstock.measures.records.group_checks import column_verdicts
from penstock.measures.records.output import RecordOutput
from penstock.measures.registry import MEASURES, judge
from penstock.mechanisms.columns import Column, Columns
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.refusal import Fault
from penstock.records.files import durable
from penstock.tasks.files.columns import read_release
from penstock.tasks.parts._spread import spread
from penstock.tasks.parts.working_copy import Part, StoredColumn, save_whole

__all__ = ["JudgeOrder", "judge_columns", "judge_one"]

# The value of each is that of the worst of its columns, each with its own groups.
_BY_COLUMN = tuple(sorted(name for name, each in MEASURES.items() if each.by_groups))
_FOUND = "found.json"


@dataclass(frozen=True, slots=True)
class JudgeOrder:
    """One column of a staged file.

    has_groups: whether it was swapped; otherwise it is released as it is.
    """

    folders: tuple[Path, ...]
    name: str
    declared: Mapping[str, Column]
    guarantee: Guarantee
    masked: frozenset[str]
    data: Path
    secrets: Path
    has_groups: bool
    folder: Path


def judge_columns(
    parts: Sequence[Part],
    declared: Mapping[str, Column],
    guarantee: Guarantee,
    masked: Sequence[str],
    data: Path,
    hidden: Path,
    scratch: Path,
    address: str | None,
) -> tuple[tuple[Check, ...], Callable[[str, Asked], Measurement]]:
    """Return the checks, and a function that takes a measure."""
    folders, records = tuple(part.folder for part in parts), sum(part.rows for part in parts)
    names = pq.read_schema(data).names
    folder = scratch / durable.fresh_name("judged")
    folder.mkdir(mode=0o700)
    orders = {
        name: JudgeOrder(
            folders,
            name,
            declared,
            guarantee,
            frozenset(masked),
            data,
            hidden,
            name in masked,
            folder / str(place),
        )
        for place, name in enumerate(names)
        if name in declared
    }
    spread("judge a column", judge_one, list(orders.values()), address)
    found = {name: json.loads((order.folder / _FOUND).read_text(encoding="utf-8")) for name, order in orders.items()}
    output = RecordOutput(
        original={},
        released={name: np.zeros(0) for name in names},
        declared=declared,
        guarantee=guarantee,
        masked=frozenset(masked),
        groups={},
        chosen={},
        records=records,
    )
    checks = recheck_columns(output, {name: each["checks"] for name, each in found.items()})
    original = _stored({name: StoredColumn(folders, name) for name in orders})
    released = _stored({name: StoredColumn([order.folder], name) for name, order in orders.items()})

    def compared(chosen: Sequence[str]) -> Comparison:
        return compare(original, {name: released[name] for name in chosen}, declared, None)

    everything, changed = compared(list(orders)), compared(list(masked))

    def take(name: str, asked: Asked) -> Measurement:
        if MEASURES[name].between_records:
            raise MeasureUndefined.at(
                name, rule="needs records that are held together", remedy="Remove the gate, or run.memory."
            )
        if name in _BY_COLUMN:
            return _worst(name, [found[column]["measures"][name] for column in masked])
        return judge(name, everything if MEASURES[name].over_all_columns else changed, asked)

    return checks, take


def judge_one(order: JudgeOrder) -> None:
    """Judge one column, read back from the staged file and put into the order of the source."""
    name = order.name
    origin = StoredColumn([order.secrets], "origin")[:]
    released = read_release(order.data, order.declared, origin, only=name)
    save_whole(order.folder, released)
    del origin
    original = {name: StoredColumn(order.folders, name)[:]}
    groups = {name: StoredColumn([order.secrets], f"group {name}")[:]} if order.has_groups else {}
    records = len(original[name])
    output = RecordOutput(
        original=original,
        released=released,
        declared=order.declared,
        guarantee=order.guarantee,
        masked=order.masked,
        groups=groups,
        chosen={},
        records=records,
    )
    found: dict[str, Any] = {
        "checks": column_verdicts(output, name) if len(released[name]) == records else {},
        "measures": {},
    }
    if order.has_groups:
        pair = compare(original, released, order.declared, groups, permuted=True)
        found["measures"] = {measure: _measured(measure, pair) for measure in _BY_COLUMN}
    durable.write_whole(order.folder / _FOUND, json.dumps(found).encode())


def _measured(name: str, pair: Comparison) -> dict[str, Any]:
    try:
        return asdict(judge(name, pair))
    except MeasureUndefined as undefined:
        return {"undefined": [asdict(fault) for fault in undefined.faults]}


def _worst(name: str, found: Sequence[Mapping[str, Any]]) -> Measurement:
    """Return a measure of all columns from those of each."""
    for each in found:
        if "undefined" in each:
            raise MeasureUndefined(*(Fault(**fault) for fault in each["undefined"]))
    parts = {column: part for each in found for column, part in each["by_column"].items()}
    return Measurement(
        **{
            **found[0],
            "value": (min if found[0]["direction"] == "higher_is_safer" else max)(parts.values()),
            "n": min(each["n"] for each in found),
            "columns": tuple(parts),
            "by_column": parts,
        }
    )


def _stored(columns: Mapping[str, StoredColumn]) -> Columns:
    """Return the columns as they are: measures of information loss read slices of rows and need nothing else."""
    return cast(Columns, columns)
