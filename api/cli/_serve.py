"""`penstock serve` on the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["serve"]


def serve(
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port of the pages and of the API.")] = 4200,
    host: Annotated[
        str, typer.Option(help="Another address than this machine's own needs a proxy with TLS: PENSTOCK_ADDRESS.")
    ] = "127.0.0.1",
    settings: Annotated[
        Path | None, typer.Option(help="deployments/production.yaml or your own; default: rehearsal.yaml.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON when everything is ready.")] = False,
) -> None:
    """Serve the pages: Prefect server, deployments and a worker. Ctrl-C ends them.

    With PREFECT_API_URL no server is started; deployments and worker register with that one.
    """
    from penstock.cli._screen import Screen
    from penstock.records.home import Home
    from penstock.server.deployment_settings import REHEARSAL, DeploymentSettings
    from penstock.server.serve import served, stay, until_told_to_stop

    chosen = DeploymentSettings.read(settings if settings is not None else REHEARSAL)
    with until_told_to_stop(), served(Home.open(), host=host, port=port, settings=chosen) as (ready, children):
        if as_json:
            sys.stdout.write(json.dumps(ready.as_dict(), ensure_ascii=False) + "\n")
            sys.stdout.flush()
        else:
            Screen(False).show_served(ready.as_dict())
        stay(children)
