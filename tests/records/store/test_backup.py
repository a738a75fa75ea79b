"""A backup brings everything back, on either database and from one to the other; an old or damaged one does not."""

from __future__ import annotations

import fcntl
import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Engine

from penstock.records import Home, LogAltered, Run, open_records
from penstock.records.audit import RecordsDisagree, verify_everything
from penstock.records.files.digest import canonical, plain_file
from penstock.records.ledger.accounts import Account, Claim
from penstock.records.ledger.analysts import AllowanceExceeded
from penstock.records.ledger.ledger import BudgetExceeded
from penstock.records.ledger.limits import Officer, open_account
from penstock.records.ledger.questions import Asked, allow_analyst, ask, standing
from penstock.records.people import _secrets as user_secrets
from penstock.records.people.trusted_keys import people, trust
from penstock.records.people.users import Role, add_user, users_turn
from penstock.records.store import backup
from penstock.records.store.backup import BackupDamaged, BackupRefused, back_up, restore
from penstock.records.store.restoring import RestorationUnfinished
from tests.records.kill_points import in_child
from tests.records.published_home import publish
from tests.records.user_house import CHEAP, PERSON, opens
from tests.support.postgres import PostgresServer

DATABASES = ("sqlite", "postgresql")
NOW = datetime(2026, 11, 16, 2, 15, tzinfo=UTC)
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
CLAIM = Claim(
    dataset="survey",
    source="ab" * 32,
    model="dp",
    epsilon=Fraction(1),
    adjacency="replace",
    unit="row",
    column=None,
    part=None,
    acknowledges=(),
    about=("age",),
)


def _spend(run: str) -> None:
    ledger = open_records().ledger
    ledger.reserve(CLAIM, run=run, actor="maker", now=NOW)
    ledger.spend(run, actor="maker", now=NOW)


