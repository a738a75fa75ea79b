"""Taxonomies in files: as JSON, or as hierarchies that other tools write.

    .json   {"child": ["parent", ...], ...}; the root has []
    .csv    ARX: value; generalisation; ...; top
    .hrc    τ-ARGUS: one category a line, its level told by leading @

Refusals name the line and never quote it: the wrong file may be a confidential one. Whether the result is a
taxonomy is for the column to say.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from flows.argus_hierarchy import parse_argus_hierarchy
from flows.arx_hierarchy import parse_arx_hierarchy
from mechanisms.refusal import SpecRefused

__all__ = ["read_taxonomy"]


def read_taxonomy(path: Path) -> dict[str, list[str]]:
    """{child: [parents]} in the order of the file."""
    parsers = {".json": _from_json, ".csv": parse_arx_hierarchy, ".hrc": parse_argus_hierarchy}
    try:
        if path.suffix.lower() not in parsers:
            _refuse("must be a .json, .csv or .hrc file", "Convert it.")
        text = path.read_text(encoding="utf-8-sig")
        return parsers[path.suffix.lower()](text)
    except (OSError, UnicodeDecodeError) as error:
        rule = f"must be a readable text file ({type(error).__name__})"
        raise SpecRefused.at("taxonomy", rule=rule, got=str(path), remedy="Check the path; save it as UTF-8.") from None
    except SpecRefused as refusal:
        raise SpecRefused(*(replace(fault, got=repr(str(path))) for fault in refusal.faults)) from None


def _from_json(text: str) -> dict[str, list[str]]:
    def without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            _refuse("no key twice", "Give each concept one list with all its parents.")
        return dict(pairs)

    try:
        read = json.loads(text, object_pairs_hook=without_repetition)
    except json.JSONDecodeError as error:
        _refuse(f"line {error.lineno}: must be valid JSON", "Correct the syntax.")
    if not isinstance(read, dict) or not all(_is_list_of_text(parents) for parents in read.values()):
        _refuse("must be an object of lists of text", 'Write {"child": ["parent"]}; the root has [].')
    return read


def _is_list_of_text(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _refuse(rule: str, remedy: str) -> NoReturn:
    raise SpecRefused.at("taxonomy", rule=rule, remedy=remedy) from None
