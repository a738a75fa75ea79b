"""What a source's table is to `penstock reproduce`: where it stands, what it needs, and what recomputes it.

A module for each source, or chapter of one, holds its entries in `TABLES`; penstock.reproduction.tables lists them all.
Simulations draw from seeds of their own, as many runs as the source has or more, so every run gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.reproduction.beside_print import Row

__all__ = ["DataSet", "Figure", "Given", "Printed", "Table"]

Printed = Mapping[str, Any]
"""One table of reproduction/printed."""


def _unseen(share: float) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a table is recomputed from, besides what is printed.

    data: what its data set was read as, None if it needs none. progress: to be called with the share of the work
    that is done, from 0 to 1, where it takes more than a few seconds.
    """

    data: Any = None
    progress: Callable[[float], None] = _unseen


@dataclass(frozen=True, slots=True)
class DataSet:
    """Public files that a table needs. read: called with the folder that holds them."""

    files: tuple[str, ...]
    read: Callable[[Path], Any]

    @property
    def name(self) -> str:
        """Return the names of the files."""
        return ", ".join(self.files)

    def is_in(self, folder: Path | None) -> bool:
        """Return whether a folder holds every file."""
        return folder is not None and all((folder / name).exists() for name in self.files)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that can be drawn again: its numbers, and how.

    alternative: what a reader who does not see it should know. columns, numbers: a table of what is drawn.
    draw: called with a figure of matplotlib, which only this function knows.
    """

    title: str
    alternative: str
    columns: Sequence[str]
    numbers: Sequence[Sequence[float | str]]
    draw: Callable[[Any], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table, figure or example of a source.

    file, key: its place in reproduction/printed, key None if it is the whole file. rows: recomputes it. needs: its data
    set. runs: how often chance is drawn, 0 if there is none in it. criterion: what agreement means here.
    figures: recomputes its figures, called only where a page is asked for. unavailable: why nobody can recompute it,
    where what it was made from was never published; rows is then None.
    """

    name: str
    file: str
    key: str | None
    rows: Callable[[Printed, Given], list[Row]] | None
    needs: DataSet | None = None
    runs: int = 0
    criterion: str = "to the printed digits"
    figures: Callable[[Printed, Given], list[Figure]] | None = None
    unavailable: str = ""
