"""Random histories of one run against a model that knows nothing of logs and signatures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from penstock.records import Action, Home, open_records
from penstock.records.approval.approval import DecisionRefused, Rule, approval_record, approval_state, decide, wait
from penstock.records.approval.decision import sign_decision
from penstock.records.people.trusted_keys import people, trust, withdraw
from tests.records.reviewers import CONTENT, OLD, OTHER, private, public
from tests.support.order import examples

NAMES = st.sampled_from(["anna", "bert", "carla", "dora", "eve"])
ALLOWED = ("anna", "bert", "carla", "eve")
CONTENTS = st.sampled_from([OLD, CONTENT, OTHER])
WORDS = st.sampled_from(["approve", "refuse"])
WITHIN = timedelta(days=5)


class Approvals(RuleBasedStateMachine):
    """dora is trusted but not allowed; eve is allowed but never trusted."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.log = open_records("sqlite://", Home.open(Path(self.folder.name))).log
        self.now = datetime(2026, 11, 16, 2, 15, tzinfo=UTC)
        self.keys: dict[str, str] = {}  # name -> owner of the trusted key
        self.made = 0
        self.waiting: dict[str, Any] | None = None
        self.given: list[tuple[str, str]] = []
        self.end = False
        self.final = ""  # the state at the end
        for name in ("anna", "bert", "carla", "dora"):
            self.trust(name)

    def teardown(self) -> None:
        assert self.log.verify().count == len(self.log.events())
        self.folder.cleanup()

    def trust(self, name: str) -> None:
        self.made += 1
        owner = f"{name}-{self.made}"
        trust(self.log, name, public(owner), actor="officer", reason="hired", now=self.now)
        self.keys[name] = owner

    @rule(name=st.sampled_from(["anna", "bert", "carla"]))
    def withdraw_or_trust_anew(self, name: str) -> None:
        if name in self.keys:
            withdraw(self.log, name, actor="officer", reason="left", now=self.now)
            del self.keys[name]
        else:
            self.trust(name)
        assert set(people(self.log)) == set(self.keys)

    @rule(days=st.integers(0, 3))
    def time_passes(self, days: int) -> None:
        self.now += timedelta(days=days)

    @rule(content=CONTENTS, reviewers=st.sampled_from([1, 2]), starter=st.sampled_from(["Anna", "flow", "dora"]))
    def wait_or_start_over(self, content: str, reviewers: int, starter: str) -> None:
        if self.waiting is None or self.waiting["content"] != content:
            self.waiting = {"content": content, "needed": reviewers, "starter": starter, "until": self.now + WITHIN}
            self.given, self.end = [], False
        rule_given = Rule(reviewers, ALLOWED, WITHIN)
        wait(self.log, run="r", content=content, rule=rule_given, started_by=[starter], actor="flow", now=self.now)

    @precondition(lambda self: self.waiting is not None and not self.end)
    @rule(action=st.sampled_from([Action.PUBLISHED, Action.REFUSED]))
    def the_run_ends(self, action: Action) -> None:
        self.final = self.state()
        self.end = True
        self.log.append(action, run="r", actor="flow", facts={}, occurred=self.now)

    def state(self) -> str:
        if self.waiting is None:
            return "none"
        if any(word == "refuse" for _, word in self.given):
            return "declined"
        if len(self.given) >= self.waiting["needed"]:
            return "approved"
        if self.end:
            return "expired" if self.final == "expired" else "none"
        return "expired" if self.now > self.waiting["until"] else "waiting"

    def expected(self, reviewer: str, content: str, sound: bool) -> str | None:
        if reviewer not in self.keys:
            return "reviewer-not-trusted"
        if not sound:
            return "decision-signature-wrong"
        if self.waiting is None:
            return "nothing-waits"
        if content != self.waiting["content"]:
            return "content-changed"
        if reviewer not in ALLOWED:
            return "reviewer-not-allowed"
        if reviewer == self.waiting["starter"].lower():
            return "own-run"
        if reviewer in dict(self.given):
            return "decided-twice"
        return {"waiting": None, "expired": "deadline-passed"}.get(self.state(), "approval-closed")

    def hand_in(self, reviewer: str, content: str, decision: str, signature: str, sound: bool) -> None:
        expected = self.expected(reviewer, content, sound)
        found = None
        fields = {"content": content, "decision": decision, "reason": "why", "signature": signature}
        try:
            decide(self.log, run="r", reviewer=reviewer, actor="cli", now=self.now, **fields)
        except DecisionRefused as refusal:
            found = refusal.code
        assert found == expected
        if expected is None:
            self.given.append((reviewer, decision))

    @rule(reviewer=NAMES, content=CONTENTS, current=st.booleans(), decision=WORDS)
    def somebody_decides(self, reviewer: str, content: str, current: bool, decision: str) -> None:
        if current and self.waiting is not None:
            content = self.waiting["content"]
        key = private(self.keys.get(reviewer, reviewer))
        signature = sign_decision(key, content=content, decision=decision, reason="why")
        self.hand_in(reviewer, content, decision, signature, sound=True)

    @rule(
        reviewer=NAMES, content=CONTENTS, decision=WORDS, change=st.sampled_from(["key", "content", "word", "reason"])
    )
    def somebody_cheats(self, reviewer: str, content: str, decision: str, change: str) -> None:
        owner = "mallory" if change == "key" else self.keys.get(reviewer, reviewer)
        signed = {"content": content, "decision": decision, "reason": "why"}
        if change == "content":
            signed["content"] = "3" * 64
        elif change == "word":
            signed["decision"] = {"approve": "refuse", "refuse": "approve"}[decision]
        elif change == "reason":
            signed["reason"] = "why not"
        self.hand_in(reviewer, content, decision, sign_decision(private(owner), **signed), sound=False)

    @invariant()
    def the_log_says_what_the_model_says(self) -> None:
        found = approval_state(self.log, "r", self.now)
        assert found.state == self.state()
        assert [(each.reviewer, each.decision) for each in found.decisions] == self.given
        if self.waiting is not None:
            approvals = sum(word == "approve" for _, word in self.given)
            assert (found.content, found.until) == (self.waiting["content"], self.waiting["until"])
            assert (found.required, found.missing) == (self.waiting["needed"], self.waiting["needed"] - approvals)
        if found.state == "approved":
            record = approval_record(found)  # verifies each signature
            assert len({given["public_key"] for given in record["decisions"]}) == found.required


TestApprovals = Approvals.TestCase
TestApprovals.settings = settings(deadline=None, max_examples=examples(50, at_first=5), stateful_step_count=20)
