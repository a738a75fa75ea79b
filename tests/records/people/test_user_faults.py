"""What becomes of users when the writer is killed or the database fails: the log decides, and a repetition mends."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.records import Home, LogAppendFailed, Records, open_records
from penstock.records.files import durable
from penstock.records.people import _secrets as user_secrets
from penstock.records.people.users import (
    PasswordWrong,
    Role,
    UserTaken,
    add_user,
    change_password,
    find_user,
    first_officer,
    is_token,
    remove_user,
    renew_password,
    users,
)
from tests.records.database_faults import killed_at_each_moment, refusing
from tests.records.kill_points import kill_points
from tests.records.user_house import CHOSEN, HOW, NOW, OTHER, PERSON, PROGRAM, known, opens

pytestmark = pytest.mark.usefixtures("cheap_passwords")


@pytest.fixture
def records(either_home: Home) -> Records:
    return open_records(home=either_home)


def killed_at_each_file(home: Home, tmp_path: Path, action: Callable[[Home], object]) -> Iterator[Home]:
    """Kill the action before and after each change of a file, each time in a new copy of the home."""

    def copy(point: int) -> Home:
        return Home(shutil.copytree(home.root, tmp_path / f"home-{point}"))

    copied = copy(0)
    for point in kill_points(lambda point: action(Home(tmp_path / f"home-{point}"))):
        yield copied
        copied = copy(point + 1)


@pytest.mark.slow
def test_a_kill_while_a_password_is_changed_leaves_the_old_one_or_the_new_one(home: Home, tmp_path: Path) -> None:
    log = open_records(home=home).log
    once = add_user(log, home, "anna", [Role.READER], **PERSON)
    change_password(log, home, "anna", once, OTHER, now=NOW)
    before = known(log, "anna").digest
    ends = []
    for copy in killed_at_each_file(
        home, tmp_path, lambda at: change_password(open_records(home=at).log, at, "anna", OTHER, CHOSEN, now=NOW)
    ):
        log = open_records(home=copy).log
        changed = known(log, "anna").digest != before
        assert [opens(log, copy, "anna", given) for given in (OTHER, CHOSEN)] == [not changed, changed]
        change_password(log, copy, "anna", *((CHOSEN, OTHER) if changed else (OTHER, CHOSEN)), now=NOW)
        assert opens(log, copy, "anna", OTHER if changed else CHOSEN)
        assert [path.name for path in (copy.keys / "users").iterdir()] == ["anna.json"]
        ends.append(changed)
    assert ends == sorted(ends)
    assert set(ends) == {False, True}


@pytest.mark.slow
def test_a_kill_while_a_user_is_added_leaves_nobody_or_a_user_who_can_be_renewed(home: Home, tmp_path: Path) -> None:
    open_records(home=home)
    ends = []
    for copy in killed_at_each_file(
        home, tmp_path, lambda at: add_user(open_records(home=at).log, at, "robot", [Role.READER], **PROGRAM)
    ):
        log = open_records(home=copy).log
        added = find_user(log, "robot") is not None
        if added:
            with pytest.raises(UserTaken):
                add_user(log, copy, "robot", [Role.READER], **PROGRAM)
            token = renew_password(log, copy, "robot", **HOW)
        else:
            token = add_user(log, copy, "robot", [Role.READER], **PROGRAM)
        assert is_token(copy, known(log, "robot"), token)
        ends.append(added)
    assert set(ends) == {False, True}


@pytest.mark.slow
def test_a_kill_while_a_user_is_removed_leaves_the_user_or_nobody(home: Home, tmp_path: Path) -> None:
    token = add_user(open_records(home=home).log, home, "robot", [Role.READER], **PROGRAM)
    ends = []
    for copy in killed_at_each_file(
        home, tmp_path, lambda at: remove_user(open_records(home=at).log, at, "robot", **HOW)
    ):
        log = open_records(home=copy).log
        removed = find_user(log, "robot") is None
        if removed:
            token_again = add_user(log, copy, "robot", [Role.READER], **PROGRAM)
            assert [is_token(copy, known(log, "robot"), given) for given in (token, token_again)] == [False, True]
        else:
            assert is_token(copy, known(log, "robot"), token)
            remove_user(log, copy, "robot", **HOW)
        ends.append(removed)
    assert True in ends


def test_a_kill_while_the_first_officer_is_made_leaves_nobody_or_one_whose_password_is_there(
    home: Home, tmp_path: Path
) -> None:
    open_records(home=home)
    ends = []
    for copy in killed_at_each_file(home, tmp_path, lambda at: first_officer(open_records(home=at).log, at, now=NOW)):
        log = open_records(home=copy).log
        made = bool(users(log))
        path = copy.keys / "first-officer.password"
        assert first_officer(log, copy, now=NOW) == (None if made else path)
        assert opens(log, copy, "officer", path.read_text().strip())
        ends.append(made)
    assert set(ends) == {False, True}


def test_a_kill_at_each_moment_of_the_transaction_leaves_a_secret_that_is_on_record(
    records: Records, either_home: Home
) -> None:
    log = records.log
    add_user(log, either_home, "robot", [Role.READER], **PROGRAM)
    digests = {known(log, "robot").digest}
    for _ in killed_at_each_moment(lambda: renew_password(log, either_home, "robot", **HOW)):
        assert not is_token(either_home, known(log, "robot"), "x")  # and no refusal
        digests.add(known(log, "robot").digest)
    assert len(digests) > 1
    token = renew_password(log, either_home, "robot", **HOW)
    assert is_token(either_home, known(log, "robot"), token)


@pytest.mark.parametrize("fault", ["database", "disk"])
def test_a_change_that_fails_leaves_the_old_password(
    records: Records, either_home: Home, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    log = records.log
    once = add_user(log, either_home, "anna", [Role.READER], **PERSON)
    before = log.events()
    if fault == "database":
        with refusing(records.engine, "INSERT", "log_events"), pytest.raises(LogAppendFailed) as caught:
            change_password(log, either_home, "anna", once, CHOSEN, now=NOW)
        assert CHOSEN not in str(caught.value)
    else:
        with monkeypatch.context() as patch:
            patch.setattr(durable, "write_whole", full)
            with pytest.raises(OSError, match="No space left"):
                change_password(log, either_home, "anna", once, CHOSEN, now=NOW)
    assert log.events() == before
    assert [opens(log, either_home, "anna", given) for given in (once, CHOSEN)] == [True, False]
    change_password(log, either_home, "anna", once, CHOSEN, now=NOW)
    assert opens(log, either_home, "anna", CHOSEN)


def test_a_password_that_is_renewed_while_it_is_checked_cannot_be_changed(
    records: Records, either_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = records.log
    once = add_user(log, either_home, "anna", [Role.READER], **PERSON)
    renewed: list[str] = []

    def hashed(password: str, *, once: bool) -> bytes:
        if not renewed:
            renewed.append("")
            renewed.append(renew_password(log, either_home, "anna", **HOW))
        return user_secrets.password_text(password, once=once)

    monkeypatch.setattr("penstock.records.people.users.password_text", hashed)
    with pytest.raises(PasswordWrong):
        change_password(log, either_home, "anna", once, CHOSEN, now=NOW)
    assert [opens(log, either_home, "anna", given) for given in (once, CHOSEN, renewed[-1])] == [False, False, True]


def test_a_user_who_becomes_a_program_while_renewed_gets_a_token(
    records: Records, either_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = records.log
    add_user(log, either_home, "anna", [Role.READER], **PERSON)

    def hashed(password: str, *, once: bool) -> bytes:
        remove_user(log, either_home, "anna", **HOW)
        add_user(log, either_home, "anna", [Role.READER], **PROGRAM)
        return user_secrets.password_text(password, once=once)

    monkeypatch.setattr("penstock.records.people.users.password_text", hashed)
    token = renew_password(log, either_home, "anna", **HOW)
    assert is_token(either_home, known(log, "anna"), token)


def test_of_two_who_make_the_first_officer_one_does(
    records: Records, either_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path | None] = []

    def hashed(password: str, *, once: bool) -> bytes:
        if not made:
            made.append(None)
            made.append(first_officer(records.log, either_home, now=NOW))
        return user_secrets.password_text(password, once=once)

    monkeypatch.setattr("penstock.records.people.users.password_text", hashed)
    assert first_officer(records.log, either_home, now=NOW) is None
    path = made[-1]
    assert path is not None
    assert opens(records.log, either_home, "officer", path.read_text().strip())


@pytest.mark.parametrize("end", [renew_password, remove_user])
def test_the_first_password_is_not_left_on_disk_once_it_opens_nothing(home: Home, end: Callable[..., object]) -> None:
    log = open_records(home=home).log
    path = first_officer(log, home, now=NOW)
    assert path is not None
    end(log, home, "Officer", **HOW)
    assert not path.exists()
