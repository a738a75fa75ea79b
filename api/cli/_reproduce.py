"""`penstock reproduce`: the sources' printed tables, recomputed beside the print."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.cli._options import AsJson
from penstock.cli._screen import Screen

__all__ = ["reproduce"]


def reproduce(
    name: Annotated[str | None, typer.Argument(help="One table, number by number; default: a line for each.")] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", envvar="PENSTOCK_DATA", help="The folder with the public data sets, for some tables."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The sources' printed tables, recomputed. No guarantee. Exits with 1 if a number is not as it should be."""
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
    out, listed = _console(document), _table("name", "table", "verdict")
    for table in document["tables"]:
        listed.add_row(table["name"], escape(table["title"]), _coloured(table["verdict"], table["holds"]))
    out.print(listed)


def _show_one(document: Mapping[str, Any]) -> None:
    table = document["table"]
    out, numbers = _console(document), _table("", "printed", "recomputed", "")
    out.print(f"[bold]{escape(table['title'])}[/bold]: {escape(table['what'])}")
    for row in table["rows"]:
        note = ", ".join(filter(None, ("" if row["agrees"] is not True else "agrees", row["note"])))
        shown = note if row["holds"] else "DIFFERS"
        numbers.add_row(escape(row["name"]), row["printed"] or "", row["recomputed"], _coloured(shown, row["holds"]))
    out.print(numbers)
    out.print(_coloured(table["verdict"], table["holds"]))
    if table["remark"]:
        out.print(escape(table["remark"]))
    out.print(f"{escape(table['source'])}; {escape(table['place'])}")


def _console(document: Mapping[str, Any]) -> Console:
    out = Console(highlight=False, soft_wrap=True)
    out.print(f"[bold]{document['label']}[/bold]\n")
    return out


def _coloured(text: str, holds: bool | None) -> str:
    return escape(text) if holds else f"[{'yellow' if holds is None else 'red'}]{escape(text)}[/]"


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in titles:
        table.add_column(title, overflow="fold", justify="right" if title in ("printed", "recomputed") else "left")
    return table
