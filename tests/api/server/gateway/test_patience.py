"""Connections that do not say what they want are ended; those that talk, or listen, are not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from penstock.server._private_api import LOOPBACK, listening
from penstock.server.gateway import timeouts as patience
from tests.support.gateway_house import echo
from tests.support.living_processes import LONGEST_WAIT


async def answer(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await echo(receive, send)
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(patience, "HEADER_SECONDS", 0.5)
    bound = listening(LOOPBACK, 0)
    server = uvicorn.Server(uvicorn.Config(answer, http=patience.Impatient, lifespan="off", log_level="critical"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    yield int(bound.getsockname()[1])
    server.should_exit = True
    thread.join()
    bound.close()


def calling(port: int) -> socket.socket:
    return socket.create_connection((LOOPBACK, port), timeout=LONGEST_WAIT)


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nX: "])
def test_headers_that_do_not_come_to_an_end_are_not_waited_for(port: int, said: bytes) -> None:
    with calling(port) as caller:
        if said:
            caller.sendall(said)
        assert caller.recv(10) == b""


@pytest.mark.slow
def test_the_second_request_of_a_connection_is_not_waited_for_either(port: int) -> None:
    with calling(port) as caller:
        caller.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HT")
        answered = b""
        while part := caller.recv(1000):
            answered += part
        assert answered.count(b"200 OK") == 1


def test_a_websocket_that_says_nothing_stays(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from websockets.sync.client import connect

    with connect(f"ws://127.0.0.1:{port}/") as caller:
        with pytest.raises(TimeoutError):
            caller.recv(timeout=1.5)  # three times as long as headers may take
        caller.send("still here")
        assert caller.recv() == "still here"
