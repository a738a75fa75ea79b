"""Releases that people must approve, on the whole line, without a deployment."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec, parse_spec
from penstock.measures.gates import GateRefused
from penstock.measures.measurement import Measurement
from penstock.records import Action, Home, LogAltered, open_records
from penstock.records.approval.decision import sign_decision
from penstock.records.home import login
from penstock.records.run import RunDamaged, unfinished
from penstock.records.signing.signing import existing_private_key
from penstock.tasks.approve import RefusedBefore, Waiting, take_decision
from penstock.tasks.run.job import attend
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.ended_command import Typed
from tests.support.waiting_release import (
    STARTER,
    WaitingRelease,
    actions,
    at_home,
    costs,
    events,
    make_waiting,
    release,
)
from tests.support.workplace import DESCRIPTIONS, Workplace, files_of, predicate

ROOT = Path(__file__).parents[2]
DRAWN = ["RESERVED", "SPENT", "PROTECTING", "PROTECTED"]
UNTIL_IT_WAITS = ["PLANNED", "LOOKED", "INGESTED", "VALIDATED", *DRAWN, "CHECKED", "WAITING"]


@pytest.fixture(scope="module")
def two_reviewers(tmp_path_factory: pytest.TempPathFactory) -> WaitingRelease:
    return make_waiting(tmp_path_factory.mktemp("two-reviewers"), 2)


@pytest.fixture(scope="module")
def one_reviewer(tmp_path_factory: pytest.TempPathFactory) -> WaitingRelease:
    return make_waiting(tmp_path_factory.mktemp("one-reviewer"), 1)


@pytest.fixture
def two(two_reviewers: WaitingRelease, monkeypatch: pytest.MonkeyPatch) -> WaitingRelease:
    two_reviewers.as_it_was()
    at_home(two_reviewers.place.folder, monkeypatch)
    return two_reviewers


@pytest.fixture
def one(one_reviewer: WaitingRelease, monkeypatch: pytest.MonkeyPatch) -> WaitingRelease:
    one_reviewer.as_it_was()
    at_home(one_reviewer.place.folder, monkeypatch)
    return one_reviewer


def test_a_release_with_reviewers_waits_and_publishes_nothing(one: WaitingRelease) -> None:
    assert isinstance(one.waiting, Waiting)
    assert (one.waiting.required, one.waiting.missing) == (1, 1)
    assert one.waiting.content == one.stands().content
    assert actions(one.run) == UNTIL_IT_WAITS
    assert one.is_waiting()
    assert one.place.public_files() == []
    assert costs() == ["spent"]
    assert "CONFIDENTIAL" in Path(one.waiting.confidential_report).read_text(encoding="utf-8")


def test_the_flow_run_of_a_release_that_waits_ends_in_a_state_that_says_so(
    prefect_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_home(tmp_path / "office", monkeypatch)
    (tmp_path / "office").mkdir()
    one = WaitingRelease(tmp_path / "office", 1)
    assert isinstance(one.waiting, Waiting)
    state = one.flow_state()
    assert (state.type.value, state.name) == ("COMPLETED", "WaitingForApproval")
    assert state.message == f"Run {one.run} waits until {one.waiting.until}."
    assert release(one.place) == one.waiting  # asked for again, by another flow run
    again = one.flow_state()
    assert (again.id != state.id, again.name) == (True, "WaitingForApproval")


def test_a_waiting_run_keeps_no_confidential_copy(one: WaitingRelease) -> None:
    assert set(files_of_run(one)) == {
        "run.json",
        "lock",
        "seen.json",
        "source.json",
        "protected.json",
        "protected.parquet",  # what is released, before its copy in another format
        "staged.json",
        "bundle",
        "report.html",
        "validation.html",
        "assessment.json",
    }
    assert set(one.staged_files()) == {"data.parquet", "data.csv", *DESCRIPTIONS, "report.html"}


def files_of_run(waiting: WaitingRelease) -> list[str]:
    return [path.name for path in waiting.folder.iterdir()]


def test_running_the_spec_again_changes_nothing_and_draws_nothing(one: WaitingRelease) -> None:
    before = one.staged_files()
    one.place.source.unlink()  # it is not even read
    again = release(one.place)
    assert again == one.waiting
    assert one.since() == ["RESUMED"]
    assert one.staged_files() == before
    assert one.is_waiting()


def test_what_a_waiting_run_is_about_is_its_spec(one: WaitingRelease) -> None:
    assert list(unfinished(Home.open())) == [one.run]
    about = parse_spec(unfinished(Home.open())[one.run])
    assert draw_up_plan(about) == draw_up_plan(load_spec(one.place.write_spec()))


def test_an_approval_publishes_exactly_what_was_staged(one: WaitingRelease, typed: Typed) -> None:
    staged = one.staged_files()
    one.place.write_survey(400, seed=2)  # newer data wait for their own release
    assert typed(*one.decision("approve", "anna")).code == 0
    [bundle] = one.place.bundles()
    published = files_of(bundle)
    del published["manifest.json"]
    assert published == staged
    assert actions(one.run) == [*UNTIL_IT_WAITS, "APPROVED", "RESUMED", "PUBLISHING", "SETTLED", "PUBLISHED"]
    assert costs() == ["published"]
    assert one.place.working_files() == []
    assert one.outcome()["outcome"] == "published"
    found = {finding.name: finding for finding in verify_bundle(bundle, one.place.home / "keys" / "signing.pub")}
    assert found["approval"].checked
    assert predicate(bundle)["approval"]["required"] == 1
    open_records().log.verify()
    open_records().ledger.verify()


def test_two_reviewers_are_both_needed(two: WaitingRelease, typed: Typed) -> None:
    staged = two.staged_files()
    first = typed(*two.decision("approve", "anna"))
    assert first.code == 6
    assert two.is_waiting()
    assert release(two.place) == replace(two.waiting, missing=1)
    second = typed(*two.decision("approve", "ben", "--reason", "read it twice"))
    assert second.code == 0
    [bundle] = two.place.bundles()
    assert {name: content for name, content in files_of(bundle).items() if name in staged} == staged
    assert [given["reason"] for given in predicate(bundle)["approval"]["decisions"]] == ["", "read it twice"]
    assert [actions().count(action) for action in DRAWN] == [1, 1, 1, 1]


@pytest.mark.parametrize("first", [[], ["anna"]])
def test_one_refusal_ends_the_run(two: WaitingRelease, typed: Typed, first: list[str]) -> None:
    for name in first:
        assert typed(*two.decision("approve", name)).code == 6
    ended = typed(*two.decision("refuse", "ben", "--reason", "the gates are too wide"))
    assert ended.code == 0
    assert two.since() == [*["APPROVED"] * len(first), "DECLINED", "SETTLED", "REFUSED"]
    assert two.outcome()["code"] == "reviewer-declined"
    assert costs() == ["refused"]
    assert two.place.working_files() == []
    assert two.place.public_files() == []
    assert (two.folder / "report.html").exists()  # the refused run is the one that is read
    assert events(two.run)[-1].facts["reasons"] == [
        "approve refused: needs every reviewer; refused by ben. "
        "Correct what the reason in the audit log names, and run again."
    ]
    assert unfinished(Home.open()) == {}


def test_after_a_refusal_the_next_run_is_a_new_one(one: WaitingRelease, typed: Typed) -> None:
    typed(*one.decision("refuse", "ben", "--reason", "the gates are too wide"))
    again = release(one.place)
    assert again.run != one.run
    assert costs() == ["refused", "spent"]


def change_data(staged: Path) -> None:
    (staged / "data.csv").write_bytes(b"other")


def take_report_away(staged: Path) -> None:
    (staged / "report.html").unlink()


def add_a_file(staged: Path) -> None:
    (staged / "more.csv").write_bytes(b"")


def change_facts(staged: Path) -> None:
    facts = staged.with_name("staged.json")
    facts.write_text(facts.read_text(encoding="utf-8").replace('"records":400', '"records":401'), encoding="utf-8")


CHANGES = [change_data, take_report_away, add_a_file, change_facts]


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_after_it_was_staged_cannot_be_approved(
    one: WaitingRelease, typed: Typed, change: Callable[[Path], None]
) -> None:
    change(one.staged)
    refused = typed(*one.decision("approve", "anna", "--json"))
    assert (refused.code, refused.document()["refused"]) == (7, "run-damaged")
    ended_as_damaged(one)
    late = typed(*one.decision("approve", "anna", "--json"))
    assert (late.code, late.document()["refused"]) == (6, "approval-closed")
    assert actions(one.run)[-1] == "DECISION_REFUSED"


def ended_as_damaged(waiting: WaitingRelease) -> None:
    assert waiting.since()[-2:] == ["SETTLED", "REFUSED"]
    assert waiting.outcome()["code"] == "run-damaged"
    assert costs() == ["refused"]
    assert waiting.place.working_files() == []
    assert waiting.place.public_files() == []


def test_what_was_changed_after_it_was_staged_is_not_published_by_the_next_run(one: WaitingRelease) -> None:
    change_data(one.staged)
    with pytest.raises(RunDamaged):
        release(one.place)
    ended_as_damaged(one)


def test_what_was_changed_after_it_was_approved_is_not_published(one: WaitingRelease) -> None:
    approve_and_die(one)
    change_data(one.staged)
    with pytest.raises(RunDamaged):
        release(one.place)
    ended_as_damaged(one)


def approve_and_die(waiting: WaitingRelease) -> None:
    """The decision is on record, and then nothing."""
    key = existing_private_key(waiting.key("anna"))
    content = waiting.stands().content
    with attend(draw_up_plan(load_spec(waiting.place.write_spec())), run=waiting.run) as job:
        signature = sign_decision(key, content=content, decision="approve", reason="")
        take_decision(job, reviewer="anna", decision="approve", reason="", signature=signature)


def test_an_approved_run_whose_process_died_is_published_by_the_next_one(one: WaitingRelease) -> None:
    approve_and_die(one)
    staged = one.staged_files()
    [bundle] = [Path(release(one.place).path)]
    assert {name: content for name, content in files_of(bundle).items() if name in staged} == staged
    assert [actions().count(action) for action in DRAWN] == [1, 1, 1, 1]


@pytest.mark.parametrize("word", ["REFUSED", "SETTLED"])
def test_an_approved_run_that_was_refused_since_does_not_go_on(one: WaitingRelease, word: str) -> None:
    """Its destination was in the way, say, and the process died before the run was cleared away."""
    approve_and_die(one)
    records = open_records()
    records.ledger.settle(one.run, "refused", actor="flow", now=datetime.now(UTC))
    if word == "REFUSED":
        facts = {"code": "test"}
        records.log.append(Action.REFUSED, run=one.run, actor="flow", facts=facts, occurred=datetime.now(UTC))
    with pytest.raises(RefusedBefore, match="was refused before, and its end was interrupted"):
        release(one.place)
    assert one.place.public_files() == []
    assert one.place.working_files() == []
    assert one.outcome()["code"] == "refused-before"
    assert costs() == ["refused"]


@pytest.mark.slow
def test_a_refused_run_that_was_killed_before_it_was_cleared_away_stays_refused(
    one: WaitingRelease, typed: Typed
) -> None:
    killed = subprocess.run(
        [sys.executable, Path(__file__).with_name("killed_refusal.py"), one.run, "ben", one.key("ben")],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert one.since() == ["DECLINED", "SETTLED", "REFUSED"]
    assert not (one.folder / "outcome.json").exists()
    late = typed(*one.decision("approve", "anna", "--json"))
    assert (late.code, late.document()["refused"]) == (6, "approval-closed")
    with pytest.raises(RefusedBefore, match="its end was interrupted"):
        release(one.place)
    assert one.place.public_files() == []
    assert one.place.working_files() == []
    assert costs() == ["refused"]
    assert release(one.place).run != one.run


def test_who_started_the_run_is_known_by_login_and_by_name(one: WaitingRelease) -> None:
    assert set(one.stands().started_by) == {STARTER, login()}


def test_a_starter_without_a_name_is_known_by_login_alone(workplace: Workplace) -> None:
    workplace.raw["approve"] = {"reviewers": 1, "allowed": ["anna"]}
    waiting = release(workplace, "  ")
    [asked] = [event for event in events(waiting.run) if event.action is Action.WAITING]
    assert asked.facts["started_by"] == [login()]


def doubtful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure as ever, but as if on a sample: the value lies inside the limit, its interval reaches beyond."""
    from penstock.tasks.outputs import records

    judge = records.judge

    def on_a_sample(name: str, pair: object, asked: object) -> Measurement:
        measured = judge(name, pair, asked)  # type: ignore[arg-type]
        return replace(measured, interval=(0.0, 1.0)) if name == "average_risk" else measured

    monkeypatch.setattr(records, "judge", on_a_sample)


