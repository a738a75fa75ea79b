"""`penstock serve` in a process of its own, and what a platform asks of it over REST."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from unittest import mock

from tests.attacks.typed_line import typed
from tests.support.living_processes import LONGEST_WAIT, MARK, processes, wait_for_death
from tests.support.prefect_service import migrated

PENSTOCK = str(Path(sys.executable).with_name("penstock"))
LOOK_AGAIN = 0.5  # each look costs the server more than it costs us
# Two cores that many share: a start of server, deployments and worker takes half a minute, or several.
LONGEST_START = 400


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


PROGRAM = "carl"  # the program that asks in tests: an officer, so that it may start everything


class Serving:
    """One `penstock serve`; its processes carry the name of the home as their mark."""

    def __init__(self, home: Path, specs: Path, **environment: str) -> None:
        self.home, self.specs, self.port = home, specs, free_port()
        self._api = environment.get("PREFECT_API_URL", f"http://127.0.0.1:{self.port}/api")
        self._environment = environment
        self._errors = home.parent / f"{home.name}-serve.txt"
        is_foreign = "PREFECT_API_URL" in environment
        if not is_foreign and "PREFECT_SERVER_DATABASE_CONNECTION_URL" not in environment:
            self.prepare()
        self.credentials = environment.get("PREFECT_API_AUTH_STRING") if is_foreign else self._program()
        self.start()

    def _program(self) -> str:
        """Add a program that may do everything that the gateway lets through; its name and token."""
        added = self.typed("users", "add", PROGRAM, "--program", "--role", "officer", "--reason", "Tests", "--json")
        return f"{PROGRAM}:{json.loads(added)['token']}"

    def prepare(self) -> None:
        """Save its server the migrations of a first start."""
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        migrated(self.home)

    def typed(self, *arguments: object) -> str:
        """What a command prints that somebody types beside it; in this process, which has imported it all."""
        with mock.patch.dict(os.environ, self.environment(), clear=True):
            done = typed(*arguments)
        assert done.code == 0, done.err
        return done.out.strip()

    def start(self) -> None:
        with self._errors.open("ab") as errors:
            self.process = subprocess.Popen(
                [PENSTOCK, "serve", "--port", str(self.port), "--json"],
                env=self.environment(),
                cwd="/",
                stdout=subprocess.PIPE,
                stderr=errors,
            )

    def environment(self) -> dict[str, str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT", "PENSTOCK"))}
        ours = {MARK: str(self.home), "PENSTOCK_HOME": str(self.home), "PENSTOCK_SPECS": str(self.specs)}
        return {**clean, **ours, **self._environment}

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ready(self) -> dict[str, Any]:
        """Wait for the line that says what is ready."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()  # it ends with its process, so this does too
        assert line, self._errors.read_text()
        return dict(json.loads(line))

    def stop(self, how: signal.Signals) -> int:
        """Stop the command; every process that carries its mark must end by itself."""
        started = processes(str(self.home))
        self.process.send_signal(how)
        code = self.process.wait(LONGEST_WAIT)
        self._close()
        for pid in started:
            wait_for_death(pid)
        assert processes(str(self.home)) == {}
        return code

    def clear_away(self) -> None:
        """Whatever a failed test left."""
        for pid in processes(str(self.home)):
            with contextlib.suppress(ProcessLookupError):  # it ended with another one
                os.kill(pid, signal.SIGKILL)
            wait_for_death(pid)
        self.process.wait()
        self._close()

    def _close(self) -> None:
        if self.process.stdout is not None:
            self.process.stdout.close()

    def api(self, path: str, body: Any = None) -> Any:
        """Ask the REST interface, as a program does."""
        return ask(f"{self._api}{path}", body, credentials=self.credentials)

    def behind(self, path: str, body: Any = None, method: str | None = None) -> Any:
        """Ask Prefect's own API, behind the gateway, as the service account could: with its token and certificate."""
        [server] = [pid for pid, line in processes(str(self.home)).items() if "server_process" in line]
        raw = Path(f"/proc/{server}/environ").read_bytes().split(b"\0")
        known = dict(each.decode().split("=", 1) for each in raw if b"=" in each)
        context = ssl.create_default_context(cafile=known["PREFECT_API_SSL_CERT_FILE"])
        token = known["PREFECT_API_AUTH_STRING"]
        return ask(f"{known['PREFECT_API_URL']}{path}", body, method, credentials=token, context=context)

    def trigger(self, deployment: str, **parameters: str) -> str:
        """Start a run of a deployment, named as flow/deployment; the id of the flow run."""
        found = self.api(f"/deployments/name/{deployment}")
        return str(self.api(f"/deployments/{found['id']}/create_flow_run", {"parameters": parameters})["id"])

    def until(self, flow_run: str, *states: str) -> Any:
        """Wait until the flow run is in one of these states, such as COMPLETED."""
        deadline = time.monotonic() + LONGEST_START
        while True:
            state = self.api(f"/flow_runs/{flow_run}")["state"]
            if state["type"] in states:
                return state
            assert state["type"] not in ("COMPLETED", "FAILED", "CRASHED", "CANCELLED"), state
            assert time.monotonic() < deadline, state
            time.sleep(LOOK_AGAIN)

    def page(self, path: str, method: str = "GET") -> tuple[int, str, Any]:
        """Ask for a page, as a program does: status, content, headers."""
        return fetch(f"{self.address}{path}", self.credentials, method)


def ask(
    url: str,
    body: Any = None,
    method: str | None = None,
    *,
    credentials: str | None = None,
    context: ssl.SSLContext | None = None,
) -> Any:
    """A server that is too busy with its database says 503 and has done nothing; then it is asked again."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **authorization(credentials)}
    request = urllib.request.Request(url, data=data, headers=headers, method=method)
    deadline = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            with urllib.request.urlopen(request, timeout=300, context=context) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            if error.code != 503 or time.monotonic() > deadline:
                raise
            time.sleep(LOOK_AGAIN)


def authorization(credentials: str | None) -> dict[str, str]:
    if credentials is None:
        return {}
    return {"Authorization": f"Basic {base64.b64encode(credentials.encode()).decode()}"}


def fetch(url: str, credentials: str | None, method: str = "GET") -> tuple[int, str, Any]:
    request = urllib.request.Request(url, headers=authorization(credentials), method=method)
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), error.headers
