from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from penstock.records import Action, Home, LogAltered
from penstock.records.approval.approval import (
    ApprovalClosed,
    ApprovalState,
    DeadlinePassed,
    DecisionSignatureWrong,
    NotApproved,
    Rule,
    RuleRefused,
    WaitRefused,
    approval_record,
    approval_state,
)
from penstock.records.approval.decision import sign_decision, verify_decision
from penstock.records.log.log import EventRefused
from penstock.records.signing import signing
from tests.records.decision_racer import race
from tests.records.review_house import ONE, RUN, TWO, WEEK, House
from tests.records.reviewers import CONTENT, OTHER, REASON, private, public


def test_one_approval_is_enough_where_one_is_asked_for(house: House, now: datetime) -> None:
    waiting = house.wait()
    assert (waiting.state, waiting.content, waiting.until) == ("waiting", CONTENT, now + WEEK)
    assert (waiting.required, waiting.missing, waiting.decisions) == (1, 1, ())
    after = house.decide()
    assert (after.state, after.missing) == ("approved", 0)
    assert after == house.stands()
    (event,) = [event for event in house.log.events(RUN) if event.action is Action.APPROVED]
    (given,) = after.decisions
    assert event.facts == {
        "content": CONTENT,
        "reviewer": "anna",
        "key_id": signing.key_id(public("anna")),
        "public_key": public("anna").public_bytes_raw().hex(),
        "signature": given.signature,
        "reason": REASON,
    }
    assert house.log.verify().count == len(house.log.events())


def test_two_approvals_are_needed_where_two_are_asked_for(house: House) -> None:
    house.wait(TWO)
    first = house.decide("anna")
    assert (first.state, first.missing) == ("waiting", 1)
    second = house.decide("bert", reason="")
    assert (second.state, second.missing) == ("approved", 0)
    assert [given.reviewer for given in second.decisions] == ["anna", "bert"]


def test_one_refusal_declines_the_run(house: House) -> None:
    house.wait(TWO)
    house.decide("anna")
    after = house.decide("bert", "refuse")
    assert after.state == "declined"
    assert [given.decision for given in after.decisions] == ["approve", "refuse"]
    assert house.log.events(RUN)[-1].action is Action.DECLINED
    house.refuses(ApprovalClosed, "carla")


def test_nothing_stands_where_nothing_waited(house: House) -> None:
    assert house.stands() == ApprovalState("none")


def test_waiting_again_for_the_same_content_is_silent(house: House) -> None:
    house.wait(TWO)
    house.decide("anna")
    before = house.stands()
    assert house.wait(ONE, now=house.now + timedelta(days=1)) == before
    assert len([event for event in house.log.events(RUN) if event.action is Action.WAITING]) == 1


def test_another_content_voids_all_earlier_decisions(house: House) -> None:
    house.wait(TWO)
    house.decide("anna")
    house.decide("bert")
    after = house.wait(TWO, content=OTHER)
    assert (after.state, after.content, after.missing, after.decisions) == ("waiting", OTHER, 2, ())


def test_the_waiting_is_on_record_with_its_rule(house: House) -> None:
    house.wait(TWO, started_by=("dora", "prefect"))
    assert house.log.events(RUN)[-1].facts == {
        "content": CONTENT,
        "reviewers": 2,
        "allowed": ["anna", "bert", "carla"],
        "until": "2026-11-23T02:15:00+00:00",
        "started_by": ["dora", "prefect"],
    }


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"run": "-"}, "run refused: must be the name of a run, got '-'"),
        ({"run": "a\n"}, "must be the name of a run"),
        ({"content": CONTENT[1:]}, "content refused: must be 64"),
        ({"started_by": []}, "started_by refused: must name who started the run"),
        ({"started_by": ["anna", " "]}, "started_by"),
    ],
)
def test_what_cannot_wait_is_refused(house: House, changes: dict[str, Any], rule: str) -> None:
    count = len(house.log.events())
    with pytest.raises(WaitRefused, match=rule) as caught:
        house.wait(**changes)
    assert (caught.value.code, caught.value.kind) == ("wait-refused", "approval")
    assert len(house.log.events()) == count


@pytest.mark.parametrize(
    ("reviewers", "allowed", "within", "rule"),
    [
        (0, ("anna",), WEEK, "reviewers refused: must be 1 or 2, got 0"),
        (3, ("anna", "bert", "carla"), WEEK, "must be 1 or 2"),
        (1, (), WEEK, "allowed refused: must be different people, at least as many"),
        (2, ("anna",), WEEK, "at least as many"),
        (1, ("anna", "Anna"), WEEK, "must be different people"),
        (1, ("an na",), WEEK, "must be names of people"),
        (1, ("anna",), timedelta(0), "within refused: must be more than nothing"),
        (1, ("anna",), timedelta.max, "at most 3650 days"),
    ],
)
def test_a_rule_that_cannot_hold_is_refused(
    reviewers: int, allowed: tuple[str, ...], within: timedelta, rule: str
) -> None:
    with pytest.raises(RuleRefused, match=rule) as caught:
        Rule(reviewers, allowed, within)
    assert (caught.value.code, caught.value.kind) == ("approval-rule-refused", "spec")


