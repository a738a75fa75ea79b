"""A recomputed number beside a printed one: what counts as agreement, and what is known to be wrong in print.

    same              rounded to as many digits as were printed, or cut off to them where the source cuts off, the
                      number is what was printed
    corrected         the source is wrong, by a misprint or by its arithmetic: the number is what it should have printed
    close             chance or an unstated choice is in the printed number, and ours is within a stated distance
    not reproducible  nobody can recompute it from what was published, and the row says why
    differs           none of these

A number that hangs on chance is close if the source's mean of r runs is what r runs of ours could have given:

    |printed - m| <= z s sqrt(1/r + 1/R) + half a unit of the last digit,   R >= r                               (1)

m and s are mean and standard deviation of our R runs, and z = 4, so that one number in 15,000 is called different by
chance alone if the runs are nearly normal.

Printed numbers, their corrections and what we hold to be right are in reproduction/printed/*.json, each with its place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib.resources import files
from math import floor, log, sqrt
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Row",
    "Verdict",
    "as_printed",
    "beside",
    "by_line",
    "half_a_unit",
    "near",
    "number",
    "of_runs",
    "ours",
    "printed_tables",
    "statement",
    "unreproducible",
    "verdict",
]

Verdict = Literal["same", "corrected", "close", "not reproducible", "differs"]

# More digits than were printed, so that a reader sees how near a number is to the next one.
_FURTHER = 3
# More numbers of ours than this are counted, not listed.
_LISTED = 6
# z of (1).
_DEVIATIONS = 4.0


@dataclass(frozen=True, slots=True)
class Row:
    """One number.

    printed: None where nothing is in print. corrected: what should have been printed, None if the print is right.
    recomputed: None where it cannot be. interval: where the printed number may lie by chance, None where none is in it.
    note: why it is corrected or not reproducible, or how near is close.
    """

    name: str
    printed: str | None
    corrected: str | None
    recomputed: str | None
    verdict: Verdict
    note: str = ""
    interval: tuple[str, str] | None = None

    @property
    def holds(self) -> bool:
        """Return whether the number is as it should be, corrections being made."""
        return self.verdict in ("same", "corrected", "close")

    @property
    def agrees(self) -> bool | None:
        """Return whether the number is what was printed; None where nothing is in print."""
        return None if self.printed is None else self.verdict in ("same", "close")

    def as_dict(self) -> dict[str, Any]:
        """Return the row as it stands in the document of a table."""
        return {
            "name": self.name,
            "printed": self.printed,
            "corrected": self.corrected,
            "recomputed": self.recomputed,
            "interval": None if self.interval is None else list(self.interval),
            "verdict": self.verdict,
            "agrees": self.agrees,
            "holds": self.holds,
            "note": self.note,
        }


def printed_tables(name: str) -> dict[str, Any]:
    """Return one file of printed numbers."""
    text = (files("penstock.reproduction") / "printed" / f"{name}.json").read_text(encoding="utf-8")
    tables: dict[str, Any] = json.loads(text)
    return tables


def beside(
    name: str, value: float, printed: str, *, corrected: str | None = None, cut_off: bool = False, note: str = ""
) -> Row:
    """Return a row for a number that should be what was printed, or the correction of it."""
    found = as_printed(value, printed, cut_off=cut_off)
    if corrected is not None:
        notes = [f"must read {corrected}", note]
        held: Verdict = "corrected" if found == corrected else "differs"
    else:
        notes = ["" if found == as_printed(value, printed) else "cut off in print", note]
        held = "same" if found == printed else "differs"
    return Row(name, printed, corrected, _shown(value, printed), held, ", ".join(filter(None, notes)))


def near(name: str, value: float, printed: str, is_close: bool, note: str) -> Row:
    """Return a row for a number that cannot have the printed digits; the caller knows how far it may be from them."""
    return Row(name, printed, None, _shown(value, printed), "close" if is_close else "differs", note)


def of_runs(name: str, runs: ArrayLike, printed: str, *, source_runs: int, note: str = "") -> Row:
    """Return a row for the mean of at least as many runs as the source has, by (1)."""
    values = np.asarray(runs, dtype=float)
    if len(values) < max(source_runs, 2):
        raise ValueError("at least as many runs as the source, and two")
    middle, spread = float(values.mean()), float(values.std(ddof=1))
    reach = _DEVIATIONS * spread * sqrt(1 / source_runs + 1 / len(values)) + half_a_unit(printed)
    interval = (_shown(middle - reach, printed), _shown(middle + reach, printed))
    if as_printed(middle, printed) == printed:
        held: Verdict = "same"
    else:
        held = "close" if abs(float(printed) - middle) <= reach else "differs"
    text = ", ".join(filter(None, (f"{len(values)} runs, the source {source_runs}", note)))
    return Row(name, printed, None, _shown(middle, printed), held, text, interval)


def ours(name: str, value: float, right: str) -> Row:
    """Return a row for a number that is not in print."""
    held: Verdict = "corrected" if as_printed(value, right) == right else "differs"
    return Row(name, None, right, _shown(value, right), held, "ours, not in print")


def statement(name: str, printed: str, found: str, *, corrected: str | None = None, note: str = "") -> Row:
    """Return a row for what the source says in words, or by a number that has no digits to round to."""
    if corrected is None:
        return Row(name, printed, None, found, "same" if found == printed else "differs", note)
    text = ", ".join(filter(None, (f"must read {corrected}", note)))
    return Row(name, printed, corrected, found, "corrected" if found == corrected else "differs", text)


def unreproducible(name: str, printed: str, because: str) -> Row:
    """Return a row for a number that nobody can recompute from what was published."""
    return Row(name, printed, None, None, "not reproducible", f"not reproducible because {because}")


def by_line(
    printed: Mapping[str, Any], lines: Sequence[Mapping[str, Any]], key: str, figures: NDArray[np.float64]
) -> list[Row]:
    """Return one row for each line and column of a table."""
    return [
        beside(
            f"{key} {line[key]}, {column}",
            value,
            line["printed"][column],
            corrected=line.get("corrected", {}).get(column),
            cut_off=column in printed.get("cut_off", ()),
        )
        for line, values in zip(lines, figures.tolist(), strict=True)
        for column, value in zip(line["printed"], values, strict=True)
    ]


def number(written: str) -> float:
    """Return a number as sources write it."""
    return log(2) if written == "ln 2" else float(written)


def verdict(rows: Sequence[Row], criterion: str) -> str:
    """Sum up all rows in one line."""
    in_print = [row for row in rows if row.agrees is not None]
    agreeing = sum(row.agrees is True for row in in_print)
    parts = [f"{agreeing} of {len(in_print)} agree {criterion}"] if in_print else []
    not_in_print = [f"{row.corrected} {row.name}" for row in rows if row.agrees is None]
    if len(not_in_print) > _LISTED:
        not_in_print = [f"{len(not_in_print)} numbers that are not in print"]
    lost = [row.name for row in rows if row.verdict == "not reproducible"]
    if len(lost) > _LISTED:
        lost = [f"{len(lost)} numbers"]
    for title, listed in (
        ("wrong in print", [f"{row.printed} -> {row.corrected}" for row in in_print if row.corrected is not None]),
        ("ours, corrected", not_in_print),
        ("not reproducible", lost),
        ("DIFFERS", [f"{row.name}, recomputed {row.recomputed}" for row in rows if row.verdict == "differs"]),
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
