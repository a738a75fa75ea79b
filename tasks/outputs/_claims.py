"""What the manifest of every kind of output states about its files, and what each kind adds to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.models import MODELS
from penstock.mechanisms.refusal import Fault

__all__ = ["Beside", "Claims", "ColumnClaim", "InFile", "Seen"]

# What was looked at, whether it could be checked, and what was found.
Seen = tuple[str, bool, str]


class ColumnClaim(BaseModel):
    model_config = ConfigDict(strict=True)

    name: str
    role: str


@dataclass(frozen=True, slots=True)
class InFile:
    """The file that an output shares with others: its columns in their order, and the promises of all."""

    columns: tuple[str, ...]
    guarantees: Mapping[str, Guarantee]


@dataclass(frozen=True, slots=True)
class Beside:
    """The tables beside the records. ratio: the largest factor between a group and the whole, where it was
    countable."""

    faults: tuple[Fault, ...] = ()
    ratio: Fraction | None = None


class Claims(BaseModel, ABC):
    """The statements of the release part about files that can be looked at. Each kind of output adds the rest."""

    penstock: Literal[1]
    guarantee: Guarantee
    records: Annotated[int, Field(strict=True, ge=0)]
    columns: list[ColumnClaim]
    spreadsheet: Literal["escape"] | None = None
    bytes: dict[str, int]
    reviewers: Annotated[int, Field(strict=True, ge=0)]
    folder: Annotated[str, Field(pattern=r"^([a-z][a-z0-9_]{0,49})?$")] = ""
    _in_file: InFile | None = PrivateAttr(default=None)

    def put_into(self, file: InFile) -> None:
        """Note that its columns stand in a file that it shares."""
        self._in_file = file

    @property
    def file_columns(self) -> tuple[str, ...]:
        """Return the columns of its file, which may be those of others too."""
        return tuple(self.roles) if self._in_file is None else self._in_file.columns

    @property
    def carried(self) -> Guarantee | Mapping[str, Guarantee]:
        """Return what its file must carry: its promise, or those of all outputs in it by their names."""
        return self.guarantee if self._in_file is None else self._in_file.guarantees

    @property
    def roles(self) -> dict[str, str]:
        return {column.name: column.role for column in self.columns}

    @property
    def escape(self) -> bool:
        return self.spreadsheet is not None

    @property
    def k(self) -> int:
        """Return k where k-anonymity is promised, else 0."""
        return int(self.guarantee.parameters["k"]) if self.guarantee.model == "k_anon" else 0

    @property
    def stem(self) -> str:
        """Return the name of the data without their suffix."""
        return f"{self.folder}/data".lstrip("/")

    @property
    @abstractmethod
    def is_sound(self) -> bool:
        """Return whether the manifest states all that an output of this kind must, and nothing of another."""

    @abstractmethod
    def broken(self, table: pa.Table) -> Iterator[str]:
        """Yield what contradicts the promise in one file, whose columns are as listed; in CSV everything is text."""

    @property
    def parts(self) -> tuple[Claims, ...]:
        """Return what is claimed of each table that has files of its own: of the data alone, unless there are
        several."""
        return (self,)

    @property
    def stems(self) -> tuple[str, ...]:
        """Return the names of all its tables in the bundle, without their suffixes."""
        return tuple(part.stem for part in self.parts)

    def disagreeing(self, tables: Mapping[str, Mapping[str, pa.Table]]) -> Iterator[str]:
        """Yield the rules that several tables break beside each other; tables: by stem and suffix, each sound by
        itself."""
        yield from ()

    @property
    def within(self) -> str:
        """Return what the names of its files begin with."""
        return f"{self.folder}/" if self.folder else ""

    def beside(self, folder: Path, names: Collection[str], tables: Mapping[str, pa.Table]) -> Beside:
        """Return what the tables beside the data show; names: all files. tables: the data by suffix."""
        return Beside()

    @property
    def counted(self) -> str:
        """Return what every file has, for a bundle without fault."""
        return f"Every file has {self.records:,} records, the listed columns and the stated promise."

    def seen(self, beside: Beside) -> Iterator[Seen]:
        """Yield what was checked of the promise, and what cannot be, for a bundle without fault."""
        unseen = MODELS[self.guarantee.model].unseen
        if unseen is not None:
            yield unseen[0], False, unseen[1]
