"""A reviewer's decision: signed, checked, put on record; then the run goes on by itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal
from uuid import UUID

from flows.local_server import prefect_server
from flows.overdue import end_overdue
from flows.plan import draw_up_plan
from flows.spec import ReleaseSpec, parse_spec
from records import Home
from records.approval import NothingWaits
from records.decision import sign_decision
from records.run import unfinished
from records.signing import existing_private_key
from tasks.approve import ReviewerDeclined, Waiting, ask_reviewers, describe_waiting, take_decision
from tasks.job import attend, begin
from tasks.publish import Receipt, staged_content

__all__ = ["review"]


def review(
    run: str, *, reviewer: str, decision: Literal["approve", "refuse"], reason: str, key: Path
) -> Receipt | Waiting | None:
    """Decide about a waiting run. What became of it: published, still waiting, or None where it ended refused
    or goes on in the Prefect server that suspended it."""
    end_overdue()
    home = Home.open()
    found = unfinished(home).get(run)
    if found is None:
        raise NothingWaits.at("RUN", rule="must wait for approval", got=run, remedy="See `penstock audit show`.")
    spec = parse_spec(found)
    private_key = existing_private_key(key)
    with attend(draw_up_plan(spec), run=run) as job:
        content = (staged_content(job) or {"content": ""})["content"]
        given = {"reviewer": reviewer, "decision": decision, "reason": reason}
        signature = sign_decision(private_key, content=content, decision=decision, reason=reason)
        stands = take_decision(job, signature=signature, **given)
        waiting, owners = describe_waiting(job), job.run.owners
    if _wake(owners, {**given, "signature": signature}):
        return None
    if stands.state == "waiting":
        return waiting
    if stands.state == "approved":
        return _go_on(home, spec, run)
    _end(spec, run)
    return None


def _go_on(home: Home, spec: ReleaseSpec, run: str) -> Receipt | Waiting:
    with prefect_server(home.root):
        from flows.release import release

        return release(spec, run=run)


def _end(spec: ReleaseSpec, run: str) -> None:
    try:
        with begin(draw_up_plan(spec), run=run) as job:
            ask_reviewers(job)
    except ReviewerDeclined:
        return


def _wake(owners: list[str], given: dict[str, str]) -> bool:
    """Resume the flow run that is suspended for this decision, if a Prefect server was named that knows it."""
    if not owners or "PREFECT_API_URL" not in os.environ:
        return False
    from prefect import get_client
    from prefect.exceptions import ObjectNotFound
    from prefect.flow_runs import resume_flow_run

    with prefect_server(Home.open().root), get_client(sync_client=True) as client:
        try:
            state = client.read_flow_run(UUID(owners[-1])).state
        except ObjectNotFound:
            return False
        if state is None or not state.is_paused():
            return False
        resume_flow_run(UUID(owners[-1]), run_input=given)
        return True
