"""The worker alone, without a server: what it never asks, never starts, and how it goes on."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import anyio
import httpx
import pytest
from prefect.client.schemas.objects import FlowRun, WorkPool
from prefect.exceptions import ObjectNotFound
from prefect.settings import PREFECT_HOME, temporary_settings
from prefect.workers.base import BaseWorker
from prefect.workers.process import ProcessWorker

from penstock.flows.prefect_setup import ServerNotReady
from penstock.server._orders import OrderRefused
from penstock.server._worker import OwnConfiguration, OwnWorker, make_folder


class Server:
    """What the worker asks; each answer is a value, or is raised."""

    def __init__(self, deployment: Any, pool: Any) -> None:
        self._deployment, self._pool = deployment, pool

    async def read_deployment(self, _: UUID) -> Any:
        return self._answer(self._deployment)

    async def read_work_pool(self, _: str) -> Any:
        return self._answer(self._pool)

    def _answer(self, value: Any) -> Any:
        if isinstance(value, Exception):
            raise value
        return value


POOL = WorkPool(
    name="penstock",
    type="process",
    default_queue_id=uuid4(),
    base_job_template=ProcessWorker.get_default_base_job_template(),
)
UNREACHABLE = httpx.ConnectError("no")
GONE = ObjectNotFound(Exception())


@pytest.fixture
def worker(tmp_path: Path) -> OwnWorker:
    with temporary_settings({PREFECT_HOME: tmp_path}):
        return OwnWorker(pool="penstock", name="worker", limit=1)


def flow_run() -> FlowRun:
    return FlowRun(flow_id=uuid4(), deployment_id=uuid4())


def submitted(worker: OwnWorker, server: Server) -> list[str]:
    """Hand it a flow run that holds the one slot; the ends that it tells. It must be free for the next one."""
    told: list[str] = []
    asked = flow_run()

    async def tell(_: FlowRun, message: str) -> None:
        told.append(message)

    async def submit() -> None:
        worker._client = server  # type: ignore[assignment]
        worker._propose_crashed_state = tell  # type: ignore[assignment,method-assign]
        worker._limiter = anyio.CapacityLimiter(1)
        worker._limiter.acquire_on_behalf_of_nowait(asked.id)
        worker._submitting_flow_run_ids.add(asked.id)
        await worker._submit_run(asked)
        assert worker._limiter.borrowed_tokens == 0

    asyncio.run(submit())
    assert worker._submitting_flow_run_ids == set()
    assert worker._taken == {}
    return told


def test_a_flow_run_whose_deployment_is_gone_is_ended(worker: OwnWorker) -> None:
    [told] = submitted(worker, Server(GONE, POOL))
    assert told.startswith("order-refused: flow_run.deployment_id refused: must be of a deployment that exists.")


@pytest.mark.parametrize(
    "server",
    [Server(UNREACHABLE, POOL), Server(GONE, UNREACHABLE), Server(GONE, GONE)],
    ids=["first", "second", "pool"],
)
def test_a_flow_run_that_the_server_does_not_answer_for_is_left_for_the_next_look(
    worker: OwnWorker, server: Server
) -> None:
    assert submitted(worker, server) == []


def test_a_flow_run_that_was_not_taken_is_not_run(worker: OwnWorker) -> None:
    with pytest.raises(OrderRefused, match="flow_run refused: must be one that was taken before"):
        asyncio.run(worker.run(flow_run(), OwnConfiguration()))


def test_a_flow_that_is_handed_over_is_not_run(worker: OwnWorker) -> None:
    for hand_over in (worker.submit, worker._submit_adhoc_run):
        with pytest.raises(OrderRefused, match="flow refused: must be one of a deployment"):
            asyncio.run(hand_over(flow=None))


def test_templates_are_never_resolved() -> None:
    """There is no client to resolve them with, and nothing of them arrives."""
    template = {"job_configuration": {"command": "{{ prefect.blocks.secret.key }}"}, "variables": {}}
    made = asyncio.run(OwnConfiguration.from_template_and_values(template, {"env": {"A": "{{ prefect.variables.a }}"}}))
    assert made == OwnConfiguration()
    asked = flow_run().model_copy(update={"job_variables": {"command": "id"}})
    pool = POOL.model_copy(update={"base_job_template": template})
    nobody: Any = None
    configured = OwnConfiguration.resolve_for_flow_run(asked, client=nobody, work_pool=pool, worker_name="worker")
    assert asyncio.run(configured).model_dump() == OwnConfiguration().model_dump()


def test_prefects_own_worker_keeps_its_name() -> None:
    assert BaseWorker.get_worker_class_from_type("process") is ProcessWorker
    assert OwnWorker.type == "process"


def test_flow_runs_begin_in_a_folder_that_is_ours_alone(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "below" / "flow-runs")
    assert f"{folder.stat().st_mode & 0o777:o}" == "700"
    assert make_folder(folder) == folder
    folder.chmod(0o770)
    with pytest.raises(ServerNotReady, match="must be a folder of this account alone"):
        make_folder(folder)
    folder.chmod(0o700)
    link = tmp_path / "link"
    link.symlink_to(folder)
    with pytest.raises(ServerNotReady, match="must be a folder of this account alone"):
        make_folder(link)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "flow-runs")
    os.chown(folder, 65534, -1)
    with pytest.raises(ServerNotReady, match="must be a folder of this account alone"):
        make_folder(folder)
