"""A server on loopback that answers like Prefect's API, and calls every flow run completed with a result of its choice.

It needs no more than to be asked: as another user of the machine who took a port, or who writes into the database of
the server that is named.
"""

from __future__ import annotations

import base64
import json
import pickle
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["HostileServer", "answering", "stored_pickle"]

VERSION = version("prefect")
NOW = "2026-11-17T12:00:00Z"


class _Touch:
    """Whoever unpickles it makes a file."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._marker,)


def stored_pickle(folder: Path, marker: Path) -> dict[str, Any]:
    """A stored result in this folder that makes the marker when it is read; what a state says of it."""
    reference = {
        "storage_key": str(folder / "result"),
        "serializer": {"type": "pickle", "picklelib": "cloudpickle"},
        "prefect_version": VERSION,
    }
    content = base64.encodebytes(pickle.dumps(_Touch(marker))).decode()
    (folder / "result").write_text(json.dumps({"metadata": reference, "result": content}), encoding="utf-8")
    return reference


class HostileServer:
    """What it was asked, and what it calls the result of every flow run."""

    def __init__(self, url: str, result: Any) -> None:
        self.url = url
        self.asked: list[str] = []
        self._result = result

    def answer(self, method: str, path: str, body: Any) -> Any:
        """The answer to a request; None for what it does not know."""
        self.asked.append(f"{method} {path}")
        known = {"id": str(uuid.UUID(int=1)), "created": NOW, "updated": NOW, "name": "release", "labels": {}}
        if path.endswith("/set_state"):
            rejected = {"type": "reject_details", "reason": "it is done"}
            return {"status": "REJECT", "details": rejected, "state": self._state("COMPLETED", self._result)}
        if path.endswith("/health"):
            return True
        if path.endswith("/admin/version"):
            return VERSION
        if path.endswith("/flows/"):
            return {**known, "tags": []}
        if "/deployments/" in path:
            return {
                **known,
                "flow_id": known["id"],
                "entrypoint": "penstock.flows.verify_log.verify_log",
                "pull_steps": [],
            }
        if "/flow_runs/" in path:
            parameters = (body or {}).get("parameters", {}) if isinstance(body, dict) else {}
            pending = self._state("PENDING", None)
            deployed = {"deployment_id": str(uuid.UUID(int=2))} if method == "GET" else {}
            return {**known, "flow_id": known["id"], "parameters": parameters, "state": pending, **deployed}
        return None

    def _state(self, kind: str, data: Any) -> dict[str, Any]:
        details = {"flow_run_id": str(uuid.UUID(int=1))}
        named = {"id": str(uuid.UUID(int=3)), "type": kind, "name": kind.title(), "timestamp": NOW}
        return {**named, "state_details": details, "data": data}


@contextmanager
def answering(result: Any = None, port: int = 0) -> Iterator[HostileServer]:
    """The server, for the length of the block. port: take this one, or fail if somebody has it."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or b"null")
            answer = hostile.answer(self.command, self.path, body)
            self.send_response(404 if answer is None else 200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(answer if answer is not None else {"detail": "Not Found"}).encode())

        do_POST = do_PATCH = do_PUT = do_DELETE = do_GET  # as http.server calls them

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Answer) as server:
        hostile = HostileServer(f"http://127.0.0.1:{server.server_port}/api", result)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield hostile
        finally:
            server.shutdown()
            thread.join()
