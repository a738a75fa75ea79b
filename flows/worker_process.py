"""The process of the worker that `penstock serve` starts: it takes flow runs, and ends when its input does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
import time

import psutil

from flows.flow_process import WORKER

__all__ = ["end_flow_runs"]

_GRACE = 10.0
_LOOK_AGAIN = 0.1


def end_with_parent() -> None:
    """When the pipe to the command ends: tell the flow runs, wait until the server knows of their end, and stop.

    Prefect's worker cuts them off when it stops, and the server would show them as running for ever.
    """

    def watch() -> None:
        sys.stdin.buffer.read()
        end_flow_runs(psutil.Process().children())
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(_GRACE)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def end_flow_runs(flow_runs: list[psutil.Process]) -> None:
    """Ask every one to end, and wait until they have; how they ended is for Prefect to collect."""
    for each in flow_runs:
        with contextlib.suppress(psutil.NoSuchProcess):  # it ended by itself meanwhile
            each.terminate()
    deadline = time.monotonic() + _GRACE
    while any(map(_lives, flow_runs)) and time.monotonic() < deadline:
        time.sleep(_LOOK_AGAIN)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def work(pool: str, name: str, limit: int) -> None:
    from prefect.workers.process import ProcessWorker

    end_with_parent()
    os.environ[WORKER] = str(os.getpid())
    worker = ProcessWorker(work_pool_name=pool, name=name, limit=limit, create_pool_if_not_found=False)
    try:
        asyncio.run(worker.start(printer=lambda *_: None))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    os.umask(0o077)
    work(sys.argv[1], sys.argv[2], int(sys.argv[3]))
