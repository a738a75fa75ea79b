"""`penstock reproduce`: which printed tables can be recomputed, and how they compare. Reproduction, no guarantee.

What was printed is in reproduction/printed, what recomputes it in a module for each source or chapter, and what counts
as agreement in penstock.reproduction.beside_print. Nothing here is a release: the data sets are public ones.

A document holds if every number that was asked for is the same, corrected or close, and there is one. A number that
differs or is not reproducible, and a table whose data set is not there, keep it from that. A table that nobody could
recompute, because what it was made from was never published, is listed with the reason and counts neither way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from penstock.mechanisms.refusal import SpecRefused
from penstock.reproduction import (
    bootstrap,
    individual,
    refinement,
    thesis_3,
    thesis_4,
    thesis_6,
    thesis_6_adult,
    thesis_7,
)
from penstock.reproduction.beside_print import Verdict, printed_tables, verdict
from penstock.reproduction.entry import DataSet, Figure, Given, Table
from penstock.reproduction.errata import corrected

__all__ = [
    "LABEL",
    "NAMES",
    "TABLES",
    "counted",
    "reproduce",
    "reproduce_errata",
    "reproduce_for_a_page",
    "reproduce_one",
]

LABEL = "reproduction, no guarantee"

# Every source and chapter, in the order in which its tables are listed.
SOURCES: tuple[tuple[Table, ...], ...] = (
    thesis_3.TABLES,
    thesis_4.TABLES,
    refinement.TABLES,
    thesis_6.TABLES,
    thesis_6_adult.TABLES,
    thesis_7.TABLES,
    individual.TABLES,
    bootstrap.TABLES,
)
TABLES: dict[str, Table] = {table.name: table for tables in SOURCES for table in tables}
NAMES = tuple(TABLES)

# In the order of how far a number is from the print.
_VERDICTS = get_args(Verdict)

# Called with the name of a table and the share of the whole work that is done when it begins or goes on.
Watch = Callable[[str, float], None]


def _unwatched(name: str, share: float) -> None:
    """Show nothing."""


def reproduce(names: Sequence[str], folder: Path | None, watch: Watch = _unwatched) -> dict[str, Any]:
    """Return every table that a name stands for, all without names; where the data set is not there, without rows.

    A name is that of a table, or the beginning of several: `thesis` and `thesis-6`.
    """
    return _reproduce(names, folder, watch, None)


def reproduce_for_a_page(
    names: Sequence[str], folder: Path | None, watch: Watch = _unwatched
) -> tuple[dict[str, Any], dict[str, list[Figure]]]:
    """Return the same and the figures of each table."""
    figures: dict[str, list[Figure]] = {}
    return _reproduce(names, folder, watch, figures), figures


def _reproduce(
    names: Sequence[str], folder: Path | None, watch: Watch, figures: dict[str, list[Figure]] | None
) -> dict[str, Any]:
    chosen = _chosen(names)
    _require_folder(folder)
    for name in names:
        if name in TABLES:
            _require_data(TABLES[name], folder)
    read: dict[DataSet, Any] = {}
    tables = []
    for place, table in enumerate(chosen):

        def progress(share: float, name: str = table.name, place: int = place) -> None:
            watch(name, (place + share) / len(chosen))

        progress(0.0)
        tables.append(_compared(table, folder, read, progress, figures))
    holding = [table["holds"] for table in tables if not table["unavailable"]]
    return {"label": LABEL, "holds": bool(holding) and all(holds is True for holds in holding), "tables": tables}


def reproduce_one(name: str, folder: Path | None, watch: Watch = _unwatched) -> dict[str, Any]:
    """Return one table."""
    if name not in TABLES:
        raise _unknown(name)
    document = reproduce([name], folder, watch)
    return {"label": LABEL, "holds": document["holds"], "table": document["tables"][0]}


def reproduce_errata() -> dict[str, Any]:
    """Return what we corrected; it holds if every counter-example stands."""
    errata = corrected()
    return {"label": LABEL, "holds": all(erratum["stands"] for erratum in errata), "errata": errata}


def counted(tables: Sequence[Mapping[str, Any]]) -> str:
    """Return how many numbers have each verdict, and which tables were not recomputed."""
    verdicts = Counter(row["verdict"] for table in tables for row in table["rows"])
    text = ", ".join(f"{verdicts[verdict]:,} {verdict}" for verdict in _VERDICTS if verdicts[verdict])
    without = [table["name"] for table in tables if table["holds"] is None]
    left_out = f"; not recomputed: {', '.join(without)}" if without else ""
    return f"{sum(verdicts.values()):,} numbers: {text}{left_out}."


def _chosen(names: Sequence[str]) -> list[Table]:
    """Return the tables that names stand for, each once and in the order of the list."""
    for name in names:
        if not any(_stands_for(name, table) for table in NAMES):
            raise _unknown(name)
    return [TABLES[table] for table in NAMES if not names or any(_stands_for(name, table) for name in names)]


def _stands_for(name: str, table: str) -> bool:
    return table == name or table.startswith((f"{name}-", f"{name}."))


def _compared(
    table: Table,
    folder: Path | None,
    read: dict[DataSet, Any],
    progress: Callable[[float], None],
    figures: dict[str, list[Figure]] | None,
) -> dict[str, Any]:
    """Compare a table with its print; holds: every number is as it should be, None where the data set is not there."""
    tables = printed_tables(table.file)
    printed = tables if table.key is None else tables[table.key]
    document = {"name": table.name} | {text: printed.get(text, "") for text in ("title", "what", "remark")}
    document |= {"source": tables["source"], "place": tables["place"], "needs": table.needs and table.needs.name}
    document |= {"runs": table.runs, "unavailable": table.unavailable}
    if table.rows is None:
        text = f"not reproducible because {table.unavailable}"
        return document | {"verdict": text, "holds": None, "rows": []}
    if table.needs is not None and not table.needs.is_in(folder):
        return document | {"verdict": f"needs the data set {table.needs.name}, pass --data", "holds": None, "rows": []}
    if table.needs is not None and folder is not None and table.needs not in read:
        read[table.needs] = table.needs.read(folder)
    given = Given(table.needs and read[table.needs], progress)
    rows = table.rows(printed, given)
    if figures is not None and table.figures is not None:
        figures[table.name] = table.figures(printed, given)
    return document | {
        "verdict": verdict(rows, table.criterion),
        "holds": all(row.holds for row in rows),
        "rows": [row.as_dict() for row in rows],
    }


def _unknown(name: str) -> SpecRefused:
    return SpecRefused.at(
        "NAME",
        rule=f"must be errata alone, or one of {', '.join(NAMES)}",
        got=name,
        remedy="Choose one of them, or what several begin with.",
    )


def _require_folder(folder: Path | None) -> None:
    if folder is not None and not folder.is_dir():
        raise SpecRefused.at("--data", rule="must be a folder", got=str(folder), remedy="Correct the path.")


def _require_data(table: Table, folder: Path | None) -> None:
    if table.needs is not None and not table.needs.is_in(folder):
        raise SpecRefused.at(
            "--data",
            rule=f"must hold the data set {table.needs.name} for {table.name}",
            remedy=f"Pass the folder that holds {table.needs.name}, or another NAME.",
        )
