"""The process of one flow run: Prefect's engine, and an end when the worker ends.

Prefect leaves a flow run alone when its worker is killed. Here it is told to stop as if by SIGTERM, which
puts the end on record, and if that takes too long it is cut off. Both leave a run that the next run of the
same spec resumes: nothing is half published, and nothing is drawn twice.
"""

from __future__ import annotations

import os
import runpy
import signal
import threading
import time

__all__ = ["WORKER"]

WORKER = "PENSTOCK_WORKER_PID"
_LOOK_AGAIN = 0.5
_GRACE = 10.0


def end_with_worker() -> None:
    """Watch the parent from a thread. One that has died already is noticed by its number."""
    worker = int(os.environ.get(WORKER) or os.getppid())

    def watch() -> None:
        while os.getppid() == worker:
            time.sleep(_LOOK_AGAIN)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_GRACE)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    os.umask(0o077)
    end_with_worker()
    from flows.server.no_pickles import refuse_stored_results

    refuse_stored_results()
    runpy.run_module("prefect.engine", run_name="__main__", alter_sys=True)
