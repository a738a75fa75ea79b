"""A first draft of a spec from a Parquet file. It decides nothing that concerns privacy.

Roles are guesses, or come from a file of another tool; they are marked REVIEW. Bounds that nobody declared, k, and a
unit with several records are left so that the draft is refused until a person has decided.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from penstock.mechanisms.columns import MOST_COLUMNS
from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.files.outside_values import OutsideWrong, require_values
from penstock.records.files.outside_yaml import from_yaml
from penstock.tasks.draft._columns import column_line, comment, quoted
from penstock.tasks.draft._values import folded
from penstock.tasks.files.memory_needed import require_room_to_look
from penstock.tasks.files.source_files import SourceUnreadable, source_files
from penstock.tasks.importers.imported_column import ImportedColumn, ImportedRoles, RolesRefused

__all__ = ["NamesRefused", "draft_spec"]


class NamesRefused(Refusal):
    """The names of the columns cannot be written in a spec."""

    code = "names-refused"
    kind = "data"
    remedy = "Rename the columns or categories."


# Beside the spec, so that no editor asks another host for it.
SCHEMA = "penstock.schema.json"
# What needs another form than the file has it is made while it is read. The names are examples, none is of the data.
_HINTS = (
    "  # Optional, each as you need it (docs/concepts.md):",
    "  # edition: 2026-11  # of data that change under one name: which state of them this is, if it is one",
    "  # where: region is North or South and age from 18  # only these records; under dp with add_remove",
    "  # Columns made of others, as columns of their own:",
    "  #   age_band: {role: quasi_identifier, type: ordinal, recode: {of: age, bands: [0, 18, 65, 120]}}",
    "  #   land: {role: quasi_identifier, type: nominal, recode: {of: region, groups: {up: [North], down: [South]}}}",
)
_UNTOLD = ImportedRoles(origin="", columns={}, whole_file=False)
_MOST_NAMES = 10


def draft_spec(path: Path, roles: ImportedRoles | None = None) -> str:
    """Return the draft as YAML text. roles: what another tool's file says about the columns."""
    imported = roles or _UNTOLD
    source_files(str(path))  # refuses what is not a data file; opening a pipe would wait for it
    try:
        partitioning = "hive" if path.is_dir() else None
        dataset = ds.dataset(str(path), format="parquet", partitioning=partitioning)
        names = _names(dataset)
        comments = _comments(imported, names)
        require_room_to_look(dataset)
        looked_at = folded(str(path), dataset, partitioning)
        lines = [column_line(looked_at, field, _about(field.name, imported)) for field in dataset.schema]
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise SourceUnreadable.at(
            "DATA", rule="must be readable, complete Parquet", got=str(path), remedy="Check the path and the files."
        ) from None
    draft = _draft(path, imported, comments, lines)
    _require_the_same(draft, [name for name, line in zip(names, lines, strict=True) if not line.startswith("    #")])
    return draft


def _names(dataset: ds.Dataset) -> list[str]:
    """Return the names of the columns; refuse those that a spec cannot hold."""
    if len(dataset.schema) > MOST_COLUMNS:
        rule, remedy = (
            f"must have at most {MOST_COLUMNS:,} columns",
            "Choose those that may be released, and write them apart.",
        )
        raise SourceUnreadable.at("DATA", rule=rule, remedy=remedy)
    names = list(dataset.schema.names)
    require_values("DATA", names, NamesRefused)
    if len(set(names)) < len(names):
        raise NamesRefused.at("DATA", rule="must not have a column twice", remedy="Remove or rename one of them.")
    return names


def _require_the_same(draft: str, expected: list[str]) -> None:
    """Read the draft again, and refuse it unless it says what was put into it, whatever names and categories are."""
    try:
        said = list(from_yaml(draft)["source"]["columns"] or ())
    except OutsideWrong:
        said = None
    if said != expected:
        rule = "must have names and categories that a spec can hold, without control characters"
        raise NamesRefused.at("DATA", rule=rule, remedy="Rename them.")


def _draft(path: Path, imported: ImportedRoles, comments: list[str], lines: list[str]) -> str:
    name = "".join(c if c.isalnum() and c.isascii() else "-" for c in path.stem.lower()).strip("-")[:80]
    return "\n".join(
        [
            f"# yaml-language-server: $schema={SCHEMA}",
            f"# Editors check this file by its schema, which `penstock schema -o {SCHEMA}` writes beside it.",
            "# A draft. Lines marked REVIEW need your decision; `penstock plan` refuses the spec until they have it.",
            *comments,
            f"name: {quoted(name or 'release')}",
            "source:",
            f"  path: {quoted(os.path.realpath(path))}",
            _unit_line(imported.unit, [line for line in lines if "{role: identifier}" in line]),
            *_HINTS,
            "  columns:  # remove the columns that are not to be released",
            *lines,
            "validate:",
            "  min_rows: 1  # REVIEW: fewest records a complete file has",
            f"budget: {{dataset: {quoted(name or 'release')}}}  # one name for all releases about the same people",
            "protect:  # one entry for each output; in place of this one, tables (docs/survey.md), such as",
            '  # - {mechanism: table, table: by_region, dimensions: [region], model: dp, epsilon: "1/10", '
            "adjacency: add_remove}",
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


def _about(name: str, imported: ImportedRoles) -> ImportedColumn:
    if name in imported.columns:
        return imported.columns[name]
    return ImportedColumn(remarks=(f"not in the {imported.origin}",)) if imported.columns else ImportedColumn()


def _comments(imported: ImportedRoles, names: list[str]) -> list[str]:
    """Return what the whole file says, as comments; refuse a file about other data."""
    if not imported.columns:
        return []
    absent = [name for name in imported.columns if name not in names]
    if imported.whole_file:
        RolesRefused.raise_for(
            Fault("--roles", "must name columns of the data only", "Correct the name or the file.", repr(name))
            for name in absent
        )
    if len(absent) == len(imported.columns):
        raise RolesRefused.at("--roles", rule="must describe a column of the data", remedy="Check both files.")
    remarks = list(imported.remarks)
    if absent:
        more = f" and {len(absent) - _MOST_NAMES} more" if len(absent) > _MOST_NAMES else ""
        remarks.append(f"not in the data: {', '.join(map(quoted, absent[:_MOST_NAMES]))}{more}")
    said = (f"Roles from the {imported.origin}.", *(f"{remark[0].upper()}{remark[1:]}." for remark in remarks))
    return [comment(each) for each in said]


def _unit_line(unit: str | None, identifiers: list[str]) -> str:
    if unit is None and identifiers:
        names = ", ".join(line.strip().partition(": {")[0] for line in identifiers[:_MOST_NAMES])
        told = f"REVIEW: row, if nobody has two; else the identifier that tells whose each is ({names})"
        return f"  unit: row  {comment(told)}"
    if unit is None:
        return "  unit: row"
    ways = "row, if each has one record; or choose a mechanism with rows_per_unit, as k-anonymity protects rows"
    return f"  unit: {quoted(unit)}  # REVIEW: {ways}"
