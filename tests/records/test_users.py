"""Users of the pages: the log decides who there is, and their secrets are known to nobody else."""

from __future__ import annotations

import hashlib
import json
import stat
import unicodedata
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from database_faults import refusing, tamper

from records import Action, Home, Log, LogAltered, LogAppendFailed, Records, open_records, user_secrets
from records.keyfile import KeyExposed
from records.users import (
    PasswordRefused,
    PasswordWrong,
    Role,
    SecretAltered,
    User,
    UserRefused,
    UserTaken,
    UserUnknown,
    add_user,
    change_password,
    find_user,
    first_officer,
    is_password,
    is_token,
    must_choose,
    refuse_slowly,
    remove_user,
    renew_password,
    users,
)

REASON = "works here"
CHOSEN, OTHER = "four words of mine", "four words of yours"


@pytest.fixture
def records(either_home: Home) -> Records:
    return open_records(home=either_home)


@pytest.fixture
def log(records: Records) -> Log:
    return records.log


@pytest.fixture
def lite(home: Home) -> Log:
    """The log in SQLite, for what does not depend on the database."""
    return open_records(home=home).log


@pytest.fixture
def how(now: datetime) -> dict[str, Any]:
    return {"actor": "root", "reason": REASON, "now": now}


@pytest.fixture
def person(now: datetime) -> dict[str, Any]:
    return {"is_program": False, "actor": "root", "reason": REASON, "now": now}


@pytest.fixture
def program(now: datetime) -> dict[str, Any]:
    return {"is_program": True, "actor": "root", "reason": REASON, "now": now}


def known(log: Log, name: str) -> User:
    user = find_user(log, name)
    assert user is not None
    return user


def opens(log: Log, home: Home, name: str, given: str) -> bool:
    return is_password(home, known(log, name), given)


def test_the_log_is_the_register(log: Log, home: Home, person: dict[str, Any]) -> None:
    password = add_user(log, home, "anna", [Role.REVIEWER, Role.READER], **person)
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
    with log.transaction() as pen:
        assert users(pen) == {"anna": anna}
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


def test_what_is_stored_is_private_and_is_no_password(lite: Log, home: Home, person: dict[str, Any]) -> None:
    password = add_user(lite, home, "anna", [Role.READER], **person)
    folder = home.keys / "users"
    assert [path.name for path in folder.iterdir()] == ["anna.json"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "anna.json").stat().st_mode) == 0o600
    stored = json.loads((folder / "anna.json").read_bytes())
    assert stored["hash"].startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert stored["once"] is True
    assert password not in repr(stored)
    assert password not in repr(lite.events())
    assert password not in repr(users(lite))


def test_a_one_time_password_is_changed_by_its_owner(
    log: Log, home: Home, person: dict[str, Any], now: datetime
) -> None:
    once = add_user(log, home, "anna", [Role.READER], **person)
    assert must_choose(home, known(log, "anna"))
    change_password(log, home, "Anna", once, CHOSEN, now=now)
    anna = known(log, "anna")
    assert not must_choose(home, anna)
    assert is_password(home, anna, CHOSEN)
    assert not is_password(home, anna, once)
    event = log.events("-")[-1]
    assert (event.action, event.actor) == (Action.USER_SECRET_CHANGED, "anna")
    assert event.facts == {"name": "anna", "secret": anna.digest}


def test_a_program_has_a_token_of_256_bits(log: Log, home: Home, program: dict[str, Any], now: datetime) -> None:
    token = add_user(log, home, "robot", [Role.REQUESTER], **program)
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
        change_password(log, home, "robot", token, CHOSEN, now=now)


def test_a_person_has_no_token(lite: Log, home: Home, person: dict[str, Any]) -> None:
    password = add_user(lite, home, "anna", [Role.READER], **person)
    for given in (password, "", "\ud800"):
        assert not is_token(home, known(lite, "anna"), given)


