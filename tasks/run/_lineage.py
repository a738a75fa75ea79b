"""Lineage events to where OPENLINEAGE_URL says: a courtesy copy of the audit log's beginnings and ends.

Nothing is sent where it is not set. A receiver that is away, slow or unwilling costs a few seconds and never a release;
one line in lineage.log on the confidential side reports it, without the address and what that may hold.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from datetime import UTC, datetime
from http.client import HTTPException
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from prefect.context import FlowRunContext

from penstock.records.log.log import Action
from penstock.reports.lineage import Bundle, Kind, Lineage, run_event

if TYPE_CHECKING:
    from penstock.tasks.run.job import Job

__all__ = ["LOG", "tell_lineage"]

LOG = "lineage.log"

_PATIENCE = 2.0  # seconds for one event, whatever the receiver does
_SILENCE = "no answer"
_KINDS: dict[Action, Kind] = {
    Action.PLANNED: "START",
    Action.RESUMED: "RUNNING",
    Action.WAITING: "OTHER",
    Action.PUBLISHED: "COMPLETE",
    Action.FOUND_PUBLISHED: "COMPLETE",
    Action.REFUSED: "FAIL",
    Action.FAILED: "ABORT",
}


class _StayHere(HTTPRedirectHandler):
    """A handler that follows no redirection: the key is for the receiver that was named."""

    def redirect_request(self, *_: Any) -> None:
        return None


def tell_lineage(job: Job, action: Action, code: str | None = None) -> None:
    """Send the event of this action, if it has one and somebody wants it."""
    address, kind = os.environ.get("OPENLINEAGE_URL", ""), _KINDS.get(action)
    if not address or kind is None:
        return
    about, found = _about(job), list[str | None]()

    def send() -> None:
        bundles = _published(job) if action is Action.PUBLISHED else []
        event = run_event(kind, about, occurred=datetime.now(UTC), code=code, bundles=bundles)
        found.append(_posted(address, json.dumps(event).encode()))

    # In a thread, so that not even a defect here reaches the release; and no time limit of a socket covers the lookup
    # of a name, or an answer that comes in drops.
    sending = threading.Thread(target=send, daemon=True)
    sending.start()
    sending.join(_PATIENCE)
    failure = found[0] if found else _SILENCE
    if failure is not None:
        with suppress(OSError), (job.home.root / LOG).open("a", encoding="utf-8") as file:
            file.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {job.run.id} {kind} not taken: {failure}\n")


def _about(job: Job) -> Lineage:
    plan, context = job.plan, FlowRunContext.get()
    flow_run = None if context is None else context.flow_run
    return Lineage(
        namespace=os.environ.get("OPENLINEAGE_NAMESPACE") or "penstock",
        name=plan.name,
        run=job.run.id,
        version=version("penstock"),
        promise=plan.statement,
        source=plan.source,
        declared=plan.declared,
        parent=None if flow_run is None else ("prefect/release", str(flow_run.id)),
    )


def _published(job: Job) -> list[Bundle]:
    release = (job.run.committed("staged") or {})["release"]
    stated = release.get("outputs", [release])
    masked = [(each.run.committed("protected") or {})["masked"] for each in job.outputs]
    bundles: dict[Any, Bundle] = {}
    for place, (facts, columns) in enumerate(zip(stated, masked, strict=True)):
        folder = facts.get("folder")
        one = Bundle(
            destination="/".join(filter(None, (str(job.destination), folder))),
            release={**facts, "gates": release["gates"]},
            masked=frozenset(columns),
        )
        key = place if folder is None else folder
        bundles[key] = one if key not in bundles else _side_by_side(bundles[key], one)
    return list(bundles.values())


def _side_by_side(one: Bundle, other: Bundle) -> Bundle:
    """Return the file in which two outputs share their records, with the columns of both."""
    columns = [*one.release["columns"], *other.release["columns"]]
    release = {**one.release, "columns": columns}
    return Bundle(destination=one.destination, release=release, masked=one.masked | other.masked)


def _posted(address: str, event: bytes) -> str | None:
    """Return None if the event was taken; otherwise why not, in our own words."""
    endpoint = os.environ.get("OPENLINEAGE_ENDPOINT") or "api/v1/lineage"
    headers = {"Content-Type": "application/json"}
    key = os.environ.get("OPENLINEAGE_API_KEY")
    if key:
        headers["Authorization"] = f"Bearer {key}"
    try:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or "@" in parts.netloc:  # a name with a password would be looked up
            return "OPENLINEAGE_URL must be an http address without a password"
        request = Request(f"{address.rstrip('/')}/{endpoint.lstrip('/')}", event, headers, method="POST")
        with build_opener(_StayHere).open(request, timeout=_PATIENCE):
            return None
    except HTTPError as error:
        with error:
            return f"HTTP {error.code}"
    except TimeoutError:
        return _SILENCE
    except (OSError, HTTPException, ValueError) as error:  # their texts quote the address
        return type(error).__name__
