"""Which events a run has is known from a scan of all of them, kept in the process and extended by what came since."""

from __future__ import annotations

from datetime import datetime

import pytest
from sqlalchemy import event

from penstock.records import Action, Home, Log, LogAltered, open_records
from tests.records.database_faults import tamper
from tests.records.published_home import copied


@pytest.fixture
def log(either_home: Home, now: datetime) -> Log:
    """Three events of two runs, and the log has answered once."""
    opened = open_records(home=either_home).log
    for run in ("r1", "r2", "r1"):
        write(opened, run, now)
    assert numbers(opened, "r1") == [1, 3]
    return opened


def write(log: Log, run: str, now: datetime, **facts: str) -> None:
    log.append(Action.PLANNED, run=run, actor="a", facts=facts, occurred=now)


def numbers(log: Log, run: str) -> list[int]:
    return [event.seq for event in log.events(run)]


def test_what_others_wrote_since_is_found(log: Log, either_home: Home, now: datetime) -> None:
    write(open_records(home=either_home).log, "r1", now)
    assert (numbers(log, "r1"), numbers(log, "r2"), numbers(log, "none")) == ([1, 3, 4], [2], [])


def test_what_a_transaction_wrote_is_seen_by_it_and_forgotten_with_it(log: Log, now: datetime) -> None:
    def taken_back(before: bool, after: bool) -> None:
        with log.transaction() as writer:
            if before:
                writer.verify()
            writer.append(Action.CHECKED, run="r1", actor="a", facts={}, occurred=now)
            if after:
                assert writer.verify().count == 4
            assert [event.seq for event in writer.events("r1")] == [1, 3, 4]
            assert len(writer.events()) == 4
            raise ZeroDivisionError

    for scanned in ((False, False), (True, False), (False, True), (True, True)):
        with pytest.raises(ZeroDivisionError):
            taken_back(*scanned)
    write(log, "r2", now)
    assert (numbers(log, "r1"), numbers(log, "r2")) == ([1, 3], [2, 4])


def test_one_transaction_reads_the_log_once(log: Log) -> None:
    asked: list[str] = []
    event.listen(log._engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    with log.reader() as reader:
        reader.verify()
        for _ in range(3):
            reader.events("r1"), reader.events("r2"), reader.events()
    assert sum("ORDER BY log_events.seq" in each and "LIMIT" not in each for each in asked) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("DELETE FROM log_events WHERE seq = 1", "event 1 refused: must be as it was written; it was altered"),
        (
            "UPDATE log_events SET facts = '{}', actor = 'b' WHERE seq = 3",
            "event 3 refused: must be as it was written; it was altered",
        ),
    ],
)
def test_an_event_that_changes_after_it_was_scanned_is_refused(
    log: Log, either_home: Home, change: str, message: str
) -> None:
    tamper(either_home, change)
    with pytest.raises(LogAltered, match=message):
        log.events("r1")
    assert numbers(log, "r2") == [2]  # it was scanned when all was well


def test_another_log_put_in_its_place_is_refused_though_it_is_sound(either_home: Home, now: datetime) -> None:
    write(open_records(home=either_home).log, "r1", now)
    put_back = copied(either_home)
    log = open_records(home=either_home).log
    write(log, "r1", now)
    assert numbers(log, "r1") == [1, 2]
    put_back()
    for read in (lambda: log.events("r1"), log.events, log.verify):
        with pytest.raises(LogAltered, match="was there a moment ago: the log was cut short or replaced"):
            read()
    write(open_records(home=either_home).log, "r1", now, other="history")
    with pytest.raises(LogAltered, match="was there a moment ago"):
        log.events("r1")
    assert numbers(open_records(home=either_home).log, "r1") == [1, 2]


def test_an_event_of_another_history_is_not_the_one_that_was_scanned(either_home: Home, now: datetime) -> None:
    """It is genuine and carries the right number; only what was scanned tells the two apart."""
    log = open_records(home=either_home).log
    write(log, "r1", now)
    put_back = copied(either_home)
    write(log, "r1", now, history="first")
    first = log.events("r1")[1]
    put_back()
    later = open_records(home=either_home).log
    write(later, "r1", now, history="second")
    assert numbers(later, "r1") == [1, 2]
    text = '{"history":"first"}'
    tamper(either_home, f"UPDATE log_events SET facts = '{text}', digest = '{first.digest}' WHERE seq = 2")
    with pytest.raises(LogAltered, match="event 2 refused: must be as it was written; it was altered"):
        later.events("r1")
