"""Users of the pages: the log decides who there is, and their secrets are known to nobody else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import pytest

from penstock.records import Action, Home, Log, LogAltered, open_records
from penstock.records.people.users import (
    PasswordWrong,
    Role,
    User,
    UserRefused,
    UserTaken,
    UserUnknown,
    add_user,
    change_password,
    find_user,
    is_password,
    is_token,
    must_choose,
    remove_user,
    renew_password,
    users,
)
from tests.records.database_faults import tamper
from tests.records.user_house import CHOSEN, HOW, NOW, OTHER, PERSON, PROGRAM, REASON, known, opens

pytestmark = pytest.mark.usefixtures("cheap_passwords")


@pytest.fixture
def log(either_home: Home) -> Log:
    return open_records(home=either_home).log


@pytest.fixture
def lite(home: Home) -> Log:
    """The log in SQLite, for what does not depend on the database."""
    return open_records(home=home).log


def test_the_log_is_the_register(log: Log, home: Home) -> None:
    password = add_user(log, home, "anna", [Role.REVIEWER, Role.READER], **PERSON)
    path = home.keys / "users" / "anna.json"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    anna = User(
        name="anna",
        roles=frozenset({Role.READER, Role.REVIEWER}),
        is_program=False,
        since="2026-11-16T02:15:00+00:00",
        digest=digest,
    )
    assert users(log) == users(open_records(home=home).log) == {"anna": anna}
    with log.transaction() as writer:
        assert users(writer) == {"anna": anna}
    (event,) = log.events("-")
    assert (event.action, event.actor) == (Action.USER_ADDED, "root")
    assert event.facts == {
        "name": "anna",
        "roles": ["reader", "reviewer"],
        "program": False,
        "reason": REASON,
        "secret": digest,
    }
    assert is_password(home, anna, password)
    assert log.verify().checkpoints == 1


def test_a_program_has_a_token_of_256_bits(log: Log, home: Home) -> None:
    token = add_user(log, home, "robot", [Role.REQUESTER], **PROGRAM)
    robot = known(log, "robot")
    assert robot.is_program
    assert len(token) == 43
    assert is_token(home, robot, token)
    assert not is_token(home, robot, token[:-1])
    assert not is_token(home, robot, "\ud800")
    assert not is_password(home, robot, token)
    assert not must_choose(home, robot)
    stored = json.loads((home.keys / "users" / "robot.json").read_bytes())
    assert stored == {"token": hashlib.sha256(token.encode()).hexdigest()}
    with pytest.raises(PasswordWrong):
        change_password(log, home, "robot", token, CHOSEN, now=NOW)


def test_a_person_has_no_token(lite: Log, home: Home) -> None:
    password = add_user(lite, home, "anna", [Role.READER], **PERSON)
    for given in (password, "", "\ud800"):
        assert not is_token(home, known(lite, "anna"), given)


@pytest.mark.parametrize("is_program", [True, False])
def test_a_secret_is_renewed_on_an_officers_word(log: Log, home: Home, is_program: bool) -> None:
    old = add_user(log, home, "anna", [Role.READER], is_program=is_program, **HOW)
    new = renew_password(log, home, "ANNA", **{**HOW, "reason": "lost"})
    fits = is_token if is_program else is_password
    assert [fits(home, known(log, "anna"), given) for given in (old, new)] == [False, True]
    assert must_choose(home, known(log, "anna")) is not is_program
    event = log.events("-")[-1]
    assert (event.action, event.actor) == (Action.USER_SECRET_CHANGED, "root")
    assert event.facts == {"name": "anna", "secret": known(log, "anna").digest, "reason": "lost"}


def test_a_removed_user_is_gone_and_may_come_back_under_the_same_name(log: Log, home: Home) -> None:
    old = add_user(log, home, "anna", [Role.OFFICER], **PERSON)
    remove_user(log, home, "Anna", **{**HOW, "reason": "left"})
    assert users(log) == {}
    assert list((home.keys / "users").iterdir()) == []
    event = log.events("-")[-1]
    assert (event.action, event.facts) == (Action.USER_REMOVED, {"name": "anna", "reason": "left"})
    new = add_user(log, home, "Anna", [Role.READER], **PERSON)
    assert users(log)["Anna"].roles == {Role.READER}
    assert [opens(log, home, "anna", given) for given in (old, new)] == [False, True]


@pytest.mark.parametrize("name", ["anna", "Anna", "ANNA"])
def test_a_name_is_that_of_one_user_in_whatever_case(log: Log, home: Home, name: str) -> None:
    password = add_user(log, home, "anna", [Role.READER], **PERSON)
    with pytest.raises(UserTaken, match="must not be that of a user") as caught:
        add_user(log, home, name, [Role.OFFICER], **PERSON)
    assert (caught.value.code, caught.value.kind) == ("user-taken", "approval")
    assert known(log, name).roles == {Role.READER}
    assert opens(log, home, name, password)


def test_an_unknown_user_is_neither_found_nor_removed_nor_renewed(log: Log, home: Home) -> None:
    assert find_user(log, "anna") is None
    attempts: list[Callable[..., object]] = [remove_user, renew_password]
    for attempt in attempts:
        with pytest.raises(UserUnknown, match="must be that of a user, got 'anna'") as caught:
            attempt(log, home, "anna", **HOW)
        assert (caught.value.code, caught.value.kind) == ("user-unknown", "approval")
    with pytest.raises(PasswordWrong):  # the same as for a wrong password
        change_password(log, home, "anna", OTHER, CHOSEN, now=NOW)
    assert log.events() == []


@pytest.mark.parametrize("name", ["", ".anna", "-", "an na", "anna\n", "ännä", "a" * 65, "../anna", "\ud800"])
def test_what_is_no_name_is_refused(lite: Log, home: Home, name: str) -> None:
    attempts: list[Callable[[], object]] = [
        lambda: add_user(lite, home, name, [Role.READER], is_program=True, **HOW),
        lambda: remove_user(lite, home, name, **HOW),
        lambda: renew_password(lite, home, name, **HOW),
    ]
    for attempt in attempts:
        with pytest.raises(UserRefused, match="name refused: must be 1 to 64 letters") as caught:
            attempt()
        assert (caught.value.code, caught.value.kind) == ("user-refused", "approval")
    assert lite.events() == []


@pytest.mark.parametrize("reason", ["", "  ", "canary\n", "canary" * 100])
def test_every_change_by_others_needs_a_reason_of_one_line(lite: Log, home: Home, reason: str) -> None:
    add_user(lite, home, "anna", [Role.READER], is_program=True, **HOW)
    how = {**HOW, "reason": reason}
    attempts: list[Callable[[], object]] = [
        lambda: add_user(lite, home, "ben", [Role.READER], is_program=True, **how),
        lambda: remove_user(lite, home, "anna", **how),
        lambda: renew_password(lite, home, "anna", **how),
    ]
    for attempt in attempts:
        with pytest.raises(UserRefused, match="reason refused") as caught:
            attempt()
        assert "canary" not in str(caught.value)
    assert len(lite.events()) == 1


def test_a_user_has_a_role(lite: Log, home: Home) -> None:
    with pytest.raises(UserRefused, match="roles refused: must be at least one"):
        add_user(lite, home, "anna", [], **PROGRAM)
    assert users(lite) == {}


@pytest.mark.parametrize("seq", [1, 2, 3])
def test_users_taken_out_of_the_database_or_put_back_are_noticed(log: Log, either_home: Home, seq: int) -> None:
    add_user(log, either_home, "anna", [Role.READER], **PROGRAM)
    renew_password(log, either_home, "anna", **HOW)
    remove_user(log, either_home, "anna", **HOW)
    tamper(either_home, f"DELETE FROM log_events WHERE seq = {seq}")
    with pytest.raises(LogAltered):
        users(log)
    with pytest.raises(LogAltered):
        log.verify()
    with pytest.raises(LogAltered):
        add_user(log, either_home, "anna", [Role.OFFICER], **PROGRAM)
    with pytest.raises(LogAltered):
        open_records(home=either_home)


def test_a_checkpoint_taken_out_stops_every_change(log: Log, either_home: Home) -> None:
    add_user(log, either_home, "anna", [Role.READER], **PROGRAM)
    tamper(either_home, "DELETE FROM log_checkpoints")
    attempts: list[Callable[[], object]] = [
        lambda: add_user(log, either_home, "ben", [Role.READER], **PROGRAM),
        lambda: remove_user(log, either_home, "anna", **HOW),
        lambda: renew_password(log, either_home, "anna", **HOW),
    ]
    for attempt in attempts:
        with pytest.raises(LogAltered, match="checkpoint"):
            attempt()
