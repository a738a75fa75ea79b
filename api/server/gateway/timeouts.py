"""HTTP connections that end when a request does not arrive in time.

uvicorn waits for ever for the rest of a request's headers. Here a connection has HEADER_SECONDS for them, counted
from its opening, or from the first byte after a request that was answered.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["HEADER_BYTES", "HEADER_SECONDS", "Impatient"]

HEADER_SECONDS = 10.0
HEADER_BYTES = 32 << 10


class Impatient(H11Protocol):
    """uvicorn's protocol over h11, with a time limit for the headers."""

    _waiting: asyncio.TimerHandle | None = None
    _is_socket = False  # a WebSocket has limits of its own

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_socket or self._answering():
            self._relax()
        elif self._waiting is None:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._relax()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: Any) -> None:
        self._is_socket = True
        super().handle_websocket_upgrade(event)

    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _watch(self) -> None:
        self._waiting = self.loop.call_later(HEADER_SECONDS, self._end)

    def _relax(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _end(self) -> None:
        self._waiting = None
        if not self._answering():
            self.transport.close()
