"""`penstock reproduce`: the sources' printed tables, recomputed beside the print."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli._options import AsJson, new_file
from penstock.cli._screen import Screen, console, shown, table_of

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["reproduce"]

# What is wrong stands out.
_WORDS = {"differs": "DIFFERS"}


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Tables, or what their names begin with: thesis-6. `errata`: what we corrected in the sources.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", envvar="PENSTOCK_DATA", help="The folder with the public data sets, for some tables."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="A new file for one page with every number, figure and erratum.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute what the sources print. No guarantee. Exits with 0 only if every number is as it should be."""
    with _progress(as_json) as watch:
        document = _document(names or [], data, watch) if html is None else _page(names or [], data, watch, html)
    if as_json:
        Screen(as_json).show("", document)
    elif "tables" in document:
        _show_all(document)
    elif "errata" in document:
        _show_errata(document)
    else:
        _show_one(document)
    raise typer.Exit(0 if document["holds"] else 1)


def _document(names: list[str], data: Path | None, watch: Callable[[str, float], None]) -> dict[str, Any]:
    from penstock.reproduction.tables import NAMES, reproduce, reproduce_errata, reproduce_one

    if names == ["errata"]:
        return reproduce_errata()
    if len(names) == 1 and names[0] in NAMES:
        return reproduce_one(names[0], data, watch)
    return reproduce(names, data, watch)


def _page(names: list[str], data: Path | None, watch: Callable[[str, float], None], html: Path) -> dict[str, Any]:
    """Write the page; without names with the errata. The file is opened before minutes are spent on what it gets."""
    from penstock.reproduction.page import page
    from penstock.reproduction.tables import reproduce_errata, reproduce_for_a_page

    with new_file(html, "--html") as file:
        if names == ["errata"]:
            document = reproduce_errata()
            file.write(page(document, {}))
            return document
        document, figures = reproduce_for_a_page(names, data, watch)
        if not names:
            errata = reproduce_errata()
            document |= {"errata": errata["errata"], "holds": document["holds"] and errata["holds"]}
        file.write(page(document, figures))
    return document


@contextmanager
def _progress(as_json: bool) -> Iterator[Callable[[str, float], None]]:
    """Show on a terminal how far the work is; nothing elsewhere."""
    err = console(stderr=True)
    if as_json or not err.is_terminal:
        yield lambda name, share: None
        return
    from rich.progress import Progress

    with Progress(console=err, transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda name, share: bar.update(task, completed=share, description=name)


def _show_all(document: Mapping[str, Any]) -> None:
    from penstock.reproduction.tables import counted

    out, listed = _console(document), table_of("name", "table", "verdict")
    for table in document["tables"]:
        listed.add_row(table["name"], shown(table["title"]), _coloured(table["verdict"], table["holds"]))
    out.print(listed)
    out.print(f"\n{shown(counted(document['tables']))}")


def _show_one(document: Mapping[str, Any]) -> None:
    table = document["table"]
    out, numbers = _console(document), table_of("", "printed", "recomputed", "", right=("printed", "recomputed"))
    out.print(f"[bold]{shown(table['title'])}[/bold]: {shown(table['what'])}")
    for row in table["rows"]:
        remark = ", ".join(filter(None, (_WORDS.get(row["verdict"], row["verdict"]), row["note"])))
        numbers.add_row(
            shown(row["name"]), row["printed"] or "", row["recomputed"] or "", _coloured(remark, row["holds"])
        )
    out.print(numbers)
    out.print(_coloured(table["verdict"], table["holds"]))
    if table["remark"]:
        out.print(shown(table["remark"]))
    out.print(f"{shown(table['source'])}; {shown(table['place'])}")


def _show_errata(document: Mapping[str, Any]) -> None:
    out = _console(document)
    for erratum in document["errata"]:
        out.print(f"[bold]{erratum['name']}[/bold]: {shown(erratum['source'])}, {shown(erratum['place'])}")
        listed = table_of("", "")
        for title in ("printed", "right", "case"):
            listed.add_row(f"  {title}", shown(erratum[title]))
        for name, value in erratum["numbers"]:
            listed.add_row("", shown(f"{name}: {value}"))
        listed.add_row("", "the counter-example stands" if erratum["stands"] else "[red]IT DOES NOT STAND[/red]")
        listed.show_header = False
        out.print(listed)


def _console(document: Mapping[str, Any]) -> Console:
    out = console()
    out.print(f"[bold]{document['label']}[/bold]\n")
    return out


def _coloured(text: str, holds: bool | None) -> str:
    return shown(text) if holds else f"[{'yellow' if holds is None else 'red'}]{shown(text)}[/]"