@pytest.mark.parametrize("is_program", [True, False])
def test_a_secret_is_renewed_on_an_officers_word(log: Log, home: Home, how: dict[str, Any], is_program: bool) -> None:
    old = add_user(log, home, "anna", [Role.READER], is_program=is_program, **how)
    new = renew_password(log, home, "ANNA", **{**how, "reason": "lost"})
    fits = is_token if is_program else is_password
    assert [fits(home, known(log, "anna"), given) for given in (old, new)] == [False, True]
    assert must_choose(home, known(log, "anna")) is not is_program
    event = log.events("-")[-1]
    assert (event.action, event.actor) == (Action.USER_SECRET_CHANGED, "root")
    assert event.facts == {"name": "anna", "secret": known(log, "anna").digest, "reason": "lost"}


def test_a_removed_user_is_gone_and_may_come_back_under_the_same_name(
    log: Log, home: Home, how: dict[str, Any], person: dict[str, Any]
) -> None:
    old = add_user(log, home, "anna", [Role.OFFICER], **person)
    remove_user(log, home, "Anna", **{**how, "reason": "left"})
    assert users(log) == {}
    assert list((home.keys / "users").iterdir()) == []
    event = log.events("-")[-1]
    assert (event.action, event.facts) == (Action.USER_REMOVED, {"name": "anna", "reason": "left"})
    new = add_user(log, home, "Anna", [Role.READER], **person)
    assert users(log)["Anna"].roles == {Role.READER}
    assert [opens(log, home, "anna", given) for given in (old, new)] == [False, True]


@pytest.mark.parametrize("name", ["anna", "Anna", "ANNA"])
def test_a_name_is_that_of_one_user_in_whatever_case(log: Log, home: Home, person: dict[str, Any], name: str) -> None:
    password = add_user(log, home, "anna", [Role.READER], **person)
    with pytest.raises(UserTaken, match="must not be that of a user") as caught:
        add_user(log, home, name, [Role.OFFICER], **person)
    assert (caught.value.code, caught.value.kind) == ("user-taken", "approval")
    assert known(log, name).roles == {Role.READER}
    assert opens(log, home, name, password)


def test_an_unknown_user_is_neither_found_nor_removed_nor_renewed(
    log: Log, home: Home, how: dict[str, Any], now: datetime
) -> None:
    assert find_user(log, "anna") is None
    attempts: list[Callable[..., object]] = [remove_user, renew_password]
    for attempt in attempts:
        with pytest.raises(UserUnknown, match="must be that of a user, got 'anna'") as caught:
            attempt(log, home, "anna", **how)
        assert (caught.value.code, caught.value.kind) == ("user-unknown", "approval")
    with pytest.raises(PasswordWrong):  # the same as for a wrong password
        change_password(log, home, "anna", OTHER, CHOSEN, now=now)
    assert log.events() == []


@pytest.mark.parametrize("name", ["", ".anna", "-", "an na", "anna\n", "ännä", "a" * 65, "../anna", "\ud800"])
def test_what_is_no_name_is_refused(lite: Log, home: Home, how: dict[str, Any], name: str) -> None:
    attempts: list[Callable[[], object]] = [
        lambda: add_user(lite, home, name, [Role.READER], is_program=True, **how),
        lambda: remove_user(lite, home, name, **how),
        lambda: renew_password(lite, home, name, **how),
    ]
    for attempt in attempts:
        with pytest.raises(UserRefused, match="name refused: must be 1 to 64 letters") as caught:
            attempt()
        assert (caught.value.code, caught.value.kind) == ("user-refused", "approval")
    assert lite.events() == []


@pytest.mark.parametrize("reason", ["", "  ", "canary\n", "canary" * 100])
def test_every_change_by_others_needs_a_reason_of_one_line(
    lite: Log, home: Home, how: dict[str, Any], reason: str
) -> None:
    add_user(lite, home, "anna", [Role.READER], is_program=True, **how)
    how["reason"] = reason
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


def test_a_user_has_a_role(lite: Log, home: Home, program: dict[str, Any]) -> None:
    with pytest.raises(UserRefused, match="roles refused: must be at least one"):
        add_user(lite, home, "anna", [], **program)
    assert users(lite) == {}


