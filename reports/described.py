"""What the descriptions of a release are made from: public facts, and nothing else.

A description is read by catalogues and archives far from the bundle, so it has a small set of facts of its own: no
measured value, no fact that a mechanism settled from the data, nothing about the source has a way into it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.layout import Layout

__all__ = ["Described", "Sheet"]

Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sheet:
    """Files that hold the same columns, each in its own format. key: what links it to the records, if anything does."""

    stem: str
    columns: Sequence[Facts]
    key: str | None
    files: Sequence[Facts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """One release.

    reviewed: whether somebody has to approve it, so that the day of its publication is not known yet.
    rows: of the released file, which are records or, with a layout, cells. words: what the spec says for readers:
    title, publisher, license, keywords, language.
    columns: [name, role, type, domain, categories, treatment]; linked: tables beside the records [name, key, columns];
    usage: sentences; gates: [gate, rule, verdict]; files: [name, bytes, sha256] of the data.
    """

    name: str
    release: str
    created: datetime
    reviewed: bool
    software: str
    mechanism: str
    guarantee: Guarantee
    rows: int
    layout: Layout | None
    columns: Sequence[Facts]
    linked: Sequence[Facts]
    usage: Sequence[str]
    gates: Sequence[Facts]
    files: Sequence[Facts]
    words: Facts

    @property
    def title(self) -> str:
        return str(self.words.get("title", self.name))

    @property
    def identifier(self) -> str:
        return f"{self.name}/{self.release}"

    @property
    def kind(self) -> str:
        """What a row is."""
        return "protected records" if self.layout is None else "cells and totals of a protected table"

    @property
    def abstract(self) -> str:
        return f"{self.rows:,} {self.kind}. {self.guarantee.statement}"

    @property
    def sheets(self) -> tuple[Sheet, ...]:
        """The released file, then the tables beside it."""
        stem = "data" if self.layout is None else f"tables/{self.layout.name}"
        beside = ((f"tables/{table['name']}", table["columns"], table["key"]) for table in self.linked)
        return tuple(
            Sheet(name, columns, key, [file for file in self.files if _is_sheet(file["name"], name)])
            for name, columns, key in ((stem, self.columns, None), *beside)
        )

    @property
    def other_files(self) -> tuple[Facts, ...]:
        """Data in a form of their own, which describes itself."""
        in_sheets = {file["name"] for sheet in self.sheets for file in sheet.files}
        return tuple(file for file in self.files if file["name"] not in in_sheets)


def _is_sheet(name: str, stem: str) -> bool:
    return name in (f"{stem}.parquet", f"{stem}.csv")
