from __future__ import annotations

import hmac
import io
import json
import struct
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from importlib.metadata import version
from itertools import product
from typing import Any

import pytest

from penstock.records import Action, Head, Home, LogAltered, Records, Verified, open_records
from penstock.records.files.digest import NotCanonical
from penstock.records.log.chain import seal
from penstock.records.log.export import write_export
from penstock.records.log.log import EventRefused
from tests.records.database_faults import tamper, tampered
from tests.support.damage import became

COUNT = 4
FIELDS = ["occurred", "run", "action", "actor", "code", "facts", "previous", "digest"]


def add(records: Records, now: datetime, **changes: Any) -> int:
    given = {"run": "run-1", "actor": "officer", "facts": {"spec": "d1", "share": 0.5}, "occurred": now, **changes}
    return records.log.append(given.pop("action", Action.PLANNED), **given).seq


def with_events(home: Home, now: datetime) -> Records:
    opened = open_records(home=home)
    for index in range(COUNT):
        add(opened, now + timedelta(minutes=index), action=list(Action)[index], run=f"run-{index % 2}")
    return opened


@pytest.fixture
def records(either_home: Home, now: datetime) -> Records:
    return with_events(either_home, now)


def faults(records: Records) -> list[tuple[str, str]]:
    with pytest.raises(LogAltered) as caught:
        records.log.verify()
    assert (caught.value.code, caught.value.kind) == ("log-altered", "integrity")
    return [became(fault) for fault in caught.value.faults]


def test_an_event_holds_what_was_said_and_when(either_home: Home, now: datetime) -> None:
    log = open_records(home=either_home).log
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


def test_an_untouched_log_verifies_also_when_opened_again(records: Records, either_home: Home) -> None:
    last = records.log.events()[-1]
    again = open_records(home=either_home).log
    assert again.head() == Head(COUNT, last.digest)
    assert again.verify() == Verified(COUNT, Head(COUNT, last.digest), 0)


def test_an_empty_log_verifies(either_home: Home) -> None:
    assert open_records(home=either_home).log.verify() == Verified(0, Head(0, "0" * 64), 0)


def test_a_log_in_memory_serves_rehearsal(home: Home, now: datetime) -> None:
    records = open_records("sqlite://", home)
    assert [add(records, now), add(records, now)] == [1, 2]
    assert records.log.verify().count == 2


def test_the_export_has_one_event_a_line_and_all_of_it(records: Records) -> None:
    stream = io.BytesIO()
    assert write_export(records.log, stream) == COUNT
    lines = [json.loads(line) for line in stream.getvalue().splitlines()[:-1]]
    assert [line["seq"] for line in lines] == [1, 2, 3, 4]
    assert set(lines[0]) == {"seq", *FIELDS}
    assert lines[0]["facts"] == {"spec": "d1", "share": 0.5}


def test_an_auditor_can_recompute_each_digest_from_the_export_as_documented(
    records: Records, either_home: Home
) -> None:
    """A second implementation, from the recipe in docs/audit.md alone."""

    def text(data: object) -> str:
        return json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    stream = io.BytesIO()
    write_export(records.log, stream)
    previous = "0" * 64
    for line in stream.getvalue().splitlines()[:-1]:
        event = json.loads(line)
        digest = event.pop("digest")
        event["facts"] = text(event["facts"])
        parts = [b"event", text(event).encode()]
        framed = struct.pack(">Q", len(parts)) + b"".join(struct.pack(">Q", len(part)) + part for part in parts)
        assert hmac.new((either_home.keys / "secret.key").read_bytes(), framed, "sha256").hexdigest() == digest
        assert event["previous"] == previous
        previous = digest


def test_each_altered_field_of_each_event_is_found(records: Records, either_home: Home) -> None:
    for field, seq in product(FIELDS, range(1, COUNT + 1)):
        with tampered(either_home, f"UPDATE log_events SET {field} = {field} || ' ' WHERE seq = {seq}"):
            found = faults(records)
        assert (f"event {seq}", "altered") in found
        assert not [fault for fault in found if fault[0] not in (f"event {seq}", "head")]
    assert records.log.verify().count == COUNT


@pytest.mark.parametrize("field", ["facts", "digest"])
@pytest.mark.parametrize("value", ["x'ff00'", "CAST(x'ff00' AS TEXT)", "1.5", "9e999"])
def test_a_value_of_another_type_is_found_on_sqlite(home: Home, now: datetime, field: str, value: str) -> None:
    records = with_events(home, now)
    tamper(home, f"UPDATE log_events SET {field} = {value} WHERE seq = 2")
    assert faults(records) == [("event 2", "altered")]


