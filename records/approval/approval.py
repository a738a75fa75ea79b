"""Named people approve what they reviewed, and nothing else.

A decision counts if, in one transaction with its record, all of this holds:

    1  the reviewer has a trusted key, and the signature holds under it over content, word and reason
    2  exactly this content waits under this run
    3  the reviewer is among the allowed, did not start the run, and has not decided yet
    4  the deadline has not passed, and the approval is still open
    5  to approve: no other release of the same records is out, or may be, that this one does not acknowledge

The signature comes first, so that nobody without a key learns anything about a run. A refused
decision is put on record and changes nothing else. One refusal declines the run. `now` alone decides
about the deadline: a decision signed in time and handed in late is late.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.approval.decision import (
    APPROVE,
    DecisionRefused,
    DecisionSignatureWrong,
    is_content,
    verify_decision,
)
from penstock.records.approval.rule import Rule, RuleRefused
from penstock.records.approval.state import ApprovalState, Decided, NotApproved, approval_record, approval_state
from penstock.records.ledger.ledger import unacknowledged
from penstock.records.log.log import Action, Log, LogWriter
from penstock.records.people.names import is_name
from penstock.records.people.trusted_keys import REGISTER, Person, people

__all__ = [
    "ApprovalClosed",
    "ApprovalState",
    "ContentChanged",
    "DeadlinePassed",
    "Decided",
    "DecidedTwice",
    "DecisionRefused",
    "DecisionSignatureWrong",
    "NotApproved",
    "NothingWaits",
    "OwnRun",
    "ReviewerNotAllowed",
    "ReviewerNotTrusted",
    "Rule",
    "RuleRefused",
    "SecondApproval",
    "WaitRefused",
    "approval_record",
    "approval_state",
    "decide",
    "wait",
]

_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class WaitRefused(Refusal):
    """The run cannot wait for approval as asked."""

    code = "wait-refused"
    kind = "approval"
    remedy = "Correct the named argument; it comes from whoever starts the wait."


class ReviewerNotTrusted(DecisionRefused):
    """The reviewer has no trusted key, or it was withdrawn."""

    code = "reviewer-not-trusted"
    remedy = "Have an officer trust the reviewer's public key: penstock keys trust NAME FILE."


class NothingWaits(DecisionRefused):
    """No approval was asked for under this run."""

    code = "nothing-waits"
    remedy = "Check the name of the run with `penstock audit show`."


class ContentChanged(DecisionRefused):
    """The decision is about another content than the one that waits."""

    code = "content-changed"
    remedy = "Review what waits now, and sign its digest."


class ReviewerNotAllowed(DecisionRefused):
    """The reviewer is not among those named for this run."""

    code = "reviewer-not-allowed"
    remedy = "Ask one of the reviewers that the spec names."


class OwnRun(DecisionRefused):
    """The reviewer started the run, and nobody decides about a run of their own."""

    code = "own-run"
    remedy = "Ask a reviewer who did not start the run."


class DecidedTwice(DecisionRefused):
    """The reviewer has decided about this content already."""

    code = "decided-twice"
    remedy = "Ask another reviewer; the first decision stands."


class DeadlinePassed(DecisionRefused):
    """The time for decisions is over."""

    code = "deadline-passed"
    remedy = "Run the release again, and decide within approve.within."


class SecondApproval(DecisionRefused):
    """Another release of the same records is out or under way, and no theorem says what both promise together."""

    code = "second-approval"
    remedy = "Withdraw or refuse one of the two runs, or acknowledge the other one in the spec."


class ApprovalClosed(DecisionRefused):
    """The run was approved in full, declined or ended before."""

    code = "approval-closed"
    remedy = "Look at `penstock audit show`; nothing is left to decide."


def wait(
    log: Log,
    *,
    run: str,
    content: str,
    rule: Rule,
    started_by: Sequence[str],
    actor: str,
    now: datetime,
    confidential: Mapping[str, str] | None = None,
) -> ApprovalState:
    """Ask for approval of this content. Asking again changes nothing; another content voids all earlier decisions.

    If asked again, the first rule and deadline stay, even after the approval was given or refused. confidential: keyed
    digests of what the reviewers read, which the content covers too.
    """
    faults = []
    if not _RUN.fullmatch(run):
        faults.append(Fault("run", "must be the name of a run", "Pass the run's id.", repr(run)))
    if not is_content(content):
        faults.append(Fault("content", "must be 64 hexadecimal digits in lower case", "Pass the content digest."))
    if not started_by or not all(name.strip() for name in started_by):
        faults.append(Fault("started_by", "must name who started the run", "Pass their names."))
    WaitRefused.raise_for(faults)
    with log.transaction() as writer:
        if approval_state(writer, run, now).content != content:
            facts = {
                "content": content,
                "reviewers": rule.reviewers,
                "allowed": list(rule.allowed),
                "until": (now.astimezone(UTC) + rule.within).isoformat(),
                "started_by": list(started_by),
                **({"confidential": dict(confidential)} if confidential else {}),
            }
            writer.append(Action.WAITING, run=run, actor=actor, facts=facts, occurred=now)
        return approval_state(writer, run, now)


def decide(
    log: Log,
    *,
    run: str,
    content: str,
    reviewer: str,
    decision: str,
    signature: str,
    reason: str,
    actor: str,
    now: datetime,
) -> ApprovalState:
    """Put a reviewer's decision on record if it counts; otherwise put on record that it was refused, and refuse."""
    refused: DecisionRefused | None = None
    place = run if _RUN.fullmatch(run) else REGISTER  # under which nothing ever waits
    with log.transaction() as writer:
        writer.verify()  # otherwise a withdrawal or a refusal that was removed from the log would go unnoticed
        stood = approval_state(writer, place, now)
        try:
            person = _trusted(writer, reviewer)
            verify_decision(person.public_key, content=content, decision=decision, reason=reason, signature=signature)
            _require_open(stood, content=content, reviewer=reviewer)
            if decision == APPROVE:
                _require_only_one(unacknowledged(writer, place, now))
        except DecisionRefused as refusal:
            refused = refusal
            action = Action.DECISION_REFUSED
            # Text that anybody may have sent enters the log only in the form of a name or a digest.
            facts = {
                "reviewer": reviewer if is_name(reviewer) else "",
                "code": refusal.code,
                "content": content if is_content(content) else "",
            }
        else:
            action = Action.APPROVED if decision == APPROVE else Action.DECLINED
            facts = {
                "content": content,
                "reviewer": reviewer,
                "key_id": person.key_id,
                "public_key": person.public_key.public_bytes_raw().hex(),
                "signature": signature,
                "reason": reason,
            }
        writer.append(action, run=place, actor=actor, facts=facts, occurred=now)
        stands = approval_state(writer, place, now)
    if refused is not None:
        raise refused
    return stands


