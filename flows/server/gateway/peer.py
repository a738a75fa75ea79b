"""Which user of this machine is at the other end of a loopback connection, as the kernel says.

Browsers send a cookie to every port of a host, so a page that another user of this machine serves on another port is
sent the cookie of a session here. It is worth nothing to them: a session belongs to whoever's processes began it. Linux
only; elsewhere, and for connections from other machines, the answer is None.
"""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["owner_of"]

_TABLE = Path("/proc/net/tcp")
_LOOPBACK = "127."
_ADDRESS, _PEER, _USER = 1, 2, 7  # columns; see proc_net_tcp in the kernel's documentation


def owner_of(client: tuple[str, int] | None, server: tuple[str, int] | None) -> int | None:
    """Return the user id of the process that has opened this connection to us; None where it cannot be known."""
    if client is None or server is None or not client[0].startswith(_LOOPBACK) or not _TABLE.exists():
        return None
    wanted = [_written(*client), _written(*server)]
    with _TABLE.open(encoding="ascii") as rows:
        for row in rows:
            fields = row.split()
            if fields[_ADDRESS : _PEER + 1] == wanted:
                return int(fields[_USER])
    return None


def _written(host: str, port: int) -> str:
    """Write an address as the kernel does: the four bytes as one number of this machine, and the port."""
    number = int.from_bytes(bytes(map(int, host.split("."))), sys.byteorder)
    return f"{number:08X}:{port:04X}"
