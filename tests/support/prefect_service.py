"""A real Prefect server for the tests that need one.

Its socket is bound here and handed to the process of the server, so that nobody can take its port; whoever asks it
anything needs a password that was made up for this one. It ends when its input does.
"""

from __future__ import annotations

import base64
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from penstock.flows.prefect_setup import quiet_settings
from penstock.server._child_process import stop_child
from tests.support import prefect_database

__all__ = ["Service", "migrated", "named", "running_service"]

_START_SECONDS, _STOP_SECONDS = 400, 20
# What looks every few seconds for work that no test leaves to it.
_UNUSED = ("CANCELLATION_CLEANUP", "CLEANUP_RECONCILER", "DB_VACUUM", "FOREMAN", "LATE_RUNS")


@dataclass(frozen=True)
class Service:
    """A server that runs: where its files lie, its address, and user:password."""

    files: Path
    url: str
    password: str

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to use it."""
        return {"PREFECT_API_URL": self.url, "PREFECT_API_AUTH_STRING": self.password}

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Basic {base64.b64encode(self.password.encode()).decode()}"}


@contextmanager
def running_service(home: Path) -> Iterator[Service]:
    """A server whose files lie below `home`."""
    migrated(home)
    with _started(home) as service:
        yield service


@contextmanager
def _started(home: Path) -> Iterator[Service]:
    password = f"tests:{secrets.token_urlsafe(24)}"
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/api"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}
        server = subprocess.Popen(
            [sys.executable, __file__, str(listening.fileno())],
            pass_fds=[listening.fileno()],
            stdin=subprocess.PIPE,  # its end is the sign to stop
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={
                **inherited,
                **quiet_settings(home),
                "PREFECT_SERVER_API_AUTH_STRING": password,
                "PREFECT_UI_ENABLED": "0",
                **{f"PREFECT_SERVER_SERVICES_{name}_ENABLED": "false" for name in _UNUSED},
                "PYTHONPATH": str(Path(__file__).parents[2]),
            },
        )
    service = Service(home / "prefect", url, password)
    try:
        _wait_until_ready(server, service)
        yield service
    finally:
        stop_child(server, _STOP_SECONDS)


def migrated(home: Path) -> None:
    """Put the database of a Prefect server below a home, as its first start would make it."""
    prefect_database.put(home / "prefect", make=_migrate)


def _migrate(home: Path) -> None:
    with _started(home):
        pass


@contextmanager
def named(service: Service) -> Iterator[Service]:
    """Name the server for this process and for those that it starts; afterwards none is named."""
    from prefect.context import refresh_global_settings_context
    from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

    with mock.patch.dict(os.environ, service.environment):
        for name in ("NO_PROXY", "no_proxy"):
            os.environ[name] = ",".join(filter(None, (os.environ.get(name), "127.0.0.1")))
        refresh_global_settings_context()
        try:
            # Heartbeats only cost a second at the end of every flow run.
            with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
                yield service
        finally:
            for name in service.environment:
                del os.environ[name]
            refresh_global_settings_context()


def _wait_until_ready(server: subprocess.Popen[bytes], service: Service) -> None:
    request = urllib.request.Request(f"{service.url}/health", headers=service.headers)
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(request, timeout=_START_SECONDS):
                return
        except (OSError, urllib.error.HTTPError):
            assert server.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.1)


def _serve(descriptor: int) -> None:
    import uvicorn
    from prefect.server.api.server import create_app

    config = uvicorn.Config(create_app, factory=True, log_level="critical", lifespan="on")
    server = uvicorn.Server(config)

    def end_with_parent() -> None:
        sys.stdin.buffer.read()
        server.should_exit = True
        time.sleep(_STOP_SECONDS / 2)
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()
    server.run(sockets=[socket.socket(fileno=descriptor)])


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
