"""A process that lives as long as the block that started it, or as this process."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock.flows.prefect_setup import ServerNotReady

__all__ = ["Child", "child", "stop_child"]

_START_SECONDS = 180
_STOP_SECONDS = 40  # a worker gives its flow runs ten seconds, tells the server, and takes ten itself
_LOOK_AGAIN = 0.2


@dataclass(frozen=True, slots=True)
class Child:
    """A process of ours, and where it writes."""

    process: subprocess.Popen[bytes]
    log: Path

    def require_alive(self) -> None:
        if self.process.poll() is not None:
            raise self._refused("must not end by itself")

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Return when the process is ready; refuse if it ends before that, or takes too long."""
        deadline = time.monotonic() + _START_SECONDS
        while not ready():
            self.require_alive()
            if time.monotonic() > deadline:
                raise self._refused("must be ready in time")
            time.sleep(_LOOK_AGAIN)

    def _refused(self, rule: str) -> ServerNotReady:
        return ServerNotReady.at(self.log.stem, rule=rule, remedy=f"See the end of {self.log}.")


@contextmanager
def child(log: Path, module: str, *arguments: str, sockets: Sequence[socket.socket] = ()) -> Iterator[Child]:
    """Run a module that ends when its input does; kill it if it does not. sockets: sockets that it inherits; their
    descriptor numbers are its first arguments."""
    numbers = [each.fileno() for each in sockets]
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, numbers), *arguments],
            pass_fds=numbers,
            stdin=subprocess.PIPE,  # closing it is the signal to stop
            stdout=output,
            stderr=output,
            cwd=log.parent,
            start_new_session=True,  # an interrupt on the terminal is for the command, which stops them in order
        )
    try:
        yield Child(process, log)
    finally:
        stop_child(process, _STOP_SECONDS)


def stop_child(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Close the input of a process, which is its signal to stop; kill it if it does not."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
