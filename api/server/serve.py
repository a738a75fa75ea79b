"""`penstock serve`: server, work pool, deployments and worker, by one command and for its length.

    <home>/prefect/         Prefect's files: its database, server.log, worker.log, api.pem, api.key
    <home>/prefect/.serve   held with flock as long as the command lives

Server and worker watch the pipe to this command and end with it, even if it is killed; flow runs watch the
worker. People reach the gateway, and only the worker and the gateway reach Prefect's own API (_private_api.py). With
PREFECT_API_URL no server is started: everything registers with the named server, to which its owner controls access.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from penstock.flows.prefect_setup import quiet_settings, require_address_space, require_answer
from penstock.flows.surroundings import keep_inside
from penstock.mechanisms.refusal import Refusal
from penstock.records import open_records
from penstock.records.home import Home
from penstock.records.people.users import first_officer
from penstock.server._child_process import Child, child
from penstock.server._private_api import LOOPBACK, PrivateApi, listening
from penstock.server.deployment_settings import DeploymentSettings
from penstock.server.gateway.allowed import HIDDEN
from penstock.server.gateway.door import Door
from penstock.server.gateway.proxy import proxy_secret

__all__ = ["AlreadyServed", "HostRefused", "Served", "served", "until_told_to_stop"]

POOL = "penstock"
_LOOK_AGAIN = 0.5


class AlreadyServed(Refusal):
    """Another `penstock serve` has this home, or something else has this port."""

    code = "already-served"
    remedy = "Stop the other server first, or choose another home or port."


class HostRefused(Refusal):
    """Other machines would reach this address, and passwords would cross the network in clear."""

    code = "host-refused"
    kind = "spec"
    remedy = "Set PENSTOCK_ADDRESS to the https:// address of a proxy, or leave --host out."


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The description of what is ready. address: for people; that of the other server, if it is not ours. reports: None
    then, since nobody shows them. first_password: the file with the password of the first officer, until it has been
    used."""

    address: str
    deployments: tuple[str, ...]
    specs: str
    reports: str | None
    first_password: str | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@contextmanager
def served(home: Home, *, host: str, port: int, settings: DeploymentSettings) -> Iterator[tuple[Served, list[Child]]]:
    """Start everything and wait until it is ready; on leaving everything is stopped, the worker before the server."""
    require_address_space()
    os.umask(0o077)
    folder = home.root / "prefect"
    folder.mkdir(mode=0o700, exist_ok=True)
    with ExitStack() as running:
        running.enter_context(_alone(folder))
        is_ours = "PREFECT_API_URL" not in os.environ
        children: list[Child] = []
        if is_ours:
            children.append(_start_server(running, home, folder, host, port, settings))
        else:
            _set_environment(home, settings)
            require_answer(os.environ["PREFECT_API_URL"])
        from penstock.flows.no_pickles import leave_results_unread
        from penstock.server._automations import install_automations
        from penstock.server._registration import close_orphans, is_polling, make_pool, register

        leave_results_unread()
        make_pool(POOL, is_ours=is_ours)
        if is_ours:
            close_orphans(POOL)
        deployments = register(settings, hidden=HIDDEN if is_ours else {})  # before the worker looks at them
        name, began = f"penstock-{socket.gethostname()}", datetime.now(UTC)
        worker = child(folder / "worker.log", "penstock.server.worker_process", POOL, name, str(settings.at_once))
        children.append(running.enter_context(worker))
        if url := os.environ.get("PENSTOCK_WEBHOOK_URL"):
            install_automations(url)
        children[-1].wait_until(lambda: is_polling(POOL, name, began))
        password = home.keys / "first-officer.password"
        ready = Served(
            address=os.environ["PENSTOCK_ADDRESS"] if is_ours else _address(os.environ["PREFECT_API_URL"]),
            deployments=deployments,
            specs=os.environ["PENSTOCK_SPECS"],
            reports=os.environ["PENSTOCK_REPORTS_URL"] if is_ours else None,
            first_password=str(password) if is_ours and password.exists() else None,
        )
        yield ready, children


