from __future__ import annotations

import stat
from datetime import datetime
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, inspect, text

from penstock.records import Action, Home, LogAltered, RecordsAbsent, existing_records, open_records
from penstock.records.store.database import SCHEMA, DatabaseRefused, RecordsUnavailable, open_engine, reading, writing
from penstock.records.store.migrations import VERSION_TABLE, SchemaRefused
from tests.records.database_faults import killed_at_each_moment, read_only, tamper

TABLES = {*SCHEMA.tables, VERSION_TABLE}


def tables(engine: Engine) -> set[str]:
    with reading(engine) as connection:
        return set(inspect(connection).get_table_names())


def test_the_database_file_is_private_from_its_first_byte_and_made_private_again(home: Home) -> None:
    open_records(home=home)
    path = home.root / "penstock.db"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o664)
    open_records(home=home)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_commit_waits_for_the_disk_and_for_the_folder_on_sqlite(home: Home) -> None:
    with open_records(home=home).engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 3  # EXTRA


def test_a_commit_waits_for_the_disk_and_no_writer_waits_for_ever_on_postgresql(postgres_home: Home) -> None:
    tamper(
        postgres_home, f"ALTER DATABASE {postgres_home.database_url.rpartition('/')[2]} SET synchronous_commit = off"
    )
    expected = {"synchronous_commit": "on", "lock_timeout": "30s", "idle_in_transaction_session_timeout": "30s"}
    with writing(open_records(home=postgres_home).engine) as connection:
        assert {name: connection.execute(text(f"SHOW {name}")).scalar_one() for name in expected} == expected


