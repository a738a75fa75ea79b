"""`penstock serve`: server, work pool, deployments and worker, by one command and for its length.

    <home>/prefect/         Prefect's files: its database, server.log, worker.log, deploy.log
    <home>/prefect/.serve   held with flock as long as the command lives

Server and worker watch the pipe to this command and end with it, also when it is killed; flow runs watch the
worker. With PREFECT_API_URL no server is started: everything registers with the one that is named.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import yaml

from flows.named_server import ServerNotReady, quiet_settings, require_address_space, require_answer
from flows.server.child_process import Child, child
from flows.server.deployment_settings import DeploymentSettings, merged_deployments
from flows.server.report_pages import report_password_file
from mechanisms.refusal import Refusal
from records.home import Home

__all__ = ["AlreadyServed", "HostRefused", "Served", "deploy", "served", "until_told_to_stop"]

POOL = "penstock"
LOOPBACK = "127.0.0.1"
_LOOK_AGAIN = 0.5


class AlreadyServed(Refusal):
    """Another `penstock serve` has this home, or something else has this port."""

    code = "already-served"


class HostRefused(Refusal):
    """An address that other machines reach needs a password."""

    code = "host-refused"
    kind = "spec"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What is ready. reports and password_file: None where the server is not ours, or its own password counts."""

    address: str
    deployments: tuple[str, ...]
    specs: str
    reports: str | None
    password_file: str | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@contextmanager
def served(home: Home, *, host: str, port: int, settings: DeploymentSettings) -> Iterator[tuple[Served, list[Child]]]:
    """Everything up and ready; on leaving everything is stopped, the worker before the server."""
    require_address_space()
    os.umask(0o077)
    folder = home.root / "prefect"
    folder.mkdir(mode=0o700, exist_ok=True)
    with ExitStack() as running:
        running.enter_context(_alone(folder))
        is_ours = "PREFECT_API_URL" not in os.environ
        if is_ours:
            _require_usable(host, port)
            os.environ["PREFECT_API_URL"] = f"http://{host}:{port}/api"
            os.environ.setdefault("PENSTOCK_REPORTS_URL", f"http://{host}:{port}/reports")
        _set_environment(home, settings)
        children, password = [], None
        if is_ours:
            password = report_password_file(home)
            children.append(
                running.enter_context(child(folder / "server.log", "flows.server.server_process", host, str(port)))
            )
            children[0].wait_until(_is_healthy)
        else:
            require_answer(os.environ["PREFECT_API_URL"])
        from flows.server.automations import install_automations
        from flows.server.registration import close_orphans, is_polling, make_pool

        make_pool(POOL)
        if is_ours:
            close_orphans(POOL)
        name, began = f"penstock-{socket.gethostname()}", datetime.now(UTC)
        worker = child(folder / "worker.log", "flows.server.worker_process", POOL, name, str(settings.at_once))
        children.append(running.enter_context(worker))
        deployments = deploy(folder, settings)
        if url := os.environ.get("PENSTOCK_WEBHOOK_URL"):
            install_automations(url)
        children[-1].wait_until(lambda: is_polling(POOL, name, began))
        ready = Served(
            address=_address(os.environ["PREFECT_API_URL"]),
            deployments=deployments,
            specs=os.environ["PENSTOCK_SPECS"],
            reports=os.environ["PENSTOCK_REPORTS_URL"] if is_ours else None,
            password_file=None if password is None else str(password),
        )
        yield ready, children


@contextmanager
def until_told_to_stop() -> Iterator[None]:
    """Take SIGTERM and an interrupt as the wish to leave the block; another one while it is left changes nothing."""

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
    """Stay until told to stop; refused when server or worker ends by itself."""
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
            rule="is served by another `penstock serve`",
            got=str(folder.parent),
            remedy="Stop that one first, or set PENSTOCK_HOME to another folder.",
        ) from None
    finally:
        os.close(descriptor)


def _set_environment(home: Home, settings: DeploymentSettings) -> None:
    """What server, worker and flow runs read; what the user has set stays."""
    chosen = {
        **quiet_settings(home.root),
        "PREFECT_LOGGING_LEVEL": "INFO",  # the logs of a run are read in the browser
        "PREFECT_LOGGING_SERVER_LEVEL": "WARNING",
        "PREFECT_SERVER_UI_V2_ENABLED": "false",  # the other one asks an outside host for its configuration
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_SERVER_UI_API_URL": os.environ["PREFECT_API_URL"],
        # No page of another site may start a release from the browser of someone who has this one open.
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": _address(os.environ["PREFECT_API_URL"]),
        "PREFECT_WORKER_QUERY_SECONDS": "2",
        "PENSTOCK_SPECS": settings.specs,
    }
    for name, value in chosen.items():
        os.environ.setdefault(name, value)
    if "PREFECT_SERVER_API_AUTH_STRING" in os.environ:
        os.environ.setdefault("PREFECT_API_AUTH_STRING", os.environ["PREFECT_SERVER_API_AUTH_STRING"])
    os.environ["PENSTOCK_HOME"] = str(home.root)  # flow runs begin in another folder
    os.environ["PENSTOCK_SPECS"] = str(Path(os.environ["PENSTOCK_SPECS"]).absolute())
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    for name in ("NO_PROXY", "no_proxy"):  # an agency's proxy does not lead to this machine's loopback
        os.environ[name] = ",".join(filter(None, (os.environ.get(name), LOOPBACK)))


def _require_usable(host: str, port: int) -> None:
    if host != LOOPBACK and not os.environ.get("PREFECT_SERVER_API_AUTH_STRING"):
        raise HostRefused.at(
            "--host",
            rule="other machines reach this address, and anybody there could start releases",
            got=host,
            remedy="Set PREFECT_SERVER_API_AUTH_STRING to user:password, or leave --host out.",
        )
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
        try:
            probe.bind((host, port))
        except OSError as error:
            raise AlreadyServed.at(
                "--port", rule=f"must be free ({error.strerror})", got=port, remedy="Choose another with --port."
            ) from None


def deploy(folder: Path, settings: DeploymentSettings) -> tuple[str, ...]:
    """Register every deployment with Prefect's own command, as one would by hand."""
    merged = merged_deployments(settings)
    file, log = folder / "deployments.yaml", folder / "deploy.log"
    file.write_text(yaml.safe_dump(merged, sort_keys=False), encoding="utf-8")
    command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file)]
    with log.open("wb") as output:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    if done.returncode != 0:
        raise ServerNotReady.at("deployments", rule="must be taken by the server", remedy=f"See {log}.")
    return tuple(deployment["name"] for deployment in merged["deployments"])


def _is_healthy() -> bool:
    try:
        with urllib.request.urlopen(f"{os.environ['PREFECT_API_URL']}/health", timeout=5):
            return True
    except urllib.error.HTTPError:
        return True  # it answers, and asks for the password
    except OSError:
        return False


def _address(url: str) -> str:
    """Without the password that a URL can hold, and without the path of the API."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
