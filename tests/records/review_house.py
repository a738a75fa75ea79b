"""A log with reviewers and a clock, for the tests of approvals."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from penstock.records import Action, Log
from penstock.records.approval.approval import ApprovalState, DecisionRefused, Rule, approval_state, decide, wait
from penstock.records.approval.decision import sign_decision
from penstock.records.people.trusted_keys import trust
from tests.records.reviewers import CONTENT, REASON, private, public

RUN = "run-1"
WEEK = timedelta(days=7)
ONE = Rule(1, ("anna", "bert", "carla"), WEEK)
TWO = Rule(2, ("anna", "bert", "carla"), WEEK)


class House:
    """A log, its reviewers, and a clock that the test moves."""

    def __init__(self, log: Log, now: datetime) -> None:
        self.log, self.now = log, now
        for name in ("anna", "bert", "carla", "dora"):
            trust(log, name, public(name), actor="officer", reason="hired", now=now)

    def wait(self, rule: Rule = ONE, **changes: Any) -> ApprovalState:
        given = {"run": RUN, "content": CONTENT, "started_by": ["dora"], "actor": "flow", "now": self.now, **changes}
        return wait(self.log, rule=rule, **given)

    def decide(
        self, reviewer: str = "anna", decision: str = "approve", *, key: str = "", **changes: Any
    ) -> ApprovalState:
        """Decide; what is signed is what is handed in, unless `signature` says otherwise."""
        given = {"run": RUN, "content": CONTENT, "reason": REASON, "actor": "cli", "now": self.now, **changes}
        fields = {"content": given["content"], "decision": decision, "reason": given["reason"]}
        signature = given.pop("signature", None) or sign_decision(private(key or reviewer), **fields)
        return decide(self.log, reviewer=reviewer, decision=decision, signature=signature, **given)

    def stands(self) -> ApprovalState:
        return approval_state(self.log, RUN, self.now)

    def refuses(
        self, kind: type[DecisionRefused], reviewer: str = "anna", *args: str, **changes: Any
    ) -> DecisionRefused:
        """The decision is refused with this class, put on record, and changes nothing."""
        before, count = self.stands(), len(self.log.events())
        with pytest.raises(kind) as caught:
            self.decide(reviewer, *args, **changes)
        assert type(caught.value) is kind
        assert caught.value.kind == "approval"
        assert "canary" not in str(caught.value)
        assert self.stands() == before
        (event,) = self.log.events()[count:]
        assert event.action is Action.DECISION_REFUSED
        assert event.facts["code"] == caught.value.code
        assert set(event.facts) == {"reviewer", "code", "content"}
        return caught.value

    def end(self, action: Action) -> None:
        self.log.append(action, run=RUN, actor="flow", facts={}, occurred=self.now)
