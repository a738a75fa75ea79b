"""Finding processes by a mark in their environment, and waiting for their end without sleeping."""

from __future__ import annotations

import os
import select
from pathlib import Path

MARK = "PENSTOCK_TEST_MARK"
# Two cores that many share; whoever hangs is found out all the same.
LONGEST_WAIT = 400


def processes(mark: str) -> dict[int, str]:
    """The living processes that carry the mark in their environment, with their command lines."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"{MARK}={mark}\0".encode() in (entry / "environ").read_bytes():
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue  # it ended while we looked, or is not ours
    return found


def wait_for_death(pid: int) -> None:
    """Wait until a process that is not our child has ended; the kernel tells, nobody sleeps."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        assert poller.poll(1000 * LONGEST_WAIT), f"process {pid} outlived its command"
    finally:
        os.close(handle)
