"""A first draft of a spec from a Parquet file. It decides nothing that concerns privacy.

Roles are guesses, or what a file of another tool tells; they are marked REVIEW. Bounds that nobody declared, k, and a
unit with several records are left so that the draft is refused until a person has decided.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from mechanisms.refusal import Fault
from tasks.draft_columns import column_line, quoted
from tasks.neighbours.told import RolesRefused, Told, ToldRoles
from tasks.source import SourceUnreadable

__all__ = ["draft_spec"]

_UNTOLD = ToldRoles(origin="", columns={}, whole_file=False)
_MOST_NAMES = 10


def draft_spec(path: Path, roles: ToldRoles | None = None) -> str:
    """The draft as YAML text. roles: what another tool's file tells about the columns."""
    told = roles or _UNTOLD
    try:
        partitioning = "hive" if path.is_dir() else None
        dataset = ds.dataset(str(path), format="parquet", partitioning=partitioning)
        comments = _comments(told, dataset.schema.names)
        lines = [column_line(dataset, field, _about(field.name, told)) for field in dataset.schema]
    except (pa.ArrowException, OSError):
        raise SourceUnreadable.at(
            "DATA", rule="must be readable, complete Parquet", got=str(path), remedy="Check the path and the files."
        ) from None
    name = "".join(c if c.isalnum() and c.isascii() else "-" for c in path.stem.lower()).strip("-")[:80]
    return "\n".join(
        [
            "# A draft. Lines marked REVIEW need your decision; `penstock plan` refuses the spec until they have it.",
            *comments,
            f"name: {quoted(name or 'release')}",
            "source:",
            f"  path: {quoted(str(path.resolve()))}",
            _unit_line(told.unit),
            "  columns:  # remove the columns that are not to be released",
            *lines,
            "validate:",
            "  min_rows: 1  # REVIEW: fewest records a complete file has",
            "protect:",
            "  - mechanism: probabilistic_k_anonymity",
            "    method: ir_swap  # REVIEW: mdav_id, mdav_swap or ir_swap",
            "    k: 0  # REVIEW: smallest group; the chance of a right guess is at most 1/k",
            "gates:  # REVIEW: the limits that this release must keep",
            "  - {measure: average_risk, max: 0}",
            "  - {measure: correlation_change, max: 0.02}",
            "approve: {reviewers: 0}",
            "publish:",
            "  path: published  # REVIEW: relative to this file",
            "  formats: [parquet, csv]",
            "",
        ]
    )


def _about(name: str, told: ToldRoles) -> Told:
    if name in told.columns:
        return told.columns[name]
    return Told(remarks=(f"not in the {told.origin}",)) if told.columns else Told()


def _comments(told: ToldRoles, names: list[str]) -> list[str]:
    """What the whole file tells; refuses a file about other data."""
    if not told.columns:
        return []
    absent = [name for name in told.columns if name not in names]
    if told.whole_file:
        RolesRefused.raise_for(
            Fault(
                "--roles", "every column that it names must be in the data", "Correct the name or the file.", repr(name)
            )
            for name in absent
        )
    if len(absent) == len(told.columns):
        raise RolesRefused.at("--roles", rule="must describe a column of the data", remedy="Check both files.")
    remarks = list(told.remarks)
    if absent:
        more = f" and {len(absent) - _MOST_NAMES} more" if len(absent) > _MOST_NAMES else ""
        remarks.append(f"not in the data: {', '.join(map(quoted, absent[:_MOST_NAMES]))}{more}")
    return [f"# Roles from the {told.origin}.", *(f"# {remark[0].upper()}{remark[1:]}." for remark in remarks)]


def _unit_line(unit: str | None) -> str:
    if unit is None:
        return "  unit: row"
    ways = "row, if each has one record; or choose a mechanism with rows_per_unit, as k-anonymity protects rows"
    return f"  unit: {quoted(unit)}  # REVIEW: {ways}"
