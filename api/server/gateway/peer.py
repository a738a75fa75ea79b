"""Which user of this machine is at the other end of a loopback connection, as the kernel says.

Browsers send a cookie to every port of a host, so a page that another user of this machine serves on another port
receives the cookie of a session here. It is worth nothing to them: a session belongs to the user whose process began
it. Linux only; elsewhere, and for connections from other machines, the answer is None.

A socket that its process has closed stays for a while, and then belongs to root in the kernel's table. So only an open
socket counts: a closed one belongs to NOBODY.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Any

__all__ = ["NOBODY", "OwnSocket", "owner_of"]

NOBODY = -1  # the connection is from this machine, and its process has gone
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOOPBACK = "127."
_ADDRESS, _PEER, _STATE, _USER, _FILE = 1, 2, 3, 7, 9  # columns; see proc_net_tcp in the kernel's documentation
_ESTABLISHED, _NO_FILE = "01", "0"
_MAPPED = "0000000000000000FFFF0000"  # precedes an IPv4 address in the IPv6 table, for sockets of both kinds


def owner_of(client: tuple[str, int] | None, server: tuple[str, int] | None) -> int | None:
    """Return the user id of the process that opened this connection to us; NOBODY if it has closed it, None if that
    cannot be known."""
    if client is None or server is None or not client[0].startswith(_LOOPBACK) or not _TABLES[0].exists():
        return None
    wanted = [_written(*client), _written(*server)]
    for table in filter(Path.exists, _TABLES):
        with table.open(encoding="ascii") as rows:
            for row in rows:
                fields = row.replace(_MAPPED, "").split()
                if fields[_ADDRESS : _PEER + 1] == wanted:
                    is_open = fields[_STATE] == _ESTABLISHED and fields[_FILE] != _NO_FILE
                    return int(fields[_USER]) if is_open else NOBODY
    return NOBODY


class OwnSocket(socket.socket):
    """A listening socket on loopback that accepts only connections from processes of our own user, where the owner can
    be known: others cannot even hold one."""

    def accept(self) -> tuple[socket.socket, Any]:
        connection, address = super().accept()
        if owner_of(address, self.getsockname()) in (os.geteuid(), None):
            return connection, address
        connection.close()
        raise ConnectionAbortedError  # as if they had gone before


def _written(host: str, port: int) -> str:
    """Write an address as the kernel does: the four bytes as one number of this machine, and the port."""
    number = int.from_bytes(bytes(map(int, host.split("."))), sys.byteorder)
    return f"{number:08X}:{port:04X}"
