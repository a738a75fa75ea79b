"""The audit log: what happened to each run, append-only, chained and sealed (chain.py).

A failed append raises, and the caller stops: nothing is published that is not on record.
Facts are settings, digests and verdicts; never a row, a cell or a small count.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TextIO

from sqlalchemy import CheckConstraint, Column, Connection, Engine, Integer, Table, Text, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from mechanisms.refusal import Refusal
from records.chain import GENESIS, Entry, SealedHead, digest_of, find_faults, head_holds, seal
from records.database import SCHEMA, reading, writing
from records.digest import canonical

__all__ = ["Action", "Event", "EventRefused", "Head", "Log", "LogAltered", "LogAppendFailed", "Verified", "first_rows"]

_EVENTS = Table(
    "log_events",
    SCHEMA,
    Column("seq", Integer, primary_key=True, autoincrement=False),
    *(Column(name, Text, nullable=False) for name in Entry._fields[1:]),
)
_HEAD = Table(
    "log_head",
    SCHEMA,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("seq", Integer, nullable=False),
    Column("digest", Text, nullable=False),
    Column("seal", Text, nullable=False),
)


class Action(StrEnum):
    """What an event says. Names are never removed or reinterpreted; new meaning gets a new name."""

    PLANNED = "PLANNED"
    INGESTED = "INGESTED"
    VALIDATED = "VALIDATED"
    PROTECTING = "PROTECTING"
    PROTECTED = "PROTECTED"
    CHECKED = "CHECKED"
    PUBLISHING = "PUBLISHING"
    PUBLISHED = "PUBLISHED"
    REFUSED = "REFUSED"
    FAILED = "FAILED"
    RESUMED = "RESUMED"


class LogAppendFailed(Refusal):
    """The event could not be written; whoever wanted to write it must stop."""

    code = "log-append-failed"
    kind = "failure"


class LogAltered(Refusal):
    """The log is not what was written."""

    code = "log-altered"
    kind = "integrity"


class EventRefused(Refusal):
    """The event is not one that the log can hold."""

    code = "event-refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of history. `occurred` is ISO 8601 in UTC, `code` the version of this software."""

    seq: int
    occurred: str
    run: str
    action: Action
    actor: str
    code: str
    facts: Mapping[str, Any]
    previous: str
    digest: str


@dataclass(frozen=True, slots=True)
class Head:
    """The last event's number and digest; number 0 when the log is empty."""

    seq: int
    digest: str


@dataclass(frozen=True, slots=True)
class Verified:
    """The whole log was checked and nothing was wrong."""

    count: int
    head: Head


def first_rows(key: bytes) -> dict[str, list[dict[str, Any]]]:
    """What new tables of the log hold: the sealed head of no events."""
    return {_HEAD.name: [{"id": 1, "seq": 0, "digest": GENESIS, "seal": seal(key, 0, GENESIS)}]}


class Log:
    """The audit log in one database, under one key."""

    def __init__(self, engine: Engine, key: bytes, code: str) -> None:
        self._engine = engine
        self._key = key
        self._code = code

    def append(self, action: Action, *, run: str, actor: str, facts: Mapping[str, Any], occurred: datetime) -> Event:
        """Write one event. When this returns, the event is on disk."""
        if occurred.tzinfo is None:
            raise EventRefused.at("occurred", rule="must carry its time zone", remedy="Pass datetime.now(UTC).")
        moment = occurred.astimezone(UTC).isoformat()
        text = canonical(dict(facts)).decode()
        draft = Entry(0, moment, run, action.value, actor, self._code, text, "", "")
        canonical(draft)  # text that has no digest is refused here, before the database is touched
        try:
            with writing(self._engine) as connection:
                head = self._sound_head(connection)
                numbered = draft._replace(seq=head.seq + 1, previous=head.digest)
                entry = numbered._replace(digest=digest_of(self._key, numbered, numbered.seq))
                connection.execute(insert(_EVENTS).values(entry._asdict()))
                sealed = seal(self._key, entry.seq, entry.digest)
                connection.execute(update(_HEAD).values(seq=entry.seq, digest=entry.digest, seal=sealed))
        except SQLAlchemyError:
            # The database's message can quote the facts, so it is left out.
            raise LogAppendFailed.at(
                "log",
                rule="every step must be on record before the next one begins",
                remedy="Check the database, its permissions and the free space; then run again, it resumes.",
            ) from None
        return _event(entry)

    def events(self, run: str | None = None) -> list[Event]:
        """All events, or those of one run, in order."""
        with reading(self._engine) as connection:
            entries = _entries(connection, run)
        return [_event(entry) for entry in entries]

    def head(self) -> Head:
        """Where the log stands; public manifests carry it, so that a later rewrite can be noticed."""
        with reading(self._engine) as connection:
            return self._sound_head(connection)

    def verify(self) -> Verified:
        """Check every event and the head; raise LogAltered with all that is wrong."""
        with reading(self._engine) as connection:
            entries, head = _entries(connection), _stored_head(connection)
        LogAltered.raise_for(find_faults(self._key, entries, head))
        last = entries[-1].digest if entries else GENESIS
        return Verified(len(entries), Head(len(entries), last))

    def export(self, stream: TextIO) -> int:
        """Write all events as JSON Lines, one event a line; return how many."""
        events = self.events()
        for event in events:
            fields = {name: getattr(event, name) for name in Entry._fields}
            stream.write(canonical(fields).decode() + "\n")
        return len(events)

    def _sound_head(self, connection: Connection) -> Head:
        """The head, if its seal holds and it belongs to the last event; nothing is added to a broken log."""
        head = _stored_head(connection)
        newest = select(_EVENTS.c.seq, _EVENTS.c.digest).order_by(_EVENTS.c.seq.desc()).limit(1)
        last = tuple(connection.execute(newest).first() or (0, GENESIS))
        if head is None or not head_holds(self._key, head) or (head.seq, head.digest) != last:
            raise LogAltered.at(
                "head",
                rule="its seal must hold under this key, and it must belong to the last event",
                remedy="Run `penstock audit verify` to see what is wrong; nothing is written until then.",
            )
        return Head(head.seq, head.digest)


def _stored_head(connection: Connection) -> SealedHead | None:
    row = connection.execute(select(_HEAD.c.seq, _HEAD.c.digest, _HEAD.c.seal).where(_HEAD.c.id == 1)).first()
    return None if row is None else SealedHead(*row)


def _entries(connection: Connection, run: str | None = None) -> list[Entry]:
    query = select(_EVENTS).order_by(_EVENTS.c.seq)
    if run is not None:
        query = query.where(_EVENTS.c.run == run)
    return [Entry(*row) for row in connection.execute(query)]


def _event(entry: Entry) -> Event:
    try:
        action, facts = Action(entry.action), json.loads(entry.facts)
    except (ValueError, TypeError):
        facts = None
    if not isinstance(facts, dict):
        raise LogAltered.at(
            f"event {entry.seq}",
            rule="altered: it cannot be read",
            remedy="Run `penstock audit verify` to see all that is wrong.",
        )
    return Event(**{**entry._asdict(), "action": action, "facts": facts})
