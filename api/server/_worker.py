"""The worker: Prefect's for processes, but what it starts is ours, whatever the server says.

It polls, reports and cancels as Prefect's does. It never resolves a template, loads a flow that the server names,
or uses a command, an environment, a folder or a process number of the server. For each flow run it asks once which of
our deployments it is for (_orders.py); what it starts then is _flow_process, in its own environment.

Import after the environment is set: Prefect reads its settings when it is imported.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NoReturn, Self
from uuid import UUID

import anyio
import anyio.abc
import httpx
from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.objects import FlowRun, WorkPool
from prefect.client.schemas.responses import DeploymentResponse
from prefect.exceptions import ObjectNotFound
from prefect.flows import Flow
from prefect.runner._flow_run_executor import FlowRunExecutionResult, FlowRunExecutorContext
from prefect.runner._process_manager import ProcessHandle
from prefect.runner._starter_engine import EngineCommandStarter
from prefect.settings import get_current_settings
from prefect.utilities.processutils import command_to_string
from prefect.workers.base import BaseWorker
from prefect.workers.process import ProcessJobConfiguration, ProcessWorker, ProcessWorkerResult

from penstock.flows.prefect_setup import ServerNotReady
from penstock.server._flow_process import DEPLOYMENT, WORKER
from penstock.server._orders import OrderRefused, OwnDeployment, require_own_order

__all__ = ["OwnWorker", "make_folder"]

_COMMAND = [sys.executable, "-m", "penstock.server._flow_process"]


class OwnConfiguration(ProcessJobConfiguration):
    """A placeholder where Prefect's worker expects a configuration. Nothing in it is used, nothing comes from the
    server."""

    @classmethod
    async def from_template_and_values(
        cls, base_job_template: dict[str, Any], values: dict[str, Any], client: PrefectClient | None = None
    ) -> Self:
        return cls()

    @classmethod
    async def resolve_for_flow_run(
        cls,
        flow_run: FlowRun,
        *,
        client: PrefectClient,
        work_pool: WorkPool,
        worker_name: str,
        worker_id: UUID | None = None,
        deployment: DeploymentResponse | None = None,
    ) -> Self:
        made = cls()
        made._related_objects = {"flow-run": flow_run}  # the objects to which an event about the start is related
        return made


class OwnWorker(ProcessWorker):
    """A worker that runs the flows of prefect.yaml and nothing else."""

    job_configuration: type[ProcessJobConfiguration] = OwnConfiguration

    def __init__(self, *, pool: str, name: str, limit: int) -> None:
        super().__init__(work_pool_name=pool, name=name, limit=limit, create_pool_if_not_found=False)
        self._folder = make_folder(get_current_settings().home / "flow-runs")
        self._taken: dict[UUID, OwnDeployment] = {}

    @classmethod
    def __dispatch_key__(cls) -> str:
        return "penstock"  # so that Prefect's own worker keeps its place in the register of workers

    async def __aenter__(self) -> Self:
        await BaseWorker.__aenter__(self)  # without Prefect's runner, which executes pickled flows
        return self

    async def __aexit__(self, *exc_info: Any) -> None:
        await BaseWorker.__aexit__(self, *exc_info)

    async def submit(self, *_: Any, **__: Any) -> NoReturn:
        raise _no_flow_from_elsewhere()

    async def _submit_adhoc_run(self, *_: Any, **__: Any) -> NoReturn:
        raise _no_flow_from_elsewhere()

    async def _submit_run(self, flow_run: FlowRun) -> None:
        """Take a flow run that is for one of our deployments; end any other, and continue."""
        try:
            self._taken[flow_run.id] = await self._order(flow_run)
        except OrderRefused as refused:
            await self._propose_crashed_state(flow_run, f"{refused.code}: {' '.join(map(str, refused.faults))}")
            self._forget(flow_run.id)
        except (httpx.HTTPError, ObjectNotFound) as error:
            self._logger.warning("Flow run %s is looked at again after %s", flow_run.id, type(error).__name__)
            self._forget(flow_run.id)
        else:
            await super()._submit_run(flow_run)
            self._taken.pop(flow_run.id, None)  # the server may have said that it must wait

    async def _order(self, flow_run: FlowRun) -> OwnDeployment:
        try:
            named = flow_run.deployment_id
            deployment = None if named is None else await self.client.read_deployment(named)
        except ObjectNotFound:
            deployment = None
        # What the worker knows about its pool may be half a minute old.
        return require_own_order(flow_run, deployment, await self.client.read_work_pool(self._work_pool_name))

    def _forget(self, flow_run: UUID) -> None:
        self._release_limit_slot(flow_run)
        self._submitting_flow_run_ids.discard(flow_run)
        if self._cancelling_observer is not None:
            self._cancelling_observer.remove_in_flight_flow_run_id(flow_run)

    async def run(
        self,
        flow_run: FlowRun,
        configuration: ProcessJobConfiguration,
        task_status: anyio.abc.TaskStatus[int] | None = None,
    ) -> ProcessWorkerResult:
        """Start the process of a flow run that was taken, and wait for its end."""
        own = self._taken.pop(flow_run.id, None)
        if own is None:
            raise OrderRefused.at("flow_run", rule="must be one that was taken before", remedy="Start another one.")
        ended: list[FlowRunExecutionResult | None] = []
        async with FlowRunExecutorContext() as context:
            starter = EngineCommandStarter(
                command=command_to_string(_COMMAND),
                cwd=self._folder,
                env={DEPLOYMENT: own.name, WORKER: str(os.getpid()), "PYTHONSAFEPATH": "1"},
                control_channel=context.control_channel,
            )
            executor = context.create_executor(flow_run, starter, resolve_flow=_always(own), propose_submitting=False)

            async def execute(*, task_status: anyio.abc.TaskStatus[ProcessHandle]) -> None:
                ended.append(await executor.submit(task_status=task_status))

            async with anyio.create_task_group() as group:
                handle: ProcessHandle = await group.start(execute)
                if task_status is not None and handle.pid is not None:
                    task_status.started(handle.pid)
        [end] = ended
        code = None if end is None else end.status_code
        return ProcessWorkerResult(status_code=1 if code is None else code, identifier=str(handle.pid))


def _always(own: OwnDeployment) -> Callable[[FlowRun], Awaitable[Flow[Any, Any]]]:
    """Return a function that finds the flow for the hooks of a crash or a cancellation, which run in this process."""

    async def resolve_flow(_: FlowRun) -> Flow[Any, Any]:
        return own.flow()

    return resolve_flow


def make_folder(folder: Path) -> Path:
    """Make the folder in which flow runs begin; refuse one into which others could put files."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise ServerNotReady.at(
            str(folder), rule="must be a folder of this account alone, with mode 0700", remedy="Remove it."
        )
    return folder


def _no_flow_from_elsewhere() -> OrderRefused:
    return OrderRefused.at("flow", rule="must be one of a deployment", remedy="Start one of Penstock's deployments.")
