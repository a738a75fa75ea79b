"""`penstock reproduce`: the sources' printed tables, recomputed beside the print."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli._options import AsJson
from penstock.cli._screen import Screen, console, shown, table_of

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["reproduce"]


def reproduce(
    name: Annotated[str | None, typer.Argument(help="One table, number by number; default: a line for each.")] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", envvar="PENSTOCK_DATA", help="The folder with the public data sets, for some tables."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute the tables that the sources print. No guarantee. Exits with 1 if a number is not as it should be."""
    from penstock.reproduction.tables import reproduce_all, reproduce_one

    document = reproduce_all(data) if name is None else reproduce_one(name, data)
    if as_json:
        Screen(as_json).show("", document)
    elif name is None:
        _show_all(document)
    else:
        _show_one(document)
    raise typer.Exit(0 if document["holds"] else 1)


def _show_all(document: Mapping[str, Any]) -> None:
    out, listed = _console(document), table_of("name", "table", "verdict")
    for table in document["tables"]:
        listed.add_row(table["name"], shown(table["title"]), _coloured(table["verdict"], table["holds"]))
    out.print(listed)


def _show_one(document: Mapping[str, Any]) -> None:
    table = document["table"]
    out, numbers = _console(document), table_of("", "printed", "recomputed", "", right=("printed", "recomputed"))
    out.print(f"[bold]{shown(table['title'])}[/bold]: {shown(table['what'])}")
    for row in table["rows"]:
        note = ", ".join(filter(None, ("" if row["agrees"] is not True else "agrees", row["note"])))
        remark = note if row["holds"] else "DIFFERS"
        numbers.add_row(shown(row["name"]), row["printed"] or "", row["recomputed"], _coloured(remark, row["holds"]))
    out.print(numbers)
    out.print(_coloured(table["verdict"], table["holds"]))
    if table["remark"]:
        out.print(shown(table["remark"]))
    out.print(f"{shown(table['source'])}; {shown(table['place'])}")


def _console(document: Mapping[str, Any]) -> Console:
    out = console()
    out.print(f"[bold]{document['label']}[/bold]\n")
    return out


def _coloured(text: str, holds: bool | None) -> str:
    return shown(text) if holds else f"[{'yellow' if holds is None else 'red'}]{shown(text)}[/]"
