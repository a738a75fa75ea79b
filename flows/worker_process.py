"""The process of the worker that `penstock serve` starts: it takes flow runs, and ends when its input does."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time

from flows.flow_process import WORKER

__all__: list[str] = []

_GRACE = 20.0


def end_with_parent() -> None:
    """When the pipe to the command ends, stop like on an interrupt: flow runs are told, then waited for."""

    def watch() -> None:
        sys.stdin.buffer.read()
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(_GRACE)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


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
