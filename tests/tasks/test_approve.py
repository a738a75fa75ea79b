"""Reviewers are asked about what is staged, once; their answer decides, and nothing else does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from prefect.exceptions import Pause
from pydantic import ValidationError

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec
from penstock.records import Action
from penstock.records.approval.approval import DecisionRefused, DecisionSignatureWrong
from penstock.records.approval.decision import sign_decision
from penstock.records.bundle import bundle
from penstock.records.home import login
from penstock.records.people.trusted_keys import trust
from penstock.records.run import RunDamaged
from penstock.records.signing.signing import key_id
from penstock.tasks import approve
from penstock.tasks.approve import (
    ApprovalExpired,
    RefusedBefore,
    ReviewerDeclined,
    ReviewForm,
    ask_reviewers,
    awaits_review,
    describe_waiting,
    take_decision,
    waiting_state,
)
from penstock.tasks.publish import staged_content
from penstock.tasks.run.job import Job, begin
from tests.support.workplace import Workplace

KEYS = {name: Ed25519PrivateKey.from_private_bytes(name.ljust(32).encode()) for name in ("anna", "ben", "carl")}
FORTNIGHT = timedelta(days=14)


@contextmanager
def staged_run(place: Workplace, **approve: Any) -> Iterator[Job]:
    """A run that has staged one file, and its people."""
    if approve:
        place.raw["approve"] = approve
    with begin(draw_up_plan(load_spec(place.write_spec()))) as job:
        for name, key in KEYS.items():
            trust(job.log, name, key.public_key(), actor="officer", reason="hired", now=datetime.now(UTC))
        job.record(Action.PLANNED, name="survey", started_by="carl")
        stage(job, b"protected")
        yield job


def stage(job: Job, data: bytes) -> None:
    job.bundle.mkdir()
    (job.bundle / "data.csv").write_bytes(data)
    subject = bundle.subjects(job.bundle)
    gate = {"gate": "average_risk", "rule": "average_risk at most 0.05", "verdict": "pass"}
    release = {"gates": {"verdict": "pass", "results": [gate]}}
    content = bundle.content_digest(subject, release)
    job.run.commit("staged", {"content": content, "subject": subject, "release": release, "records": 1})


@pytest.fixture
def asked(workplace: Workplace) -> Iterator[Job]:
    """Two of three must approve; one of them started the run."""
    with staged_run(workplace, reviewers=2, allowed=["anna", "ben", "carl"]) as job:
        assert ask_reviewers(job) is None
        yield job


def actions(job: Job) -> list[Action]:
    return [event.action for event in job.log.events(job.run.id)]


def answer(job: Job, reviewer: str, decision: str = "approve", reason: str = "", key: str = "") -> dict[str, Any]:
    content = describe_waiting(job).content
    signature = sign_decision(KEYS[key or reviewer], content=content, decision=decision, reason=reason)
    return {"reviewer": reviewer, "decision": decision, "reason": reason, "signature": signature}


def move_clock(monkeypatch: pytest.MonkeyPatch, by: timedelta) -> None:
    class Moved(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return datetime.now(tz) + by

    monkeypatch.setattr(approve, "datetime", Moved)


def test_where_no_reviewer_is_named_nobody_is_asked(workplace: Workplace) -> None:
    with staged_run(workplace) as job:
        assert ask_reviewers(job) == {"required": 0, "decisions": []}
        assert actions(job) == [Action.PLANNED]


def test_a_run_awaits_review_from_the_question_on(workplace: Workplace) -> None:
    with staged_run(workplace, reviewers=1, allowed=["anna"]) as job:
        assert not awaits_review(job)
        ask_reviewers(job)
        assert awaits_review(job)
    with begin(draw_up_plan(load_spec(workplace.write_spec()))) as resumed:
        assert awaits_review(resumed)


def test_the_question_is_on_record_with_its_rule(asked: Job) -> None:
    event = asked.log.events(asked.run.id)[-1]
    assert event.action is Action.WAITING
    waiting = describe_waiting(asked)
    until = datetime.fromisoformat(event.occurred) + FORTNIGHT
    assert event.facts == {
        "content": waiting.content,
        "reviewers": 2,
        "allowed": ["anna", "ben", "carl"],
        "until": until.isoformat(),
        "started_by": sorted({"carl", login()}),
    }
    assert waiting.as_dict() == {
        "name": "survey",
        "run": asked.run.id,
        "content": event.facts["content"],
        "required": 2,
        "missing": 2,
        "allowed": ("anna", "ben", "carl"),
        "until": until.isoformat(timespec="seconds"),
        "looks": "0 of 10 allowed",
        "confidential_report": str(asked.run.path("report.html")),
    }


def test_asking_again_changes_nothing(asked: Job) -> None:
    before = actions(asked)
    assert ask_reviewers(asked) is None
    assert actions(asked) == before


def test_while_it_waits_the_confidential_copies_are_gone(workplace: Workplace) -> None:
    with staged_run(workplace, reviewers=1, allowed=["anna"]) as job:
        for name in ("scratch", "secrets"):
            job.run.path(name).mkdir()
            (job.run.path(name) / "0.column").write_bytes(b"confidential")
        ask_reviewers(job)
        assert not job.run.path("scratch").exists()
        assert not job.run.path("secrets").exists()
        assert (job.bundle / "data.csv").exists()


def test_the_end_of_a_flow_run_that_waits_is_named_for_it(asked: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    assert waiting_state(asked) == describe_waiting(asked)  # outside a flow run
    monkeypatch.setattr("penstock.tasks.approve.FlowRunContext.get", lambda: object())
    state: Any = waiting_state(asked)
    monkeypatch.undo()
    assert (state.type.value, state.name) == ("COMPLETED", "WaitingForApproval")
    assert state.message == f"Run {asked.run.id} waits until {describe_waiting(asked).until}."
    assert state.data == describe_waiting(asked)


def test_everybody_who_had_a_hand_in_starting_the_run_is_a_starter(workplace: Workplace) -> None:
    with staged_run(workplace, reviewers=1, allowed=["anna"]) as job:
        job.record(Action.RESUMED, name="survey", started_by=" ben ")
        job.record(Action.RESUMED, name="survey", started_by=None)
        job.record(Action.RESUMED, name="survey", started_by="   ")
        job.log.append(Action.RESUMED, run=job.run.id, actor="night", facts={}, occurred=datetime.now(UTC))
        job.log.append(Action.CHECKED, run=job.run.id, actor="nobody", facts={}, occurred=datetime.now(UTC))
        ask_reviewers(job)
        assert job.log.events(job.run.id)[-1].facts["started_by"] == sorted({"ben", "carl", "night", login()})


def test_with_all_approvals_the_manifest_gets_their_signatures(asked: Job) -> None:
    given = [answer(asked, "anna"), answer(asked, "ben", reason="read it")]
    assert take_decision(asked, **given[0]).state == "waiting"
    assert ask_reviewers(asked) is None
    assert describe_waiting(asked).missing == 1
    assert take_decision(asked, **given[1]).state == "approved"
    assert ask_reviewers(asked) == {
        "required": 2,
        "decisions": [
            {
                "key_id": key_id(KEYS[name].public_key()),
                "public_key": KEYS[name].public_key().public_bytes_raw().hex(),
                "signature": one["signature"],
                "reason": one["reason"],
            }
            for name, one in zip(("anna", "ben"), given, strict=True)
        ],
    }


def test_one_refusal_refuses_the_run_and_its_reason_stays_in_the_log(asked: Job) -> None:
    take_decision(asked, **answer(asked, "anna", "refuse", "canary"))
    with pytest.raises(ReviewerDeclined, match="needs every reviewer; refused by anna") as refused:
        ask_reviewers(asked)
    assert (refused.value.code, refused.value.kind) == ("reviewer-declined", "approval")
    assert "canary" not in str(refused.value)


def test_a_run_that_waited_too_long_is_refused(asked: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    move_clock(monkeypatch, FORTNIGHT + timedelta(seconds=1))
    with pytest.raises(ApprovalExpired, match="must not pass before the reviewers decide") as refused:
        ask_reviewers(asked)
    assert (refused.value.code, refused.value.kind) == ("approval-expired", "approval")


def test_an_approval_in_time_counts_after_the_deadline(asked: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("anna", "ben"):
        take_decision(asked, **answer(asked, name))
    move_clock(monkeypatch, 2 * FORTNIGHT)
    assert ask_reviewers(asked) is not None


@pytest.mark.parametrize("reviewers", [0, 1])
def test_a_run_that_is_called_refused_on_record_does_not_go_on(workplace: Workplace, reviewers: int) -> None:
    rule = {"reviewers": 1, "allowed": ["anna"]} if reviewers else {}
    with staged_run(workplace, **rule) as job:
        if reviewers:
            ask_reviewers(job)
            take_decision(job, **answer(job, "anna"))
        job.record(Action.REFUSED, code="bundle-altered")
        with pytest.raises(RefusedBefore, match="was refused before") as refused:
            ask_reviewers(job)
    assert (refused.value.code, refused.value.kind) == ("refused-before", "approval")


def test_a_file_that_was_changed_while_it_waited_stops_everything(asked: Job) -> None:
    given = answer(asked, "anna")
    (asked.bundle / "data.csv").write_bytes(b"other")
    for use in (awaits_review, ask_reviewers, lambda job: take_decision(job, **given)):
        with pytest.raises(RunDamaged, match="altered"):
            use(asked)
    assert actions(asked)[-1] is Action.WAITING


def test_a_decision_where_nothing_is_staged_is_refused_on_record(workplace: Workplace) -> None:
    with begin(draw_up_plan(load_spec(workplace.write_spec()))) as job:
        trust(job.log, "anna", KEYS["anna"].public_key(), actor="officer", reason="hired", now=datetime.now(UTC))
        with pytest.raises(DecisionRefused):
            take_decision(job, reviewer="anna", decision="approve", reason="", signature="x")
        assert actions(job) == [Action.DECISION_REFUSED]


class Form:
    """Stands for the form of a suspended run: answers are given in order, and then nobody answers.

    The form itself, and the process that ends while it is shown, are in tests/flows/test_suspended_runs.py.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: dict[str, Any]) -> None:
        self._answers = list(answers)
        self.descriptions: list[str] = []
        self.keys: list[str] = []
        self.timeouts: list[int] = []
        monkeypatch.setattr(approve, "suspend_flow_run", self._shown)
        monkeypatch.setattr(approve, "_can_be_suspended", lambda: True)

    def _shown(self, *, wait_for_input: Any, timeout: int, key: str) -> ReviewForm:
        self.descriptions.append(wait_for_input._description)
        self.keys.append(key)
        self.timeouts.append(timeout)
        if not self._answers:
            raise Pause
        return ReviewForm(**self._answers.pop(0))


