"""What `penstock serve` asks of a Prefect server: a work pool, deployments, a worker that polls.

Import after the environment is set: Prefect reads its settings when it is imported.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from prefect import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
    WorkPoolFilter,
    WorkPoolFilterName,
)
from prefect.client.schemas.objects import State, StateType, WorkerStatus
from prefect.exceptions import ObjectAlreadyExists
from prefect.states import Crashed
from prefect.workers.process import ProcessWorker

__all__ = ["close_flow_runs", "close_orphans", "is_polling", "make_pool"]

_UNFINISHED = (StateType.RUNNING, StateType.PENDING, StateType.CANCELLING)
_ENDED: State[None] = Crashed(message="Its worker ended. Run it again: it goes on where it stopped.")


def make_pool(name: str) -> None:
    """Make the work pool; one that is there stays as it is."""
    template = ProcessWorker.get_default_base_job_template()
    with get_client(sync_client=True) as client:
        try:
            client.create_work_pool(WorkPoolCreate(name=name, type="process", base_job_template=template))
        except ObjectAlreadyExists:
            return


def close_orphans(pool: str) -> None:
    """Call every flow run crashed that a dead worker left in progress. Nobody else works on a server of our own."""
    with get_client(sync_client=True) as client:
        runs = client.read_flow_runs(
            flow_run_filter=FlowRunFilter(state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[*_UNFINISHED]))),
            work_pool_filter=WorkPoolFilter(name=WorkPoolFilterName(any_=[pool])),
        )
    close_flow_runs(run.id for run in runs)


def close_flow_runs(flow_runs: Iterable[UUID]) -> None:
    """Call these crashed, but for those whose end the server knows already. Their processes must have ended."""
    with get_client(sync_client=True) as client:
        for each in flow_runs:
            state = client.read_flow_run(each).state
            if state is None or state.type in _UNFINISHED:
                client.set_flow_run_state(each, _ENDED, force=True)


def is_polling(pool: str, worker: str, since: datetime) -> bool:
    """Whether this worker has been heard of since then."""
    with get_client(sync_client=True) as client:
        return any(
            each.name == worker and each.status is WorkerStatus.ONLINE and (each.last_heartbeat_time or since) > since
            for each in client.read_workers_for_work_pool(pool)
        )
