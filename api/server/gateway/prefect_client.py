"""What the gateway asks of Prefect: in the same process, with the token that no person has."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from penstock.server.gateway._forms import question
from penstock.server.gateway.door import Turned

__all__ = ["App", "Prefect", "Receive", "Scope", "Send", "whole"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# Headers of a page's request that are passed on to Prefect; the others are for us, or for nobody.
_PASSED_ON = (b"accept", b"content-type", b"user-agent", b"x-prefect-ui", b"if-none-match", b"if-modified-since")
_FOR_SOCKETS = (b"sec-websocket-protocol",)


class Prefect:
    """Prefect's application, and the token that its API asks for."""

    def __init__(self, app: App, token: str) -> None:
        self._app, self._token = app, token

    async def get(self, path: str) -> dict[str, Any]:
        """Return what Prefect says about one thing, such as /api/deployments/ID; turn away if there is none."""
        found: dict[str, Any] = json.loads(await self.content(path))
        return found

    async def content(self, path: str) -> bytes:
        """Return what Prefect has at this path; turn away if there is nothing."""
        status, sent = 0, bytearray()

        async def send(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                sent.extend(message.get("body", b""))

        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [],
            "client": None,
            "server": None,
        }
        await self.pass_on(scope, whole(b""), send)
        if status != 200:
            raise Turned(404, "There is nothing of this kind.")
        return bytes(sent)

    async def pass_on(self, scope: Scope, receive: Receive, send: Send, body: bytes | None = None) -> None:
        """Let Prefect answer a request, in our name. body: sent to it in place of the original body."""
        headers = [(name, value) for name, value in scope["headers"] if name in _PASSED_ON]
        credentials = base64.b64encode(self._token.encode())
        headers += [(b"host", b"127.0.0.1"), (b"authorization", b"Basic " + credentials)]
        if body is not None:
            headers = [(name, value) for name, value in headers if name != b"content-type"]
            headers += [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
            receive = whole(body, receive)
        await self._app({**scope, "headers": headers, "state": {}}, receive, send)

    async def connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a page listen to Prefect: its first message says who it is, and we replace that with our own."""
        headers = [(name, value) for name, value in scope["headers"] if name in _FOR_SOCKETS]
        headers.append((b"host", b"127.0.0.1"))
        introduced_us = wrong = closed = False

        async def closing(message: MutableMapping[str, Any]) -> None:
            nonlocal closed
            closed = closed or message["type"] == "websocket.close"
            await send(message)

        async def introduced() -> MutableMapping[str, Any]:
            nonlocal introduced_us, wrong
            message = await receive()
            if message["type"] != "websocket.receive":
                return message
            if not introduced_us:
                introduced_us = True
                return {"type": "websocket.receive", "text": json.dumps({"type": "auth", "token": self._token})}
            try:
                return {"type": "websocket.receive", "text": question((message.get("text") or "").encode()).decode()}
            except (Turned, UnicodeEncodeError):
                wrong = True
                return {"type": "websocket.disconnect", "code": 1007}

        await self._app({**scope, "headers": headers, "state": {}}, introduced, closing)
        if wrong and not closed:
            await send({"type": "websocket.close", "code": 1007, "reason": "This is no question."})


def whole(body: bytes, later: Receive | None = None) -> Receive:
    """Return a complete body in the form in which an application receives it; then comes what `later` returns, or
    nothing."""
    arrived = False

    async def receive() -> MutableMapping[str, Any]:
        nonlocal arrived
        if not arrived:
            arrived = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await (later or _nothing)()

    return receive


async def _nothing() -> MutableMapping[str, Any]:
    await asyncio.Event().wait()
    return {"type": "http.disconnect"}
