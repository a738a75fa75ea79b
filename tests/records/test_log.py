from __future__ import annotations

import hmac
import io
import json
import sqlite3
import stat
import struct
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from kill_points import die, in_child, was_killed
from sqlalchemy import event

from records import Action, Head, Home, LogAltered, LogAppendFailed, Records, Verified, open_records
from records.database import DatabaseRefused, RecordsUnavailable
from records.digest import NotCanonical
from records.log import EventRefused

COUNT = 4
FIELDS = ["occurred", "run", "action", "actor", "code", "facts", "previous", "digest"]
WRITER = str(Path(__file__).with_name("log_writer.py"))


def add(records: Records, now: datetime, **changes: Any) -> int:
    given = {"run": "run-1", "actor": "officer", "facts": {"spec": "d1", "share": 0.5}, "occurred": now, **changes}
    return records.log.append(given.pop("action", Action.PLANNED), **given).seq


@pytest.fixture
def records(home: Home, now: datetime) -> Records:
    opened = open_records(home=home)
    for index in range(COUNT):
        add(opened, now + timedelta(minutes=index), action=list(Action)[index], run=f"run-{index % 2}")
    return opened


def tamper(home: Home, *statements: str) -> None:
    connection = sqlite3.connect(home.root / "penstock.db")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def faults(records: Records) -> list[tuple[str, str]]:
    with pytest.raises(LogAltered) as caught:
        records.log.verify()
    assert (caught.value.code, caught.value.kind) == ("log-altered", "integrity")
    return [(fault.field, fault.rule.split(":")[0].split()[0]) for fault in caught.value.faults]


def test_an_event_holds_what_was_said_and_when(home: Home, now: datetime) -> None:
    log = open_records(home=home).log
    local = now.astimezone(timezone(timedelta(hours=2)))
    written = log.append(Action.CHECKED, run="r", actor="a", facts={"gate": ["pass", 1]}, occurred=local)
    assert (written.seq, written.occurred, written.run) == (1, "2026-11-16T02:15:00+00:00", "r")
    assert (written.action, written.actor, written.code) == (Action.CHECKED, "a", version("penstock"))
    assert written.facts == {"gate": ["pass", 1]}
    assert log.events() == [written]


def test_events_come_in_order_and_by_run(records: Records) -> None:
    assert [event.seq for event in records.log.events()] == [1, 2, 3, 4]
    assert [event.seq for event in records.log.events("run-1")] == [2, 4]
    assert records.log.events("run-2") == []


def test_an_untouched_log_verifies_also_when_opened_again(records: Records, home: Home) -> None:
    last = records.log.events()[-1]
    again = open_records(home=home).log
    assert again.head() == Head(COUNT, last.digest)
    assert again.verify() == Verified(COUNT, Head(COUNT, last.digest))


def test_an_empty_log_verifies(home: Home) -> None:
    assert open_records(home=home).log.verify() == Verified(0, Head(0, "0" * 64))


def test_a_log_in_memory_serves_rehearsal(home: Home, now: datetime) -> None:
    records = open_records("sqlite://", home)
    assert [add(records, now), add(records, now)] == [1, 2]
    assert records.log.verify().count == 2


def test_the_export_has_one_event_a_line_and_all_of_it(records: Records) -> None:
    stream = io.StringIO()
    assert records.log.export(stream) == COUNT
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["seq"] for line in lines] == [1, 2, 3, 4]
    assert set(lines[0]) == {"seq", *FIELDS}
    assert lines[0]["facts"] == {"spec": "d1", "share": 0.5}


def test_an_auditor_can_recompute_each_digest_from_the_export_as_documented(records: Records, home: Home) -> None:
    """A second implementation, from the recipe in docs/audit.md alone."""

    def text(data: object) -> str:
        return json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    stream = io.StringIO()
    records.log.export(stream)
    previous = "0" * 64
    for line in stream.getvalue().splitlines():
        event = json.loads(line)
        digest = event.pop("digest")
        event["facts"] = text(event["facts"])
        parts = [b"event", text(event).encode()]
        framed = struct.pack(">Q", len(parts)) + b"".join(struct.pack(">Q", len(part)) + part for part in parts)
        assert hmac.new((home.keys / "secret.key").read_bytes(), framed, "sha256").hexdigest() == digest
        assert event["previous"] == previous
        previous = digest


