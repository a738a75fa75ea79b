"""An event that somebody took out of the log does not change who may decide."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from penstock.records import Home, LogAltered, Records, open_records
from penstock.records.approval.approval import Rule, decide, wait
from penstock.records.approval.decision import APPROVE, sign_decision
from penstock.records.people.trusted_keys import people, trust, withdraw
from tests.records.database_faults import tamper
from tests.records.reviewers import CONTENT, private, public

RULE = Rule(1, ("anna", "ben"), timedelta(days=1))


@pytest.fixture
def records(either_home: Home, now: datetime) -> Records:
    """Anna was trusted and withdrawn, ben is trusted, and a run waits."""
    opened = open_records(home=either_home)
    for name in ("anna", "ben"):
        trust(opened.log, name, public(name), actor="officer", reason="reviewer", now=now)
    withdraw(opened.log, "anna", actor="officer", reason="key lost", now=now)
    wait(opened.log, run="run-1", content=CONTENT, rule=RULE, started_by=["carl"], actor="carl", now=now)
    return opened


def approve(records: Records, name: str, now: datetime) -> str:
    signature = sign_decision(private(name), content=CONTENT, decision=APPROVE, reason="")
    return decide(
        records.log,
        run="run-1",
        content=CONTENT,
        reviewer=name,
        decision=APPROVE,
        signature=signature,
        reason="",
        actor=name,
        now=now,
    ).state


def test_a_trusted_reviewer_approves_on_either_database(records: Records, now: datetime) -> None:
    assert approve(records, "ben", now) == "approved"


def test_a_withdrawal_taken_out_of_the_log_does_not_bring_a_reviewer_back(
    records: Records, either_home: Home, now: datetime
) -> None:
    tamper(either_home, "DELETE FROM log_events WHERE action = 'KEY_WITHDRAWN'")
    for log in (lambda: records.log, lambda: open_records(home=either_home).log):
        with pytest.raises(LogAltered, match=r"event 3 refused: must (exist|be as it was written); it was"):
            people(log())
    with pytest.raises(LogAltered):
        approve(records, "anna", now)


def test_a_key_whose_trust_was_taken_out_of_the_log_cannot_be_trusted_again(
    records: Records, either_home: Home, now: datetime
) -> None:
    tamper(either_home, "DELETE FROM log_events WHERE action = 'KEY_TRUSTED' AND seq = 1")
    with pytest.raises(LogAltered):
        trust(records.log, "dora", public("anna"), actor="officer", reason="reviewer", now=now)
