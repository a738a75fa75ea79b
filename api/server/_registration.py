"""What `penstock serve` asks of a Prefect server: a work pool, deployments, a worker that polls.

Import after the environment is set: Prefect reads its settings when it is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import httpx
from prefect import get_client
from prefect.client.schemas.actions import DeploymentScheduleCreate, WorkPoolCreate, WorkPoolUpdate
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
    WorkPoolFilter,
    WorkPoolFilterName,
)
from prefect.client.schemas.objects import (
    ConcurrencyLimitStrategy,
    ConcurrencyOptions,
    State,
    StateType,
    WorkerStatus,
)
from prefect.client.schemas.schedules import CronSchedule
from prefect.exceptions import ObjectAlreadyExists
from prefect.flows import Flow
from prefect.states import Crashed
from prefect.utilities.callables import parameter_schema
from prefect.workers.process import ProcessWorker

from penstock.flows.prefect_setup import ServerNotReady
from penstock.server._orders import own_deployment, require_own_pool
from penstock.server.deployment_settings import DeploymentSettings, merged_deployments

__all__ = ["close_flow_runs", "close_orphans", "is_polling", "make_pool", "register"]

_UNFINISHED = (StateType.RUNNING, StateType.PENDING, StateType.CANCELLING)
_ENDED: State[None] = Crashed(message="Its worker ended. Run it again: it goes on where it stopped.")


def make_pool(name: str, *, is_ours: bool) -> None:
    """Make the work pool. An existing one is reset if the server is ours, and otherwise refused if it was changed."""
    template = ProcessWorker.get_default_base_job_template()
    with get_client(sync_client=True) as client:
        try:
            client.create_work_pool(WorkPoolCreate(name=name, type="process", base_job_template=template))
        except ObjectAlreadyExists:
            if is_ours:
                client.update_work_pool(name, WorkPoolUpdate(base_job_template=template))
        require_own_pool(client.read_work_pool(name))


def register(settings: DeploymentSettings, *, hidden: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """Register every deployment of prefect.yaml; return their names.

    hidden: parameters, by deployment, that are filled in for the person who starts a run. Nobody is asked for them.
    """
    deployments = merged_deployments(settings)["deployments"]
    try:
        for each in deployments:
            _register(each, hidden.get(each["name"], frozenset()))
    except httpx.HTTPStatusError as error:
        raise ServerNotReady.at(
            "deployments",
            rule=f"must be taken by the server, which answers {error.response.status_code}",
            remedy="Ask its owner for an account that may register deployments.",
        ) from None
    return tuple(each["name"] for each in deployments)


def _register(each: Mapping[str, Any], hidden: frozenset[str]) -> None:
    flow = own_deployment(each["name"]).flow()
    limit = each["concurrency_limit"]
    with get_client(sync_client=True) as client:
        client.create_deployment(
            flow_id=client.create_flow(flow),
            name=each["name"],
            version=flow.version,
            entrypoint=each["entrypoint"],
            description=each["description"],
            tags=each["tags"],
            schedules=[_schedule(schedule) for schedule in each["schedules"]],
            concurrency_limit=limit["limit"],
            concurrency_options=ConcurrencyOptions(
                collision_strategy=ConcurrencyLimitStrategy(limit["collision_strategy"])
            ),
            work_pool_name=each["work_pool"]["name"],
            parameter_openapi_schema=_form(flow, hidden),
            enforce_parameter_schema=True,
            # Set explicitly, not left out, so that no earlier value stays.
            pull_steps=[],
            job_variables={},
            path=None,
        )


def _schedule(schedule: Mapping[str, Any]) -> DeploymentScheduleCreate:
    return DeploymentScheduleCreate(
        schedule=CronSchedule(cron=schedule["cron"], timezone=schedule["timezone"]),
        active=schedule["active"],
        parameters=schedule["parameters"],
        slug=schedule["slug"],
    )


def _form(flow: Flow[..., Any], hidden: frozenset[str]) -> dict[str, Any]:
    """Describe the parameters that people are asked for. The server accepts others too, which the flow then checks."""
    schema = parameter_schema(flow).model_dump(exclude_unset=True)
    schema["properties"] = {name: each for name, each in schema["properties"].items() if name not in hidden}
    if "required" in schema:
        schema["required"] = [name for name in schema["required"] if name not in hidden]
    return schema


def close_orphans(pool: str) -> None:
    """Mark as crashed every flow run that a dead worker left in progress. Nobody else works on a server of our own."""
    with get_client(sync_client=True) as client:
        runs = client.read_flow_runs(
            flow_run_filter=FlowRunFilter(state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[*_UNFINISHED]))),
            work_pool_filter=WorkPoolFilter(name=WorkPoolFilterName(any_=[pool])),
        )
    close_flow_runs(run.id for run in runs)


def close_flow_runs(flow_runs: Iterable[UUID]) -> None:
    """Mark these as crashed, except those whose end the server already knows. Their processes must have ended."""
    with get_client(sync_client=True) as client:
        for each in flow_runs:
            state = client.read_flow_run(each).state
            if state is None or state.type in _UNFINISHED:
                client.set_flow_run_state(each, _ENDED, force=True)


def is_polling(pool: str, worker: str, since: datetime) -> bool:
    """Return whether this worker has been heard from since then."""
    with get_client(sync_client=True) as client:
        return any(
            each.name == worker and each.status is WorkerStatus.ONLINE and (each.last_heartbeat_time or since) > since
            for each in client.read_workers_for_work_pool(pool)
        )
