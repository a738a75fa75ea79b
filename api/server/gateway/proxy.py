"""A reverse proxy that vouches for people, where an agency signs them in elsewhere.

The proxy sends X-Penstock-Proxy with the text of the file PENSTOCK_PROXY_SECRET_FILE, and X-Forwarded-User with a name;
it must drop both from the requests it receives. The person it names needs an account here, which says the roles; the
password of that account is not asked for.
"""

from __future__ import annotations

import os
from pathlib import Path

from penstock.mechanisms.refusal import Refusal
from penstock.records.files.outside_text import OutsideFile

__all__ = ["ProxyRefused", "proxy_secret"]

_SHORTEST, _LONGEST = 32, 200
_TOO_OPEN = 0o037


class ProxyRefused(Refusal):
    """The file with the proxy's secret is open to others, or holds no usable secret."""

    code = "proxy-refused"
    kind = "spec"
    remedy = "Write a secret into the file, and close it to other users."


def proxy_secret() -> str | None:
    """Return the secret of the proxy; None if people sign in here."""
    named = os.environ.get("PENSTOCK_PROXY_SECRET_FILE")
    if not named:
        return None
    if _mode(Path(named)) & _TOO_OPEN:
        raise ProxyRefused.at(
            "PENSTOCK_PROXY_SECRET_FILE",
            rule="must be closed to other users, and its group may only read it",
            remedy="Set its mode to 0640 or 0600.",
        )
    secret = OutsideFile(Path(named), "PENSTOCK_PROXY_SECRET_FILE", ProxyRefused).text().strip()
    if not _SHORTEST <= len(secret) <= _LONGEST or not secret.isascii() or not secret.isprintable():
        raise ProxyRefused.at(
            "PENSTOCK_PROXY_SECRET_FILE",
            rule=f"must hold {_SHORTEST} to {_LONGEST} printable ASCII characters",
            remedy="Write one with `openssl rand -hex 32`.",
        )
    return secret


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0  # reading the file will report that it cannot be read
