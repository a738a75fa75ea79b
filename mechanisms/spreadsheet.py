"""Texts that a spreadsheet would take for formulas when it opens a CSV file.

A cell is one if it begins with = + - or @, also as wide characters, or with what a spreadsheet passes over before it
looks. A text that is a number is read as that number and runs nothing. An escaped text begins with an apostrophe, and
so does every text that began with one, so that taking away the first apostrophe gives all of them back.
"""

from __future__ import annotations

import re

__all__ = ["begins_like_a_formula", "escaped", "plain"]

_APOSTROPHE = "'"
_SIGNS = "=+\\-@＝＋－＠\t\r\n"
_FORMULA = re.compile(f"[{_SIGNS}]")
_NUMBER = re.compile(r"[-+]?([0-9]+([.,][0-9]+)*)?")


def begins_like_a_formula(text: str) -> bool:
    """Return whether a spreadsheet might run the text."""
    return bool(_FORMULA.match(text)) and not _NUMBER.fullmatch(text)


def escaped(text: str) -> str:
    """Return the text as it is written into a cell."""
    return _APOSTROPHE + text if text.startswith(_APOSTROPHE) or begins_like_a_formula(text) else text


def plain(cell: str) -> str:
    """Return the text that was written into a cell."""
    return cell.removeprefix(_APOSTROPHE)
