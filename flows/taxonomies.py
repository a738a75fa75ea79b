"""Taxonomies in files: as JSON, or as a generalisation hierarchy in CSV.

    .json   {"child": ["parent", ...], ...}; the root has []
    .csv    one row a value, separated by ";", no header: value; generalisation; ...; top

The CSV is what ARX writes. Levels that repeat the label of the level below are one concept. A label has one
generalisation, and a value is no label of others, so that the leaves are exactly the values.

Refusals name the line and never quote it: the wrong file may be a confidential one. Whether the result is a
taxonomy is for the column to say.
"""

from __future__ import annotations

import csv
import io
import json
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NoReturn

from mechanisms.refusal import SpecRefused

__all__ = ["read_taxonomy"]


def read_taxonomy(path: Path) -> dict[str, list[str]]:
    """{child: [parents]} in the order of the file."""
    readers = {".json": _from_json, ".csv": _from_csv}
    if path.suffix not in readers:
        _refuse(path, "must be a .json or .csv file", "Convert it.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        _refuse(path, f"must be a readable text file ({type(error).__name__})", "Check the path.")
    return readers[path.suffix](path, text)


def _from_json(path: Path, text: str) -> dict[str, list[str]]:
    def without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            _refuse(path, "no key twice", "Give each concept one list with all its parents.")
        return dict(pairs)

    try:
        read = json.loads(text, object_pairs_hook=without_repetition)
    except json.JSONDecodeError as error:
        _refuse(path, f"line {error.lineno}: must be valid JSON", "Correct the syntax.")
    if not isinstance(read, dict) or not all(_is_list_of_text(parents) for parents in read.values()):
        _refuse(path, "must be an object of lists of text", 'Write {"child": ["parent"]}; the root has [].')
    return read


def _is_list_of_text(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _from_csv(path: Path, text: str) -> dict[str, list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=";", strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error:
        _refuse(path, f"line {reader.line_num}: must be values separated by ;", "Correct the quotes.")
    if not rows:
        _refuse(path, "must have a row for each value", "Check the path.")
    _, first = rows[0]
    values: set[str] = set()
    for line, row in rows:
        if not row or len(row) != len(first):
            _refuse(path, f"line {line}: as many levels as line 1", "Repeat a label where a level adds nothing.")
        if row[-1] != first[-1]:
            _refuse(path, f"line {line}: the last level must be the one top of all values", "End every row with it.")
        if row[0] in values:
            _refuse(path, f"line {line}: no value twice", "Remove the repetition.")
        values.add(row[0])
    above: dict[str, list[str]] = {}
    for line, row in rows:
        for child, parent in pairwise(label for label, _ in groupby(row)):
            if parent in values:
                _refuse(path, f"line {line}: a value cannot be the label of others", "Rename the label.")
            if child == first[-1] or above.setdefault(child, [parent]) != [parent]:
                _refuse(path, f"line {line}: one label, one generalisation", "Rename one of the labels.")
    return {**above, first[-1]: []}


def _refuse(path: Path, rule: str, remedy: str) -> NoReturn:
    raise SpecRefused.at("taxonomy", rule=rule, got=str(path), remedy=remedy) from None
