"""Approve: the run waits until its reviewers have decided about exactly what was staged.

In a deployment the flow run is suspended, and its form takes a decision; elsewhere the run ends in the
state WaitingForApproval, and `penstock approve` wakes it. Either way it starts again from the top:
everything before the question was settled when the question was asked, so nothing is done again.
The decisions themselves are in the audit log (records/approval/approval.py); Prefect only carries them here.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal, cast

from prefect import suspend_flow_run
from prefect.context import FlowRunContext
from prefect.input import RunInput
from prefect.states import Completed
from pydantic import Field

from penstock.measures.gates import Verdict
from penstock.mechanisms.refusal import Refusal
from penstock.records.approval.approval import (
    ApprovalState,
    DecisionRefused,
    NothingWaits,
    approval_record,
    approval_state,
    decide,
    wait,
)
from penstock.records.approval.decision import reason_faults
from penstock.records.log.log import Action, LogReader
from penstock.tasks.publish import staged_content
from penstock.tasks.report import looks_before
from penstock.tasks.run.job import Job, end_refused
from penstock.tasks.run.page import confidential_report

__all__ = [
    "ApprovalExpired",
    "NobodyToReview",
    "NotTheStarter",
    "RefusedBefore",
    "ResumedByReviewer",
    "ReviewForm",
    "ReviewerDeclined",
    "Waiting",
    "Withdrawn",
    "ask_reviewers",
    "awaits_review",
    "describe_waiting",
    "end_withdrawn",
    "require_no_end",
    "require_reviewers",
    "reviewers_left",
    "take_decision",
    "waiting_state",
]

NOBODY_ASKED: Mapping[str, Any] = {"required": 0, "decisions": []}
WAITING_STATE = "WaitingForApproval"
_DECISIONS = (Action.APPROVED, Action.DECLINED, Action.DECISION_REFUSED)
# A waiting run keeps what it will publish and its report; the confidential copies can go.
_NOT_NEEDED_ANY_MORE = ("scratch", "secrets")


class ReviewerDeclined(Refusal):
    """A reviewer refused the release."""

    code = "reviewer-declined"
    kind = "approval"
    remedy = "Correct what the reason in the audit log names, and run again."


class ApprovalExpired(Refusal):
    """The reviewers did not decide in time."""

    code = "approval-expired"
    kind = "approval"
    remedy = "Run the release again, and tell the reviewers."


class RefusedBefore(Refusal):
    """The run was refused, but stopped before it was cleared away; it does not go on, even if its cause is gone."""

    code = "refused-before"
    kind = "approval"
    remedy = "Run the release again as a new run."


class NobodyToReview(Refusal):
    """After leaving out whoever started the run, too few allowed reviewers remain."""

    code = "nobody-to-review"
    kind = "approval"
    remedy = "Let somebody else start the run, or name more reviewers."


class ResumedByReviewer(Refusal):
    """If this person resumed the run, too few reviewers would be left; somebody else must resume it."""

    code = "resumed-by-reviewer"
    kind = "failure"
    remedy = "Let somebody else resume the run."


class Withdrawn(Refusal):
    """Whoever started the run has withdrawn it."""

    code = "withdrawn"
    kind = "approval"
    remedy = "Run the release again if it is wanted after all."


class NotTheStarter(Refusal):
    """Only whoever started a run can withdraw it; others refuse it as reviewers."""

    code = "not-the-starter"
    kind = "approval"
    remedy = "Ask whoever started the run; a reviewer refuses it instead."


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A run that waits for reviewers: what they are asked, and until when. left_out: as in a receipt."""

    name: str
    run: str
    content: str
    required: int
    missing: int
    allowed: tuple[str, ...]
    until: str
    looks: str
    confidential_report: str
    left_out: tuple[dict[str, Any], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; left_out only where something was."""
        return {name: value for name, value in asdict(self).items() if name != "left_out" or value}


class ReviewForm(RunInput):
    """What the form of a suspended run asks."""

    decision: Literal["approve", "refuse"] = Field(description="Your decision about exactly this content.")
    reviewer: str = Field(min_length=1, description="Your name, as your key is trusted.")
    signature: str = Field(min_length=1, description="The text that penstock sign printed.")
    reason: str = Field(default="", description="The reason that you signed; needed to refuse. Never quote a value.")


def awaits_review(job: Job) -> bool:
    """Return whether reviewers were asked about what this run has staged; if so, nothing before that is done again."""
    settled = staged_content(job)
    return settled is not None and _approval_state(job).content == settled["content"]


def reviewers_left(allowed: Iterable[str], barred: Iterable[str]) -> list[str]:
    """Return who of the allowed may decide; whoever started the run, or has decided, is barred."""
    names = {name.strip().casefold() for name in barred}
    return [name for name in allowed if name.casefold() not in names]


def require_reviewers(job: Job, started_by: str | None) -> None:
    """Refuse a run that too few people could approve, before it draws; one that has drawn waits for another starter."""
    rule = job.plan.rule
    if rule is None or awaits_review(job):
        return
    starters = sorted({*_starters(job), (started_by or "").strip()} - {""})
    if len(reviewers_left(rule.allowed, starters)) >= rule.reviewers:
        return
    kind = NobodyToReview if job.run.committed("protected") is None else ResumedByReviewer
    raise kind.at(
        "approve.allowed",
        rule=f"must leave {rule.reviewers} who did not start the run; {', '.join(starters)} did",
        got=list(rule.allowed),
        remedy="Let somebody else start it, or name more reviewers.",
    )


def end_withdrawn(job: Job, reason: str) -> None:
    """End a waiting run because whoever started it says so; what was drawn stays spent."""
    DecisionRefused.raise_for(reason_faults(reason, needed=True))
    stands = _approval_state(job)
    if stands.state != "waiting":
        raise NothingWaits.at("RUN", rule="must wait for approval", got=job.run.id, remedy="See `penstock audit show`.")
    if job.actor.casefold() not in {name.casefold() for name in stands.started_by}:
        raise NotTheStarter.at(
            "RUN",
            rule=f"must be withdrawn by whoever started it, {', '.join(stands.started_by)}, not by {job.actor}",
            remedy="Ask one of them; a reviewer refuses it.",
        )
    rule = f"cannot go on: withdrawn by {job.actor}: {reason}"
    end_refused(job, Withdrawn.at("approve", rule=rule, remedy="Run it again if it is wanted after all."))


def ask_reviewers(job: Job) -> Mapping[str, Any] | None:
    """Return the approval for the manifest; None if the run has to end here and wait. Refuse a run that was refused."""
    rule = job.plan.rule
    if rule is None:
        require_no_end(job)
        return NOBODY_ASKED
    settled = staged_content(job) or {"content": "", "release": {}}  # else there is nothing to ask about
    content = settled["content"]
    asked_before = _approval_state(job).content == content
    wait(
        job.log,
        run=job.run.id,
        content=content,
        rule=rule,
        started_by=_starters(job),
        actor=job.actor,
        now=datetime.now(UTC),
        confidential=settled["release"].get("confidential"),
    )
    if not asked_before:
        job.tell(Action.WAITING)
    for name in _NOT_NEEDED_ANY_MORE:
        shutil.rmtree(job.run.path(name), ignore_errors=not job.run.path(name).exists())
    while True:
        with job.log.reader() as reader:
            reader.verify()  # a refusal that was taken out of the log would show here, and nothing is published
            stands = approval_state(reader, job.run.id, datetime.now(UTC))
            _require_no_refusal(stands)
            require_no_end(job, reader)
        if stands.state == "approved":
            return approval_record(stands)
        if not _can_be_suspended():
            return None
        _take_from_form(job, content, stands)


def take_decision(job: Job, *, reviewer: str, decision: str, reason: str, signature: str) -> ApprovalState:
    """Put a decision about what is staged on record; refuse one that does not count, or whose content was changed."""
    settled = staged_content(job) or {"content": ""}
    return decide(
        job.log,
        run=job.run.id,
        content=settled["content"],
        reviewer=reviewer,
        decision=decision,
        signature=signature,
        reason=reason,
        actor=job.actor,
        now=datetime.now(UTC),
    )


def waiting_state(job: Job) -> Waiting:
    """Return the end of a flow run whose release waits: Prefect shows its name, and the caller gets what it holds.
    Outside a flow run, return just that."""
    waiting = describe_waiting(job)
    if FlowRunContext.get() is None:
        return waiting
    message = f"Run {waiting.run} waits until {waiting.until}."
    return cast(Waiting, Completed(name=WAITING_STATE, message=message, data=waiting))


def describe_waiting(job: Job) -> Waiting:
    """Return what to tell whoever started the run."""
    stands = _approval_state(job)
    return Waiting(
        name=job.plan.name,
        run=job.run.id,
        content=stands.content,
        required=stands.required,
        missing=stands.missing,
        allowed=stands.allowed,
        until="" if stands.until is None else stands.until.isoformat(timespec="seconds"),
        looks=_looks(job),
        confidential_report=str(job.run.path("report.html")),
        left_out=job.left_out,
    )


def _looks(job: Job) -> str:
    return looks_before(job, (job.run.committed("source") or {"digest": ""})["digest"]).in_words


def _approval_state(job: Job) -> ApprovalState:
    return approval_state(job.log, job.run.id, datetime.now(UTC))


def _starters(job: Job) -> list[str]:
    """Return everybody who had a hand in starting the run, by login and by the name that they gave."""
    events = [e for e in job.log.events(job.run.id) if e.action in (Action.PLANNED, Action.RESUMED)]
    names = [job.actor, *(event.actor for event in events), *(event.facts.get("started_by") or "" for event in events)]
    return sorted({name.strip() for name in names} - {""})


def _require_no_refusal(stands: ApprovalState) -> None:
    if stands.state == "declined":
        names = [given.reviewer for given in stands.decisions if given.decision == "refuse"]
        raise ReviewerDeclined.at(
            "approve",
            rule=f"needs every reviewer; refused by {', '.join(names)}",
            remedy="Correct what the reason in the audit log names, and run again.",
        )
    if stands.state == "expired":
        raise ApprovalExpired.at(
            "approve.within", rule="must not pass before the reviewers decide", remedy="Run again, and tell them."
        )


def require_no_end(job: Job, reader: LogReader | None = None) -> None:
    """Refuse a run that the ledger or the log calls refused; the ledger would not count what it published."""
    for event in (job.log if reader is None else reader).events(job.run.id):
        if event.action is Action.REFUSED or (event.action is Action.SETTLED and event.facts["outcome"] == "refused"):
            raise RefusedBefore.at(
                "run",
                rule="cannot go on: it was refused before, and its end was interrupted",
                got=job.run.id,
                remedy="Run anew.",
            )


def _can_be_suspended() -> bool:
    """Return whether Prefect would know how to start a suspended run again: only if it is from a deployment."""
    context = FlowRunContext.get()
    return context is not None and context.flow_run is not None and context.flow_run.deployment_id is not None


def _take_from_form(job: Job, content: str, stands: ApprovalState) -> None:
    """Suspend the flow run until the form is sent, then take what it says. A decision that does not count goes on
    record, and the form is shown again."""
    answered = [event for event in job.log.events(job.run.id) if event.action in _DECISIONS]
    last_refused = answered and answered[-1].action is Action.DECISION_REFUSED
    note = f"**The last decision did not count: {answered[-1].facts['code']}.** " if last_refused else ""
    seconds = 1.0 if stands.until is None else (stands.until - datetime.now(UTC)).total_seconds()
    given = suspend_flow_run(
        wait_for_input=ReviewForm.with_initial_data(description=_question(job, content, stands, note)),
        timeout=max(1, math.ceil(seconds)),
        key=f"decision-{len(answered)}",  # each answer is asked for once, even when the flow starts again
    )
    try:
        take_decision(
            job, reviewer=given.reviewer, decision=given.decision, reason=given.reason, signature=given.signature
        )
    except DecisionRefused:
        return


def _bound(release: Mapping[str, Any]) -> str:
    pages = release.get("confidential", {})
    return "every file to be published" + (f", and {', '.join(pages)} as you read them" if pages else "")


def _question(job: Job, content: str, stands: ApprovalState, note: str) -> str:
    release = (staged_content(job) or {})["release"]
    decided = [given.reviewer for given in stands.decisions]
    open_to = reviewers_left(stands.allowed, (*decided, *stands.started_by))
    until = "" if stands.until is None else f"{stands.until:%Y-%m-%d %H:%M} UTC"
    results = release["gates"]["results"]
    doubted = [result["rule"] for result in results if result["verdict"] != Verdict.PASS.word]
    gates = f"In doubt: {'; '.join(doubted)}." if doubted else f"All {len(results)} passed."
    gone = "; ".join(f"{each['output']} ({', '.join(each['because'])})" for each in job.left_out)
    gates += f" **Left out, because refused:** {gone}." if gone else ""
    return (
        f"## Publish {job.plan.name}?\n\n"
        f"{note}Read the {confidential_report(job)} of run `{job.run.id}`. "
        f"**Gates:** {gates} Then sign exactly this content, where your key is:\n\n"
        f"```\npenstock sign {content} --key YOUR.pem\n```\n\n"
        f"Your signature binds {_bound(release)}: once one of them changes, nothing is published.\n\n"
        f'To refuse, add `--refuse --reason "TEXT"` and give the same reason in the form.\n\n'
        f"**Approvals missing:** {stands.missing} of {stands.required}. "
        f"**Approved by:** {', '.join(decided) or 'nobody'}. "
        f"**May decide:** {', '.join(open_to) or 'nobody'}. **Until:** {until}. "
        f"**Other runs that looked at these data and published nothing, left outputs out, or declared them "
        f"anew:** {_looks(job)}.\n\n"
        f"{job.plan.statement}"
    )