def test_a_reader_sees_one_state_while_a_writer_commits_on_postgresql(postgres_home: Home, now: datetime) -> None:
    """On SQLite the writer would wait for the reader."""
    records = open_records(home=postgres_home)
    count = text("SELECT count(*) FROM log_events")
    with reading(records.engine) as connection:
        assert connection.execute(count).scalar_one() == 0
        records.log.append(Action.PLANNED, run="r", actor="a", facts={}, occurred=now)
        assert connection.execute(count).scalar_one() == 0
    with reading(records.engine) as connection:
        assert connection.execute(count).scalar_one() == 1


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("not a url", "must be a database URL"),
        ("postgresql+psycopg://user:canary@host:port/x", "must be a database URL"),
        ("mysql://host/x", "must be SQLite or PostgreSQL, got 'mysql'"),
        ("sqlite:///file:x?uri=true", "plain path"),
        ("sqlite:////folder?/x.db", "plain path"),
        ("sqlite+aiosqlite:///x.db", "plain path"),
        ("postgresql+asyncpg://user:canary@host/x", "must use the driver psycopg for PostgreSQL"),
        ("postgresql+nonsense://user:canary@host/x", "must use the driver psycopg for PostgreSQL"),
    ],
)
def test_a_database_that_cannot_hold_records_is_refused(home: Home, url: str, rule: str) -> None:
    with pytest.raises(DatabaseRefused, match=rule) as caught:
        open_records(url, home)
    assert caught.value.code == "database-refused"
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_a_setting_cannot_put_the_log_in_memory(home: Home, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("PENSTOCK_DB", url)
    with pytest.raises(DatabaseRefused, match="outlive the process"):
        open_records(home=home)


def test_an_address_without_its_driver_means_the_same(postgres_home: Home) -> None:
    plain = postgres_home.database_url.replace("+psycopg", "")
    assert open_records(plain, postgres_home).engine.url == open_records(home=postgres_home).engine.url


def test_a_path_that_is_no_database_is_refused(home: Home, tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(b"noise" * 1000)
    for path in (tmp_path, tmp_path / "noise", tmp_path / "no" / "folder"):
        with pytest.raises(RecordsUnavailable):
            open_records(f"sqlite:///{path}", home)


def test_a_server_without_the_database_is_refused_without_the_password(postgres_home: Home) -> None:
    address = postgres_home.database_url.replace("app@", "app:canary@") + "_absent"
    with pytest.raises(RecordsUnavailable, match="must exist as a database") as caught:
        open_records(address, postgres_home)
    assert "canary" not in str(caught.value)


def test_the_steps_make_the_tables_that_the_code_speaks_of(either_home: Home) -> None:
    engine = open_records(home=either_home).engine
    assert tables(engine) == TABLES
    with reading(engine) as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, SCHEMA) == []


# Written by version 0.1.0 under the key k * 32: a snapshot of its output.
OLD_KEY = b"k" * 32
OLD_DIGESTS = (
    "76ca1b3e644e71b2b007df9af454064ff9fba16f70cddfb33051bd006136b4c8",
    "d5217ef36422400166603cdefcd03a7bbce2d0173dd9770ecf14a50e42fdf727",
)
OLD_SEAL = "f8a8341643dd5d5858d2953116d8e0fdf8032b2c9da779b76c879742af00ad11"
OLD_FIELDS = ("occurred", "run", "action", "actor", "code", "facts", "previous", "digest")
OLD_DATABASE = (
    f"CREATE TABLE log_events (seq INTEGER NOT NULL, {', '.join(f'{name} TEXT NOT NULL' for name in OLD_FIELDS)},"
    " PRIMARY KEY (seq))",
    "CREATE TABLE log_head (id INTEGER NOT NULL CHECK (id = 1), seq INTEGER NOT NULL, digest TEXT NOT NULL,"
    " seal TEXT NOT NULL, PRIMARY KEY (id))",
    "INSERT INTO log_events VALUES (1, '2026-11-16T02:15:00+00:00', 'r', 'PLANNED', 'a', '0.1.0',"
    f""" '{{"spec":"d1"}}', '{"0" * 64}', '{OLD_DIGESTS[0]}')""",
    "INSERT INTO log_events VALUES (2, '2026-11-16T02:15:00+00:00', 'r', 'PUBLISHED', 'a', '0.1.0',"
    f" '{{}}', '{OLD_DIGESTS[0]}', '{OLD_DIGESTS[1]}')",
    f"INSERT INTO log_head VALUES (1, 2, '{OLD_DIGESTS[1]}', '{OLD_SEAL}')",
)


@pytest.fixture
def old_home(either_home: Home) -> Home:
    """The records of version 0.1.0, with two events."""
    either_home.secret_key()
    (either_home.keys / "secret.key").write_bytes(OLD_KEY)
    tamper(either_home, *OLD_DATABASE)
    return either_home


def test_the_records_of_the_first_version_are_kept_and_go_on(old_home: Home, now: datetime) -> None:
    records = open_records(home=old_home)
    assert tables(records.engine) == TABLES
    assert [event.digest for event in records.log.events()] == list(OLD_DIGESTS)
    assert records.log.verify().count == 2
    assert records.log.append(Action.PUBLISHED, run="r", actor="a", facts={}, occurred=now).seq == 3
    assert records.log.verify().checkpoints == 1


def test_the_records_of_the_first_version_are_checked_after_the_step_as_before(old_home: Home) -> None:
    tamper(old_home, "DELETE FROM log_head")
    records = open_records(home=old_home)
    with pytest.raises(LogAltered, match="head refused: must exist; it was removed"):
        records.log.verify()


def test_what_is_up_to_date_opens_read_only_and_what_is_not_does_not(old_home: Home) -> None:
    engine = open_engine(old_home.database_url, lasting=True)
    with read_only(engine), pytest.raises(RecordsUnavailable):
        open_records(home=old_home)
    open_records(home=old_home)
    with read_only(engine):
        assert open_records(home=old_home).log.verify().count == 2


@pytest.mark.parametrize("old", [False, True], ids=["new", "old"])
def test_a_kill_at_each_moment_of_the_first_opening_leaves_the_database_as_before_or_as_after(
    request: pytest.FixtureRequest, either_home: Home, old: bool
) -> None:
    if old:
        request.getfixturevalue("old_home")
    engine = open_engine(either_home.database_url, lasting=True)
    either_home.secret_key()
    either_home.signing_key()
    before = tables(engine)
    found = []
    for _ in killed_at_each_moment(lambda: open_records(home=either_home)):
        found.append(tables(engine))
    assert found == [before] * (len(found) - 1) + [TABLES]
    assert open_records(home=either_home).log.verify().count == (2 if old else 0)


@pytest.mark.parametrize("table", sorted(SCHEMA.tables))
def test_a_dropped_table_is_refused_not_made_anew(either_home: Home, table: str) -> None:
    open_records(home=either_home)
    tamper(either_home, f"DROP TABLE {table}")
    with pytest.raises(SchemaRefused, match=f"{table}, which was removed") as caught:
        open_records(home=either_home)
    assert (caught.value.code, caught.value.kind) == ("schema-refused", "integrity")


@pytest.mark.parametrize("change", [f"UPDATE {VERSION_TABLE} SET version_num = '9999'", f"DELETE FROM {VERSION_TABLE}"])
def test_a_schema_that_this_version_does_not_know_is_refused(either_home: Home, change: str) -> None:
    open_records(home=either_home)
    tamper(either_home, change)
    with pytest.raises(SchemaRefused):
        open_records(home=either_home)


def test_tables_that_lost_their_version_are_not_touched(either_home: Home) -> None:
    engine = open_records(home=either_home).engine
    tamper(either_home, f"DROP TABLE {VERSION_TABLE}")
    with pytest.raises((SchemaRefused, RecordsUnavailable)):
        open_records(home=either_home)
    assert tables(engine) == set(SCHEMA.tables)


def test_a_schema_that_cannot_be_made_is_refused(either_home: Home) -> None:
    tamper(either_home, "CREATE VIEW log_head AS SELECT 1")
    with pytest.raises(RecordsUnavailable):
        open_records(home=either_home)


def test_another_programs_tables_are_left_alone(either_home: Home) -> None:
    tamper(either_home, "CREATE TABLE alembic_version (version_num TEXT)", "INSERT INTO alembic_version VALUES ('x')")
    engine = open_records(home=either_home).engine
    assert tables(engine) == {*TABLES, "alembic_version"}
    assert open_records(home=either_home).log.verify().count == 0


def test_who_checks_records_does_not_make_new_ones(either_home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(either_home.root))
    engine = open_records(home=either_home).engine
    tamper(either_home, *(f"DROP TABLE {table}" for table in TABLES))
    with pytest.raises(RecordsAbsent):
        existing_records()
    assert tables(engine) == set()


def test_an_engine_is_made_once_and_belongs_to_its_own_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the process works later; and a database that was removed is made anew, private again."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    first = open_engine("sqlite:///log.db", lasting=True)
    assert open_engine(f"sqlite:///{tmp_path}/a/log.db", lasting=True) is first
    monkeypatch.chdir(tmp_path / "b")
    second = open_engine("sqlite:///log.db", lasting=True)
    for engine, folder in ((first, "a"), (second, "b")):
        with writing(engine) as connection:
            connection.execute(text(f"CREATE TABLE {folder} (id INTEGER)"))
    assert (tables(first), tables(second)) == ({"a"}, {"b"})
    (tmp_path / "a" / "log.db").unlink()
    again = open_engine(f"sqlite:///{tmp_path}/a/log.db", lasting=True)
    assert tables(again) == set()
    assert stat.S_IMODE((tmp_path / "a" / "log.db").stat().st_mode) == 0o600


def test_databases_in_memory_have_nothing_in_common() -> None:
    engines = [open_engine("sqlite://", lasting=False) for _ in range(2)]
    with writing(engines[0]) as connection:
        connection.execute(text("CREATE TABLE a (id INTEGER)"))
    assert [tables(engine) for engine in engines] == [{"a"}, set()]
