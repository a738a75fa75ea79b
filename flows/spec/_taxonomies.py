"""Taxonomies in files: as JSON, or as hierarchies that other tools write.

    .json   {"child": ["parent", ...], ...}; the root has []
    .csv    ARX: value; generalisation; ...; top
    .hrc    τ-ARGUS: one category per line, its level given by leading @

Refusals name the line and never quote it: the wrong file may be a confidential one. The column checks
whether the result is a taxonomy.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from penstock.flows.spec._argus_hierarchy import parse_argus_hierarchy
from penstock.flows.spec._arx_hierarchy import parse_arx_hierarchy
from penstock.mechanisms.refusal import SpecRefused
from penstock.records.files.outside_text import OutsideFile

__all__ = ["read_taxonomy"]


def read_taxonomy(path: Path) -> dict[str, list[str]]:
    """Return {child: [parents]} in the order of the file."""
    file = OutsideFile(path, "taxonomy", SpecRefused, got=repr(str(path)))
    parsers = {".csv": parse_arx_hierarchy, ".hrc": parse_argus_hierarchy}
    try:
        if path.suffix.lower() == ".json":
            return _of_lists(file.json())
        if path.suffix.lower() not in parsers:
            _refuse("must be a .json, .csv or .hrc file", "Convert it.")
        return parsers[path.suffix.lower()](file.text())
    except SpecRefused as refusal:
        raise SpecRefused(*(replace(fault, got=file.got) for fault in refusal.faults)) from None


def _of_lists(read: object) -> dict[str, list[str]]:
    if not isinstance(read, dict) or not all(_is_list_of_text(parents) for parents in read.values()):
        _refuse("must be an object of lists of text", 'Write {"child": ["parent"]}; the root has [].')
    return read


def _is_list_of_text(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _refuse(rule: str, remedy: str) -> NoReturn:
    raise SpecRefused.at("taxonomy", rule=rule, remedy=remedy) from None
