"""A process of its own that appends events, and says so when each is on disk."""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime

from penstock.records import Action, Home, LogAppendFailed, open_records


class LogWriter:
    """Forked, so that it starts at once; its records and their connections are its own."""

    def __init__(self, home: Home, run: str, count: int) -> None:
        reader, writer = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            status = 1
            try:
                os.close(reader)
                status = _append(home, run, count, writer)
            finally:
                os._exit(status)
        os.close(writer)
        self._said = os.fdopen(reader)

    def confirmed(self, count: int) -> list[int]:
        """The next numbers that it confirms; waits for them."""
        return [int(self._said.readline()) for _ in range(count)]

    def kill(self) -> None:
        os.kill(self._process, signal.SIGKILL)

    def end(self) -> tuple[list[int], int]:
        """Wait for its end: the rest of what it confirmed, and its exit code."""
        with self._said:
            whole_lines = self._said.read().split("\n")[:-1]
        return [int(line) for line in whole_lines], os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])


REFUSED = 3


def _append(home: Home, run: str, count: int, report: int) -> int:
    records = open_records(home=home)
    for index in range(count):
        try:
            event = records.log.append(
                Action.PLANNED, run=run, actor="writer", facts={"index": index}, occurred=datetime.now(UTC)
            )
        except LogAppendFailed:
            return REFUSED
        os.write(report, f"{event.seq}\n".encode())
    return 0