def test_the_database_file_is_private_from_its_first_byte_and_made_private_again(records: Records, home: Home) -> None:
    path = home.root / "penstock.db"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o664)
    open_records(home=home)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_commit_waits_for_the_disk_and_for_the_folder(records: Records) -> None:
    with records.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 3  # EXTRA


@pytest.mark.parametrize("seq", range(1, COUNT + 1))
@pytest.mark.parametrize("field", FIELDS)
def test_each_altered_field_of_each_event_is_found(records: Records, home: Home, field: str, seq: int) -> None:
    tamper(home, f"UPDATE log_events SET {field} = {field} || ' ' WHERE seq = {seq}")
    assert (f"event {seq}", "altered") in faults(records)
    assert not [fault for fault in faults(records) if fault[0] not in (f"event {seq}", "head")]


@pytest.mark.parametrize("value", ["x'ff00'", "CAST(x'ff00' AS TEXT)", "1.5", "9e999"])
def test_a_field_of_another_type_is_found(records: Records, home: Home, value: str) -> None:
    tamper(home, f"UPDATE log_events SET facts = {value} WHERE seq = 2")
    assert faults(records) == [("event 2", "altered")]


@pytest.mark.parametrize("seq", range(1, COUNT + 1))
def test_a_deleted_event_is_found_also_the_last(records: Records, home: Home, seq: int) -> None:
    tamper(home, f"DELETE FROM log_events WHERE seq = {seq}")
    assert faults(records) == [(f"event {seq}", "removed")]


def test_all_faults_are_listed_not_only_the_first(records: Records, home: Home) -> None:
    tamper(home, "DELETE FROM log_events WHERE seq = 1", "UPDATE log_events SET actor = 'x' WHERE seq = 3")
    assert sorted(faults(records)) == [("event 1", "removed"), ("event 3", "altered")]


def test_swapped_events_are_found(records: Records, home: Home) -> None:
    tamper(home, *(f"UPDATE log_events SET seq = {b} WHERE seq = {a}" for a, b in [(2, 99), (3, 2), (99, 3)]))
    assert sorted(faults(records)) == [("event 2", "reordered"), ("event 3", "reordered")]


COLUMNS = ", ".join(FIELDS)


def test_an_inserted_copy_is_found(records: Records, home: Home) -> None:
    tamper(home, f"INSERT INTO log_events (seq, {COLUMNS}) SELECT 5, {COLUMNS} FROM log_events WHERE seq = 2")
    assert faults(records) == [("event 5", "inserted")]


def test_a_forged_event_is_found(records: Records, home: Home) -> None:
    forged = "'PUBLISHED' AS action, actor, code, facts, digest AS previous, hex(randomblob(32))"
    tamper(home, f"INSERT INTO log_events SELECT 5, occurred, run, {forged} FROM log_events WHERE seq = 4")
    assert faults(records) == [("event 5", "inserted")]


@pytest.mark.parametrize("change", ["seq = 3", "digest = 'x'", "seal = 'x'", "seq = 'x'"])
def test_a_changed_head_is_found(records: Records, home: Home, change: str) -> None:
    tamper(home, f"UPDATE log_head SET {change}")
    assert faults(records) == [("head", "altered")]


def test_a_removed_head_is_found(records: Records, home: Home) -> None:
    tamper(home, "DELETE FROM log_head")
    assert faults(records) == [("head", "removed")]


def test_an_old_head_put_back_is_found(records: Records, home: Home, now: datetime) -> None:
    tamper(home, "CREATE TABLE kept AS SELECT * FROM log_head")
    add(records, now)
    tamper(home, "DELETE FROM log_head", "INSERT INTO log_head SELECT * FROM kept")
    assert faults(records) == [("head", "replaced")]


