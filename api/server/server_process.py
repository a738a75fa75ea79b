"""The process of the server that `penstock serve` starts: Prefect's API for the worker, and the gateway for people.

One process serves two sockets: the gateway asks Prefect without a connection in between. Both sockets come from the
command, already listening. The process ends when its input does, so also when the command that started it is killed.
"""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from penstock.records import open_records
from penstock.records.home import Home
from penstock.server.gateway.app import gateway
from penstock.server.gateway.door import Door
from penstock.server.gateway.peer import OwnSocket
from penstock.server.gateway.prefect_client import App, Prefect, Receive, Scope, Send
from penstock.server.gateway.proxy import proxy_secret
from penstock.server.gateway.timeouts import HEADER_BYTES, Impatient
from penstock.server.gateway.visitors import Visitors

__all__: list[str] = []

_GRACE = 10.0
_CONNECTIONS = 256
_MESSAGE_BYTES = 64 << 10


def serve(people: int, worker: int) -> None:
    """Serve until the input ends. people, worker: descriptors of the two sockets."""
    import uvicorn
    from prefect.server.api.server import create_app

    home, prefect = Home.open(), create_app()
    asked = Prefect(prefect, os.environ["PREFECT_SERVER_API_AUTH_STRING"])
    visitors = Visitors(home, open_records(home=home).log, proxy_secret())
    shared: dict[str, Any] = {"log_level": "warning", "access_log": False, "proxy_headers": False}
    folder = Path(os.environ["PREFECT_HOME"])
    private = uvicorn.Server(
        uvicorn.Config(
            _api_only(prefect),
            lifespan="on",
            ssl_certfile=folder / "api.pem",
            ssl_keyfile=str(folder / "api.key"),
            **shared,
        )
    )
    public = uvicorn.Server(
        uvicorn.Config(
            gateway(asked, visitors, Door.at(os.environ["PENSTOCK_ADDRESS"]), home),
            lifespan="off",
            http=Impatient,
            h11_max_incomplete_event_size=HEADER_BYTES,
            limit_concurrency=_CONNECTIONS,
            ws_max_size=_MESSAGE_BYTES,
            server_header=False,
            **shared,
        )
    )

    def end_with_parent() -> None:
        sys.stdin.buffer.read()
        for each in (public, private):
            each.should_exit = True
        time.sleep(_GRACE / 2)
        for each in (public, private):
            each.force_exit = True  # a browser that keeps its connection open must not hold us up
        time.sleep(_GRACE / 2)
        os._exit(0)

    async def both() -> None:
        await asyncio.gather(
            private.serve(sockets=[OwnSocket(fileno=worker)]), public.serve(sockets=[socket.socket(fileno=people)])
        )

    threading.Thread(target=end_with_parent, daemon=True).start()
    asyncio.run(both())


def _api_only(prefect: App) -> App:
    """Return Prefect without its pages: people see those through the gateway."""

    async def dispatch(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not scope["path"].startswith("/api/"):
            await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})
            return
        await prefect(scope, receive, send)

    return dispatch


if __name__ == "__main__":
    os.umask(0o077)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # one with many connections takes none from others
    serve(int(sys.argv[1]), int(sys.argv[2]))
