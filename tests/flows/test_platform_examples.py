"""What other platforms start from: the examples run as they stand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.workplace import Workplace

PLATFORM = Path(__file__).parents[2] / "deployments" / "platform"


def _release(place: Workplace) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    command = [str(PLATFORM / "release.sh"), str(place.write_spec())]
    return subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True)


@pytest.mark.slow
def test_the_script_prints_the_folder_of_the_bundle(workplace: Workplace) -> None:
    done = _release(workplace)
    [bundle] = workplace.bundles()
    assert (done.returncode, done.stdout) == (0, f"{bundle}\n")


@pytest.mark.parametrize(
    ("section", "value", "code", "told"),
    [
        ("name", "Not A Name", 2, "The spec was refused"),
        pytest.param("validate", {"min_rows": 10_000}, 3, "The data were refused", marks=pytest.mark.slow),
        pytest.param("gates", [{"measure": "il1s", "max": 0}], 4, "A gate refused", marks=pytest.mark.slow),
    ],
)
def test_the_script_tells_what_to_do_about_a_refusal(
    workplace: Workplace, section: str, value: object, code: int, told: str
) -> None:
    workplace.raw[section] = value
    done = _release(workplace)
    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr
    assert workplace.public_files() == []


def test_a_server_that_is_too_busy_is_asked_again_for_the_same_run() -> None:
    """The answers are those of Prefect, in the order of the questions; the first request for a run finds it busy."""
    busy = (503, {"exception_message": "Service Unavailable"})
    answers = [
        (200, {"id": "d"}),
        busy,
        (201, {"id": "r"}),
        (200, {"state": {"type": "FAILED", "message": "no"}}),
        (200, []),
    ]
    asked: list[tuple[str, Any]] = []

    class Prefect(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked.append((self.path, json.loads(body or b"null")))
            status, answer = answers[len(asked) - 1]
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # names of the library

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Prefect)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {**os.environ, "PREFECT_API_URL": f"http://127.0.0.1:{server.server_port}/api"}
    command = [sys.executable, str(PLATFORM / "start_release.py"), "survey.yaml", "carl"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    server.shutdown()
    server.server_close()
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "flow run r\nno\n")
    first, second = (body for path, body in asked if path == "/api/deployments/d/create_flow_run")
    assert first == second
    assert first["parameters"] == {"spec": "survey.yaml", "started_by": "carl"}
    assert first["idempotency_key"]
