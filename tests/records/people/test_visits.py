from __future__ import annotations

import pytest

from penstock.records import Action, Home, Log, open_records
from penstock.records.people.users import Role, add_user, users
from penstock.records.people.visits import VISITS, VisitRefused, note_visit
from tests.records.user_house import NOW, PROGRAM


@pytest.fixture
def log(either_home: Home) -> Log:
    return open_records(home=either_home).log


@pytest.mark.parametrize("action", [Action.SIGNED_IN, Action.SIGNED_OUT, Action.REPORT_READ, Action.CANCEL_ASKED])
def test_what_a_user_does_is_on_record(log: Log, action: Action) -> None:
    event = note_visit(log, action, name="anna", now=NOW, address="127.0.0.1")
    assert log.events("-") == [event]
    assert (event.action, event.actor, event.facts) == (action, "anna", {"address": "127.0.0.1"})


@pytest.mark.parametrize("action", [Action.REPORT_READ, Action.CANCEL_ASKED])
def test_what_is_about_a_run_stands_with_its_run(log: Log, action: Action) -> None:
    event = note_visit(log, action, name="anna", now=NOW, run="run-1", page="report.html")
    assert log.events("run-1") == [event]
    assert event.facts == {"page": "report.html"}


@pytest.mark.parametrize("action", sorted(set(Action) - VISITS))
def test_nothing_else_can_be_noted(log: Log, action: Action) -> None:
    with pytest.raises(VisitRefused, match="action refused: must be one of CANCEL_ASKED, ") as caught:
        note_visit(log, action, name="anna", now=NOW)
    assert caught.value.code == "visit-refused"
    assert log.events() == []


@pytest.mark.parametrize("action", [Action.SIGNED_IN, Action.SIGN_IN_REFUSED, Action.SIGNED_OUT])
def test_coming_and_going_is_about_no_run(log: Log, action: Action) -> None:
    with pytest.raises(VisitRefused, match="run refused: must be -"):
        note_visit(log, action, name="anna", now=NOW, run="run-1")
    assert log.events() == []


def test_a_name_that_no_user_has_is_not_on_record_because_it_may_be_a_password(log: Log, either_home: Home) -> None:
    add_user(log, either_home, "Anna", [Role.READER], **PROGRAM)
    for typed, actor in (("anna", "Anna"), ("my-pass-word", "-"), ("\0", "-"), ("\ud800", "-")):
        assert note_visit(log, Action.SIGN_IN_REFUSED, name=typed, now=NOW).actor == actor
    assert "my-pass-word" not in repr(log.events())


def test_visits_change_no_user_and_are_not_read_to_find_one(log: Log, either_home: Home) -> None:
    add_user(log, either_home, "anna", [Role.READER], **PROGRAM)
    before = users(log)
    for _ in range(3):
        note_visit(log, Action.SIGNED_IN, name="anna", now=NOW)
    assert users(log) == before
    assert [event.action for event in log.events("-", {Action.USER_ADDED})] == [Action.USER_ADDED]
    with log.transaction() as writer:
        writer.append(Action.SIGNED_OUT, run="-", actor="anna", facts={}, occurred=NOW)
        assert len(writer.events("-", {Action.SIGNED_IN, Action.SIGNED_OUT})) == 4
        writer.verify()
        assert len(writer.events("-", {Action.SIGNED_IN, Action.SIGNED_OUT})) == 4
