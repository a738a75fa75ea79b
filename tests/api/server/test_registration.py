"""Pool and deployments on a real server: as the file says, with a form that asks no more than it should."""

from __future__ import annotations

import json
import os
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from prefect import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.utilities.callables import parameter_schema
from prefect.workers.process import ProcessWorker

from penstock.flows.prefect_setup import ServerNotReady
from penstock.server import _registration as registration
from penstock.server._orders import OrderRefused, own_deployments
from penstock.server._registration import make_pool, register
from penstock.server.deployment_settings import REHEARSAL, DeploymentSettings, merged_deployments
from tests.support.serving import ask

POOL = "penstock"
HIDDEN = {"release": frozenset({"started_by"}), "review": frozenset({"reviewer"})}


@pytest.fixture
def settings(prefect_home: Path) -> Iterator[DeploymentSettings]:
    make_pool(POOL, is_ours=True)
    yield DeploymentSettings.read(REHEARSAL)
    for each in api("/deployments/filter", {}):  # other tests use the same server
        api(f"/deployments/{each['id']}", method="DELETE")
    api(f"/work_pools/{POOL}", method="DELETE")


def api(path: str, body: Any = None, method: str | None = None) -> Any:
    url, password = (os.environ[each] for each in ("PREFECT_API_URL", "PREFECT_API_AUTH_STRING"))
    return ask(f"{url}{path}", body, method, credentials=password)


def deployment(name: str) -> Any:
    [found] = [each for each in api("/deployments/filter", {}) if each["name"] == name]
    return found


def test_every_deployment_is_registered_as_the_file_says(settings: DeploymentSettings) -> None:
    assert register(settings, hidden={}) == tuple(own_deployments())
    for said in merged_deployments(settings)["deployments"]:
        found = deployment(said["name"])
        same = ("name", "entrypoint", "description", "tags")
        assert {key: found[key] for key in same} == {key: said[key] for key in same}
        assert found["global_concurrency_limit"]["limit"] == 1
        assert found["concurrency_options"]["collision_strategy"] == "ENQUEUE"
        assert (found["work_pool_name"], found["enforce_parameter_schema"]) == (POOL, True)
        assert (found["pull_steps"], found["job_variables"], found["path"]) == ([], {}, None)
        flow = own_deployments()[said["name"]].flow()
        schema = parameter_schema(flow).model_dump(exclude_unset=True)
        assert json.dumps(found["parameter_openapi_schema"]) == json.dumps(schema)  # in the same order
        schedules = [
            {
                "cron": each["schedule"]["cron"],
                "timezone": each["schedule"]["timezone"],
                **{key: each[key] for key in ("active", "slug", "parameters")},
            }
            for each in found["schedules"]
        ]
        assert schedules == said["schedules"]


@pytest.mark.slow
def test_a_hidden_parameter_is_not_asked_for_and_is_taken_when_it_is_filled_in(settings: DeploymentSettings) -> None:
    register(settings, hidden={})
    before = {name: deployment(name)["parameter_openapi_schema"] for name in own_deployments()}
    register(settings, hidden=HIDDEN)
    for name, schema in before.items():
        hidden = HIDDEN.get(name, frozenset())
        shown = deployment(name)["parameter_openapi_schema"]
        assert [*shown["properties"]] == [each for each in schema["properties"] if each not in hidden]
        assert shown.get("required", []) == [each for each in schema.get("required", []) if each not in hidden]
        assert all(shown["properties"][each] == schema["properties"][each] for each in shown["properties"])
    found = deployment("release")
    assert [each["parameters"] for each in found["schedules"]] == [{"spec": "adult.yaml", "started_by": "schedule"}]
    start = f"/deployments/{found['id']}/create_flow_run"
    made = api(start, {"parameters": {"spec": "adult.yaml", "started_by": "anna"}})
    assert made["parameters"]["started_by"] == "anna"
    with pytest.raises(urllib.error.HTTPError) as refused:
        api(start, {"parameters": {"started_by": "anna"}})
    with refused.value as answer:
        assert answer.code == 409


@pytest.mark.slow
def test_what_was_changed_is_set_back(settings: DeploymentSettings) -> None:
    register(settings, hidden={})
    before = deployment("verify-log")
    changed = {
        "entrypoint": "foreign.py:flow",
        "path": "/tmp",
        "pull_steps": [{"prefect.deployments.steps.run_shell_script": {"script": "id"}}],
        "job_variables": {"command": "id"},
        "enforce_parameter_schema": False,
        "concurrency_limit": 7,
    }
    api(f"/deployments/{before['id']}", changed, "PATCH")
    assert deployment("verify-log")["job_variables"] == {"command": "id"}
    register(settings, hidden={})
    after = deployment("verify-log")
    assert {key: after[key] for key in (*changed, "id")} == {key: before[key] for key in (*changed, "id")}
    assert after["global_concurrency_limit"]["limit"] == 1


def test_deployments_that_the_server_does_not_take_are_refused(
    settings: DeploymentSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged = merged_deployments(settings)
    for each in merged["deployments"]:
        each["work_pool"] = {"name": "absent"}
    monkeypatch.setattr(registration, "merged_deployments", lambda _: merged)
    with pytest.raises(ServerNotReady, match="deployments refused: must be taken by the server, which answers 404"):
        register(settings, hidden={})


def test_a_changed_pool_is_set_back_on_our_server_and_refused_on_another(prefect_home: Path) -> None:
    name = f"pool-{uuid4()}"
    make_pool(name, is_ours=False)
    make_pool(name, is_ours=False)
    template = ProcessWorker.get_default_base_job_template()
    template["variables"]["properties"]["command"]["default"] = "id"
    api(f"/work_pools/{name}", {"base_job_template": template}, "PATCH")
    with pytest.raises(OrderRefused, match=r"work_pool.base_job_template refused"):
        make_pool(name, is_ours=False)
    make_pool(name, is_ours=True)
    assert api(f"/work_pools/{name}")["base_job_template"] == ProcessWorker.get_default_base_job_template()


@pytest.mark.parametrize("is_ours", [True, False])
def test_a_pool_of_another_kind_is_refused(prefect_home: Path, is_ours: bool) -> None:
    name = f"pool-{uuid4()}"
    with get_client(sync_client=True) as client:
        client.create_work_pool(WorkPoolCreate(name=name, type="docker"))
    with pytest.raises(OrderRefused, match=r"work_pool.type refused: must be process"):
        make_pool(name, is_ours=is_ours)
