"""The home writes down where the log stood; only ever later, only what is committed, and notices when it cannot."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest
from database_faults import FaultyHome, killed_at_each_moment
from reviewers import public

from records import Action, Home, LogAppendFailed, open_records
from records.people import people, trust
from records.sighting import SEEN, SightingDamaged, SightingLost, last_sighting, note_sighting


def test_only_what_is_signed_is_noted_and_the_latest_stays(either_home: Home, now: datetime) -> None:
    log = open_records(home=either_home).log
    log.append(Action.PLANNED, run="r", actor="a", facts={}, occurred=now)
    assert last_sighting(either_home) is None
    trust(log, "anna", public("anna"), actor="a", reason="hired", now=now)
    assert last_sighting(either_home) == (2, log.head().digest)
    note_sighting(either_home, 1, "0" * 64)
    assert last_sighting(either_home) == (2, log.head().digest)
    assert (either_home.root / SEEN).stat().st_mode & 0o077 == 0


def test_a_rehearsal_leaves_the_home_alone(home: Home, now: datetime) -> None:
    trust(open_records("sqlite://", home).log, "anna", public("anna"), actor="a", reason="hired", now=now)
    assert last_sighting(home) is None


def test_what_did_not_get_on_record_is_not_noted(faulty: FaultyHome, now: datetime) -> None:
    records = open_records(home=faulty.home)
    with faulty.broken(records.engine), pytest.raises(LogAppendFailed):
        records.log.append(Action.KEY_TRUSTED, run="-", actor="a", facts={}, occurred=now)
    assert last_sighting(faulty.home) is None
    open_records(home=faulty.home)


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
        assert (last_sighting(either_home) or (0, ""))[0] <= head.seq
    assert next(names) > 3


@pytest.mark.parametrize("content", ["", "[]", '{"seq": "1", "digest": "x"}', '{"seq": 1}'])
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
