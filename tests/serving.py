"""`penstock serve` in a process of its own, and what a platform asks of it over REST."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from living_processes import LONGEST_WAIT, MARK, processes, wait_for_death

PENSTOCK = str(Path(sys.executable).with_name("penstock"))
LOOK_AGAIN = 0.2
# Two cores that many share: a start of server, deployments and worker takes half a minute, or several.
LONGEST_START = 400


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Serving:
    """One `penstock serve`; its processes carry the name of the home as their mark."""

    def __init__(self, home: Path, specs: Path, **environment: str) -> None:
        self.home, self.specs, self.port = home, specs, free_port()
        self._api = environment.get("PREFECT_API_URL", f"http://127.0.0.1:{self.port}/api")
        self._environment = environment
        self._errors = home.parent / f"{home.name}-serve.txt"
        self.start()

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
        """Ask the REST interface."""
        return ask(f"{self._api}{path}", body, self._environment.get("PREFECT_API_AUTH_STRING"))

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

    def report(self, path: str, credentials: str | None = None, method: str = "GET") -> tuple[int, str, Any]:
        """Ask for a report: status, page, headers."""
        return fetch(f"http://127.0.0.1:{self.port}{path}", credentials, method)


def ask(url: str, body: Any = None, credentials: str | None = None) -> Any:
    """A server that is too busy with its database says 503 and has done nothing; then it is asked again."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"})
    if credentials is not None:
        request.add_header("Authorization", f"Basic {base64.b64encode(credentials.encode()).decode()}")
    deadline = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code != 503 or time.monotonic() > deadline:
                raise
            time.sleep(LOOK_AGAIN)


def fetch(url: str, credentials: str | None, method: str = "GET") -> tuple[int, str, Any]:
    headers = {}
    if credentials is not None:
        headers["Authorization"] = f"Basic {base64.b64encode(credentials.encode()).decode()}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers, method=method), timeout=60) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), error.headers
