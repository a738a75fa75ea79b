"""Which requests are looked at at all: those to our own name, that no other site's page has made.

A browser sends `Host` with every request, and `Origin` with every WebSocket and every request that could change
something; a page cannot change either. So a foreign `Host` (a name that was bound to this machine after the page was
loaded) and a foreign `Origin` are refused before anybody is asked who they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from penstock.mechanisms.refusal import Refusal

__all__ = ["AddressRefused", "Door", "Turned"]

SAFE = ("GET", "HEAD")
_HEADERS_AT_MOST = 100


class AddressRefused(Refusal):
    """The address that people are to type is not a valid one."""

    code = "served-address-refused"
    kind = "spec"
    remedy = "Write what people type to reach the pages, such as https://penstock.example."


class Turned(Exception):
    """A visitor was turned away: an HTTP status, and a sentence for whoever sent the request."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


@dataclass(frozen=True, slots=True)
class Door:
    """The address that people type, such as https://penstock.example: the only name that is answered."""

    scheme: str
    host: str

    @classmethod
    def at(cls, address: str) -> Door:
        """Return the door at an address; refuse one with a path, a user name or another scheme."""
        try:
            parts = urlsplit(address)
            sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            sound = False
        if not sound or parts.username is not None or parts.path.strip("/") or parts.query or parts.fragment:
            raise AddressRefused.at(
                "PENSTOCK_ADDRESS",
                rule="must be http:// or https://, a host and perhaps a port",
                remedy="Write what people type to reach the pages, such as https://penstock.example.",
            )
        return cls(parts.scheme, parts.netloc.lower())

    @property
    def address(self) -> str:
        return f"{self.scheme}://{self.host}"

    def require_own(self, scope: Mapping[str, object], headers: Mapping[str, str], count: int) -> None:
        """Turn away a request that is not meant for us, or comes from another site's page."""
        if count > _HEADERS_AT_MOST:
            raise Turned(431, "The request has too many headers.")
        if headers.get("host", "").lower() != self.host:
            raise Turned(421, f"This is not the name of this service. Open {self.address}")
        socket = scope["type"] == "websocket"
        origin = headers.get("origin")
        if origin is not None and origin.lower() != self.address:
            raise Turned(403, "The request comes from a page of another site.")
        if origin is None and socket:
            raise Turned(403, "A WebSocket must say which page has opened it.")
        if scope.get("method") in SAFE and headers.get("sec-fetch-mode") == "navigate":
            return  # somebody followed a link: they see a page, and the other site sees nothing
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise Turned(403, "The request comes from a page of another site.")

    def require_page(self, method: str, headers: Mapping[str, str]) -> None:
        """Turn away a change that no page of ours asked for; for visitors identified by their browser or a proxy."""
        if method not in SAFE and headers.get("origin", "").lower() != self.address:
            raise Turned(403, "The request must say which page it comes from.")
