"""What an output format is to the release line, and the released rows that it is given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.layout import Layout
from penstock.mechanisms.mechanism import Kind

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["EVERY_KIND", "Format", "Rows", "TableRows"]

EVERY_KIND: tuple[Kind, ...] = ("records", "cells", "groups")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Released rows to be written.

    data: the staged Parquet file. escape: whether texts that a spreadsheet would run are escaped.
    """

    data: Path
    guarantee: Guarantee
    prepared: datetime
    escape: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRows(Rows):
    """The rows of a table. period: what all of it is about, if its edition is a period."""

    layout: Layout
    period: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format. Its functions load their libraries when they are called: a spec needs only its name.

    media_types: of each file that it writes, by what follows the stem. kinds: the outputs that it is for.
    write: rows of these kinds as files; the path is without a suffix.
    read: a file with these columns as a table, its texts as they were before they were escaped, if they were; None
    where `penstock verify` does not read it, so that another format must be beside it.
    carries_promise: whether the guarantee is in the file. runs_formulas: whether spreadsheets open it.
    """

    name: str
    media_types: Mapping[str, str]
    kinds: tuple[Kind, ...]
    write: Callable[[Any, Path], None]
    read: Callable[[Path, Collection[str], bool], pa.Table] | None
    carries_promise: bool = False
    runs_formulas: bool = False

    @property
    def suffix(self) -> str:
        """Return the suffix of the data file."""
        return next(iter(self.media_types))
