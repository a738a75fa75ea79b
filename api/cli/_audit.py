"""`penstock audit`: the audit log, shown, checked and exported."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli._options import AsJson, OutputFile, new_file
from penstock.cli._screen import Screen
from penstock.mechanisms.refusal import SpecRefused

__all__ = ["audit"]

audit = typer.Typer(help="The audit log: show it, check it, export it.", no_args_is_help=True, rich_markup_mode=None)


@audit.command("show")
def show(
    run_id: Annotated[str | None, typer.Option("--run", help="Only this run.")] = None, as_json: AsJson = False
) -> None:
    """List the events of the log, oldest first."""
    from penstock.records import existing_records

    Screen(as_json).show_events([asdict(event) for event in existing_records(looking=True).log.events(run_id)])


@audit.command("verify")
def verify(
    export: Annotated[
        Path | None, typer.Option("--export", help="Check this exported log instead, without any database.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", help="The agency's public key; default: the one of this home.")
    ] = None,
    bundles: Annotated[
        list[str] | None,
        typer.Option("--bundles", help="Also check every manifest below this folder, or s3:// address."),
    ] = None,
    files: Annotated[
        bool,
        typer.Option(
            "--files", help="Also read every published file and answer; exit with 7 if one is altered or gone."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check log, ledger, signatures and reachable manifests."""
    from penstock.records.audit import verify_everything
    from penstock.records.files.addresses import place_of
    from penstock.records.home import Home
    from penstock.records.log.export import verify_export

    if export is not None and files:
        raise _not_together("--files", "cannot be used with an export, only with the database")
    if export is not None and bundles:
        raise _not_together("--bundles", "cannot be used with an export, only with the database")
    if export is None and key is not None:
        raise _not_together("--key", "cannot be used without an export; the home has its own key")
    if export is not None:
        found = verify_export(export, key if key is not None else Home.located().public_key_path)
        Screen(as_json).show_audit(found)
        return
    places = [place_of(place, "--bundles") for place in bundles or ()]
    Screen(as_json).show_audit(verify_everything(places, files=files, now=datetime.now(UTC)))


@audit.command("export")
def export(output: OutputFile = None, as_json: AsJson = False) -> None:
    """Write the log as JSON Lines. The last line is signed, so that it can be checked anywhere."""
    from penstock.records import existing_records
    from penstock.records.log.export import write_export

    log, screen = existing_records(looking=True).log, Screen(as_json)
    if output is not None:
        with new_file(output) as file:
            write_export(log, file.buffer)
        screen.show(f"Exported to {output}.", {"path": str(output)})
    elif as_json:
        screen.show_events([asdict(event) for event in log.events()])
    else:
        write_export(log, sys.stdout.buffer)  # bytes: another encoding would not be what was signed


def _not_together(option: str, rule: str) -> SpecRefused:
    return SpecRefused.at(option, rule=rule, remedy="Leave it out, or check twice.")