@pytest.mark.parametrize(
    ("table", "expected"), [("log_events", ("events 1 to 4", "removed")), ("log_head", ("head", "replaced"))]
)
def test_a_dropped_table_is_found_after_it_was_made_anew(
    records: Records, home: Home, table: str, expected: tuple[str, str]
) -> None:
    tamper(home, f"DROP TABLE {table}")
    assert faults(open_records(home=home)) == [expected]


def test_another_key_is_found(records: Records, home: Home) -> None:
    (home.keys / "secret.key").write_bytes(b"x" * 32)
    assert faults(open_records(home=home)) == [("key", "no")]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE log_head SET seal = 'x'",
        "DELETE FROM log_head",
        "DELETE FROM log_events WHERE seq = 4",
        "UPDATE log_events SET digest = 'x' WHERE seq = 4",
        f"INSERT INTO log_events (seq, {COLUMNS}) SELECT 5, {COLUMNS} FROM log_events WHERE seq = 2",
    ],
)
def test_nothing_is_added_to_a_broken_log(records: Records, home: Home, now: datetime, change: str) -> None:
    tamper(home, change)
    with pytest.raises(LogAltered, match="belong to the last event"):
        add(records, now)
    with pytest.raises(LogAltered):
        records.log.head()


@pytest.mark.parametrize("change", ["facts = '{'", "action = 'MADE_UP'", "facts = 12"])
def test_an_event_that_cannot_be_read_is_named(records: Records, home: Home, change: str) -> None:
    tamper(home, f"UPDATE log_events SET {change} WHERE seq = 3")
    with pytest.raises(LogAltered, match="event 3 refused: altered"):
        records.log.events()


def test_a_moment_without_time_zone_is_refused(records: Records, now: datetime) -> None:
    with pytest.raises(EventRefused, match="time zone") as caught:
        add(records, now.replace(tzinfo=None))
    assert caught.value.code == "event-refused"


@pytest.mark.parametrize("change", [{"facts": {"x": float("nan")}}, {"actor": "\ud800"}])
def test_facts_without_a_digest_are_refused_before_anything_is_written(
    records: Records, now: datetime, change: dict[str, Any]
) -> None:
    with pytest.raises(NotCanonical):
        add(records, now, **change)
    assert records.log.verify().count == COUNT


def refuses_without_a_word_of_the_facts(records: Records, now: datetime, facts: dict[str, str]) -> None:
    with pytest.raises(LogAppendFailed, match="on record") as caught:
        add(records, now, facts=facts)
    assert (caught.value.code, caught.value.kind) == ("log-append-failed", "failure")
    assert "canary" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_database_that_refuses_the_event_stops_the_caller(records: Records, home: Home, now: datetime) -> None:
    trigger = "CREATE TRIGGER no BEFORE INSERT ON log_events BEGIN SELECT RAISE(ABORT, 'canary'); END"
    tamper(home, trigger)
    refuses_without_a_word_of_the_facts(records, now, {"x": "canary"})
    tamper(home, "DROP TRIGGER no")
    assert records.log.verify().count == COUNT


def test_an_event_without_its_head_is_not_kept(records: Records, home: Home, now: datetime) -> None:
    tamper(home, "CREATE TRIGGER no BEFORE UPDATE ON log_head BEGIN SELECT RAISE(ABORT, 'no'); END")
    refuses_without_a_word_of_the_facts(records, now, {})
    tamper(home, "DROP TRIGGER no")
    assert records.log.verify().count == COUNT


