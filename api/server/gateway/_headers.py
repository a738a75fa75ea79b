"""Headers: which may stand once in a request, and what every answer says to browsers."""

from __future__ import annotations

__all__ = ["ONCE", "SECURE", "secured"]

ONCE = (
    *("authorization", "content-length", "content-type", "cookie", "host", "origin", "transfer-encoding"),
    *("x-forwarded-user", "x-penstock-proxy"),
)
SECURE = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def secured(path: str, headers: list[tuple[bytes, bytes]], policy: str) -> list[tuple[bytes, bytes]]:
    """Return Prefect's headers without any that let other sites in, and with ours. policy: of its pages."""
    added = {**SECURE, "content-security-policy": policy}
    if path.startswith("/assets/"):
        del added["cache-control"]  # their names change with their content
    ours = {name.encode(): value.encode() for name, value in added.items()}
    kept = [
        (name, value)
        for name, value in headers
        if name not in ours and not name.startswith(b"access-control-") and name not in (b"set-cookie", b"server")
    ]
    return [*kept, *ours.items()]
