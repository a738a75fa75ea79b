"""Where the approval of a run stands, folded from its events in the audit log.

    WAITING                content, reviewers, allowed, until, started_by
    APPROVED, DECLINED     content, reviewer, key_id, public_key, signature, reason

The last WAITING voids every decision before it. With the decisions after it, at the moment t:

    declined   somebody refused
    approved   as many approved as are required; this stays so after the deadline
    none       the run ended before, or nothing ever waited
    expired    t > until
    waiting    otherwise

t is the moment asked about, or the end of the run if that came first. An approval still counts when
the key that signed it is withdrawn later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from penstock.mechanisms.refusal import Refusal
from penstock.records.approval.decision import APPROVE, REFUSE, verify_decision
from penstock.records.log.log import Action, Event, EventRefused, Log, LogReader

__all__ = ["ApprovalState", "Decided", "NotApproved", "State", "approval_record", "approval_state"]

State = Literal["none", "waiting", "approved", "declined", "expired"]

_WORDS = {Action.APPROVED: APPROVE, Action.DECLINED: REFUSE}
_ENDS = (Action.PUBLISHED, Action.REFUSED)


class NotApproved(Refusal):
    """The run is not approved in full."""

    code = "not-approved"
    kind = "approval"
    remedy = "Wait for the reviewers, or run the release again."


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision on record; the public key is in hexadecimal."""

    reviewer: str
    key_id: str
    public_key: str
    signature: str
    reason: str
    decision: str


@dataclass(frozen=True, slots=True)
class ApprovalState:
    """The state of an approval. `missing` is how many approvals it still needs; without any WAITING everything is
    empty."""

    state: State
    content: str = ""
    until: datetime | None = None
    required: int = 0
    missing: int = 0
    decisions: tuple[Decided, ...] = ()
    allowed: tuple[str, ...] = ()
    started_by: tuple[str, ...] = ()


def approval_state(log: Log | LogReader, run: str, now: datetime) -> ApprovalState:
    """Return where the approval of `run` stands at the moment `now`."""
    if now.tzinfo is None:
        raise EventRefused.at("now", rule="must carry its time zone", remedy="Pass datetime.now(UTC).")
    events = log.events(run)
    starts = [index for index, event in enumerate(events) if event.action is Action.WAITING]
    if not starts:
        return ApprovalState("none")
    waiting, later = events[starts[-1]].facts, events[starts[-1] + 1 :]
    decisions = tuple(_decided(event) for event in later if event.action in _WORDS)
    missing = max(0, waiting["reviewers"] - sum(each.decision == APPROVE for each in decisions))
    until = datetime.fromisoformat(waiting["until"])
    return ApprovalState(
        state=_state(decisions, missing, until, _end(later), now.astimezone(UTC)),
        content=waiting["content"],
        until=until,
        required=waiting["reviewers"],
        missing=missing,
        decisions=decisions,
        allowed=tuple(waiting["allowed"]),
        started_by=tuple(waiting["started_by"]),
    )


def approval_record(approved: ApprovalState) -> dict[str, Any]:
    """Return what the manifest says of an approval, after checking every signature again as its readers will."""
    if approved.state != "approved":
        raise NotApproved.at(
            "approval", rule="must be given in full", got=approved.state, remedy="Wait for the reviewers, or run again."
        )
    for given in approved.decisions:
        verify_decision(
            Ed25519PublicKey.from_public_bytes(bytes.fromhex(given.public_key)),
            content=approved.content,
            decision=APPROVE,
            reason=given.reason,
            signature=given.signature,
        )
    fields = ("key_id", "public_key", "signature", "reason")
    return {
        "required": approved.required,
        "decisions": [{name: getattr(given, name) for name in fields} for given in approved.decisions],
    }


def _decided(event: Event) -> Decided:
    fields = {name: event.facts[name] for name in ("reviewer", "key_id", "public_key", "signature", "reason")}
    return Decided(**fields, decision=_WORDS[event.action])


def _end(events: Sequence[Event]) -> datetime | None:
    moments = [datetime.fromisoformat(event.occurred) for event in events if event.action in _ENDS]
    return moments[0] if moments else None


def _state(decisions: Sequence[Decided], missing: int, until: datetime, end: datetime | None, now: datetime) -> State:
    if any(each.decision == REFUSE for each in decisions):
        return "declined"
    if missing == 0:
        return "approved"
    if (now if end is None else min(now, end)) > until:
        return "expired"
    return "waiting" if end is None else "none"