def test_a_full_disk_stops_the_caller(records: Records, now: datetime) -> None:
    @event.listens_for(records.engine, "connect")
    def leave_no_room(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA max_page_count = 1").close()

    refuses_without_a_word_of_the_facts(records, now, {"x": "canary" * 20_000})
    assert records.log.verify().count == COUNT
    assert add(records, now) == COUNT + 1


def test_a_database_locked_by_another_stops_the_caller(records: Records, home: Home, now: datetime) -> None:
    @event.listens_for(records.engine, "connect")
    def do_not_wait(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA busy_timeout = 0").close()

    other = sqlite3.connect(home.root / "penstock.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    refuses_without_a_word_of_the_facts(records, now, {})
    other.execute("ROLLBACK")
    other.close()
    assert add(records, now) == COUNT + 1


def test_a_database_that_went_away_stops_the_caller_and_the_reader(records: Records, home: Home, now: datetime) -> None:
    path = home.root / "penstock.db"
    path.unlink()
    path.mkdir()
    refuses_without_a_word_of_the_facts(records, now, {})
    with pytest.raises(RecordsUnavailable, match="reachable") as caught:
        records.log.verify()
    assert caught.value.code == "records-unavailable"


def test_a_path_that_is_no_database_is_refused(home: Home, tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(b"noise" * 1000)
    for path in (tmp_path, tmp_path / "noise", tmp_path / "no" / "folder"):
        with pytest.raises(RecordsUnavailable):
            open_records(f"sqlite:///{path}", home)


def test_a_schema_that_cannot_be_made_is_refused(home: Home) -> None:
    tamper(home, "CREATE VIEW log_head AS SELECT 1")
    with pytest.raises(RecordsUnavailable):
        open_records(home=home)


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("not a url", "must be a database URL"),
        ("mysql://host/x", "must be SQLite or PostgreSQL, got 'mysql'"),
        ("sqlite:///file:x?uri=true", "plain path"),
        ("sqlite:////folder?/x.db", "plain path"),
        ("sqlite+aiosqlite:///x.db", "plain path"),
        ("postgresql+asyncpg://user:canary@host/x", "installed and synchronous"),
        ("postgresql+nonsense://user:canary@host/x", "installed and synchronous"),
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


def writer(home: Home, name: str, count: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, WRITER, str(home.root), name, str(count)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def test_processes_that_append_together_lose_nothing(home: Home) -> None:
    """Also the first start: all of them find no database."""
    writers = [writer(home, f"writer-{index}", 15) for index in range(4)]
    outputs = [process.communicate()[0].split() for process in writers]
    assert [process.returncode for process in writers] == [0] * 4
    assert sorted(int(seq) for output in outputs for seq in output) == list(range(1, 61))
    log = open_records(home=home).log
    assert log.verify().count == 60
    for index in range(4):
        assert [event.facts["index"] for event in log.events(f"writer-{index}")] == list(range(15))


def test_a_killed_writer_leaves_a_log_that_verifies_with_all_it_confirmed(home: Home) -> None:
    confirmed = 0
    for kill_after in (1, 7, 12):
        process = writer(home, "writer", 100_000)
        assert process.stdout is not None
        for _ in range(kill_after):
            confirmed = int(process.stdout.readline())
        process.kill()
        rest = process.stdout.read().split("\n")[:-1]
        confirmed = max([confirmed, *map(int, rest)])
        process.stdout.close()
        process.wait()
        count = open_records(home=home).log.verify().count
        assert confirmed <= count <= confirmed + 1


@pytest.mark.parametrize("statement", range(6))
def test_a_kill_at_each_statement_of_an_append_leaves_all_or_nothing(
    records: Records, home: Home, now: datetime, statement: int
) -> None:
    """BEGIN, read the head, read the last event, insert, update the head, commit."""

    def append_and_die() -> None:
        seen: list[str] = []

        def on_statement(*_: object) -> None:
            if len(seen) == statement:
                die()
            seen.append("statement")

        event.listen(records.engine, "before_cursor_execute", on_statement)
        event.listen(records.engine, "commit", on_statement)
        add(records, now)

    assert was_killed(in_child(append_and_die))
    assert records.log.verify().count == COUNT
    assert add(records, now) == COUNT + 1
    assert open_records(home=home).log.verify().count == COUNT + 1