@pytest.mark.parametrize("kind", ["bytea USING convert_to(facts, 'UTF8')", "json USING facts::json"])
def test_a_column_of_another_type_is_found_on_postgresql(postgres_home: Home, now: datetime, kind: str) -> None:
    records = with_events(postgres_home, now)
    tamper(postgres_home, f"ALTER TABLE log_events ALTER COLUMN facts TYPE {kind}")
    assert faults(records) == [(f"event {seq}", "altered") for seq in range(1, COUNT + 1)]


def test_a_deleted_event_is_found_also_the_last(records: Records, either_home: Home) -> None:
    for seq in range(1, COUNT + 1):
        with tampered(either_home, f"DELETE FROM log_events WHERE seq = {seq}"):
            assert faults(records) == [(f"event {seq}", "removed")]


def test_all_faults_are_listed_not_only_the_first(records: Records, either_home: Home) -> None:
    tamper(either_home, "DELETE FROM log_events WHERE seq = 1", "UPDATE log_events SET actor = 'x' WHERE seq = 3")
    assert sorted(faults(records)) == [("event 1", "removed"), ("event 3", "altered")]


def test_swapped_events_are_found(records: Records, either_home: Home) -> None:
    tamper(either_home, *(f"UPDATE log_events SET seq = {b} WHERE seq = {a}" for a, b in [(2, 99), (3, 2), (99, 3)]))
    assert sorted(faults(records)) == [("event 2", "reordered"), ("event 3", "reordered")]


COLUMNS = ", ".join(FIELDS)
FORGED = "ab" * 32


def test_an_inserted_copy_is_found(records: Records, either_home: Home) -> None:
    tamper(either_home, f"INSERT INTO log_events (seq, {COLUMNS}) SELECT 5, {COLUMNS} FROM log_events WHERE seq = 2")
    assert faults(records) == [("event 5", "inserted")]


def test_a_forged_event_is_found(records: Records, either_home: Home) -> None:
    forged = f"'PUBLISHED' AS action, actor, code, facts, digest AS previous, '{FORGED}'"
    tamper(either_home, f"INSERT INTO log_events SELECT 5, occurred, run, {forged} FROM log_events WHERE seq = 4")
    assert faults(records) == [("event 5", "inserted"), ("checkpoint 5", "removed")]


def test_a_changed_head_is_found(records: Records, either_home: Home) -> None:
    for change in ("seq = 3", "digest = 'x'", "seal = 'x'", "ledger = 'x'"):
        with tampered(either_home, f"UPDATE log_head SET {change}"):
            assert faults(records) == [("head", "altered")]


def test_a_removed_head_is_found(records: Records, either_home: Home) -> None:
    tamper(either_home, "DELETE FROM log_head")
    assert faults(records) == [("head", "removed")]


def test_an_old_head_put_back_is_found(records: Records, either_home: Home, now: datetime) -> None:
    tamper(either_home, "CREATE TABLE kept AS SELECT * FROM log_head")
    add(records, now)
    tamper(either_home, "DELETE FROM log_head", "INSERT INTO log_head SELECT * FROM kept")
    assert faults(records) == [("head", "replaced")]


def test_another_key_is_found(records: Records, either_home: Home) -> None:
    (either_home.keys / "secret.key").write_bytes(b"x" * 32)
    assert [field for field, _ in faults(open_records(home=either_home))] == ["key"]


def test_nothing_is_added_to_a_broken_log(records: Records, either_home: Home, now: datetime) -> None:
    for change in (
        "UPDATE log_head SET seal = 'x'",
        "DELETE FROM log_head",
        "DELETE FROM log_events WHERE seq = 4",
        "UPDATE log_events SET digest = 'x' WHERE seq = 4",
        f"INSERT INTO log_events (seq, {COLUMNS}) SELECT 5, {COLUMNS} FROM log_events WHERE seq = 2",
    ):
        with tampered(either_home, change):
            with pytest.raises(LogAltered, match="belong to the last event"):
                add(records, now)
            with pytest.raises(LogAltered, match="belong to the last event"):
                records.log.head()
    assert add(records, now) == COUNT + 1


def test_an_event_that_cannot_be_read_is_named(records: Records, either_home: Home) -> None:
    for change in ("facts = '{'", "action = 'MADE_UP'", "facts = 12"):
        with (
            tampered(either_home, f"UPDATE log_events SET {change} WHERE seq = 3"),
            pytest.raises(LogAltered, match="event 3 refused: must be as it was written; it was altered: it"),
        ):
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


