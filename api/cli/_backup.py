"""`penstock backup` and `penstock restore`: everything that must be remembered, copied and brought back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli._options import AsJson
from penstock.cli._screen import Screen

__all__ = ["backup", "restore"]


def backup(
    folder: Annotated[Path, typer.Argument(help="A new folder. It will hold keys and working files: keep it as safe.")],
    as_json: AsJson = False,
) -> None:
    """Copy keys, log, ledger and runs to a new folder. Releases may go on."""
    from penstock.records.store.backup import back_up

    made = back_up(folder)
    document = {
        "path": str(made.path),
        "events": made.events,
        "runs": made.runs,
        "going_on": list(made.going_on),
    }
    text = f"Copied {made.events} events and {made.runs} runs to {made.path}."
    if made.going_on:
        text += f" Going on meanwhile, so not copied whole: {', '.join(made.going_on)}."
    Screen(as_json).show(text, document)


def restore(
    folder: Annotated[Path, typer.Argument(help="A folder that `penstock backup` made.")],
    bundles: Annotated[
        list[str] | None,
        typer.Option("--bundles", help="A folder, or s3:// address, that this home published to; give every one."),
    ] = None,
    nothing_published: Annotated[
        bool,
        typer.Option(
            "--nothing-published", help="Instead of --bundles: say that this home has never published anything."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Bring a backup back into an empty home and database. Checks everything against what was published."""
    from penstock.records.files.addresses import place_of
    from penstock.records.store.backup import restore as bring_back

    places = [place_of(place, "--bundles") for place in bundles or ()]
    Screen(as_json).show_audit(bring_back(folder, places, nothing_published=nothing_published))