def _trusted(writer: LogWriter, reviewer: str) -> Person:
    person = people(writer).get(reviewer)
    if person is None:
        raise ReviewerNotTrusted.at(
            "reviewer",
            rule="must have a key that is trusted now",
            remedy="Have the reviewer's public key trusted; write the name as it was trusted.",
        )
    return person


def _require_only_one(others: Sequence[str]) -> None:
    """Check 5. Several may wait side by side; nothing is published beside a release whose reviewers were not asked
    about it."""
    if others:
        raise SecondApproval.at(
            "run",
            rule=f"must be the only release of its records: {', '.join(others)} released them meanwhile, or will, and "
            "no theorem covers both",
            remedy="Withdraw or refuse this run; if both are wanted, run it again with budget.acknowledges.",
        )


def _require_open(stood: ApprovalState, *, content: str, reviewer: str) -> None:
    """Check 2, 3 and 4."""
    if not stood.content:
        raise NothingWaits.at("run", rule="must wait for approval", remedy="Check the name of the run.")
    if content != stood.content:
        raise ContentChanged.at(
            "content", rule="must be what waits now", got=content, remedy="Review what waits now, and sign that."
        )
    if reviewer not in stood.allowed:
        raise ReviewerNotAllowed.at(
            "reviewer", rule="must be named in the spec", got=reviewer, remedy="Ask one of those who are named."
        )
    if reviewer.casefold() in {name.casefold() for name in stood.started_by}:
        raise OwnRun.at("reviewer", rule="must not have started the run", got=reviewer, remedy="Ask somebody else.")
    if reviewer.casefold() in {each.reviewer.casefold() for each in stood.decisions}:
        raise DecidedTwice.at(
            "reviewer",
            rule="must not have decided before",
            got=reviewer,
            remedy="Ask somebody else; the first decision stands.",
        )
    if stood.state == "expired":
        raise DeadlinePassed.at(
            "deadline", rule="must not have passed", got=str(stood.until), remedy="Run the release again."
        )
    if stood.state != "waiting":
        raise ApprovalClosed.at(
            "run",
            rule="must still wait for decisions",
            got=stood.state,
            remedy="See `penstock audit show`; nothing is left to decide.",
        )
