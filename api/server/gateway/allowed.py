"""What each role may do, as an allow-list of Prefect's API; what changes something is rebuilt from known fields.

    everybody     reads what the pages show: runs, their states, logs, artifacts and forms, deployments, flows, events
    requester     starts `ask`, `release` and `release-table`; ends runs of their own
    reviewer      decides: the form of a suspended run, and `review`; reads confidential reports
    officer       all of that; ends anybody's run; starts `verify-log`

Nothing else of Prefect passes: no deployment, pool, block, variable, automation or state is changed, and settings,
blocks, variables and automations are not even read. `started_by` and `reviewer` name whoever signed in; they are never
typed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from penstock.records.people.users import Role
from penstock.server.gateway._forms import json_object, plain
from penstock.server.gateway.door import Turned
from penstock.server.gateway.visitors import Visitor

__all__ = [
    "HIDDEN",
    "Asked",
    "answered_here",
    "cancelling",
    "decision",
    "is_form_check",
    "is_read",
    "is_socket",
    "order",
    "wanted",
]

# Parameters that the gateway fills in, by deployment: no form asks for them.
HIDDEN: Mapping[str, frozenset[str]] = {
    "ask": frozenset({"started_by"}),
    "release": frozenset({"started_by"}),
    "release-table": frozenset({"started_by"}),
    "review": frozenset({"reviewer"}),
}
_STARTED_BY = {
    "ask": (Role.REQUESTER, Role.OFFICER),
    "release": (Role.REQUESTER, Role.OFFICER),
    "release-table": (Role.REQUESTER, Role.OFFICER),
    "review": (Role.REVIEWER, Role.OFFICER),
    "verify-log": (Role.OFFICER,),
}
_ID = "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_NAME = r"[A-Za-z0-9_.\- ]{1,200}"

_READ = {
    "GET": (
        "/health|/ready|/version|/admin/version|/csrf-token",
        f"/flows/{_ID}|/flows/name/{_NAME}",
        f"/flow_runs/{_ID}(/graph|/graph-v2|/logs/download|/input/{_NAME})?",
        f"/flow_run_states/({_ID})?|/task_run_states/({_ID})?",
        f"/task_runs/{_ID}|/ui/task_runs/{_ID}",
        f"/deployments/{_ID}(/schedules|/work_queue_check)?|/deployments/name/{_NAME}/{_NAME}",
        f"/artifacts/{_ID}|/artifacts/{_NAME}/latest",
        f"/work_pools/{_NAME}(/queues/{_NAME})?|/work_queues/{_ID}(/status)?",
        f"/events/filter/next|/v2/concurrency_limits/{_ID}",
    ),
    "POST": (
        "/(flows|flow_runs|task_runs|deployments)/(count|filter|paginate|history|lateness)",
        f"/flow_runs/{_ID}/input/filter",
        "/(logs|events|saved_searches|work_pools|work_queues|artifacts|artifacts/latest)/(count|filter)",
        "/events/count-by/[a-z]{1,20}",
        "/ui/flow_runs/(history|count-task-runs)|/ui/flows/(count-deployments|next-runs)",
        "/ui/task_runs/(count|dashboard/counts)",
        f"/work_pools/{_NAME}/(queues|workers)/filter|/work_pools/{_NAME}/concurrency_status",
        f"/work_queues/{_ID}/concurrency_status",
    ),
}
_READS = {method: re.compile("|".join(f"(?:{path})" for path in paths)) for method, paths in _READ.items()}
# Pages ask for these, and mistake a refusal for a lost connection.
_UNSEEN = re.compile("/(?:automations|block_documents|block_types|variables|(?:v2/)?concurrency_limits)/(filter|count)")
_SOCKETS = re.compile("/events/out|/logs/out")
_CHANGES = {
    "create_flow_run": re.compile(f"/deployments/({_ID})/create_flow_run"),
    "resume": re.compile(f"/flow_runs/({_ID})/resume"),
    "set_state": re.compile(f"/flow_runs/({_ID})/set_state"),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A change that somebody wants: what, and of which deployment or flow run."""

    what: str
    about: str


def is_read(method: str, path: str) -> bool:
    """Return whether this only reads, and reads what the pages show. path: below /api."""
    return (pattern := _READS.get(method)) is not None and pattern.fullmatch(path) is not None


def answered_here(method: str, path: str) -> Any:
    """Return the empty answer that pages get about what nobody sees here; None if Prefect is to answer."""
    if (method, path) == ("GET", "/admin/settings"):
        return {"PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": False}
    if method == "GET" and path.startswith("/automations/related-to/"):
        return []
    unseen = _UNSEEN.fullmatch(path) if method == "POST" else None
    return None if unseen is None else {"filter": [], "count": 0}[unseen[1]]