def _start_server(
    running: ExitStack, home: Home, folder: Path, host: str, port: int, settings: DeploymentSettings
) -> Child:
    """Bind both sockets before anything knows of them, and start the process that answers there."""
    door = _door(host, port)
    proxy_secret()  # refused here, not in a process whose log nobody reads
    people = running.enter_context(_bound(host, port))
    api = PrivateApi.made(folder)
    running.enter_context(api.socket)
    os.environ.update(api.settings())
    os.environ["PENSTOCK_ADDRESS"] = door.address
    os.environ.setdefault("PENSTOCK_REPORTS_URL", f"{door.address}/reports")
    _set_environment(home, settings)
    first_officer(open_records(home=home).log, home, now=datetime.now(UTC))
    process = child(folder / "server.log", "penstock.server.server_process", sockets=(people, api.socket))
    server = running.enter_context(process)
    server.wait_until(api.is_healthy)
    return server


@contextmanager
def until_told_to_stop() -> Iterator[None]:
    """Treat SIGTERM and an interrupt as a request to leave the block; another one while leaving changes nothing."""

    def stop(*_: object) -> NoReturn:
        for each in told:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    told = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(each, stop) for each in told]
    try:
        yield
    except KeyboardInterrupt:
        return
    finally:
        for each, handler in zip(told, before, strict=True):
            signal.signal(each, handler)


def stay(children: list[Child]) -> NoReturn:
    """Stay until told to stop; refuse when server or worker ends by itself."""
    while True:
        for each in children:
            each.require_alive()
        time.sleep(_LOOK_AGAIN)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder / ".serve", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise AlreadyServed.at(
            "PENSTOCK_HOME",
            rule="must not be served by another `penstock serve`",
            got=str(folder.parent),
            remedy="Stop that one first, or set PENSTOCK_HOME to another folder.",
        ) from None
    finally:
        os.close(descriptor)


def _set_environment(home: Home, settings: DeploymentSettings) -> None:
    """Set the environment that server, worker and flow runs read; what the user has set stays."""
    keep_inside(home.root)
    chosen = {
        **quiet_settings(home.root),
        "PREFECT_LOGGING_LEVEL": "INFO",  # the logs of a run are read in the browser
        "PREFECT_LOGGING_SERVER_LEVEL": "WARNING",
        "PREFECT_SERVER_UI_V2_ENABLED": "false",  # that version asks an outside host for its configuration
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": "null",  # the gateway lets no other site in either
        "PREFECT_WORKER_QUERY_SECONDS": "2",
        "PENSTOCK_SPECS": settings.specs,
    }
    for name, value in chosen.items():
        os.environ.setdefault(name, value)
    os.environ["PENSTOCK_HOME"] = str(home.root)  # absolute, because flow runs begin in another folder
    os.environ["PENSTOCK_SPECS"] = str(Path(os.environ["PENSTOCK_SPECS"]).absolute())
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    for name in ("NO_PROXY", "no_proxy"):  # an agency's proxy does not lead to this machine's loopback
        os.environ[name] = ",".join(filter(None, (os.environ.get(name), LOOPBACK)))


def _door(host: str, port: int) -> Door:
    named = os.environ.get("PENSTOCK_ADDRESS")
    door = Door.at(named or f"http://{host}:{port}")
    if host != LOOPBACK and door.scheme != "https":
        raise HostRefused.at(
            "--host",
            rule="must be this machine: passwords must not cross a network in clear",
            got=host,
            remedy="Set PENSTOCK_ADDRESS to the https:// address of a proxy before it, or leave --host out.",
        )
    return door


def _bound(host: str, port: int) -> socket.socket:
    try:
        return listening(host, port)
    except OSError as error:
        raise AlreadyServed.at(
            "--port", rule=f"must be free ({error.strerror})", got=port, remedy="Choose another with --port."
        ) from None


def _address(url: str) -> str:
    """Return a URL without any password in it, and without the path of the API."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
