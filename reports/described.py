"""What the descriptions of a release are made from: public facts, and nothing else.

A description is read by catalogues and archives far from the bundle, so it has a small set of facts of its own: no
measured value, no fact that a mechanism chose from the data, and nothing about the source can get into it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from penstock.mechanisms.guarantee import Guarantee
from penstock.reports.period import Period, period_of

__all__ = ["Described", "OutputWords", "Promises", "Sheet"]

Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sheet:
    """Files that hold the same columns, each in its own format. key: what links it to the records, if anything does."""

    stem: str
    columns: Sequence[Facts]
    key: str | None
    files: Sequence[Facts]


@dataclass(frozen=True, slots=True)
class OutputWords:
    """The words for a kind of output. rows: what its rows are. stem: its files without their suffixes.

    product: what a registry of deployments calls it. sheets: where its files have other columns, those of each stem.
    """

    rows: str
    stem: str
    product: str
    sheets: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Promises:
    """What is promised of a file that several outputs share: each promise under the name of its output, and what
    somebody can do who combines their columns."""

    statement: str
    assumptions: tuple[str, ...]
    not_promised: tuple[str, ...]

    @classmethod
    def of(cls, guarantees: Mapping[str, Guarantee], together: Sequence[str]) -> Self:
        def listed(kind: str) -> tuple[str, ...]:
            return tuple(f"{name}: {each}" for name, own in guarantees.items() for each in getattr(own, kind))

        own = [f"{name}: {guarantee.statement}" for name, guarantee in guarantees.items()]
        return cls(" ".join([*own, *together]), listed("assumptions"), listed("not_promised"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """One release, or one file of it.

    reviewed: whether somebody has to approve it, so that the day of its publication is not known yet.
    rows: those of the released file; output: what they are called. words: what the spec says for readers: title,
    publisher, license, keywords, language.
    columns: [name, role, type, domain, categories, treatment]; linked: tables beside the records [name, key, columns];
    usage: sentences; gates: [gate, rule, verdict]; files: [name, stem, bytes, sha256, media_type] of the data, with a
    stem only for those that hold the columns of a sheet.
    edition: the public name of this state of data that change. folder: what the names of its files begin with. bundle:
    the way from its descriptions to the bundle.
    """

    name: str
    release: str
    created: datetime
    reviewed: bool
    software: str
    mechanism: str
    guarantee: Guarantee | Promises
    rows: int
    output: OutputWords
    columns: Sequence[Facts]
    linked: Sequence[Facts]
    usage: Sequence[str]
    gates: Sequence[Facts]
    files: Sequence[Facts]
    words: Facts
    edition: str | None = None
    folder: str = ""
    bundle: str = "../"

    @property
    def title(self) -> str:
        return str(self.words.get("title", self.name))

    @property
    def identifier(self) -> str:
        return f"{self.name}/{self.release}"

    @property
    def period(self) -> Period | None:
        """Return the period that it is about, if its edition is one."""
        return period_of(self.edition)

    @property
    def abstract(self) -> str:
        return f"{self.rows:,} {self.output.rows}. {self.guarantee.statement}"

    @property
    def sheets(self) -> tuple[Sheet, ...]:
        """Return the released file, then the tables beside it."""
        beside = ((f"{self.folder}tables/{table['name']}", table["columns"], table["key"]) for table in self.linked)
        return tuple(
            Sheet(name, columns, key, [file for file in self.files if file["stem"] == name])
            for name, columns, key in (*self._own, *beside)
        )

    @property
    def _own(self) -> list[tuple[str, Sequence[Facts], str | None]]:
        if not self.output.sheets:
            return [(self.output.stem, self.columns, None)]
        return [
            (stem, [column for column in self.columns if column["name"] in names], None)
            for stem, names in self.output.sheets.items()
        ]

    @property
    def other_files(self) -> tuple[Facts, ...]:
        """Return the data files in a form of their own, which describes itself."""
        return tuple(file for file in self.files if file["stem"] is None)
