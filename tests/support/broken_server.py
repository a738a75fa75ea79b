"""A server on loopback that says that it is well, and then is not what it was taken for."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.hostile_server import HostileServer

__all__ = ["BROKEN", "SECRET", "broken_server"]

SECRET = "words-of-the-server"


def _fails(handler: BaseHTTPRequestHandler, _: HostileServer) -> None:
    _send(handler, 500, SECRET.encode())


def _refuses(handler: BaseHTTPRequestHandler, _: HostileServer) -> None:
    _send(handler, 401, b'{"detail": "' + SECRET.encode() + b'"}')


def _is_a_web_page(handler: BaseHTTPRequestHandler, _: HostileServer) -> None:
    _send(handler, 200, f"<html>{SECRET}</html>".encode())


def _hangs_up(handler: BaseHTTPRequestHandler, _: HostileServer) -> None:
    handler.connection.close()


def _answers_with_something_else(handler: BaseHTTPRequestHandler, _: HostileServer) -> None:
    _send(handler, 200, json.dumps([SECRET, {"id": 7}]).encode())


def _forgets_its_runs(handler: BaseHTTPRequestHandler, known: HostileServer) -> None:
    """Like Prefect until the run is to begin."""
    if handler.path.endswith("/set_state"):
        _send(handler, 404, b'{"detail": "' + SECRET.encode() + b'"}')
        return
    length = int(handler.headers.get("Content-Length") or 0)
    body: Any = json.loads(handler.rfile.read(length) or b"null")
    answer = known.answer(handler.command, handler.path, body)
    _send(handler, 404 if answer is None else 200, json.dumps(answer).encode())


def _dies_when_the_run_has_begun(handler: BaseHTTPRequestHandler, known: HostileServer) -> None:
    """Like Prefect until a run is said to be running; from then on it takes nothing more."""
    length = int(handler.headers.get("Content-Length") or 0)
    body: Any = json.loads(handler.rfile.read(length) or b"null")
    begun = any(asked.endswith("/set_state") for asked in known.asked)
    answer = known.answer(handler.command, handler.path, body)
    if begun and handler.command != "GET":  # Prefect looks at its run once more before it begins
        handler.connection.close()
    elif handler.path.endswith("/set_state"):
        accepted = {
            "status": "ACCEPT",
            "details": {"type": "accept_details"},
            "state": {**answer["state"], "data": None},
        }
        accepted["state"].update(type="RUNNING", name="Running")
        _send(handler, 200, json.dumps(accepted).encode())
    else:
        _send(handler, 404 if answer is None else 200, json.dumps(answer).encode())


BROKEN: dict[str, Callable[[BaseHTTPRequestHandler, HostileServer], None]] = {
    each.__name__.removeprefix("_"): each
    for each in (
        _fails,
        _refuses,
        _is_a_web_page,
        _hangs_up,
        _answers_with_something_else,
        _forgets_its_runs,
        _dies_when_the_run_has_begun,
    )
}


def _send(handler: BaseHTTPRequestHandler, status: int, content: bytes) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    handler.wfile.write(content)


@contextmanager
def broken_server(how: str) -> Iterator[str]:
    """The address of such a server, for the length of the block."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.endswith("/health"):
                _send(self, 200, b"true")
            else:
                BROKEN[how](self, known)

        do_POST = do_PATCH = do_PUT = do_DELETE = do_GET  # as http.server calls them

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # whoever hangs up does so on purpose
        address = f"http://127.0.0.1:{server.server_port}/api"
        known = HostileServer(address, None)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield address
        finally:
            server.shutdown()
            thread.join()