def two_events(records: Records, now: datetime) -> Iterator[None]:
    with records.log.transaction() as writer:
        for action in (Action.WAITING, Action.APPROVED):
            writer.append(action, run="run-1", actor="officer", facts={}, occurred=now)
            yield


def test_a_transaction_reads_what_it_wrote_and_others_see_it_at_its_end(records: Records, now: datetime) -> None:
    with records.log.transaction() as writer:
        written = writer.append(Action.RESERVED, run="run-1", actor="officer", facts={}, occurred=now)
        assert (writer.head().seq, writer.head().digest) == (COUNT + 1, written.digest)
        assert [event.seq for event in writer.events("run-1")] == [2, 4, 5]
        assert [event.seq for event in writer.numbered([5, 1])] == [1, 5]
        if records.engine.dialect.name == "postgresql":  # on SQLite a reader would make the commit wait
            assert records.log.verify().count == COUNT
    assert records.log.events("run-1")[-1] == written
    assert records.log.verify().count == COUNT + 1


def test_a_transaction_that_is_left_by_an_error_leaves_nothing(records: Records, now: datetime) -> None:
    def write_and_fail() -> None:
        for _ in two_events(records, now):
            raise KeyError

    with pytest.raises(KeyError):
        write_and_fail()
    assert records.log.verify() == Verified(COUNT, records.log.head(), 0)


def test_a_transaction_does_not_build_on_an_altered_event(records: Records, either_home: Home) -> None:
    tamper(either_home, "UPDATE log_events SET actor = 'x' WHERE seq = 2")
    with (
        pytest.raises(LogAltered, match="event 2 refused: must be as it was written; it was altered: it"),
        records.log.transaction() as writer,
    ):
        writer.events("run-1")
    with (
        pytest.raises(LogAltered, match="event 2 refused: must be as it was written; it was altered: it"),
        records.log.transaction() as writer,
    ):
        writer.numbered([1, 2])


@pytest.fixture
def signed(records: Records, now: datetime) -> Records:
    """Events 5 and 6 are decisions, and have their checkpoints."""
    assert len(list(two_events(records, now))) == 2
    return records


def test_decisions_are_signed_at_once(signed: Records) -> None:
    assert signed.log.verify() == Verified(COUNT + 2, signed.log.head(), 2)


def test_an_altered_checkpoint_is_found(signed: Records, either_home: Home) -> None:
    for change in ("'x'", "'[]'", """replace(envelope, '"sig":"', '"sig":"A')"""):
        with tampered(either_home, f"UPDATE log_checkpoints SET envelope = {change} WHERE seq = 5"):
            assert faults(signed) == [("checkpoint 5", "altered")]


def test_a_checkpoint_of_another_event_is_found(signed: Records, either_home: Home) -> None:
    tamper(either_home, "DELETE FROM log_checkpoints WHERE seq = 5", "UPDATE log_checkpoints SET seq = 5")
    assert "checkpoint 5" in dict(faults(signed))


def test_events_with_checkpoints_that_are_altered_are_found(signed: Records, either_home: Home) -> None:
    tamper(either_home, "UPDATE log_events SET digest = 'x' WHERE seq = 5")
    assert ("event 5", "altered") in faults(signed)
    assert "checkpoint 5" in dict(faults(signed))


def test_a_digest_of_another_type_is_found_also_under_a_checkpoint(home: Home, now: datetime) -> None:
    records = with_events(home, now)
    assert len(list(two_events(records, now))) == 2
    tamper(home, "UPDATE log_events SET digest = x'ff00' WHERE seq = 5")
    assert ("event 5", "altered") in faults(records)


def test_who_has_the_key_of_the_chain_but_not_the_signing_key_cannot_rewrite_what_was_signed(
    signed: Records, either_home: Home, now: datetime
) -> None:
    """The last event is rewritten with all its digests, as the log itself would have written it."""
    before = [event for event in signed.log.events() if event.seq < COUNT + 2]
    tamper(
        either_home,
        f"DELETE FROM log_events WHERE seq > {COUNT + 1}",
        f"UPDATE log_head SET seq = {before[-1].seq}, digest = '{before[-1].digest}',"
        f" seal = '{seal(either_home.secret_key(), before[-1].seq, before[-1].digest, '')}'",
    )
    add(signed, now, action=Action.PLANNED, run="run-1", facts={"rewritten": 1})
    assert list(dict(faults(signed))) == [f"event {COUNT + 2}", f"checkpoint {COUNT + 2}"]  # the home saw it too