def test_a_moment_without_time_zone_is_refused(house: House, now: datetime) -> None:
    naive, count = now.replace(tzinfo=None), len(house.log.events())
    for attempt in (
        lambda: house.wait(now=naive),
        lambda: house.decide(now=naive),
        lambda: house.decide("x", now=naive),
    ):
        with pytest.raises(EventRefused, match="time zone"):
            attempt()
    with pytest.raises(EventRefused, match="time zone"):
        approval_state(house.log, RUN, naive)
    assert len(house.log.events()) == count


def test_the_deadline_itself_is_still_in_time(house: House) -> None:
    house.wait()
    house.now += WEEK
    assert house.decide().state == "approved"


def test_after_the_deadline_nothing_is_decided_also_if_it_was_signed_before(house: House) -> None:
    house.wait(TWO)
    signed_in_time = sign_decision(private("bert"), content=CONTENT, decision="approve", reason=REASON)
    house.decide("anna")
    house.now += WEEK + timedelta(microseconds=1)
    assert house.stands().state == "expired"
    assert house.refuses(DeadlinePassed, "bert", signature=signed_in_time).code == "deadline-passed"
    assert house.wait(TWO).state == "expired"


def test_an_approval_in_full_does_not_expire(house: House) -> None:
    house.wait()
    house.decide()
    house.now += 2 * WEEK
    assert house.stands().state == "approved"


def test_after_the_full_approval_nothing_is_decided(house: House) -> None:
    house.wait()
    house.decide("anna")
    assert house.refuses(ApprovalClosed, "bert", "refuse").code == "approval-closed"


@pytest.mark.parametrize("end", [Action.PUBLISHED, Action.REFUSED])
def test_a_run_that_ended_accepts_no_decision(house: House, end: Action) -> None:
    house.wait()
    house.end(end)
    assert house.stands().state == "none"
    house.refuses(ApprovalClosed)
    house.now += 2 * WEEK
    assert house.stands().state == "none"
    house.end(end)  # it was killed before its folder was cleared, and resumed
    assert house.wait().state == "none"


@pytest.mark.parametrize("action", [Action.FAILED, Action.RESUMED])
def test_a_run_that_died_and_was_resumed_still_waits(house: House, action: Action) -> None:
    house.wait()
    house.end(action)
    assert house.decide().state == "approved"


def test_an_end_before_the_waiting_does_not_count(house: House) -> None:
    house.end(Action.REFUSED)
    house.wait()
    assert house.decide().state == "approved"


def test_an_approved_run_stays_approved_after_its_publication(house: House) -> None:
    house.wait()
    house.decide()
    house.end(Action.PUBLISHED)
    assert house.stands().state == "approved"


def test_an_expired_run_stays_expired_after_its_end(house: House) -> None:
    house.wait()
    house.now += 2 * WEEK
    house.end(Action.REFUSED)
    assert house.stands().state == "expired"


def test_refused_decisions_cannot_end_a_run(house: House) -> None:
    house.wait()
    for _ in range(20):
        house.refuses(DecisionSignatureWrong, key="eve")
    assert house.decide().state == "approved"


def test_the_manifest_says_who_approved_so_that_anybody_can_check(house: House) -> None:
    house.wait(TWO)
    house.decide("anna")
    record = approval_record(house.decide("bert", reason=""))
    assert record["required"] == 2
    for given, name, reason in zip(record["decisions"], ("anna", "bert"), (REASON, ""), strict=True):
        assert set(given) == {"key_id", "public_key", "signature", "reason"}
        assert given["key_id"] == signing.key_id(public(name))
        assert bytes.fromhex(given["public_key"]) == public(name).public_bytes_raw()
        assert given["reason"] == reason
        verify_decision(public(name), content=CONTENT, decision="approve", reason=reason, signature=given["signature"])


@pytest.mark.parametrize("state", ["none", "waiting", "declined", "expired"])
def test_what_is_not_approved_has_no_approval_record(state: Any) -> None:
    with pytest.raises(NotApproved, match=f"must be given in full, got '{state}'") as caught:
        approval_record(ApprovalState(state))
    assert (caught.value.code, caught.value.kind) == ("not-approved", "approval")


def test_an_approval_record_is_made_of_signatures_that_hold(house: House) -> None:
    house.wait()
    with pytest.raises(DecisionSignatureWrong):
        approval_record(replace(house.decide(), content=OTHER))


def test_an_altered_record_decides_nothing(house: House) -> None:
    """Who writes to the database but has no key cannot turn a refusal into an approval."""
    house.wait(TWO)
    house.decide("anna", "refuse")
    with house.log.transaction() as writer:
        writer.connection.exec_driver_sql("UPDATE log_events SET action = 'APPROVED' WHERE action = 'DECLINED'")
    with pytest.raises(LogAltered):
        house.decide("bert")
    with pytest.raises(LogAltered):
        house.stands()


def test_of_eight_processes_with_one_key_exactly_one_approves(home: Home, house: House) -> None:
    house.wait(TWO)
    signature = sign_decision(private("anna"), content=CONTENT, decision="approve", reason="")
    assert race(home, signature, house.now, 8) == ["decided-twice"] * 7 + ["waiting"]
    actions = [event.action for event in house.log.events(RUN)]
    assert actions.count(Action.APPROVED) == 1
    assert actions.count(Action.DECISION_REFUSED) == 7
    assert house.stands().missing == 1
    house.log.verify()
