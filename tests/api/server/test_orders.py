"""Orders of a server: which flow they are for, and everything that is refused of them."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from prefect.client.schemas.objects import FlowRun, WorkPool
from prefect.client.schemas.responses import DeploymentResponse
from prefect.flows import Flow
from prefect.workers.process import ProcessWorker

from penstock.server._orders import OrderRefused, own_deployment, own_deployments, require_own_order, require_own_pool

DEPLOYMENT = uuid4()


def flow_run(**changes: Any) -> FlowRun:
    return FlowRun(**{"flow_id": uuid4(), "deployment_id": DEPLOYMENT, **changes})


def deployment(**changes: Any) -> DeploymentResponse:
    ours = {
        "name": "release",
        "entrypoint": "penstock.flows.release_by_reference.release_by_reference",
        "pull_steps": [],
    }
    return DeploymentResponse(**{"id": DEPLOYMENT, "flow_id": uuid4(), "labels": {}, **ours, **changes})


def pool(**changes: Any) -> WorkPool:
    ours = {"type": "process", "base_job_template": ProcessWorker.get_default_base_job_template()}
    return WorkPool(**{"name": "penstock", "default_queue_id": uuid4(), **ours, **changes})


def fields(refused: pytest.ExceptionInfo[OrderRefused]) -> list[str]:
    return [fault.field for fault in refused.value.faults]


def test_every_deployment_of_ours_is_known_with_a_flow_that_prefect_can_run_as_it_is() -> None:
    assert [*own_deployments()] == ["release", "release-table", "ask", "review", "verify-log"]
    for name, own in own_deployments().items():
        flow = own_deployment(name).flow()
        assert isinstance(flow, Flow)
        assert (own.name, flow.isasync, flow.isgenerator, flow.persist_result) == (name, False, False, False)


def test_an_order_as_it_was_registered_is_taken() -> None:
    for name, own in own_deployments().items():
        asked = deployment(name=name, entrypoint=own.entrypoint)
        assert require_own_order(flow_run(job_variables={}), asked, pool()) == own
    assert require_own_order(flow_run(), deployment(pull_steps=None), pool()).name == "release"


@pytest.mark.parametrize(
    ("field", "value"),
    [("job_variables", {"command": "id"}), ("job_variables", {"env": {}}), ("infrastructure_document_id", uuid4())],
)
def test_a_flow_run_that_says_more_is_refused(field: str, value: Any) -> None:
    with pytest.raises(OrderRefused) as refused:
        require_own_order(flow_run(**{field: value}), deployment(), pool())
    assert fields(refused) == [f"flow_run.{field}"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("job_variables", {"env": {"PYTHONPATH": "/tmp"}}),
        ("pull_steps", [{"prefect.deployments.steps.set_working_directory": {"directory": "/"}}]),
        ("path", "."),
        ("storage_document_id", uuid4()),
        ("infrastructure_document_id", uuid4()),
        ("name", "foreign"),
        ("entrypoint", "penstock.flows.forms.review.review_release"),  # ours, but of another name
        ("entrypoint", None),
    ],
)
def test_a_deployment_that_is_not_as_registered_is_refused(field: str, value: Any) -> None:
    with pytest.raises(OrderRefused) as refused:
        require_own_order(flow_run(), deployment(**{field: value}), pool())
    assert fields(refused) == [f"deployment.{field}"]


@pytest.mark.parametrize("known", [None, deployment(id=uuid4())])
def test_a_flow_run_without_its_deployment_is_refused(known: DeploymentResponse | None) -> None:
    for asked in (flow_run(), flow_run(deployment_id=None)):
        with pytest.raises(OrderRefused) as refused:
            require_own_order(asked, known, pool())
        assert fields(refused) == ["flow_run.deployment_id"]


def test_every_fault_is_told_and_no_word_of_the_server() -> None:
    asked = deployment(name="evil-name", path="evil-path")
    with pytest.raises(OrderRefused) as refused:
        require_own_order(flow_run(job_variables={"command": "evil-command"}), asked, pool(type="evil-type"))
    assert fields(refused) == ["flow_run.job_variables", "work_pool.type", "deployment.path", "deployment.name"]
    assert "evil" not in str(refused.value)
    assert refused.value.code == "order-refused"


def test_a_pool_of_another_kind_or_with_another_template_is_refused() -> None:
    require_own_pool(pool())
    with pytest.raises(OrderRefused, match=r"work_pool.type refused: must be process"):
        require_own_pool(pool(type="docker"))
    template = ProcessWorker.get_default_base_job_template()
    template["variables"]["properties"]["command"]["default"] = "id"
    with pytest.raises(OrderRefused, match=r"work_pool.base_job_template refused: must be Prefect's own"):
        require_own_pool(pool(base_job_template=template))


def test_a_name_that_is_not_ours_has_no_flow() -> None:
    with pytest.raises(
        OrderRefused, match=r"deployment.name refused: must be one of release, release-table, ask, review"
    ):
        own_deployment("os.system")