def test_a_wrong_password_opens_and_changes_nothing(
    log: Log, home: Home, person: dict[str, Any], now: datetime
) -> None:
    password = add_user(log, home, "anna", [Role.READER], **person)
    before = log.events()
    for wrong in ("", password[:-1], password.swapcase(), "\ud800"):
        assert not opens(log, home, "anna", wrong)
    with pytest.raises(PasswordWrong, match="old refused: must be the password that this user has now") as caught:
        change_password(log, home, "anna", OTHER, CHOSEN, now=now)
    assert (caught.value.code, caught.value.kind) == ("password-wrong", "approval")
    assert OTHER not in str(caught.value)
    assert CHOSEN not in str(caught.value)
    assert log.events() == before
    assert opens(log, home, "anna", password)


@pytest.mark.parametrize(
    ("new", "rule"),
    [
        ("x" * 11, "12 to 200 characters, got 11"),
        ("x" * 201, "12 to 200 characters, got 201"),
        ("e\u0301" * 11, "12 to 200 characters, got 11"),
        ("Bartholomaeus", "must not be the name"),
        ("old password \u00e9", "must not be the old one"),
        ("old password e\u0301", "must not be the old one"),
        ("canary canary \ud800", "whole characters"),
    ],
)
def test_a_password_that_cannot_be_chosen_is_refused(lite: Log, home: Home, now: datetime, new: str, rule: str) -> None:
    with pytest.raises(PasswordRefused, match=rule) as caught:
        change_password(lite, home, "bartholomaeus", "old password \u00e9", new, now=now)
    assert (caught.value.code, caught.value.kind) == ("password-refused", "approval")
    assert new not in str(caught.value)


@pytest.mark.parametrize(
    "new", ["x" * 12, "x" * 200, "            ", "пароль из слов", "d\u00e9j\u00e0 vu d\u00e9j\u00e0 vu"]
)
def test_any_other_password_can_be_chosen_however_it_is_composed(
    lite: Log, home: Home, person: dict[str, Any], now: datetime, new: str
) -> None:
    once = add_user(lite, home, "anna", [Role.READER], **person)
    change_password(lite, home, "anna", once, new, now=now)
    for form in ("NFC", "NFD"):
        assert opens(lite, home, "anna", unicodedata.normalize(form, new))


