"""Another user of the machine, who takes the port of a server that a command starts.

The process list is open to everybody. Whatever port a process of the command names there is taken as soon as it is
seen, before the server has come to it, and answered in its place.
"""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from typing import Any

import psutil

from tests.support.hostile_server import HostileServer, answering
from tests.support.living_processes import processes

__all__ = ["PortTaker"]

_LOOK_AGAIN = 0.01


class PortTaker:
    """Looks at the processes of a command while it runs; takes every port that they name, notes every one they open."""

    def __init__(self, mark: str, result: Any) -> None:
        self._mark, self._result = mark, result
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.seen: set[int] = set()
        self.sockets: set[str] = set()
        self.taken: list[HostileServer] = []
        self._servers = ExitStack()

    def __enter__(self) -> PortTaker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._servers.close()

    def _look(self) -> None:
        while not self._over.is_set():
            for pid, line in processes(self._mark).items():
                self.seen.add(pid)
                self.sockets |= _sockets(pid)
                for word in line.split():
                    if word.isdigit() and 1024 <= int(word) < 65536:
                        self._take(int(word))
            time.sleep(_LOOK_AGAIN)

    def _take(self, port: int) -> None:
        if any(f":{port}/" in server.url for server in self.taken):
            return
        try:
            self.taken.append(self._servers.enter_context(answering(self._result, port)))
        except OSError:
            return  # the server was faster; the next command is another chance


def _sockets(pid: int) -> set[str]:
    """The TCP sockets that a process has open, by the tables that every user can read."""
    try:
        return {f"{kind.laddr} {kind.status}" for kind in psutil.Process(pid).net_connections("tcp")}
    except (psutil.Error, OSError):
        return set()  # it has ended meanwhile
