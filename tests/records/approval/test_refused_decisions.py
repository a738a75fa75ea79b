"""Decisions that do not count: each is on record, and changes nothing else."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from penstock.records import Action
from penstock.records.approval.approval import (
    ContentChanged,
    DecidedTwice,
    DecisionRefused,
    DecisionSignatureWrong,
    NothingWaits,
    OwnRun,
    ReviewerNotAllowed,
    ReviewerNotTrusted,
    Rule,
)
from penstock.records.approval.decision import sign_decision
from penstock.records.people.trusted_keys import trust, withdraw
from penstock.records.signing import signing
from tests.records.review_house import ONE, TWO, WEEK, House
from tests.records.reviewers import CONTENT, OLD, OTHER, REASON, private, public


def test_a_decision_without_anything_waiting_is_refused(house: House) -> None:
    assert house.refuses(NothingWaits).code == "nothing-waits"
    assert house.refuses(NothingWaits, run="run-2").faults[0].field == "run"


@pytest.mark.parametrize("run", ["", "-", "a b", "canary\n", "\ud800"])
def test_a_decision_about_what_is_no_run_is_on_record_without_its_text(house: House, run: str) -> None:
    house.refuses(NothingWaits, run=run)
    assert house.log.events()[-1].run == "-"


def test_an_unknown_reviewer_is_refused(house: House) -> None:
    house.wait(Rule(1, ("anna", "eve"), WEEK))
    assert house.refuses(ReviewerNotTrusted, "eve").code == "reviewer-not-trusted"
    assert house.log.events()[-1].facts["reviewer"] == "eve"
    house.refuses(ReviewerNotTrusted, "Anna", key="anna")


@pytest.mark.parametrize("reviewer", ["", "canary of somebody", "canary\n", "\ud800"])
def test_what_is_no_name_is_not_put_on_record(house: House, reviewer: str) -> None:
    house.wait()
    house.refuses(ReviewerNotTrusted, reviewer, key="anna")
    assert house.log.events()[-1].facts["reviewer"] == ""


def test_a_withdrawn_key_decides_no_more(house: House, now: datetime) -> None:
    house.wait(TWO)
    withdraw(house.log, "anna", actor="officer", reason="left", now=now)
    house.refuses(ReviewerNotTrusted)


def test_an_approval_counts_also_when_its_key_is_withdrawn_later(house: House, now: datetime) -> None:
    house.wait(TWO)
    house.decide("anna")
    withdraw(house.log, "anna", actor="officer", reason="left", now=now)
    assert house.decide("bert").state == "approved"


def test_a_new_key_gives_nobody_a_second_voice(house: House, now: datetime) -> None:
    house.wait(TWO)
    house.decide("anna")
    withdraw(house.log, "anna", actor="officer", reason="lost", now=now)
    trust(house.log, "anna", public("anna's second"), actor="officer", reason="found", now=now)
    house.refuses(DecidedTwice, key="anna's second")


def test_a_signature_of_another_is_refused(house: House) -> None:
    house.wait(TWO)
    house.decide("bert")
    assert house.refuses(DecisionSignatureWrong, key="bert").code == "decision-signature-wrong"
    house.refuses(DecisionSignatureWrong, signature=house.stands().decisions[0].signature)


def test_swapped_key_files_are_noticed(house: House, tmp_path: Path, now: datetime) -> None:
    for name in ("emil", "fritz"):
        trust(house.log, name, signing.new_key_pair(tmp_path / name), actor="officer", reason="hired", now=now)
    (tmp_path / "emil").rename(tmp_path / "kept")
    (tmp_path / "fritz").rename(tmp_path / "emil")
    (tmp_path / "kept").rename(tmp_path / "fritz")
    house.wait(Rule(2, ("emil", "fritz"), WEEK))
    fields = {"content": CONTENT, "decision": "approve", "reason": REASON}
    for name, other in (("emil", "fritz"), ("fritz", "emil")):
        key = signing.existing_private_key(tmp_path / name)
        house.refuses(DecisionSignatureWrong, name, signature=sign_decision(key, **fields))
        house.decide(other, signature=sign_decision(key, **fields))


def test_a_refusal_used_as_an_approval_is_refused(house: House) -> None:
    house.wait()
    signature = sign_decision(private("anna"), content=CONTENT, decision="refuse", reason=REASON)
    house.refuses(DecisionSignatureWrong, signature=signature)
    assert house.decide(decision="refuse", signature=signature).state == "declined"


@pytest.mark.parametrize("changes", [{"content": "X"}, {"reason": "canary\n"}, {"decision": "canary"}])
def test_what_is_no_decision_is_refused_and_on_record(house: House, changes: dict[str, str]) -> None:
    house.wait()
    house.refuses(DecisionRefused, signature="x", **changes)
    assert house.log.events()[-1].facts["content"] == ("" if "content" in changes else CONTENT)


def test_a_refusal_without_a_reason_is_refused(house: House) -> None:
    house.wait()
    house.refuses(DecisionRefused, "anna", "refuse", signature="x", reason="")


def test_the_signature_is_checked_before_anything_is_told(house: House) -> None:
    """Whatever the run's state, who cannot sign hears of the signature only."""
    for prepare in (lambda: None, house.wait, lambda: house.wait(content=OTHER), lambda: house.end(Action.REFUSED)):
        prepare()
        for reviewer in ("anna", "dora"):
            house.refuses(DecisionSignatureWrong, reviewer, key="eve")


def test_an_approval_of_an_older_content_cannot_be_replayed(house: House) -> None:
    house.wait(content=OLD)
    old = house.decide(content=OLD).decisions[0].signature
    house.wait()
    assert house.refuses(ContentChanged, content=OLD, signature=old).code == "content-changed"
    house.refuses(DecisionSignatureWrong, signature=old)


def test_a_signature_for_the_content_of_another_run_is_refused(house: House) -> None:
    house.wait()
    house.wait(run="run-2", content=OTHER)
    other = house.decide(run="run-2", content=OTHER).decisions[0].signature
    house.refuses(ContentChanged, content=OTHER, signature=other)
    house.refuses(DecisionSignatureWrong, signature=other)


def test_a_reviewer_who_is_not_named_is_refused(house: House) -> None:
    house.wait(started_by=["flow"])
    assert house.refuses(ReviewerNotAllowed, "dora").code == "reviewer-not-allowed"


@pytest.mark.parametrize("starters", [["anna"], ["ANNA"], ["dora", "Anna"]])
@pytest.mark.parametrize("decision", ["approve", "refuse"])
def test_nobody_decides_about_their_own_run(house: House, starters: list[str], decision: str) -> None:
    house.wait(started_by=starters)
    assert house.refuses(OwnRun, "anna", decision).code == "own-run"
    assert house.decide("bert").state == "approved"


@pytest.mark.parametrize("second", ["approve", "refuse"])
@pytest.mark.parametrize("rule", [ONE, TWO], ids=["one", "two"])
def test_a_reviewer_decides_once(house: House, rule: Rule, second: str) -> None:
    house.wait(rule)
    house.decide("anna")
    assert house.refuses(DecidedTwice, "anna", second).code == "decided-twice"
