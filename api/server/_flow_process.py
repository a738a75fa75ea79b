"""The process of one flow run: one of our flows in Prefect's engine, and an end when the worker ends.

The worker says in the environment which of our deployments it is for. Prefect's own process would ask the server
instead, and load what it names. The server only supplies the parameters, which the flow checks, and nothing that is
loaded or unpickled: no storage of results, and no result of a state.

Prefect leaves a flow run alone when its worker is killed. Here it is stopped as if by SIGTERM, which
puts the end on record, and if that takes too long it is cut off. Both leave a run that the next run of the
same spec resumes: nothing is half published, and nothing is drawn twice.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from logging import Logger
from pathlib import Path
from typing import cast
from uuid import UUID

__all__ = ["DEPLOYMENT", "WORKER", "run_own_flow"]

WORKER = "PENSTOCK_WORKER_PID"
DEPLOYMENT = "PENSTOCK_DEPLOYMENT"
_LOOK_AGAIN = 0.5
_GRACE = 10.0


def end_with_worker() -> None:
    """Watch the parent from a thread. A parent that has already died is noticed by its process number."""
    worker = int(os.environ.get(WORKER) or os.getppid())

    def watch() -> None:
        while os.getppid() == worker:
            time.sleep(_LOOK_AGAIN)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_GRACE)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def run_own_flow(flow_run_id: UUID, name: str) -> None:
    """Run the flow of our deployment of this name, as Prefect's engine does; end the process with its exit code."""
    from prefect import get_client
    from prefect._internal.control_listener import configure_from_env
    from prefect.engine import handle_engine_signals
    from prefect.flow_engine import run_flow
    from prefect.logging.loggers import flow_run_logger
    from prefect.settings import get_current_settings

    from penstock.server._orders import own_deployment

    configure_from_env()  # how the worker says that the run is cancelled
    with handle_engine_signals(flow_run_id):
        # With a storage of its own a flow does not ask the server for one; nothing is written there.
        storage = Path(get_current_settings().results.local_storage_path)
        flow = own_deployment(name).flow().with_options(result_storage=storage, persist_result=False)
        with get_client(sync_client=True) as client:
            flow_run = client.read_flow_run(flow_run_id)
        logger = cast("Logger", flow_run_logger(flow_run=flow_run))  # as Prefect passes it, an adapter
        # Ask for the state and not its result, which would be read from wherever the state says.
        run_flow(flow, flow_run=flow_run, return_type="state", error_logger=logger)


if __name__ == "__main__":
    os.umask(0o077)
    end_with_worker()
    from penstock.flows.no_pickles import refuse_stored_results

    refuse_stored_results()
    run_own_flow(UUID(os.environ["PREFECT__FLOW_RUN_ID"]), os.environ[DEPLOYMENT])
