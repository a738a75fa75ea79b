"""Requests a second through the gateway, against the same Prefect server asked at its own door in the same run.

    python -m benchmarks.gateway

One `penstock serve`; a program asks for the newest flow runs (what the pages read most), over one connection and over
eight at once. Prefect's own door speaks TLS and asks for a token too.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from benchmarks.sizes import WHOLE, sized
from tests.support.prefect_service import migrated

REQUESTS = sized(4_000, least=20)
AT_ONCE = 8
PENSTOCK = str(Path(sys.executable).with_name("penstock"))


class Caller:
    """One connection that is kept."""

    def __init__(self, url: str, credentials: str, certificate: str | None) -> None:
        parts = urlsplit(url)
        host = parts.netloc
        self._connection = (
            http.client.HTTPConnection(host)
            if certificate is None
            else http.client.HTTPSConnection(host, context=ssl.create_default_context(cafile=certificate))
        )
        self._path = f"{parts.path}/flow_runs/filter"
        encoded = base64.b64encode(credentials.encode()).decode()
        self._headers = {"Authorization": f"Basic {encoded}", "Content-Type": "application/json"}

    def ask(self, times: int) -> None:
        for _ in range(times):
            self._connection.request("POST", self._path, json.dumps({"limit": 10}), self._headers)
            answer = self._connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise SystemExit(f"status {answer.status}")

    def close(self) -> None:
        self._connection.close()


def rate(door: tuple[str, str, str | None], callers: int) -> float:
    """Requests a second over this many connections."""
    waiting = [Caller(*door) for _ in range(callers)]
    for each in waiting:
        each.ask(2)
    began = time.perf_counter()
    with ThreadPoolExecutor(callers) as pool:
        list(pool.map(lambda each: each.ask(REQUESTS // callers), waiting))
    passed = time.perf_counter() - began
    for each in waiting:
        each.close()
    return REQUESTS // callers * callers / passed


def private_door(command: subprocess.Popen[bytes]) -> tuple[str, str, str]:
    """Where Prefect itself listens, read from the environment of its process, as only its owner can."""
    for process in psutil.Process(command.pid).children():
        if "server_process" in " ".join(process.cmdline()):
            known = process.environ()
            return known["PREFECT_API_URL"], known["PREFECT_API_AUTH_STRING"], known["PREFECT_API_SSL_CERT_FILE"]
    raise SystemExit("no server")


def compare(doors: dict[str, tuple[str, str, str | None]]) -> None:
    """Print the rates of both doors, over one connection and over several."""
    for callers in (1, AT_ONCE):
        rates = {name: rate(door, callers) for name, door in doors.items()}
        ratio = rates["gateway"] / rates["Prefect"]
        told = ", ".join(f"{name} {each:.0f}/s" for name, each in rates.items())
        print(f"{callers} at once: {told}, ratio {ratio:.2f}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        if not WHOLE:
            migrated(Path(folder, "home"))  # most of the start, and no part of what is measured
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}
        environment = {**inherited, "PENSTOCK_HOME": f"{folder}/home", "PENSTOCK_SPECS": folder}
        add = [PENSTOCK, "users", "add", "bench", "--program", "--role", "reader", "--reason", "Benchmark", "--json"]
        token = json.loads(subprocess.run(add, env=environment, capture_output=True, check=True).stdout)["token"]
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        serve = [PENSTOCK, "serve", "--port", str(port), "--json"]
        with subprocess.Popen(serve, env=environment, stdout=subprocess.PIPE) as command:
            try:
                ready = command.stdout.readline() if command.stdout is not None else b""
                gateway = (f"{json.loads(ready)['address']}/api", f"bench:{token}", None)
                compare({"Prefect": private_door(command), "gateway": gateway})
            finally:
                command.send_signal(signal.SIGTERM)
                command.wait()


if __name__ == "__main__":
    main()
