"""The process of the worker that `penstock serve` starts: it takes flow runs, and ends when its input does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
from uuid import UUID

import psutil

__all__ = ["end_flow_runs"]

_GRACE = 10.0
_LOOK_AGAIN = 0.1


def end_with_parent() -> None:
    """Watch the pipe to the command; when it ends, end the flow runs, make sure that the server knows, and stop.

    Prefect's worker cuts them off when it stops, and the server would show them as running for ever.
    """

    def watch() -> None:
        sys.stdin.buffer.read()
        flow_runs = psutil.Process().children()
        known = [number for number in map(_flow_run_of, flow_runs) if number is not None]
        end_flow_runs(flow_runs)
        if known:
            # One that was cut off, or was asked too early, did not report its end. The server may have ended before.
            telling = threading.Thread(target=_close, args=(known,), daemon=True)
            telling.start()
            telling.join(_GRACE)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(_GRACE)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def end_flow_runs(flow_runs: list[psutil.Process]) -> None:
    """Ask each one to end, wait, and cut off those that have not; Prefect collects how they ended."""
    for each in flow_runs:
        with contextlib.suppress(psutil.NoSuchProcess):  # it ended by itself meanwhile
            each.terminate()
    deadline = time.monotonic() + _GRACE
    while any(map(_lives, flow_runs)) and time.monotonic() < deadline:
        time.sleep(_LOOK_AGAIN)
    for each in filter(_lives, flow_runs):
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()


def _close(flow_runs: list[UUID]) -> None:
    from penstock.server._registration import close_flow_runs  # as below

    close_flow_runs(flow_runs)


def _flow_run_of(process: psutil.Process) -> UUID | None:
    """Return the flow run that a process was started for, by its environment; None for any other process."""
    with contextlib.suppress(psutil.Error):  # it ended by itself meanwhile
        named = process.environ().get("PREFECT__FLOW_RUN_ID")
        return None if named is None else UUID(named)
    return None


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def work(pool: str, name: str, limit: int) -> None:
    from penstock.flows.no_pickles import leave_results_unread
    from penstock.server._worker import OwnWorker  # Prefect reads its settings when it is imported

    leave_results_unread()
    end_with_parent()
    try:
        asyncio.run(OwnWorker(pool=pool, name=name, limit=limit).start(printer=lambda *_: None))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    os.umask(0o077)
    work(sys.argv[1], sys.argv[2], int(sys.argv[3]))
