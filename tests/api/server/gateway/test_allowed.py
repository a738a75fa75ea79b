"""What each role may do: reading is a list, and what changes something is rebuilt."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.server._orders import own_deployments
from penstock.server.gateway._forms import DEPLOYMENTS as FORMS
from tests.support.gateway_house import DEPLOYMENTS, FLOW_RUN, SCHEMAS, TOKEN, House

STARTS = {
    "rolf": set(),
    "rita": {"ask", "release", "release-table"},
    "vera": {"review"},
    "olga": {"ask", "release", "release-table", "review", "verify-log"},
}
SOME_ID = "77777777-7777-4777-8777-777777777777"


def start(client: Any, name: str, /, **body: Any) -> Any:
    return client.post(f"/api/deployments/{DEPLOYMENTS[name]}/create_flow_run", json=body)


def told(answer: Any) -> Any:
    """The body that Prefect would have been sent."""
    assert answer.status_code == 200, answer.text
    return json.loads(answer.json()["body"])


@pytest.mark.parametrize("name", STARTS)
def test_deployments_are_started_by_role_in_the_name_of_whoever_signed_in(house: House, name: str) -> None:
    with house.visitor(name) as client:
        for deployment in DEPLOYMENTS:
            starters = dict.fromkeys(("ask", "release", "release-table"), "started_by")
            filled = {**starters, "review": "reviewer"}.get(deployment)
            answer = start(client, deployment, parameters={filled: "somebody"} if filled else {})
            if deployment not in STARTS[name]:
                assert answer.status_code == 403
                continue
            wanted = {filled: name} if filled else {}
            assert told(answer) == {"parameters": wanted, "enforce_parameter_schema": True}


# What Prefect would work out: with it a starter was named who had not asked, and approved their own run.
WRAPPED: list[Any] = [
    {"__prefect_kind": "none", "value": {"spec": "a.yaml", "started_by": "otto"}},
    {"__prefect_kind": "json", "value": '{"spec": "a.yaml", "started_by": "otto"}'},
    {"__prefect_kind": "none", "value": {"__prefect_kind": "json", "value": '{"spec": "a.yaml"}'}, "started_by": "o"},
    {"spec": {"__prefect_kind": "json", "value": '"a.yaml"'}, "started_by": {"__prefect_kind": "none", "value": "o"}},
    {"spec": {"__prefect_kind": "none", "value": {"__prefect_kind": "json", "value": '"a.yaml"'}}},
]


@pytest.mark.parametrize("parameters", WRAPPED)
def test_nothing_is_left_in_a_form_for_prefect_to_work_out(house: House, parameters: Any) -> None:
    with house.visitor("rita") as client:
        sent = told(start(client, "release", parameters=parameters))
        assert sent["parameters"] == {"spec": "a.yaml", "started_by": "rita"}


@pytest.mark.parametrize(
    "parameters",
    [
        {"__prefect_kind": "whatever", "value": {"spec": "a.yaml", "started_by": "otto"}},
        {"__prefect_kind": ["none"], "value": {}},
        {"__prefect_kind": "none", "value": "a.yaml"},
        {"__prefect_kind": "json", "value": "{"},
        {"__prefect_kind": "json", "value": {"spec": "a.yaml"}},
        {"__prefect_kind": "json", "value": '{"spec": "a\\u0000"}'},
        {"spec": {"__prefect_kind": "jinja", "template": "{{ 7**12000000 > 1 }}"}},
        {"spec": ["a", {"__prefect_kind": "workspace_variable", "variable_name": "secret"}]},
        {"spec": "a.yaml", "unknown": 1},
    ],
)
def test_what_prefect_would_compute_or_does_not_know_is_refused(house: House, parameters: Any) -> None:
    with house.visitor("rita") as client:
        assert start(client, "release", parameters=parameters).status_code == 422


def test_a_form_is_checked_by_our_own_schemas_only(house: House) -> None:
    slow = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    with house.visitor("rolf") as client:
        for schema in (slow, {}, None, {"$ref": "http://evil.example/"}):
            answer = client.post("/api/ui/schemas/validate", json={"schema": schema, "values": {"a": "a" * 60 + "!"}})
            assert (answer.status_code, answer.json()) == (200, {"valid": True, "errors": []})
        values = {"spec": {"__prefect_kind": "json", "value": '"a.yaml"'}}
        asked = {"schema": SCHEMAS["release"], "values": values}
        sent = told(client.post("/api/ui/schemas/validate", json=asked))
        assert sent == {"schema": SCHEMAS["release"], "values": {"spec": "a.yaml"}}
        asked["values"] = {"spec": {"__prefect_kind": "jinja", "template": "{{ 1 }}"}}
        assert client.post("/api/ui/schemas/validate", json=asked).status_code == 422


def test_the_forms_are_those_of_our_deployments() -> None:
    assert {*FORMS} == {f"{own.flow().name}/{name}" for name, own in own_deployments().items()}


@pytest.mark.parametrize(
    ("question", "status"),
    [
        (b'{"limit": 10}', 200),
        (b'{"offset": 1e30}', 422),
        (b'{"offset": 99999999999}', 422),
        (b'{"a": NaN}', 422),
        (b'{"a": "\\ud800"}', 422),
        (b"[" * 900 + b"]" * 900, 422),
        (b'{"a": "' + b"b" * 70_000 + b'"}', 413),
    ],
)
def test_questions_are_read_within_bounds(house: House, question: bytes, status: int) -> None:
    with house.visitor("rolf") as client:
        headers = {"Content-Type": "application/json"}
        assert client.post("/api/flow_runs/filter", content=question, headers=headers).status_code == status


def test_a_run_is_started_from_its_parameters_alone(house: House) -> None:
    more = {
        "name": "x",
        "tags": ["a"],
        "context": {"a": 1},
        "enforce_parameter_schema": False,
        "work_queue_name": "other",
        "labels": {"a": "b"},
        "empirical_policy": {"retries": 9},
        "state": {"type": "SCHEDULED", "state_details": {"scheduled_time": "2026-01-01T00:00:00Z"}},
        "job_variables": {},
    }
    with house.visitor("rita") as client:
        sent = told(start(client, "release", parameters={"spec": "a.yaml"}, idempotency_key="k", **more))
        assert sent == {
            "parameters": {"spec": "a.yaml", "started_by": "rita"},
            "enforce_parameter_schema": True,
            "idempotency_key": "rita:k",
        }
        for body in (
            {"job_variables": {"command": "touch /tmp/x"}},
            {"infrastructure_document_id": SOME_ID},
            {"parent_task_run_id": SOME_ID},
            {"state": {"type": "SCHEDULED", "state_details": {"scheduled_time": "2099-01-01T00:00:00Z"}}},
            {"state": {"type": "SCHEDULED", "state_details": {"scheduled_time": "soon"}}},
        ):
            assert start(client, "release", **body).status_code == 403
        assert start(client, "release", parameters=["a"]).status_code == 422


def test_reviewers_hand_in_forms_in_their_own_name(house: House) -> None:
    form = {"decision": "approve", "reviewer": "vera", "signature": "s", "reason": ""}
    with house.visitor("vera") as client:
        url = f"/api/flow_runs/{FLOW_RUN}/resume"
        assert told(client.post(url, json={"run_input": form, "more": 1})) == {"run_input": form}
        assert told(client.post(url, json={"run_input": {**form, "reviewer": " VERA "}})) == {"run_input": form}
        assert client.post(url, json={"run_input": {**form, "reviewer": "anna"}}).status_code == 403
        for wrong in (
            {},
            {"run_input": None},
            {"run_input": {**form, "extra": "1"}},
            {"run_input": {**form, "reason": 1}},
        ):
            assert client.post(url, json=wrong).status_code == 422
    for name in ("rita", "rolf"):
        with house.visitor(name) as client:
            assert client.post(f"/api/flow_runs/{FLOW_RUN}/resume", json={"run_input": form}).status_code == 403


def test_a_run_is_cancelled_by_whoever_started_it_or_by_an_officer_and_it_is_on_record(house: House) -> None:
    url, wanted = f"/api/flow_runs/{FLOW_RUN}/set_state", {"state": {"type": "CANCELLING", "name": "x"}, "force": True}
    for name, status in {"rita": 200, "olga": 200, "vera": 403, "rolf": 403}.items():
        with house.visitor(name) as client:
            answer = client.post(url, json=wanted)
            assert answer.status_code == status
            if status == 200:
                state = {"type": "CANCELLING", "name": "Cancelling", "message": f"Cancelled by {name}."}
                assert told(answer) == {"state": state, "force": False}
    with house.visitor("olga") as client:
        for kind in ("RUNNING", "COMPLETED", "SCHEDULED", None):
            assert client.post(url, json={"state": {"type": kind}}).status_code == 403
        assert client.post(url, json={}).status_code == 403
    asked = [event for event in house.events() if event.action.value == "CANCEL_ASKED"]
    assert [(event.actor, event.facts["flow_run"]) for event in asked] == [("rita", FLOW_RUN), ("olga", FLOW_RUN)]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/deployments/"),
        ("PATCH", f"/deployments/{SOME_ID}"),
        ("DELETE", f"/deployments/{SOME_ID}"),
        ("POST", f"/deployments/{SOME_ID}/schedule"),
        ("POST", f"/deployments/{SOME_ID}/schedules"),
        ("POST", f"/deployments/{SOME_ID}/pause_deployment"),
        ("POST", f"/deployments/{SOME_ID}/create_flow_run/bulk"),
        ("POST", "/deployments/get_scheduled_flow_runs"),
        ("POST", "/flow_runs/"),
        ("PATCH", f"/flow_runs/{SOME_ID}"),
        ("DELETE", f"/flow_runs/{SOME_ID}"),
        ("POST", "/flow_runs/bulk_set_state"),
        ("POST", "/flow_runs/bulk_delete"),
        ("POST", f"/flow_runs/{SOME_ID}/input"),
        ("PATCH", f"/flow_runs/{SOME_ID}/labels"),
        ("POST", "/flows/"),
        ("POST", "/work_pools/"),
        ("PATCH", "/work_pools/penstock"),
        ("DELETE", "/work_pools/penstock"),
        ("POST", "/work_pools/penstock/get_scheduled_flow_runs"),
        ("POST", "/work_pools/penstock/workers/heartbeat"),
        ("POST", "/block_documents/"),
        ("GET", f"/block_documents/{SOME_ID}"),
        ("GET", "/block_types/slug/secret/block_documents"),
        ("POST", "/variables/"),
        ("POST", "/automations/"),
        ("POST", "/events"),
        ("POST", "/logs/"),
        ("POST", "/artifacts/"),
        ("POST", "/task_runs/"),
        ("POST", f"/task_runs/{SOME_ID}/set_state"),
        ("GET", "/admin/storage"),
        ("PUT", "/admin/storage"),
        ("GET", "/collections/views/aggregate-worker-metadata"),
        ("GET", "/openapi.json"),
        ("POST", "/concurrency_limits/"),
        ("GET", "//flow_runs/filter"),
        ("POST", "/flow_runs/filter/"),
        ("POST", f"/flow_runs/{SOME_ID}/../../block_documents/"),
        ("GET", f"/flow_runs/{SOME_ID}%0a"),
        ("OPTIONS", "/flow_runs/filter"),
        ("TRACE", "/health"),
    ],
)
def test_nothing_else_of_prefect_is_reached_not_even_by_an_officer(house: House, method: str, path: str) -> None:
    with house.visitor("olga") as client:
        answer = client.request(method, f"/api{path}", json={})
    assert answer.status_code in (403, 404)
    assert "x-prefect" not in answer.headers


def test_everybody_reads_what_the_pages_show_and_prefect_hears_nothing_of_them(house: House) -> None:
    with house.visitor("rolf") as client:
        answer = client.post("/api/flow_runs/filter", json={"limit": 3}, headers={"X-Forwarded-User": "olga"})
        assert answer.status_code == 200
        said = answer.json()
        assert json.loads(said["body"]) == {"limit": 3}
        assert said["headers"]["host"] == "127.0.0.1"
        assert not {"cookie", "origin", "x-forwarded-user"} & set(said["headers"])
        assert TOKEN not in answer.request.headers.get("authorization", "")
        assert not {"access-control-allow-origin", "set-cookie"} & set(answer.headers)
        assert client.get(f"/api/flow_runs/{SOME_ID}").status_code == 200
        assert client.get("/api/admin/settings").json() == {"PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": False}
        assert client.post("/api/flow_runs/filter", content=b"{}").status_code == 415
        assert (
            client.post("/api/flow_runs/filter", content=b"{}", headers={"Content-Type": "text/plain"}).status_code
            == 415
        )


def test_what_nobody_sees_is_empty(house: House) -> None:
    with house.visitor("olga") as client:
        for unseen in ("automations", "block_documents", "block_types", "variables", "v2/concurrency_limits"):
            nothing = client.post(f"/api/{unseen}/filter", json={"include_secrets": True})
            assert (nothing.json(), "x-prefect" in nothing.headers) == ([], False)
            assert client.post(f"/api/{unseen}/count", json={}).json() == 0
        assert client.get("/api/automations/related-to/prefect.deployment.x").json() == []


@pytest.mark.parametrize("body", [b"[1]", b"{", b'{"a":1,"a":2}', b"[" * 5000, b"\xff", b'{"parameters":' + b"[" * 99])
def test_a_body_that_is_no_plain_object_is_refused(house: House, body: bytes) -> None:
    with house.visitor("rita") as client:
        url = f"/api/deployments/{DEPLOYMENTS['release']}/create_flow_run"
        answer = client.post(url, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
