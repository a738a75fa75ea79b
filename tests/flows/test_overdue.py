"""A run whose reviewers did not decide in time ends refused when the next release or decision comes by."""

from __future__ import annotations

from datetime import timedelta

import pytest

from penstock.flows.overdue import end_overdue
from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec
from penstock.records import Home, open_records
from penstock.records.files.digest import canonical
from penstock.records.run import unfinished
from penstock.tasks.run.job import attend
from tests.support.ended_command import Typed
from tests.support.waiting_release import (
    WaitingRelease,
    actions,
    at_home,
    costs,
    events,
    make_waiting,
    move_clock,
    release,
)
from tests.support.workplace import Workplace

TOO_LATE = timedelta(days=14, seconds=1)


@pytest.fixture(scope="module")
def waits(tmp_path_factory: pytest.TempPathFactory) -> WaitingRelease:
    return make_waiting(tmp_path_factory.mktemp("overdue"), 1)


@pytest.fixture
def waiting(waits: WaitingRelease, monkeypatch: pytest.MonkeyPatch) -> WaitingRelease:
    waits.as_it_was()
    at_home(waits.place.folder, monkeypatch)
    return waits


def ended_expired(waiting: WaitingRelease) -> None:
    assert waiting.since()[:2] == ["SETTLED", "REFUSED"]
    last = [event for event in events(waiting.run) if event.action.value == "REFUSED"][-1]
    assert last.facts["code"] == "approval-expired"
    assert waiting.outcome()["code"] == "approval-expired"
    assert costs()[0] == "refused"
    kept = {"outcome.json", "report.html", "validation.html", "assessment.json"}
    assert {path.name for path in waiting.folder.iterdir()} == kept
    assert waiting.place.public_files() == []
    open_records().log.verify()
    open_records().ledger.verify()


def test_a_run_in_time_is_left_alone(waiting: WaitingRelease) -> None:
    assert end_overdue() == []
    assert waiting.since() == []
    assert waiting.is_waiting()


def test_the_next_run_of_any_spec_ends_what_is_overdue(
    waiting: WaitingRelease, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = waiting.place.folder / "other"
    folder.mkdir()
    other = Workplace(folder)
    other.write_survey(400, seed=2)
    move_clock(monkeypatch, TOO_LATE)
    ended = typed("run", other.write_spec(), "--json")
    assert ended.code == 0
    assert ended.document()["run"] != waiting.run
    ended_expired(waiting)


def test_the_next_run_of_the_same_spec_begins_anew(
    waiting: WaitingRelease, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_clock(monkeypatch, TOO_LATE)
    ended = typed("run", waiting.place.spec_file, "--json")
    assert ended.code == 6
    assert ended.document()["waiting"]["run"] != waiting.run
    ended_expired(waiting)
    assert costs() == ["refused", "spent"]


def test_the_flow_itself_ends_what_is_overdue_and_begins_anew(
    waiting: WaitingRelease, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_clock(monkeypatch, TOO_LATE)
    assert release(waiting.place).run != waiting.run
    assert waiting.outcome()["code"] == "approval-expired"
    assert actions().count("PROTECTING") == 2


def test_a_decision_about_another_run_ends_what_is_overdue(
    waiting: WaitingRelease, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_clock(monkeypatch, TOO_LATE)
    ended = typed("approve", "another", "--reviewer", "anna", "--key", waiting.key("anna"), "--json")
    assert (ended.code, ended.document()["refused"]) == (6, "nothing-waits")
    ended_expired(waiting)


def test_a_run_that_was_approved_in_time_is_not_overdue_when_its_process_died(
    waiting: WaitingRelease, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting.place.published.write_text("a file where a folder should be", encoding="utf-8")
    assert typed(*waiting.decision("approve", "anna")).code == 1  # approved, but not published
    waiting.place.published.unlink()
    move_clock(monkeypatch, TOO_LATE)
    assert end_overdue() == []
    assert typed("run", waiting.place.spec_file, "--json").document()["run"] == waiting.run
    assert costs() == ["published"]


def test_an_overdue_run_that_was_changed_ends_as_damaged_and_stands_in_nobodys_way(
    waiting: WaitingRelease, monkeypatch: pytest.MonkeyPatch
) -> None:
    (waiting.staged / "data.csv").write_bytes(b"other")
    move_clock(monkeypatch, TOO_LATE)
    assert end_overdue() == [waiting.run]
    assert waiting.outcome()["code"] == "run-damaged"
    assert end_overdue() == []


def test_an_overdue_run_that_another_process_has_in_hand_is_left_to_it(
    waiting: WaitingRelease, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_clock(monkeypatch, TOO_LATE)
    with attend(draw_up_plan(load_spec(waiting.place.spec_file)), run=waiting.run):
        assert end_overdue() == []
    assert end_overdue() == [waiting.run]


def test_an_overdue_run_of_another_version_stands_in_nobodys_way(
    waiting: WaitingRelease, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its spec has a key that this version does not know."""
    [about] = unfinished(Home.open()).values()
    begun = {"begun": "2026-01-01T00:00:00+00:00", "key": "k", "owners": [], "about": {**about, "later": 1}}
    (waiting.folder / "run.json").write_bytes(canonical(begun))
    move_clock(monkeypatch, TOO_LATE)
    assert end_overdue() == []
    assert waiting.place.public_files() == []
