"""Which of our flows a flow run is for: what a Prefect server may order, and what is refused.

Prefect's worker does what its server says: a command or an environment in job variables, steps before the run,
a file to load the flow from. Ours takes one word from the server, the name of one of the deployments in
prefect.yaml. Everything else that a server could say about a flow run, its deployment or its work pool must be
absent, or as `penstock serve` registered it; otherwise nothing is run.

Import after the environment is set: Prefect reads its settings when it is imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

import yaml
from prefect.client.schemas.objects import FlowRun, WorkPool
from prefect.client.schemas.responses import DeploymentResponse
from prefect.flows import Flow
from prefect.workers.process import ProcessWorker

from penstock.mechanisms.refusal import Fault, Refusal
from penstock.server.deployment_settings import DEPLOYMENTS

__all__ = [
    "OrderRefused",
    "OwnDeployment",
    "own_deployment",
    "own_deployments",
    "require_own_order",
    "require_own_pool",
]

_START_ANEW = "Start one of Penstock's own deployments, with parameters only."
_REGISTER_ANEW = "Start `penstock serve` again: it registers its deployments anew."


class OrderRefused(Refusal):
    """The Prefect server ordered something other than a run of one of Penstock's deployments."""

    code = "order-refused"
    remedy = "Start the named deployment again, or let the owner of the server restore it."


@dataclass(frozen=True, slots=True)
class OwnDeployment:
    """One deployment of prefect.yaml."""

    name: str
    entrypoint: str

    def flow(self) -> Flow[..., Any]:
        """Import the flow from the installed package."""
        module, _, attribute = self.entrypoint.rpartition(".")
        found: Flow[..., Any] = getattr(import_module(module), attribute)
        return found


@cache
def own_deployments() -> Mapping[str, OwnDeployment]:
    """Return our deployments by name, as prefect.yaml lists them."""
    listed = yaml.safe_load(DEPLOYMENTS.read_text(encoding="utf-8"))["deployments"]
    return MappingProxyType({each["name"]: OwnDeployment(each["name"], each["entrypoint"]) for each in listed})


def own_deployment(name: str) -> OwnDeployment:
    """Return our deployment of this name; refuse if there is none."""
    OrderRefused.raise_for(_name_faults(name))
    return own_deployments()[name]


def require_own_order(flow_run: FlowRun, deployment: DeploymentResponse | None, pool: WorkPool) -> OwnDeployment:
    """Return the deployment of ours that is to run; refuse with everything that the server adds to it or changes.

    The values are never quoted: they are the server's, and go into a log.
    """
    faults = [*_flow_run_faults(flow_run), *_pool_faults(pool)]
    if deployment is None or deployment.id != flow_run.deployment_id:
        raise OrderRefused(*faults, Fault("flow_run.deployment_id", "must be of a deployment that exists", _START_ANEW))
    OrderRefused.raise_for([*faults, *_deployment_faults(deployment)])
    return own_deployments()[deployment.name]


def require_own_pool(pool: WorkPool) -> None:
    """Refuse a work pool that would have workers do anything other than start a process as Prefect does."""
    OrderRefused.raise_for(_pool_faults(pool))


def _flow_run_faults(flow_run: FlowRun) -> Iterator[Fault]:
    for field in ("job_variables", "infrastructure_document_id"):
        if getattr(flow_run, field):
            yield Fault(f"flow_run.{field}", "must be empty", _START_ANEW)


def _deployment_faults(deployment: DeploymentResponse) -> Iterator[Fault]:
    for field in ("job_variables", "pull_steps", "path", "storage_document_id", "infrastructure_document_id"):
        if getattr(deployment, field):
            yield Fault(f"deployment.{field}", "must be empty", _REGISTER_ANEW)
    unknown = [*_name_faults(deployment.name)]
    yield from unknown
    if not unknown and deployment.entrypoint != own_deployments()[deployment.name].entrypoint:
        yield Fault("deployment.entrypoint", "must be the one that Penstock has for this name", _REGISTER_ANEW)


def _name_faults(name: str) -> Iterator[Fault]:
    if name not in own_deployments():
        yield Fault("deployment.name", f"must be one of {', '.join(own_deployments())}", _START_ANEW)


def _pool_faults(pool: WorkPool) -> Iterator[Fault]:
    remedy = f"Let the owner of the server delete the work pool {pool.name}, then start `penstock serve` again."
    if pool.type != ProcessWorker.type:
        yield Fault("work_pool.type", f"must be {ProcessWorker.type}", remedy)
    elif pool.base_job_template != ProcessWorker.get_default_base_job_template():
        yield Fault("work_pool.base_job_template", "must be Prefect's own for processes", remedy)
