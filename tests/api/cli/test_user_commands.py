"""`penstock users` as people type it: what it prints, how it exits."""

from __future__ import annotations

import pytest

from penstock.records import Action, Home, open_records
from penstock.records.home import login
from penstock.records.people import _secrets as user_secrets
from penstock.records.people.users import Role, is_token, must_choose
from tests.records.user_house import CHEAP, known, opens
from tests.support.ended_command import Typed
from tests.support.workplace import Workplace

REASON = ("--reason", "works here")


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_secrets, "_HASHER", CHEAP)


def test_a_person_is_added_with_a_one_time_password(either_workplace: Workplace, typed: Typed) -> None:
    ended = typed("users", "add", "anna", "--role", "reviewer", "--role", "requester", *REASON)
    assert (ended.code, ended.err) == (0, "")
    told, password = ended.out.splitlines()
    assert told == "The one-time password of anna, shown only now and to be changed at the first sign-in:"
    log = open_records().log
    anna = known(log, "anna")
    assert (anna.roles, anna.is_program) == ({Role.REVIEWER, Role.REQUESTER}, False)
    assert opens(log, Home.located(), "anna", password)
    assert must_choose(Home.located(), anna)
    [event] = log.events()
    assert (event.action, event.actor, event.facts["reason"]) == (Action.USER_ADDED, login(), "works here")


def test_a_program_is_added_with_a_token(workplace: Workplace, typed: Typed) -> None:
    ended = typed("users", "add", "robot", "--role", "requester", "--program", *REASON, "--json")
    assert ended.document().keys() == {"name", "token"}
    assert is_token(Home.located(), known(open_records().log, "robot"), ended.document()["token"])
    renewed = typed("users", "renew", "robot", *REASON)
    told, token = renewed.out.splitlines()
    assert told == "The token of robot, shown only now:"
    assert is_token(Home.located(), known(open_records().log, "robot"), token)


def test_a_password_is_renewed(workplace: Workplace, typed: Typed) -> None:
    old = typed("users", "add", "anna", "--role", "reader", *REASON, "--json").document()["password"]
    new = typed("users", "renew", "Anna", *REASON, "--json").document()
    assert new.keys() == {"name", "password"}
    log = open_records().log
    assert [opens(log, Home.located(), "anna", given) for given in (old, new["password"])] == [False, True]


def test_users_are_listed_without_their_secrets(workplace: Workplace, typed: Typed) -> None:
    password = typed("users", "add", "anna", "--role", "reviewer", "--role", "officer", *REASON, "--json").document()
    typed("users", "add", "robot", "--role", "reader", "--program", *REASON)
    listed = typed("users", "list", "--json")
    since = [user.pop("since") for user in listed.document()["users"]]
    assert len(since) == 2
    assert [{**user, "since": ""} for user in listed.document()["users"]] == [
        {"name": "anna", "roles": ["officer", "reviewer"], "program": False, "since": ""},
        {"name": "robot", "roles": ["reader"], "program": True, "since": ""},
    ]
    shown = typed("users", "list").out
    header, anna, robot = shown.splitlines()
    assert header.split() == ["name", "kind", "roles", "since"]
    assert anna.split()[:4] == ["anna", "person", "officer,", "reviewer"]
    assert robot.split()[:3] == ["robot", "program", "reader"]
    assert password["password"] not in shown + listed.out


def test_a_removed_user_is_gone(workplace: Workplace, typed: Typed) -> None:
    typed("users", "add", "anna", "--role", "reader", *REASON)
    assert typed("users", "remove", "anna", "--reason", "left").out == "anna is removed.\n"
    assert typed("users", "list", "--json").document() == {"users": []}


@pytest.mark.parametrize(
    ("command", "code", "refused"),
    [
        (["add", "Anna", "--role", "officer", *REASON], 6, "user-taken"),
        (["add", "an na", "--role", "officer", *REASON], 6, "user-refused"),
        (["add", "ben", "--role", "officer", "--reason", " "], 6, "user-refused"),
        (["remove", "ben", *REASON], 6, "user-unknown"),
        (["renew", "ben", *REASON], 6, "user-unknown"),
    ],
)
def test_a_refusal_has_its_code(
    workplace: Workplace, typed: Typed, command: list[str], code: int, refused: str
) -> None:
    typed("users", "add", "anna", "--role", "reader", *REASON)
    ended = typed("users", *command, "--json")
    assert (ended.code, ended.document()["refused"]) == (code, refused)
    assert len(open_records().log.events()) == 1


@pytest.mark.parametrize("command", [["add", "anna", *REASON], ["add", "anna", "--role", "king", *REASON]])
def test_a_user_is_added_with_a_role_that_there_is(workplace: Workplace, typed: Typed, command: list[str]) -> None:
    assert typed("users", *command).code == 2
    assert not workplace.home.exists()


@pytest.mark.parametrize("command", [["list"], ["remove", "anna", *REASON], ["renew", "anna", *REASON]])
def test_where_there_are_no_records_nobody_is_looked_up(workplace: Workplace, typed: Typed, command: list[str]) -> None:
    ended = typed("users", *command, "--json")
    assert (ended.code, ended.document()["refused"]) == (7, "records-absent")
    assert not workplace.home.exists()
