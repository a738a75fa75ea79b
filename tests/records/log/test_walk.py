"""From what the home last saw to the head: every step is checked, and where it fails the whole log is scanned."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import event

from penstock.records import Action, Home, Log, LogAltered, open_records
from penstock.records.log._scan import Known
from penstock.records.log._walk import Walked
from penstock.records.log.sighting import Memory, Sighting, remembered
from tests.records.database_faults import tamper
from tests.records.published_home import copied


@pytest.fixture
def log(either_home: Home, now: datetime) -> Log:
    """Five events, of which the home saw the third."""
    opened = open_records(home=either_home).log
    for action in (Action.PLANNED, Action.PLANNED, Action.SPENT, Action.PLANNED, Action.PLANNED):
        write(opened, now, action)
    assert [seq for seq, _ in remembered(either_home)] == [3]
    return opened


def write(log: Log, now: datetime, action: Action = Action.PLANNED) -> None:
    log.append(action, run="r", actor="a", facts={}, occurred=now)


def reaches(log: Log, home: Home, walked: Walked | None = None, seen: frozenset[Sighting] | None = None) -> bool:
    walked, seen = walked or Walked(), remembered(home) if seen is None else seen
    with log.reader() as reader:
        found = walked.to_head(reader.connection, reader.key, seen)
    assert found is None or found[:2] == (log.head().seq, log.head().digest)
    return found is not None


def test_the_walk_reads_what_was_written_since_and_nothing_before(log: Log, either_home: Home) -> None:
    rows: list[Any] = []
    with log.reader() as reader:
        event.listen(reader.connection, "before_cursor_execute", lambda *given: rows.append(given[3]))
        assert Walked().to_head(reader.connection, reader.key, remembered(either_home)) is not None
    assert len(rows) == 2
    tamper(either_home, "DELETE FROM log_events WHERE seq < 3")
    assert reaches(log, either_home)


CHANGES = (
    "DELETE FROM log_events WHERE seq = {}",
    "UPDATE log_events SET run = 'x' WHERE seq = {}",
    "UPDATE log_events SET previous = digest WHERE seq = {}",
    "UPDATE log_events SET seq = 9 WHERE seq = {}",
)


@pytest.mark.parametrize("seq", [3, 4, 5])
def test_each_step_that_was_changed_or_removed_ends_the_walk(log: Log, either_home: Home, seq: int) -> None:
    for change in CHANGES:
        put_back = copied(either_home)
        tamper(either_home, change.format(seq))
        assert not reaches_broken(log, either_home)
        with pytest.raises(LogAltered), log.transaction(whole=False):
            pass
        with pytest.raises(LogAltered):
            open_records(home=either_home, whole=False)
        put_back()
    assert reaches(log, either_home)


def reaches_broken(log: Log, home: Home) -> bool:
    """The same where the log cannot even say where it stands."""
    with log.reader() as reader:
        return Walked().to_head(reader.connection, reader.key, remembered(home)) is not None


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM log_head",
        "UPDATE log_head SET seal = 'x'",
        "UPDATE log_head SET seq = 4, digest = (SELECT digest FROM log_events WHERE seq = 4)",
        "INSERT INTO log_events SELECT 6, occurred, run, action, actor, code, facts, digest, digest"
        " FROM log_events WHERE seq = 5",
    ],
)
def test_a_head_that_is_not_the_end_is_not_reached(log: Log, either_home: Home, change: str) -> None:
    tamper(either_home, change)
    assert not reaches_broken(log, either_home)
    with pytest.raises(LogAltered), log.reader(whole=False):
        pass


def test_an_older_log_and_one_that_branched_off_are_not_reached(log: Log, either_home: Home, now: datetime) -> None:
    put_back = copied(either_home)
    write(log, now, Action.SPENT)
    seen = remembered(either_home)
    put_back()
    assert not reaches(log, either_home)
    (either_home.root / "seen.json").unlink()
    branch = open_records(home=either_home).log
    for _ in range(3):
        write(branch, now)
    assert not reaches(branch, either_home, seen=seen)
    assert reaches(branch, either_home, seen=frozenset({(5, branch.events()[4].digest)}))


def test_every_event_that_was_seen_must_stand_on_the_way(log: Log, either_home: Home) -> None:
    third, *_ = remembered(either_home)
    fourth = log.events()[3]
    assert reaches(log, either_home, seen=frozenset({third, (4, fourth.digest)}))
    for wrong in ((4, "x"), (3, "x"), (6, fourth.digest)):
        assert not reaches(log, either_home, seen=frozenset({third, wrong}))
    assert not reaches(log, either_home, seen=frozenset())


def test_a_process_walks_on_from_where_it_arrived(log: Log, either_home: Home, now: datetime) -> None:
    walked = Walked()
    assert reaches(log, either_home, walked)
    tamper(either_home, "DELETE FROM log_events WHERE seq < 5")
    write(log, now)
    assert reaches(log, either_home, walked)
    assert not reaches(log, either_home)


def test_what_a_process_saw_a_moment_ago_must_still_be_there(log: Log, either_home: Home, now: datetime) -> None:
    """No home noted it; another one may have written it."""
    walked, put_back = Walked(), copied(either_home)
    write(log, now)
    assert reaches(log, either_home, walked)
    put_back()
    assert reaches(log, either_home)
    assert not reaches(log, either_home, walked)


def test_a_log_that_cannot_be_walked_to_its_end_is_scanned(
    log: Log, either_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    scans: list[int] = []
    catch_up = Known.catch_up

    def counted(*given: Any, **named: Any) -> None:
        scans.append(1)
        catch_up(*given, **named)

    monkeypatch.setattr(Known, "catch_up", counted)
    with log.reader(whole=False) as reader:
        assert reader.is_walked
        assert reader.head() == log.head()
    log.require_seen(whole=False)
    assert scans == []
    (either_home.root / "seen.json").unlink()
    with log.reader(whole=False) as reader:
        assert not reader.is_walked
    assert scans == [1]


def test_what_is_written_after_a_walk_follows_the_head(log: Log, either_home: Home, now: datetime) -> None:
    with log.transaction(whole=False) as writer:
        assert writer.is_walked
        for _ in range(2):
            writer.append(Action.ANSWERED, run="q", actor="a", facts={}, occurred=now)
        assert writer.head().seq == 7
        assert [found.seq for found in writer.genuine([6, 7, 99])] == [6, 7]
    assert remembered(either_home) == {(7, log.head().digest)}
    assert log.verify().count == 7


def test_an_event_that_is_not_genuine_is_not_given_out(log: Log, either_home: Home) -> None:
    tamper(either_home, "UPDATE log_events SET run = 'x' WHERE seq = 2")
    with log.reader(whole=False) as reader, pytest.raises(LogAltered) as caught:
        reader.genuine([2])
    assert [fault.field for fault in caught.value.faults] == ["event 2"]


def test_what_runs_noted_counts_where_it_is_newer_than_the_homes_own(home: Home) -> None:
    memory = Memory(home, frozenset({(1, "a"), (9, "z")}))
    assert memory.newest() == set()
    memory.note((5, "e"), held=[])
    assert memory.newest() == {(5, "e"), (9, "z")}
    assert memory.sightings() == {(1, "a"), (5, "e"), (9, "z")}
