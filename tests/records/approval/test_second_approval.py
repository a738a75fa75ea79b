"""Releases of the same records may wait beside each other; one is approved, unless the next acknowledges it."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from penstock.records import Home, Ledger, open_records
from penstock.records.approval.approval import DecisionRefused, SecondApproval, decide
from penstock.records.approval.decision import APPROVE, REFUSE, sign_decision
from penstock.records.ledger.accounts import Claim
from penstock.records.ledger.ledger import SecondRelease
from tests.records.ledger_cases import account, claim, released, uncounted, with_accounts
from tests.records.review_house import ONE, TWO, House
from tests.records.reviewers import REASON, private

FIRST, SECOND = "run-1", "run-2"
CONTENTS = {FIRST: "a" * 64, SECOND: "b" * 64}


@pytest.fixture
def ledger(house: House) -> Ledger:
    return Ledger(house.log)


def draw(house: House, ledger: Ledger, run: str, wanted: Claim) -> None:
    how = {"actor": "flow", "now": house.now}
    ledger.reserve(wanted, run=run, **how)
    ledger.spend(run, **how)


def draw_and_wait(house: House, ledger: Ledger, run: str, wanted: Claim, **changes: object) -> None:
    draw(house, ledger, run, wanted)
    house.wait(run=run, content=CONTENTS[run], **changes)


def approve(house: House, run: str, reviewer: str = "anna") -> str:
    return house.decide(reviewer, run=run, content=CONTENTS[run]).state


def test_what_only_waits_blocks_no_other_setting_and_the_second_approval_is_refused(
    house: House, ledger: Ledger
) -> None:
    draw_and_wait(house, ledger, FIRST, uncounted())
    draw_and_wait(house, ledger, SECOND, uncounted())
    assert approve(house, SECOND) == "approved"
    with pytest.raises(SecondApproval, match=SECOND):
        approve(house, FIRST)
    assert house.log.events()[-1].facts["code"] == SecondApproval.code
    ledger.settle(SECOND, "published", actor="flow", now=house.now)
    with pytest.raises(SecondApproval):
        approve(house, FIRST)
    assert house.decide("anna", REFUSE, run=FIRST, content=CONTENTS[FIRST]).state == "declined"


def test_when_the_one_that_was_approved_is_refused_after_all_the_other_may_come_out(
    house: House, ledger: Ledger
) -> None:
    draw_and_wait(house, ledger, FIRST, uncounted())
    draw_and_wait(house, ledger, SECOND, uncounted())
    assert approve(house, SECOND) == "approved"
    ledger.settle(SECOND, "refused", actor="flow", now=house.now)
    assert approve(house, FIRST) == "approved"


def test_once_one_is_approved_no_other_is_drawn(house: House, ledger: Ledger) -> None:
    draw_and_wait(house, ledger, FIRST, uncounted())
    approve(house, FIRST)
    with pytest.raises(SecondRelease, match=FIRST):
        draw(house, ledger, SECOND, uncounted())


def test_one_approval_of_two_does_not_hold_the_others_back(house: House, ledger: Ledger) -> None:
    draw_and_wait(house, ledger, FIRST, uncounted(), rule=TWO)
    draw_and_wait(house, ledger, SECOND, uncounted(), rule=TWO)
    for run in (FIRST, SECOND):
        assert approve(house, run, "anna") == "waiting"
    assert approve(house, FIRST, "bert") == "approved"
    with pytest.raises(SecondApproval):
        approve(house, SECOND, "bert")


@pytest.mark.parametrize("ended", [False, True])
def test_a_release_without_reviewers_that_began_meanwhile_holds_the_waiting_one_back(
    house: House, ledger: Ledger, ended: bool
) -> None:
    draw_and_wait(house, ledger, FIRST, uncounted())
    draw(house, ledger, SECOND, uncounted())
    if ended:
        ledger.settle(SECOND, "published", actor="flow", now=house.now)
    with pytest.raises(SecondApproval, match=SECOND):
        approve(house, FIRST)


def test_a_run_that_was_not_approved_in_time_blocks_nobody(house: House, ledger: Ledger) -> None:
    draw_and_wait(house, ledger, FIRST, uncounted(), rule=ONE)
    house.now += ONE.within + timedelta(seconds=1)
    draw_and_wait(house, ledger, SECOND, uncounted())
    assert approve(house, SECOND) == "approved"


def test_who_acknowledges_the_other_is_approved_beside_it_and_only_that_one(house: House, ledger: Ledger) -> None:
    draw_and_wait(house, ledger, FIRST, uncounted())
    draw_and_wait(house, ledger, SECOND, uncounted(acknowledges=(FIRST,)))
    approve(house, FIRST)
    assert approve(house, SECOND) == "approved"


def test_who_was_acknowledged_and_does_not_say_so_itself_is_not_approved_second(house: House, ledger: Ledger) -> None:
    draw_and_wait(house, ledger, FIRST, uncounted())
    draw_and_wait(house, ledger, SECOND, uncounted(acknowledges=(FIRST,)))
    approve(house, SECOND)
    with pytest.raises(SecondApproval):
        approve(house, FIRST)


def test_releases_that_add_up_or_have_other_records_are_approved_beside_each_other(
    house: House, ledger: Ledger
) -> None:
    draw_and_wait(house, ledger, FIRST, uncounted(source="s1"))
    draw_and_wait(house, ledger, SECOND, uncounted(source="s2"))
    assert [approve(house, run) for run in (FIRST, SECOND)] == ["approved", "approved"]


def test_two_that_are_approved_at_the_same_moment(house: House, ledger: Ledger) -> None:
    """On either database: both decisions are ready, and both writers begin together."""
    draw_and_wait(house, ledger, FIRST, uncounted())
    draw_and_wait(house, ledger, SECOND, uncounted())
    together, answers = threading.Barrier(2), dict[str, str]()

    def hand_in(run: str) -> None:
        fields = {"content": CONTENTS[run], "decision": APPROVE, "reason": REASON}
        signature = sign_decision(private("anna"), **fields)
        given = {"run": run, "reviewer": "anna", "actor": "racer", "now": house.now, **fields}
        together.wait()
        try:
            answers[run] = decide(house.log, signature=signature, **given).state  # type: ignore[arg-type]
        except DecisionRefused as refusal:
            answers[run] = refusal.code

    racers = [threading.Thread(target=hand_in, args=(run,)) for run in CONTENTS]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert sorted(answers.values()) == ["approved", SecondApproval.code]


def test_a_waiting_release_that_spends_still_counts_in_its_account(
    house: House, ledger: Ledger, either_home: Home
) -> None:
    records = with_accounts(open_records(home=either_home), account())
    draw_and_wait(house, ledger, FIRST, claim())
    assert ledger.book("income").as_dict("income")["accounts"][0]["left"] == "0"
    assert approve(house, FIRST) == "approved"
    released(records, SECOND, uncounted(dataset="income", acknowledges=(FIRST,)))