def is_form_check(method: str, path: str) -> bool:
    """Return whether a page asks for a form to be checked before it is sent. path: below /api."""
    return (method, path) == ("POST", "/ui/schemas/validate")


def is_socket(path: str) -> bool:
    """Return whether pages open this WebSocket. path: below /api."""
    return _SOCKETS.fullmatch(path) is not None


def wanted(method: str, path: str) -> Asked | None:
    """Return the change that a request wants; None if it is not one that is ever allowed."""
    if method != "POST":
        return None
    for what, pattern in _CHANGES.items():
        if found := pattern.fullmatch(path):
            return Asked(what, found[1])
    return None


def order(visitor: Visitor, deployment: Mapping[str, Any], body: bytes) -> dict[str, Any]:
    """Return the request that starts a deployment of ours in this person's name, built from its parameters alone."""
    name = str(deployment.get("name"))
    if name not in _STARTED_BY:
        raise Turned(403, "Only the deployments of Penstock are started here.")
    if not visitor.has(*_STARTED_BY[name]):
        raise Turned(403, f"{name} is started by: {', '.join(_STARTED_BY[name])}.")
    given = json_object(body)
    if given.get("job_variables") or given.get("infrastructure_document_id") or given.get("parent_task_run_id"):
        raise Turned(403, "A run takes parameters and nothing else: leave the job variables empty.")
    if _is_later(given.get("state")):
        raise Turned(403, "A run starts now. Schedules stand in the settings file of the service.")
    parameters = plain(given.get("parameters", {}))
    if not isinstance(parameters, dict):
        raise Turned(422, "parameters must be an object.")
    hidden = HIDDEN.get(name, frozenset())
    known = {*deployment["parameter_openapi_schema"].get("properties", {}), *hidden}
    if unknown := sorted(set(parameters) - known):
        raise Turned(422, f"{name} has no parameter {unknown[0]!r:.100}.")
    filled = dict.fromkeys(hidden, visitor.name)
    rebuilt: dict[str, Any] = {"parameters": {**parameters, **filled}, "enforce_parameter_schema": True}
    key = given.get("idempotency_key")
    if isinstance(key, str) and 0 < len(key) <= 100:
        rebuilt["idempotency_key"] = f"{visitor.name}:{key}"  # nobody gets the run of somebody else
    return rebuilt


def decision(visitor: Visitor, body: bytes) -> dict[str, Any]:
    """Return the request that hands in a reviewer's form, signed elsewhere, in this person's name."""
    if not visitor.has(Role.REVIEWER, Role.OFFICER):
        raise Turned(403, "Reviewers and officers decide.")
    form = json_object(body).get("run_input")
    fields = {"decision", "reviewer", "signature", "reason"}
    if not isinstance(form, dict) or not set(form) <= fields or not all(isinstance(v, str) for v in form.values()):
        raise Turned(422, f"The form has these fields: {', '.join(sorted(fields))}.")
    if form.get("reviewer", visitor.name).strip().casefold() != visitor.name.casefold():
        raise Turned(403, f"You have signed in as {visitor.name}, and decide in that name only.")
    return {"run_input": {**form, "reviewer": visitor.name}}


def cancelling(visitor: Visitor, flow_run: Mapping[str, Any], body: bytes) -> dict[str, Any]:
    """Return the request that ends a flow run; nothing else is done to its state."""
    state = json_object(body).get("state")
    if not isinstance(state, dict) or state.get("type") not in ("CANCELLING", "CANCELLED"):
        raise Turned(403, "A run can be cancelled; its state is not changed otherwise.")
    parameters = flow_run.get("parameters") or {}
    own = {parameters.get("started_by"), parameters.get("reviewer")}
    if not visitor.has(Role.OFFICER) and visitor.name not in own:
        raise Turned(403, "A run is cancelled by whoever started it, or by an officer.")
    told = {"type": "CANCELLING", "name": "Cancelling", "message": f"Cancelled by {visitor.name}."}
    return {"state": told, "force": False}


def _is_later(state: object) -> bool:
    details = state.get("state_details") if isinstance(state, dict) else None
    when = details.get("scheduled_time") if isinstance(details, dict) else None
    if when is None:
        return False
    try:
        return datetime.fromisoformat(str(when)).astimezone(UTC) > datetime.now(UTC)
    except (ValueError, OverflowError):
        return True
