"""Passwords and tokens: what is kept of them opens nothing by itself, and only what is on record counts."""

from __future__ import annotations

import json
import stat
import unicodedata
from collections.abc import Callable

import pytest

from penstock.records import Action, Home, Log, LogAppendFailed, Records, open_records
from penstock.records.people import _secrets as user_secrets
from penstock.records.people.users import (
    PasswordRefused,
    PasswordWrong,
    Role,
    SecretAltered,
    add_user,
    change_password,
    find_user,
    first_officer,
    is_password,
    is_token,
    must_choose,
    refuse_slowly,
    renew_password,
    users,
)
from penstock.records.signing.keyfile import KeyExposed
from tests.records.database_faults import refusing
from tests.records.user_house import CHOSEN, HOW, NOW, OTHER, PERSON, known, opens

REAL = user_secrets._HASHER


pytestmark = pytest.mark.usefixtures("cheap_passwords")


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


def test_what_is_stored_is_private_and_is_no_password(lite: Log, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_secrets, "_HASHER", REAL)
    password = add_user(lite, home, "anna", [Role.READER], **PERSON)
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


def test_a_one_time_password_is_changed_by_its_owner(log: Log, home: Home) -> None:
    once = add_user(log, home, "anna", [Role.READER], **PERSON)
    assert must_choose(home, known(log, "anna"))
    change_password(log, home, "Anna", once, CHOSEN, now=NOW)
    anna = known(log, "anna")
    assert not must_choose(home, anna)
    assert is_password(home, anna, CHOSEN)
    assert not is_password(home, anna, once)
    event = log.events("-")[-1]
    assert (event.action, event.actor) == (Action.USER_SECRET_CHANGED, "anna")
    assert event.facts == {"name": "anna", "secret": anna.digest}


def test_a_wrong_password_opens_and_changes_nothing(log: Log, home: Home) -> None:
    password = add_user(log, home, "anna", [Role.READER], **PERSON)
    before = log.events()
    for wrong in ("", password[:-1], password.swapcase(), "\ud800"):
        assert not opens(log, home, "anna", wrong)
    with pytest.raises(PasswordWrong, match="old refused: must be the password that this user has now") as caught:
        change_password(log, home, "anna", OTHER, CHOSEN, now=NOW)
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
def test_a_password_that_cannot_be_chosen_is_refused(lite: Log, home: Home, new: str, rule: str) -> None:
    with pytest.raises(PasswordRefused, match=rule) as caught:
        change_password(lite, home, "bartholomaeus", "old password \u00e9", new, now=NOW)
    assert (caught.value.code, caught.value.kind) == ("password-refused", "approval")
    assert new not in str(caught.value)


@pytest.mark.parametrize(
    "new", ["x" * 12, "x" * 200, "            ", "пароль из слов", "d\u00e9j\u00e0 vu d\u00e9j\u00e0 vu"]
)
def test_any_other_password_can_be_chosen_however_it_is_composed(lite: Log, home: Home, new: str) -> None:
    once = add_user(lite, home, "anna", [Role.READER], **PERSON)
    change_password(lite, home, "anna", once, new, now=NOW)
    for form in ("NFC", "NFD"):
        assert opens(lite, home, "anna", unicodedata.normalize(form, new))


def test_an_unknown_name_costs_one_hash_of_the_same_settings(
    lite: Log, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_secrets, "_HASHER", REAL)
    add_user(lite, home, "anna", [Role.READER], **PERSON)
    asked: list[str] = []

    class Watched:
        def verify(self, stored: str, given: bytes) -> bool:
            asked.append(stored.rpartition("$")[0].rpartition("$")[0])
            return REAL.verify(stored, given)

    monkeypatch.setattr(user_secrets, "_HASHER", Watched())
    assert not opens(lite, home, "anna", OTHER)
    refuse_slowly(OTHER)
    refuse_slowly("\ud800")
    assert asked == ["$argon2id$v=19$m=65536,t=3,p=4"] * 3


@pytest.mark.parametrize("damage", ["altered", "another's", "older", "gone", "no file"])
def test_a_stored_file_that_is_not_on_record_is_refused(lite: Log, home: Home, damage: str) -> None:
    once = add_user(lite, home, "anna", [Role.READER], **PERSON)
    other = add_user(lite, home, "ben", [Role.READER], **PERSON)
    path = home.keys / "users" / "anna.json"
    older = path.read_bytes()
    change_password(lite, home, "anna", once, CHOSEN, now=NOW)
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
        lambda: change_password(lite, home, "anna", CHOSEN, OTHER, now=NOW),
    ]
    for attempt in attempts:
        with pytest.raises(SecretAltered, match="must be the file whose digest is on record") as caught:
            attempt()
        assert (caught.value.code, caught.value.kind) == ("secret-altered", "integrity")


def test_a_stored_file_that_others_can_read_is_refused(lite: Log, home: Home) -> None:
    password = add_user(lite, home, "anna", [Role.READER], **PERSON)
    (home.keys / "users" / "anna.json").chmod(0o640)
    with pytest.raises(KeyExposed):
        opens(lite, home, "anna", password)


def test_a_renewal_mends_a_stored_file_that_was_altered(lite: Log, home: Home) -> None:
    add_user(lite, home, "anna", [Role.READER], **PERSON)
    (home.keys / "users" / "anna.json").unlink()
    password = renew_password(lite, home, "anna", **HOW)
    assert opens(lite, home, "anna", password)


def test_a_user_who_is_not_on_record_has_no_account_whatever_lies_on_disk(records: Records, either_home: Home) -> None:
    log = records.log
    with refusing(records.engine, "INSERT", "log_events"), pytest.raises(LogAppendFailed):
        add_user(log, either_home, "anna", [Role.OFFICER], **PERSON)
    assert [path.name for path in (either_home.keys / "users").iterdir()] == [".anna.json.next"]
    assert find_user(log, "anna") is None
    password = add_user(log, either_home, "anna", [Role.READER], **PERSON)
    assert opens(log, either_home, "anna", password)


def test_the_first_officer_finds_a_password_in_the_home(log: Log, either_home: Home) -> None:
    path = first_officer(log, either_home, now=NOW)
    assert path == either_home.keys / "first-officer.password"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    once = path.read_text().strip()
    officer = known(log, "officer")
    assert (officer.roles, officer.is_program) == ({Role.OFFICER}, False)
    assert is_password(either_home, officer, once)
    assert must_choose(either_home, officer)
    assert first_officer(log, either_home, now=NOW) is None
    change_password(log, either_home, "officer", once, CHOSEN, now=NOW)
    assert not path.exists()
    assert opens(log, either_home, "officer", CHOSEN)
