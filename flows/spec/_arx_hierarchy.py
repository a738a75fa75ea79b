"""A generalisation hierarchy as ARX writes it, as a taxonomy.

    value; generalisation; ...; top        one row per value, no header, separated by ";" or by ","

A label that occurs at several levels is one concept if it covers the same values at each of them; otherwise the file
is refused, as are a label with two generalisations and a value that is the label of others: labels are never renamed.
The top is one concept at whatever level a row reaches it. So the leaves are exactly the values. The separator is the
one that gives a hierarchy; if both do, the file is refused.
"""

from __future__ import annotations

import csv
import io
from itertools import groupby, pairwise
from typing import NoReturn

from penstock.mechanisms.refusal import SpecRefused

__all__ = ["parse_arx_hierarchy"]

_Rows = list[tuple[int, list[str]]]

_MOST_LEVELS = 1000  # people use about ten; a row of millions would be held several times


def parse_arx_hierarchy(text: str) -> dict[str, list[str]]:
    """Return {child: [parents]} in the order of the rows. Refusals name the line and never quote it."""
    found: list[dict[str, list[str]]] = []
    refusals: dict[str, SpecRefused] = {}
    for separator in ";,":
        try:
            found.append(_parents(_rows(text, separator)))
        except SpecRefused as refusal:
            refusals[separator] = refusal
    if len(found) > 1:
        _refuse("line 1: must separate the levels by either ; or ,", "Put labels with a ; or , into quotes.")
    if not found:
        raise refusals[";" if ";" in text or "," not in text else ","]
    return found[0]


def _rows(text: str, separator: str) -> _Rows:
    """Return the rows with their line numbers: all of one length, all with the same top, no value twice."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error:
        _refuse(f"line {reader.line_num}: must be values separated by {separator}", "Correct the quotes.")
    if not rows:
        _refuse("must have a row for each value", "Check the path.")
    _, first = rows[0]
    if len(first) > _MOST_LEVELS:
        _refuse(f"line 1: must have at most {_MOST_LEVELS:,} levels", "Remove those that add nothing.")
    values: set[str] = set()
    for line, row in rows:
        if not row or len(row) != len(first):
            _refuse(f"line {line}: must have as many levels as line 1", "Repeat a label where a level adds nothing.")
        if len(row) < 2:
            _refuse(
                f"line {line}: must have a value and at least one level above it", "End every row with the same top."
            )
        if row[-1] != first[-1]:
            _refuse(f"line {line}: must end with the one top of all values", "End every row with it.")
        if row[0] in values:
            _refuse(f"line {line}: must not repeat a value", "Remove the repetition.")
        values.add(row[0])
    return rows


def _parents(rows: _Rows) -> dict[str, list[str]]:
    values = {row[0] for _, row in rows}
    top = rows[0][1][-1]
    above: dict[str, list[str]] = {}
    for line, row in rows:
        for child, parent in pairwise(label for label, _ in groupby(row)):
            if parent in values:
                _refuse(f"line {line}: must not use a value as the label of others", "Rename the label.")
            if child == top or above.setdefault(child, [parent]) != [parent]:
                _refuse(f"line {line}: must give every label one generalisation", "Rename one of the labels.")
    _require_one_meaning(rows, top)
    return {**above, top: []}


def _require_one_meaning(rows: _Rows, top: str) -> None:
    """Refuse a label unless the rows under it are the same at each of its levels, which are then one concept.

    Each label of a row is looked up once: in a row without fault the levels of all its labels are those of the row.
    """
    levels: dict[str, set[int]] = {}
    for _, row in rows:
        for level, label in enumerate(row):
            levels.setdefault(label, set()).add(level)
    del levels[top]
    for line, row in rows:
        if any(row[level] != label for label in set(row) for level in levels.get(label, ())):
            rule = f"line {line}: must use a label for the same values at each of its levels"
            _refuse(rule, "Give the narrower one a name of its own.")


def _refuse(rule: str, remedy: str) -> NoReturn:
    raise SpecRefused.at("taxonomy", rule=rule, remedy=remedy) from None
