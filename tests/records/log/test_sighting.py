"""The home writes down where the log stood; only ever later, only what is committed, and notices when it cannot."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest

from penstock.records import Action, Home, LogAppendFailed, open_records
from penstock.records.log.sighting import SEEN, Memory, SightingDamaged, SightingLost, remembered
from penstock.records.people.trusted_keys import people, trust
from tests.records.database_faults import FaultyHome, killed_at_each_moment
from tests.records.reviewers import public


def test_what_is_signed_or_spent_is_noted_and_replaces_what_came_before(either_home: Home, now: datetime) -> None:
    log = open_records(home=either_home).log
    log.append(Action.PLANNED, run="r", actor="a", facts={}, occurred=now)
    assert remembered(either_home) == set()
    trust(log, "anna", public("anna"), actor="a", reason="hired", now=now)
    assert remembered(either_home) == {(2, log.head().digest)}
    log.append(Action.SPENT, run="r", actor="a", facts={}, occurred=now)
    assert remembered(either_home) == {(3, log.head().digest)}
    assert (either_home.root / SEEN).stat().st_mode & 0o077 == 0


def test_only_what_the_log_was_found_to_hold_is_forgotten(home: Home) -> None:
    """Two writers end together: neither has compared its log with what the other wrote down."""
    memory = Memory(home)
    memory.note((1, "a"), held=[])
    memory.note((3, "c"), held=[(1, "a")])
    memory.note((2, "b"), held=[(1, "a")])
    assert remembered(home) == {(2, "b"), (3, "c")}
    memory.note((4, "d"), held=remembered(home))
    assert remembered(home) == {(4, "d")}


def test_what_runs_wrote_down_is_remembered_beside_it(home: Home) -> None:
    memory = Memory(home, frozenset({(1, "a")}))
    assert memory.sightings() == {(1, "a")}
    memory.note((2, "b"), held=memory.sightings())
    assert memory.sightings() == {(1, "a"), (2, "b")}


def test_a_rehearsal_leaves_the_home_alone(home: Home, now: datetime) -> None:
    trust(open_records("sqlite://", home).log, "anna", public("anna"), actor="a", reason="hired", now=now)
    assert remembered(home) == set()


def test_what_did_not_get_on_record_is_not_noted(faulty: FaultyHome, now: datetime) -> None:
    records = open_records(home=faulty.home)
    with faulty.broken(records.engine), pytest.raises(LogAppendFailed):
        records.log.append(Action.KEY_TRUSTED, run="-", actor="a", facts={}, occurred=now)
    assert remembered(faulty.home) == set()
    open_records(home=faulty.home)


@pytest.mark.slow
def test_a_kill_at_any_moment_does_not_lock_the_home(either_home: Home, now: datetime) -> None:
    """A sighting without its event would; an event without its sighting is only forgotten."""
    opened = open_records(home=either_home)
    names = iter(range(1000))

    def trusting() -> None:
        known = len(people(open_records(home=either_home).log))
        trust(opened.log, f"n{known}", public(f"n{known}"), actor="a", reason="hired", now=now)

    for _ in killed_at_each_moment(trusting):
        next(names)
        head = open_records(home=either_home).log.head()
        assert all(number <= head.seq for number, _ in remembered(either_home))
    assert next(names) > 3


@pytest.mark.parametrize(
    "content", ["", "[]", "{", "7", '{"seq": 1, "digest": "x"}', '[{"seq": "1", "digest": "x"}]', '[{"seq": 1}]']
)
def test_a_damaged_sighting_is_refused(home: Home, content: str) -> None:
    open_records(home=home)
    (home.root / SEEN).write_text(content)
    with pytest.raises(SightingDamaged, match=r"seen.json refused: must be as it was written") as caught:
        open_records(home=home)
    assert (caught.value.code, caught.value.kind) == ("sighting-damaged", "integrity")


def test_a_home_that_takes_no_note_is_said_to(home: Home, now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_records(home=home).log

    def full(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(SightingLost, match="No space left on device") as caught:
        trust(log, "anna", public("anna"), actor="a", reason="hired", now=now)
    assert caught.value.code == "sighting-lost"
    assert "anna" in people(log)  # it is on record
