"""A recomputed number beside a printed one: what counts as agreement, and what is known to be misprinted.

    to the printed digits   the number, rounded to as many digits as were printed, is what was printed
    cut off                 the same, but the source drops further digits instead of rounding
    wrong in print          the number is what should have been printed, by a misprint or by the source's arithmetic
    ours                    not in print: what is right where the source is not

Printed numbers, their corrections and what we hold to be right are in reproduction/printed/*.json, each with its place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib.resources import files
from math import floor
from numbers import Integral
from typing import Any

__all__ = ["Row", "as_printed", "beside", "half_a_unit", "near", "ours", "printed_tables", "verdict"]

# More digits than were printed, so that a reader sees how near a number is to the next one.
_FURTHER = 3


@dataclass(frozen=True, slots=True)
class Row:
    """One number.

    printed: None where nothing is in print. corrected: what should have been printed, None if the print is right.
    agrees: with the print, None where nothing is in print. holds: as it should be, corrections being made.
    """

    name: str
    printed: str | None
    corrected: str | None
    recomputed: str
    agrees: bool | None
    holds: bool
    note: str


def printed_tables(name: str) -> dict[str, Any]:
    """Return one file of printed numbers."""
    text = (files("penstock.reproduction") / "printed" / f"{name}.json").read_text(encoding="utf-8")
    tables: dict[str, Any] = json.loads(text)
    return tables


def beside(name: str, value: float, printed: str, *, corrected: str | None = None, cut_off: bool = False) -> Row:
    """Return a row for a number that should be what was printed, or the correction of it."""
    found = as_printed(value, printed, cut_off=cut_off)
    if corrected is not None:
        note = f"wrong in print, must read {corrected}"
    else:
        note = "cut off in print" if found != as_printed(value, printed) else ""
    right = printed if corrected is None else corrected
    return Row(name, printed, corrected, _shown(value, printed), found == printed, found == right, note)


def near(name: str, value: float, printed: str, agrees: bool, note: str) -> Row:
    """Return a row for a number that cannot have the printed digits, as chance is in them; the caller knows how far."""
    return Row(name, printed, None, _shown(value, printed), agrees, agrees, note)


def ours(name: str, value: float, right: str) -> Row:
    """Return a row for a number that is not in print."""
    return Row(name, None, right, _shown(value, right), None, as_printed(value, right) == right, "ours, corrected")


def verdict(rows: Sequence[Row], criterion: str) -> str:
    """Sum up all rows in one line."""
    in_print = [row for row in rows if row.agrees is not None]
    agreeing = sum(row.agrees is True for row in in_print)
    parts = [f"{agreeing} of {len(in_print)} agree {criterion}"] if in_print else []
    for title, listed in (
        ("wrong in print", [f"{row.printed} -> {row.corrected}" for row in in_print if row.corrected is not None]),
        ("ours, corrected", [f"{row.corrected} {row.name}" for row in rows if row.agrees is None]),
        ("DIFFERS", [f"{row.name}, recomputed {row.recomputed}" for row in rows if not row.holds]),
    ):
        if listed:
            parts.append(f"{title}: {', '.join(listed)}")
    return "; ".join(parts)


def as_printed(value: float, like: str, *, cut_off: bool = False, further: int = 0) -> str:
    """Return a number with as many digits as a printed one has, or some more."""
    mantissa, exponent, _ = like.partition("E")
    decimals = len(mantissa.partition(".")[2]) + further
    if cut_off:
        value = floor(value * 10**decimals) / 10**decimals
    return f"{value:.{decimals}{exponent or 'f'}}"


def half_a_unit(printed: str) -> float:
    """Return half a unit of the last printed digit."""
    return 0.5 * 10.0 ** int(Decimal(printed).as_tuple().exponent)


def _shown(value: float, like: str) -> str:
    return as_printed(value, like, further=0 if isinstance(value, Integral) else _FURTHER)
