"""Review has no dead ends: nobody waits for people who may not decide, for a run that nobody wants, or for another.

Before, such a run drew and was charged; then it stood there until its deadline, up to ten years, and every other
setting of the same records was refused as a second release meanwhile.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.flows.review import review, withdraw
from penstock.records.approval.approval import ApprovalClosed, DecisionRefused, NothingWaits, SecondApproval
from penstock.records.home import login
from penstock.tasks.approve import NobodyToReview, NotTheStarter, ResumedByReviewer, Withdrawn
from penstock.tasks.run.step import StepFailed
from tests.support.waiting_release import actions, costs, introduce, release
from tests.support.workplace import Workplace


@pytest.fixture
def place(workplace: Workplace) -> Workplace:
    workplace.raw["approve"] = {"reviewers": 1, "allowed": ["anna", "ben"]}
    introduce(workplace.folder, "anna", "ben")
    return workplace


def approve(place: Workplace, run: str, reviewer: str = "anna") -> Any:
    key = place.folder / f"{reviewer}.pem"
    return review(run, reviewer=reviewer, decision="approve", reason="", key=key)


def stop(*_: Any) -> None:
    raise StepFailed.at("assess", rule="must run to its end", remedy="Run again.")


@pytest.mark.parametrize(
    ("allowed", "reviewers", "started_by"),
    [([login()], 1, None), ([login(), "anna"], 1, "Anna"), (["anna", "ben"], 2, "ben")],
)
def test_a_run_whose_reviewers_all_started_it_is_refused_before_it_draws(
    place: Workplace, allowed: list[str], reviewers: int, started_by: str | None
) -> None:
    place.raw["approve"] = {"reviewers": reviewers, "allowed": allowed}
    with pytest.raises(NobodyToReview, match="did not start the run"):
        release(place, started_by)
    assert costs() == []
    assert "RESERVED" not in actions()
    assert actions()[-1] == "REFUSED"
    assert place.working_files() == []


def test_whoever_started_a_waiting_run_withdraws_it_and_nobody_else(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = release(place, "carl")
    monkeypatch.setattr("penstock.tasks.run.job.login", lambda: "mallory")
    with pytest.raises(NotTheStarter, match="carl"):
        withdraw(waiting.run, reason="not mine")
    assert costs() == ["spent"]
    monkeypatch.setattr("penstock.tasks.run.job.login", lambda: "Carl")
    withdraw(waiting.run, reason="the wrong year")
    assert costs() == ["refused"]
    assert actions()[-1] == "REFUSED"
    assert place.working_files() == []
    with pytest.raises(ApprovalClosed):
        approve(place, waiting.run)
    assert place.bundles() == []


def test_a_run_that_only_waits_blocks_no_other_setting_and_only_one_is_approved(place: Workplace) -> None:
    wide = release(place, "carl")
    place.raw["protect"][0]["k"] = 25
    narrow = release(place, "carl")
    assert costs() == ["spent", "spent"]
    approve(place, narrow.run)
    assert costs() == ["spent", "published"]
    with pytest.raises(SecondApproval, match=narrow.run):
        approve(place, wide.run)
    withdraw(wide.run, reason="the other one is out")
    assert costs() == ["refused", "published"]
    assert len(place.bundles()) == 1


def test_a_withdrawal_is_on_record_with_its_reason(place: Workplace) -> None:
    from penstock.records import open_records

    waiting = release(place, "carl")
    withdraw(waiting.run, reason="the wrong year")
    last = open_records().log.events(waiting.run)[-1]
    assert last.facts["code"] == Withdrawn.code
    assert "the wrong year" in last.facts["reasons"][0]
    assert Path(place.home / "runs" / waiting.run / "outcome.json").exists()


def test_whoever_may_review_a_run_that_has_drawn_cannot_take_it_over_and_it_waits_for_others(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.raw["approve"]["allowed"] = ["anna"]
    with monkeypatch.context() as interrupted:
        interrupted.setattr("penstock.flows.release.assess", stop)
        with pytest.raises(StepFailed):
            release(place, "carl")
    assert costs() == ["spent"]
    with pytest.raises(ResumedByReviewer, match="anna"):
        release(place, "anna")
    assert costs() == ["spent"]
    approve(place, release(place, "carl").run)
    assert costs() == ["published"]


def test_only_what_waits_can_be_withdrawn(place: Workplace) -> None:
    with pytest.raises(NothingWaits):
        withdraw("20261116T101500Z-1a2b3c4d", reason="never heard of it")
    waiting = release(place, "carl")
    with pytest.raises(DecisionRefused, match="reason"):
        withdraw(waiting.run, reason=" ")
    approve(place, waiting.run)
    with pytest.raises(NothingWaits):
        withdraw(waiting.run, reason="too late")
    assert costs() == ["published"]
