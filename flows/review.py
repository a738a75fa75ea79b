"""A reviewer's decision: signed, checked, put on record; then the run goes on by itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from penstock.flows.overdue import end_overdue
from penstock.flows.planning import draw_up_plan
from penstock.flows.prefect_setup import set_up_prefect
from penstock.flows.server_optional import server_in_our_words
from penstock.flows.spec import ReleaseSpec, parse_spec
from penstock.records import Home, open_records
from penstock.records.approval.approval import NothingWaits, approval_state, decide
from penstock.records.approval.decision import sign_decision
from penstock.records.home import login
from penstock.records.run import RunDamaged, key_of, unfinished
from penstock.records.signing.signing import existing_private_key
from penstock.tasks.approve import (
    ReviewerDeclined,
    Waiting,
    ask_reviewers,
    describe_waiting,
    end_withdrawn,
    take_decision,
)
from penstock.tasks.publish import Receipt, staged_content
from penstock.tasks.run.job import attend, begin, end_refused

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

__all__ = ["Word", "hand_in", "review", "withdraw"]

Word = Literal["approve", "refuse"]

_ON_RECORD = "What was decided is on record. Mend the server or unset the variable, and run the spec of the run again."


def review(run: str, *, reviewer: str, decision: Word, reason: str, key: Path) -> Receipt | Waiting | None:
    """Sign a decision about what waits under this run, and hand it in."""
    private_key = existing_private_key(key)

    def signed(content: str) -> dict[str, str]:
        signature = sign_decision(private_key, content=content, decision=decision, reason=reason)
        return {"reviewer": reviewer, "decision": decision, "reason": reason, "signature": signature}

    return hand_in(run, signed)


def hand_in(run: str, signed: Callable[[str], dict[str, str]]) -> Receipt | Waiting | None:
    """Decide about a waiting run; return its receipt if it was published, or what it still waits for. Return None where
    it ended refused or goes on in the Prefect server that suspended it. signed: makes the signed decision about the
    content that it is given."""
    home = Home.open()
    set_up_prefect(home.root)  # a named server that does not answer is noticed before the decision is on record
    end_overdue()

    about = unfinished(home).get(run)
    if about is None:
        now = datetime.now(UTC)
        log = open_records(home=home).log
        stood = approval_state(log, run, now)
        if stood.content and stood.state != "waiting":  # it has ended: the decision is refused, and that is on record
            decide(log, run=run, content=stood.content, **signed(stood.content), actor=login(), now=now)
        raise _nothing_waits(run)
    spec = parse_spec(about)
    with attend(draw_up_plan(spec), run=run) as job:
        try:
            settled = staged_content(job)
        except RunDamaged as damaged:
            end_refused(job, damaged)
            raise
        if settled is None:
            raise _nothing_waits(run)
        given = signed(settled["content"])
        stands = take_decision(job, **given)
        waiting, owners = describe_waiting(job), job.run.owners
    woken = _wake(owners, given)
    if stands.state == "waiting":
        return waiting
    if woken:
        return None
    if stands.state == "approved":
        return _go_on(spec, run)
    _end(spec, run)
    return None


def withdraw(run: str, *, reason: str) -> None:
    """End a waiting run that was started by whoever runs this command; cancel a flow run that is suspended for it."""
    home = Home.open()
    set_up_prefect(home.root)
    end_overdue()
    about = unfinished(home).get(run)
    if about is None:
        raise _nothing_waits(run)
    with attend(draw_up_plan(parse_spec(about), begun_as=key_of(home, run)), run=run) as job:
        owners = job.run.owners
        end_withdrawn(job, reason)
    with server_in_our_words(_ON_RECORD):
        for client, owner in _suspended(owners):
            from prefect.states import Cancelled

            client.set_flow_run_state(owner, Cancelled(message="Withdrawn by whoever started it."))


def _go_on(spec: ReleaseSpec, run: str) -> Receipt | Waiting:
    from penstock.flows.release import release

    return release(spec, run=run)


def _end(spec: ReleaseSpec, run: str) -> None:
    try:
        with begin(draw_up_plan(spec), run=run) as job:
            ask_reviewers(job)
    except ReviewerDeclined:
        return


def _wake(owners: Sequence[str], given: Mapping[str, Any]) -> bool:
    """Resume the flow run that is suspended for this decision, if a Prefect server was named that knows it."""
    with server_in_our_words(_ON_RECORD):
        for client, owner in _suspended(owners):
            from prefect.client.schemas.responses import SetStateStatus

            return client.resume_flow_run(owner, run_input=dict(given)).status is SetStateStatus.ACCEPT
    return False


def _suspended(owners: Sequence[str]) -> Iterator[tuple[SyncPrefectClient, Any]]:
    """Yield those of these flow runs that are suspended, the last one first, if a Prefect server was named that knows
    them. Prefect's types ask for UUIDs; its paths take their text."""
    if not owners or "PREFECT_API_URL" not in os.environ:
        return
    from prefect import get_client
    from prefect.exceptions import ObjectNotFound

    with get_client(sync_client=True) as client:
        for owner in cast("Sequence[Any]", owners[::-1]):
            try:
                state = client.read_flow_run(owner).state
            except ObjectNotFound:
                continue  # another server's
            if state is not None and state.is_paused():
                yield client, owner


def _nothing_waits(run: str) -> NothingWaits:
    return NothingWaits.at("RUN", rule="must wait for approval", got=run, remedy="See `penstock audit show`.")