def _new_database(kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "sqlite":
        monkeypatch.delenv("PENSTOCK_DB", raising=False)
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.new_database()
    monkeypatch.setenv("PENSTOCK_DB", url)
    request.addfinalizer(lambda: server.give_back(url))


@pytest.fixture(params=["sqlite"])
def published(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that a home published to; the home has an account of 2, of which 1 is spent."""
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    _new_database(request.param, request, monkeypatch)
    folder = tmp_path / "published"
    publish(Home.open(), folder)
    log = open_records().log
    trust(log, "olga", KEY.public_key(), reason="hired", actor="maker", now=NOW)
    account = Account(dataset="survey", model="dp", limit=Fraction(2), adjacency="replace", unit="row", partition=None)
    open_account(log, account, Officer("olga", KEY, "agreed"), actor="maker", now=NOW)
    _spend("before")
    return folder


@pytest.fixture(params=["sqlite"])
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Path]:
    """What makes a new home with a new database the one in use."""

    def move() -> Path:
        monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "elsewhere"))
        _new_database(request.param, request, monkeypatch)
        return tmp_path / "elsewhere"

    return move


@pytest.mark.parametrize(("published", "elsewhere"), list(itertools.product(DATABASES, DATABASES)), indirect=True)
def test_everything_comes_back_on_either_database(
    published: Path, elsewhere: Callable[[], Path], tmp_path: Path
) -> None:
    before, events = verify_everything([published]), open_records().log.events()
    made = back_up(tmp_path / "backup")
    assert (made.events, made.runs, made.going_on) == (before["events"], 1, ())
    elsewhere()
    assert restore(tmp_path / "backup", [published]) == before
    assert open_records().log.events() == events
    _spend("after")  # 1 of 2 was left, and it is still the same ledger
    with pytest.raises(BudgetExceeded):
        _spend("too much")
    assert verify_everything([published])["events"] > before["events"]


@pytest.mark.parametrize(("published", "elsewhere"), list(itertools.product(DATABASES, DATABASES)), indirect=True)
def _ask(key: str) -> Asked:
    claim = Claim(
        dataset="people",
        source="p",
        model="dp",
        epsilon=Fraction(1, 4),
        adjacency="presence",
        unit="individual",
        whose="id",
    )
    draw = f"answer to {key}".encode
    how: dict[str, Any] = {"facts": {}, "actor": "maker", "now": NOW}
    return ask(open_records().log, claim, analyst="ann", key=key, individual="i1", draw=draw, **how)


@pytest.mark.parametrize(("published", "elsewhere"), list(itertools.product(DATABASES, DATABASES)), indirect=True)
def test_questions_come_back_with_their_answers_and_balances(
    published: Path, elsewhere: Callable[[], Path], tmp_path: Path
) -> None:
    log, officer = open_records().log, Officer("olga", KEY, "agreed")
    account = Account(
        dataset="people", model="dp", limit=Fraction(1), adjacency="presence", unit="individual", partition=None
    )
    open_account(log, account, officer, actor="maker", now=NOW)
    allow_analyst(log, "people", "dp", "ann", Fraction(3, 4), officer, actor="maker", now=NOW)
    first = _ask("k1"), _ask("k2")
    before = verify_everything([published])
    back_up(tmp_path / "backup")
    elsewhere()
    assert restore(tmp_path / "backup", [published]) == before
    again = _ask("k1"), _ask("k2")
    assert [(each.answer, each.seq, each.repeated) for each in again] == [
        (each.answer, each.seq, True) for each in first
    ]
    _ask("k3")
    with pytest.raises(AllowanceExceeded):
        _ask("k4")
    assert standing(open_records().log, dataset="people", model="dp", analyst="ann").spent == Fraction(3, 4)
    verify_everything([published])


@pytest.mark.parametrize("schema", ["0002", "0003"])
def test_a_backup_from_before_there_were_questions_comes_back(
    published: Path, elsewhere: Callable[[], Path], tmp_path: Path, schema: str
) -> None:
    before = verify_everything([published])
    back_up(tmp_path / "backup")
    rows = [json.loads(line) for line in (tmp_path / "backup" / "records.jsonl").read_bytes().splitlines()]
    for read in rows:
        if read["table"] == "ledger_tails":
            assert read["row"].pop("balance") is None
    (tmp_path / "backup" / "records.jsonl").write_bytes(b"".join(canonical(read) + b"\n" for read in rows))
    complete = json.loads((tmp_path / "backup" / "backup.json").read_bytes())
    complete |= {"schema": schema, "rows": plain_file(tmp_path / "backup" / "records.jsonl")}
    (tmp_path / "backup" / "backup.json").write_bytes(canonical(complete))
    elsewhere()
    assert restore(tmp_path / "backup", [published]) == before
    _spend("after")


def test_users_come_back_with_their_passwords(
    published: Path, elsewhere: Callable[[], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_secrets, "_HASHER", CHEAP)
    password = add_user(open_records().log, Home.located(), "anna", [Role.READER], **PERSON)
    first = Home.located()
    back_up(tmp_path / "backup")
    elsewhere()
    restore(tmp_path / "backup", [published])
    assert Home.located() != first
    assert opens(open_records().log, Home.located(), "anna", password)
    modes = [
        path.stat().st_mode & 0o777 for path in (Home.located().keys / "users", *Home.located().keys.glob("users/*"))
    ]
    assert modes == [0o700, 0o600]


def test_nobody_changes_a_password_while_keys_and_log_are_copied(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[bool] = []
    write_rows = backup._write_rows

    def watched(engine: Engine, path: Path) -> dict[str, Any]:
        child = in_child(lambda: _take_turn_at_once(Home.located()))
        waits.append(child != 0)
        return write_rows(engine, path)

    monkeypatch.setattr(backup, "_write_rows", watched)
    back_up(tmp_path / "backup")
    assert waits == [True]
    assert in_child(lambda: _take_turn_at_once(Home.located())) == 0


def _take_turn_at_once(home: Home) -> None:
    lock = fcntl.flock
    fcntl.flock = lambda file, how: lock(file, how | fcntl.LOCK_NB)  # type: ignore[assignment]
    with users_turn(home):
        pass


def test_a_backup_is_private_and_is_made_while_a_run_goes_on(published: Path, tmp_path: Path) -> None:
    home = Home.located()
    with Run.begin(home, "another spec", now=NOW) as run:
        run.path("half-written").write_text("secret")
        made = back_up(tmp_path / "backup")
        assert made.going_on == (run.id,)
    copied = tmp_path / "backup" / "home" / "runs" / run.id
    assert [path.name for path in copied.iterdir()] == ["run.json"]
    assert (tmp_path / "backup").stat().st_mode & 0o077 == 0
    assert not list(home.runs.glob("*/lock")) or all(path.parent.name == run.id for path in home.runs.glob("*/lock"))


def test_a_run_whose_process_died_is_copied_whole(
    published: Path, elsewhere: Callable[[], Path], tmp_path: Path
) -> None:
    with Run.begin(Home.located(), "another spec", now=NOW) as run:
        run.path("protected.parquet").write_bytes(b"drawn")
        run.commit("protected", {"digest": "1"})
    back_up(tmp_path / "backup")
    elsewhere()
    restore(tmp_path / "backup", [published])
    with Run.begin(Home.located(), "another spec", now=NOW) as again:
        assert again.id == run.id
        assert again.committed("protected") == {"digest": "1"}
        assert again.path("protected.parquet").read_bytes() == b"drawn"


def test_a_release_after_the_backup_refuses_its_restoration(
    published: Path, elsewhere: Callable[[], Path], tmp_path: Path
) -> None:
    back_up(tmp_path / "backup")
    publish(Home.located(), published)
    elsewhere()
    with pytest.raises(RecordsDisagree, match="must be a publication that the log knows of"):
        restore(tmp_path / "backup", [published])


def test_a_database_older_than_its_home_is_still_refused_after_a_restoration(
    published: Path, elsewhere: Callable[[], Path], tmp_path: Path
) -> None:
    back_up(tmp_path / "backup")
    publish(Home.located(), tmp_path / "further")
    newer = Home.located()
    elsewhere()
    shutil.copytree(newer.runs, Home.open().runs, dirs_exist_ok=True)
    with pytest.raises(BackupRefused, match="must be empty"):
        restore(tmp_path / "backup", [published])


@pytest.mark.parametrize("held", ["keys", "runs", "answers", "database"])
def test_a_backup_is_never_mixed_with_what_is_there(
    published: Path, elsewhere: Callable[[], Path], tmp_path: Path, held: str
) -> None:
    back_up(tmp_path / "backup")
    root = elsewhere()
    home = Home.open()
    if held == "database":
        open_records(home=home)
        shutil.rmtree(root / "keys")
    else:
        (root / held / "something").write_text("")
    with pytest.raises(BackupRefused, match="must be empty"):
        restore(tmp_path / "backup", [published])


@pytest.mark.parametrize("damage", ["incomplete", "rows", "no json", "not there"])
def test_a_damaged_backup_is_refused(
    published: Path, elsewhere: Callable[[], Path], tmp_path: Path, damage: str
) -> None:
    folder = tmp_path / "backup"
    back_up(folder)
    match damage:
        case "incomplete":
            (folder / "backup.json").unlink()
        case "rows":
            (folder / "records.jsonl").write_bytes((folder / "records.jsonl").read_bytes()[:-9])
        case "no json":
            (folder / "backup.json").write_text("[]")
        case _:
            folder = tmp_path / "nowhere"
    elsewhere()
    with pytest.raises(BackupDamaged, match="must be a whole backup"):
        restore(folder, [published])
    assert not (Home.located().root / "keys").exists()


def test_a_backup_under_another_schema_is_refused(
    published: Path, elsewhere: Callable[[], Path], tmp_path: Path
) -> None:
    back_up(tmp_path / "backup")
    path = tmp_path / "backup" / "backup.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": "0001"}))
    elsewhere()
    with pytest.raises(BackupRefused, match="made under schema"):
        restore(tmp_path / "backup", [published])


def test_rows_that_were_changed_in_the_backup_are_found(
    published: Path, elsewhere: Callable[[], Path], tmp_path: Path
) -> None:
    back_up(tmp_path / "backup")
    rows, complete = tmp_path / "backup" / "records.jsonl", tmp_path / "backup" / "backup.json"
    rows.write_bytes(rows.read_bytes().replace(b'\\"limit\\":\\"2\\"', b'\\"limit\\":\\"9\\"', 1))
    complete.write_text(json.dumps({**json.loads(complete.read_text()), "rows": plain_file(rows)}))
    elsewhere()
    with pytest.raises(LogAltered, match="altered"):
        restore(tmp_path / "backup", [published])


def test_that_nothing_was_published_is_believed_unless_the_log_knows_better(
    published: Path, elsewhere: Callable[[], Path], tmp_path: Path
) -> None:
    back_up(tmp_path / "backup")
    elsewhere()
    with pytest.raises(BackupRefused, match="--nothing-published refused: must be true"):
        restore(tmp_path / "backup", [], nothing_published=True)
    with pytest.raises(RestorationUnfinished):
        open_records()


def test_a_home_that_never_published_comes_back(
    elsewhere: Callable[[], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    trust(open_records().log, "olga", KEY.public_key(), reason="hired", actor="maker", now=NOW)
    back_up(tmp_path / "backup")
    elsewhere()
    assert restore(tmp_path / "backup", [], nothing_published=True)["events"] == 1
    assert "olga" in people(open_records().log)


def test_a_backup_replaces_nothing(published: Path, tmp_path: Path) -> None:
    (tmp_path / "backup").mkdir()
    with pytest.raises(BackupRefused, match="must be a new folder"):
        back_up(tmp_path / "backup")


def test_the_commands_back_up_and_restore(published: Path, elsewhere: Callable[[], Path], tmp_path: Path) -> None:
    penstock = str(Path(sys.executable).with_name("penstock"))
    made = subprocess.run([penstock, "backup", "kept", "--json"], cwd=tmp_path, capture_output=True, check=True)
    assert json.loads(made.stdout)["runs"] == 1
    elsewhere()
    bundles = ["--bundles", str(published)]
    back = subprocess.run([penstock, "restore", "kept", *bundles], cwd=tmp_path, capture_output=True, check=True)
    assert b"1 published manifest agrees with the log" in back.stdout