def test_a_gate_in_doubt_asks_the_reviewers(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    doubtful(monkeypatch)
    workplace.raw["approve"] = {"reviewers": 1, "allowed": ["anna"]}
    assert isinstance(release(workplace), Waiting)
    [checked] = [event for event in events() if event.action is Action.CHECKED]
    assert checked.facts["verdict"] == "REVIEW"
    assert workplace.public_files() == []


def test_a_gate_in_doubt_refuses_where_nobody_is_asked(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    doubtful(monkeypatch)
    with pytest.raises(GateRefused, match="average_risk"):
        release(workplace)
    assert workplace.public_files() == []
    assert costs() == ["refused"]


def test_a_gate_that_refuses_asks_nobody(workplace: Workplace) -> None:
    workplace.raw["approve"] = {"reviewers": 1, "allowed": ["anna"]}
    workplace.raw["gates"] = [{"measure": "il1s", "max": 0}]
    with pytest.raises(GateRefused):
        release(workplace)
    assert "WAITING" not in actions()


def test_an_approval_in_a_log_that_was_altered_publishes_nothing(one: WaitingRelease) -> None:
    approve_and_die(one)
    with open_records().engine.begin() as connection:
        connection.execute(text("DELETE FROM log_events WHERE action = 'CHECKED'"))
    with pytest.raises(LogAltered, match="removed"):
        release(one.place)
    assert one.place.public_files() == []
