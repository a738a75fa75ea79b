"""What becomes of the log when the database, the way to it or the writer fails."""

from __future__ import annotations

import signal
from datetime import datetime

import pytest

from penstock.records import Action, Home, LogAppendFailed, Records, open_records
from penstock.records.store.database import RecordsUnavailable
from tests.records.database_faults import (
    FaultyHome,
    answer_to_commit_lost,
    impatient,
    killed_at_each_moment,
    refusing,
    server_stopped,
)
from tests.records.log_writer import REFUSED, LogWriter
from tests.support.postgres import PostgresServer

COUNT = 3


def add(records: Records, now: datetime) -> int:
    return records.log.append(Action.PLANNED, run="r", actor="a", facts={"x": "canary"}, occurred=now).seq


def with_events(home: Home, now: datetime) -> Records:
    opened = open_records(home=home)
    assert [add(opened, now) for _ in range(COUNT)] == list(range(1, COUNT + 1))
    return opened


@pytest.fixture
def records(either_home: Home, now: datetime) -> Records:
    return with_events(either_home, now)


def refuses_without_a_word_of_the_facts(records: Records, now: datetime) -> None:
    with pytest.raises(LogAppendFailed, match="must hold every step before the next one begi") as caught:
        add(records, now)
    assert (caught.value.code, caught.value.kind) == ("log-append-failed", "failure")
    assert "canary" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_fault_stops_the_writer_and_leaves_the_log_as_it_was(faulty: FaultyHome, now: datetime) -> None:
    records = with_events(faulty.home, now)
    with faulty.broken(records.engine):
        refuses_without_a_word_of_the_facts(records, now)
        refuses_without_a_word_of_the_facts(records, now)
    assert records.log.verify().count == COUNT
    assert add(records, now) == COUNT + 1
    assert open_records(home=faulty.home).log.verify().count == COUNT + 1


@pytest.mark.parametrize(("statement", "table"), [("INSERT", "log_events"), ("UPDATE", "log_head")])
def test_an_event_and_its_head_are_written_together_or_not_at_all(
    records: Records, now: datetime, statement: str, table: str
) -> None:
    with refusing(records.engine, statement, table):
        refuses_without_a_word_of_the_facts(records, now)
    assert records.log.verify().count == COUNT


def test_an_event_whose_confirmation_was_lost_is_whole_and_the_writer_does_not_count_on_it(
    postgres_home: Home, now: datetime
) -> None:
    records = with_events(postgres_home, now)
    with answer_to_commit_lost(records.engine):
        refuses_without_a_word_of_the_facts(records, now)
    assert records.log.verify().count == COUNT + 1
    assert add(records, now) == COUNT + 2


def test_who_reads_while_the_server_is_away_is_told_so(
    postgres_home: Home, postgres: PostgresServer, now: datetime
) -> None:
    records = with_events(postgres_home, now)
    with server_stopped(records.engine, postgres):
        for read in (
            records.log.verify,
            records.log.events,
            records.log.head,
            lambda: open_records(home=postgres_home),
        ):
            with pytest.raises(RecordsUnavailable, match="reachable") as caught:
                read()
            assert caught.value.code == "records-unavailable"
    assert records.log.verify().count == COUNT


def test_a_database_file_that_went_away_stops_writer_and_reader(home: Home, now: datetime) -> None:
    records = with_events(home, now)
    path = home.root / "penstock.db"
    path.unlink()
    path.mkdir()
    refuses_without_a_word_of_the_facts(records, now)
    with pytest.raises(RecordsUnavailable, match="reachable"):
        records.log.verify()


def test_a_writer_that_is_stuck_in_its_transaction_is_cut_off_and_the_next_one_goes_on(
    postgres_home: Home, now: datetime
) -> None:
    records, other = with_events(postgres_home, now), open_records(home=postgres_home)

    def stay_too_long() -> None:
        with records.log.transaction() as writer:
            writer.append(Action.PLANNED, run="r", actor="a", facts={}, occurred=now)
            assert add(other, now) == COUNT + 1  # waits until the server has ended the first

    with impatient(records.engine, "idle_in_transaction_session_timeout"), pytest.raises(LogAppendFailed):
        stay_too_long()
    assert records.log.verify().count == COUNT + 1


def test_a_kill_at_each_moment_of_an_append_leaves_all_of_it_or_nothing(records: Records, now: datetime) -> None:
    seen: list[str] = []
    for moment in killed_at_each_moment(lambda: add(records, now)):
        before = COUNT + seen.count("close")
        seen.append(moment)
        assert records.log.verify().count == before + (moment == "close")
    assert seen[0] == "do_connect"
    assert seen[-2:] == ["commit", "close"]
    assert seen.count("before_cursor_execute") >= 4  # head, last event, insert, update of the head
    assert add(records, now) == COUNT + 3  # after the child that was killed too late, and the one that lived


def test_a_kill_at_each_moment_of_a_transaction_leaves_all_its_events_or_none(records: Records, now: datetime) -> None:
    def two() -> None:
        with records.log.transaction() as writer:
            for action in (Action.WAITING, Action.APPROVED):
                writer.append(action, run="r", actor="a", facts={}, occurred=now)

    counts = []
    for _ in killed_at_each_moment(two):
        verified = records.log.verify()
        counts.append((verified.count, verified.checkpoints))
    assert counts == [(COUNT, 0)] * (len(counts) - 1) + [(COUNT + 2, 2)]


def test_processes_that_append_together_lose_nothing(either_home: Home) -> None:
    """Also the first start: all of them find no tables."""
    writers = [LogWriter(either_home, f"writer-{index}", 15) for index in range(4)]
    ends = [writer.end() for writer in writers]
    assert [code for _, code in ends] == [0] * 4
    assert sorted(seq for numbers, _ in ends for seq in numbers) == list(range(1, 61))
    log = open_records(home=either_home).log
    assert log.verify().count == 60
    for index in range(4):
        assert [event.facts["index"] for event in log.events(f"writer-{index}")] == list(range(15))


@pytest.mark.parametrize("kill_after", [1, 7, 12])
def test_a_killed_writer_leaves_a_log_that_verifies_with_all_it_confirmed(either_home: Home, kill_after: int) -> None:
    writer = LogWriter(either_home, "writer", 100_000)
    confirmed = writer.confirmed(kill_after)
    writer.kill()
    rest, code = writer.end()
    assert code == -signal.SIGKILL
    last = [*confirmed, *rest][-1]
    assert last <= open_records(home=either_home).log.verify().count <= last + 1


def test_a_server_that_crashes_under_a_writer_keeps_all_it_confirmed(
    postgres_home: Home, postgres: PostgresServer
) -> None:
    records = open_records(home=postgres_home)
    writer = LogWriter(postgres_home, "writer", 100_000)
    confirmed = writer.confirmed(9)
    with server_stopped(records.engine, postgres):
        rest, code = writer.end()
    assert code == REFUSED
    last = [*confirmed, *rest][-1]
    assert last <= records.log.verify().count <= last + 1