def test_the_form_is_shown_until_the_reviewers_have_decided(asked: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    form = Form(
        monkeypatch,
        answer(asked, "anna", key="ben"),
        answer(asked, "carl"),
        answer(asked, "anna"),
        answer(asked, "ben"),
    )
    record = ask_reviewers(asked)
    assert record is not None
    assert len(record["decisions"]) == 2
    assert actions(asked)[-4:] == [Action.DECISION_REFUSED, Action.DECISION_REFUSED, Action.APPROVED, Action.APPROVED]
    told = [re.findall(r"did not count: ([a-z-]+)", text) for text in form.descriptions]
    assert told == [[], ["decision-signature-wrong"], ["own-run"], []]
    assert len(set(form.keys)) == 4
    assert all(re.fullmatch(r"[a-z0-9-]+", key) for key in form.keys)  # Prefect takes no other


def test_a_flow_that_starts_again_asks_the_same_question_under_the_same_key(
    asked: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = Form(monkeypatch)
    for _ in range(2):
        with pytest.raises(Pause):
            ask_reviewers(asked)
    assert form.keys[0] == form.keys[1]
    take_decision(asked, **answer(asked, "anna"))  # on the command line
    with pytest.raises(Pause):
        ask_reviewers(asked)
    assert form.keys[2] != form.keys[1]


def test_the_form_says_what_to_sign_who_has_decided_and_who_may(asked: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    form = Form(monkeypatch, answer(asked, "anna"))
    with pytest.raises(Pause):
        ask_reviewers(asked)
    first, second = form.descriptions
    waiting = describe_waiting(asked)
    assert first.startswith("## Publish survey?\n")
    assert f"\npenstock sign {waiting.content} --key YOUR.pem\n" in first
    assert f"run `{asked.run.id}`" in first
    assert asked.plan.guarantee.statement in first
    gates = (staged_content(asked) or {})["release"]["gates"]["results"]
    assert f"**Gates:** All {len(gates)} passed." in first
    until = f"{datetime.fromisoformat(waiting.until):%Y-%m-%d %H:%M} UTC"
    assert (
        f"**Approvals missing:** 2 of 2. **Approved by:** nobody. **May decide:** anna, ben. **Until:** {until}."
        in first
    )
    assert "**Approvals missing:** 1 of 2. **Approved by:** anna. **May decide:** ben." in second


def test_the_form_ends_when_the_deadline_does(asked: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    form = Form(monkeypatch)
    with pytest.raises(Pause):
        ask_reviewers(asked)
    move_clock(monkeypatch, FORTNIGHT - timedelta(seconds=60))
    with pytest.raises(Pause):
        ask_reviewers(asked)
    assert FORTNIGHT.total_seconds() - 60 < form.timeouts[0] <= FORTNIGHT.total_seconds()
    assert 1 <= form.timeouts[1] <= 60


def test_a_changed_file_is_noticed_when_the_form_comes_back(asked: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    Form(monkeypatch, answer(asked, "anna"))
    suspend = approve.suspend_flow_run

    def change_meanwhile(**shown: Any) -> Any:
        (asked.bundle / "data.csv").write_bytes(b"other")
        return suspend(**shown)

    monkeypatch.setattr(approve, "suspend_flow_run", change_meanwhile)
    with pytest.raises(RunDamaged):
        ask_reviewers(asked)
    assert actions(asked)[-1] is Action.WAITING


def test_a_signature_over_other_content_does_not_count(asked: Job) -> None:
    given = {
        **answer(asked, "anna"),
        "signature": sign_decision(KEYS["anna"], content="ab" * 32, decision="approve", reason=""),
    }
    with pytest.raises(DecisionSignatureWrong):
        take_decision(asked, **given)


@pytest.mark.parametrize(
    "change",
    [{"decision": "perhaps"}, {"reviewer": ""}, {"signature": ""}, {"more": "x"}],
    ids=lambda change: str(change),
)
def test_a_form_that_is_not_filled_in_is_not_taken(change: dict[str, str]) -> None:
    filled = {"decision": "approve", "reviewer": "anna", "signature": "x"}
    assert ReviewForm(**filled).reason == ""  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        ReviewForm(**{**filled, **change})  # type: ignore[arg-type]