def test_an_unknown_name_costs_one_hash_of_the_same_settings(
    lite: Log, home: Home, person: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    add_user(lite, home, "anna", [Role.READER], **person)
    asked: list[str] = []
    verify = user_secrets._HASHER.verify

    class Watched:
        def verify(self, stored: str, given: bytes) -> bool:
            asked.append(stored.rpartition("$")[0].rpartition("$")[0])
            return verify(stored, given)

    monkeypatch.setattr(user_secrets, "_HASHER", Watched())
    assert not opens(lite, home, "anna", OTHER)
    refuse_slowly(OTHER)
    refuse_slowly("\ud800")
    assert asked == ["$argon2id$v=19$m=65536,t=3,p=4"] * 3


@pytest.mark.parametrize("damage", ["altered", "another's", "older", "gone", "no file"])
def test_a_stored_file_that_is_not_on_record_is_refused(
    lite: Log, home: Home, person: dict[str, Any], now: datetime, damage: str
) -> None:
    once = add_user(lite, home, "anna", [Role.READER], **person)
    other = add_user(lite, home, "ben", [Role.READER], **person)
    path = home.keys / "users" / "anna.json"
    older = path.read_bytes()
    change_password(lite, home, "anna", once, CHOSEN, now=now)
    match damage:
        case "altered":
            path.write_bytes(path.read_bytes() + b"\n")
        case "another's":
            path.write_bytes(path.with_name("ben.json").read_bytes())
        case "older":
            path.write_bytes(older)
        case "gone":
            path.unlink()
        case _:
            path.unlink()
            path.mkdir()
    anna = known(lite, "anna")
    attempts: list[Callable[[], object]] = [
        *(lambda given=given: is_password(home, anna, given) for given in (once, CHOSEN, other)),
        lambda: is_token(home, anna, once),
        lambda: must_choose(home, anna),
        lambda: change_password(lite, home, "anna", CHOSEN, OTHER, now=now),
    ]
    for attempt in attempts:
        with pytest.raises(SecretAltered, match="must be the file whose digest is on record") as caught:
            attempt()
        assert (caught.value.code, caught.value.kind) == ("secret-altered", "integrity")


def test_a_stored_file_that_others_can_read_is_refused(lite: Log, home: Home, person: dict[str, Any]) -> None:
    password = add_user(lite, home, "anna", [Role.READER], **person)
    (home.keys / "users" / "anna.json").chmod(0o640)
    with pytest.raises(KeyExposed):
        opens(lite, home, "anna", password)


def test_a_renewal_mends_a_stored_file_that_was_altered(
    lite: Log, home: Home, how: dict[str, Any], person: dict[str, Any]
) -> None:
    add_user(lite, home, "anna", [Role.READER], **person)
    (home.keys / "users" / "anna.json").unlink()
    password = renew_password(lite, home, "anna", **how)
    assert opens(lite, home, "anna", password)


@pytest.mark.parametrize("seq", [1, 2, 3])
def test_users_taken_out_of_the_database_or_put_back_are_noticed(
    log: Log, either_home: Home, how: dict[str, Any], program: dict[str, Any], seq: int
) -> None:
    add_user(log, either_home, "anna", [Role.READER], **program)
    renew_password(log, either_home, "anna", **how)
    remove_user(log, either_home, "anna", **how)
    tamper(either_home, f"DELETE FROM log_events WHERE seq = {seq}")
    for reader in (log, open_records(home=either_home).log) if seq < 3 else (log,):
        with pytest.raises(LogAltered):
            users(reader)
        with pytest.raises(LogAltered):
            reader.verify()
        with pytest.raises(LogAltered):
            add_user(reader, either_home, "anna", [Role.OFFICER], **program)


def test_a_checkpoint_taken_out_stops_every_change(
    log: Log, either_home: Home, how: dict[str, Any], program: dict[str, Any]
) -> None:
    add_user(log, either_home, "anna", [Role.READER], **program)
    tamper(either_home, "DELETE FROM log_checkpoints")
    attempts: list[Callable[[], object]] = [
        lambda: add_user(log, either_home, "ben", [Role.READER], **program),
        lambda: remove_user(log, either_home, "anna", **how),
        lambda: renew_password(log, either_home, "anna", **how),
    ]
    for attempt in attempts:
        with pytest.raises(LogAltered, match="checkpoint"):
            attempt()


def test_a_user_who_is_not_on_record_has_no_account_whatever_lies_on_disk(
    records: Records, either_home: Home, person: dict[str, Any]
) -> None:
    log = records.log
    with refusing(records.engine, "INSERT", "log_events"), pytest.raises(LogAppendFailed):
        add_user(log, either_home, "anna", [Role.OFFICER], **person)
    assert [path.name for path in (either_home.keys / "users").iterdir()] == [".anna.json.next"]
    assert find_user(log, "anna") is None
    password = add_user(log, either_home, "anna", [Role.READER], **person)
    assert opens(log, either_home, "anna", password)


def test_the_first_officer_finds_a_password_in_the_home(
    log: Log, either_home: Home, how: dict[str, Any], now: datetime
) -> None:
    path = first_officer(log, either_home, now=now)
    assert path == either_home.keys / "first-officer.password"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    once = path.read_text().strip()
    officer = known(log, "officer")
    assert (officer.roles, officer.is_program) == ({Role.OFFICER}, False)
    assert is_password(either_home, officer, once)
    assert must_choose(either_home, officer)
    assert first_officer(log, either_home, now=now) is None
    change_password(log, either_home, "officer", once, CHOSEN, now=now)
    assert not path.exists()
    assert opens(log, either_home, "officer", CHOSEN)
