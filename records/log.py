"""The audit log: what happened to each run, append-only, chained, sealed (chain.py) and signed (checkpoint.py).

A failed append raises, and the caller stops: nothing is published that is not on record.
Facts are settings, digests and verdicts; never a row, a cell or a small count.
Who must read before writing (the ledger, a decision) does both in one `transaction`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import CheckConstraint, Column, Connection, Engine, Index, Integer, Table, Text, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from mechanisms.refusal import Refusal
from records.chain import GENESIS, Entry, SealedHead, digest_of, find_faults, head_holds, is_genuine, seal
from records.checkpoint import checkpoint, checkpoint_faults, removed_checkpoint
from records.database import SCHEMA, reading, writing
from records.digest import canonical
from records.envelope import sealed

__all__ = [
    "Action",
    "Event",
    "EventRefused",
    "Head",
    "Log",
    "LogAltered",
    "LogAppendFailed",
    "Page",
    "Pen",
    "Verified",
    "first_rows",
]

_EVENTS = Table(
    "log_events",
    SCHEMA,
    Column("seq", Integer, primary_key=True, autoincrement=False),
    *(Column(name, Text, nullable=False) for name in Entry._fields[1:]),
    Index("log_events_by_run", "run"),
)
# SQLite takes at most some tens of thousands of values in one statement.
_AT_ONCE = 1000
_HEAD = Table(
    "log_head",
    SCHEMA,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("seq", Integer, nullable=False),
    Column("digest", Text, nullable=False),
    Column("seal", Text, nullable=False),
    Column("ledger", Text, nullable=False, server_default=""),
)
_CHECKPOINTS = Table(
    "log_checkpoints",
    SCHEMA,
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("envelope", Text, nullable=False),
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
    BUDGET_OPENED = "BUDGET_OPENED"
    BUDGET_RAISED = "BUDGET_RAISED"
    RESERVED = "RESERVED"
    SPENT = "SPENT"
    SETTLED = "SETTLED"
    RETURNED = "RETURNED"
    KEY_TRUSTED = "KEY_TRUSTED"
    KEY_WITHDRAWN = "KEY_WITHDRAWN"
    WAITING = "WAITING"
    APPROVED = "APPROVED"
    DECLINED = "DECLINED"
    DECISION_REFUSED = "DECISION_REFUSED"
    REPEATED = "REPEATED"
    OVERLAPS = "OVERLAPS"
    FOUND_PUBLISHED = "FOUND_PUBLISHED"


# What ends a run or was decided by a person is signed at once; the checkpoint covers all before it.
_SIGNED = frozenset(
    {
        Action.PUBLISHED,
        Action.REFUSED,
        Action.FOUND_PUBLISHED,
        Action.BUDGET_OPENED,
        Action.BUDGET_RAISED,
        Action.KEY_TRUSTED,
        Action.KEY_WITHDRAWN,
        Action.WAITING,
        Action.APPROVED,
        Action.DECLINED,
    }
)


# Version 0.1.0 signed nothing.
_UNSIGNED_THEN = frozenset({("0.1.0", Action.PUBLISHED), ("0.1.0", Action.REFUSED)})


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
    """The last event's number and digest, number 0 when the log is empty; and where the ledger stands."""

    seq: int
    digest: str
    ledger: str = ""


@dataclass(frozen=True, slots=True)
class Verified:
    """The whole log was checked and nothing was wrong."""

    count: int
    head: Head
    checkpoints: int


def first_rows(key: bytes) -> dict[str, list[dict[str, Any]]]:
    """What new tables of the log hold: the sealed head of no events."""
    return {_HEAD.name: [{"id": 1, "seq": 0, "digest": GENESIS, "seal": seal(key, 0, GENESIS, "")}]}


class Log:
    """The audit log in one database, under one key, its checkpoints signed with another."""

    def __init__(self, engine: Engine, key: bytes, signing_key: Ed25519PrivateKey, code: str) -> None:
        self._engine = engine
        self._key = key
        self._signing_key = signing_key
        self._code = code

    @contextmanager
    def transaction(self) -> Iterator[Pen]:
        """Read and append alone among all writers of all processes; on leaving all of it is on disk, or none."""
        try:
            with writing(self._engine) as connection:
                yield Pen(connection, self._key, self._signing_key, self._code)
        except SQLAlchemyError:
            # The database's message can quote the facts, so it is left out.
            raise LogAppendFailed.at(
                "log",
                rule="every step must be on record before the next one begins",
                remedy="Check the database, its permissions and the free space; then run again, it resumes.",
            ) from None

    @contextmanager
    def page(self) -> Iterator[Page]:
        """Read, while others may write."""
        with reading(self._engine) as connection:
            yield Page(connection, self._key)

    def append(self, action: Action, *, run: str, actor: str, facts: Mapping[str, Any], occurred: datetime) -> Event:
        """Write one event. When this returns, the event is on disk."""
        with self.transaction() as pen:
            return pen.append(action, run=run, actor=actor, facts=facts, occurred=occurred)

    def events(self, run: str | None = None) -> list[Event]:
        """All events, or those of one run, in order, each as it was written."""
        with self.page() as page:
            return page.events(run)

    def head(self) -> Head:
        """Where the log stands; public manifests carry it, so that a later rewrite can be noticed."""
        with self.page() as page:
            return page.head()

    def require(self, seen: Head) -> None:
        """Refuse a log that is not the one in which `seen` was the last event once."""
        with self.page() as page:
            if [event.digest for event in page.numbered([seen.seq])] != [seen.digest]:
                raise LogAltered.at(
                    f"event {seen.seq}",
                    rule="is not the one that this home has seen: the log was cut short or replaced",
                    remedy="Restore the newest backup of the database; nothing is spent or published until then.",
                )

    def verify(self) -> Verified:
        """Check every event and the head; raise LogAltered with all that is wrong."""
        with reading(self._engine) as connection:
            entries, head = _entries(connection), _stored_head(connection)
            signed = [
                (seq, text) for seq, text in connection.execute(select(_CHECKPOINTS).order_by(_CHECKPOINTS.c.seq))
            ]
        digests = {entry.seq: entry.digest for entry in entries}
        due = {e.seq for e in entries if e.action in _SIGNED and (e.code, e.action) not in _UNSIGNED_THEN}
        LogAltered.raise_for(
            [
                *find_faults(self._key, entries, head),
                *checkpoint_faults(signed, digests, self._signing_key.public_key()),
                *(removed_checkpoint(seq) for seq in sorted(due - dict(signed).keys())),
            ]
        )
        last = entries[-1].digest if entries else GENESIS
        return Verified(len(entries), Head(len(entries), last, head.ledger if head is not None else ""), len(signed))

    def sealed(self, payload: bytes, kind: str) -> dict[str, Any]:
        """What is said of this log to others, signed with its signing key."""
        return sealed(payload, kind, self._signing_key)


class Page:
    """The log as one transaction sees it; every event it gives out was checked."""

    def __init__(self, connection: Connection, key: bytes) -> None:
        self.connection = connection
        self.key = key

    def head(self) -> Head:
        """Where the log stands."""
        return _sound_head(self.connection, self.key)

    def events(self, run: str | None = None) -> list[Event]:
        """All events, or those of one run, in order."""
        return self._authentic(_entries(self.connection, run))

    def numbered(self, numbers: Sequence[int]) -> list[Event]:
        """The events with these numbers, in order."""
        found: list[Entry] = []
        for start in range(0, len(numbers), _AT_ONCE):
            some = _EVENTS.c.seq.in_(numbers[start : start + _AT_ONCE])
            found += [Entry(*row) for row in self.connection.execute(select(_EVENTS).where(some))]
        return self._authentic(sorted(found))

    def _authentic(self, entries: list[Entry]) -> list[Event]:
        for entry in entries:
            if not is_genuine(self.key, entry):
                raise _altered(entry.seq)
        return [_event(entry) for entry in entries]


class Pen(Page):
    """A page that can be written on: alone among all writers of all processes."""

    def __init__(self, connection: Connection, key: bytes, signing_key: Ed25519PrivateKey, code: str) -> None:
        super().__init__(connection, key)
        self._signing_key = signing_key
        self._code = code

    def append(
        self,
        action: Action,
        *,
        run: str,
        actor: str,
        facts: Mapping[str, Any],
        occurred: datetime,
        ledger: Callable[[int], str] | None = None,
    ) -> Event:
        """Write one event; `ledger` says from its number where the ledger stands after it."""
        if occurred.tzinfo is None:
            raise EventRefused.at("occurred", rule="must carry its time zone", remedy="Pass datetime.now(UTC).")
        if "\0" in run + actor:
            raise EventRefused.at("run", rule="run and actor are plain text", remedy="Remove the NUL character.")
        moment = occurred.astimezone(UTC).isoformat()
        text = canonical(dict(facts)).decode()
        draft = Entry(0, moment, run, action.value, actor, self._code, text, "", "")
        canonical(draft)  # text that has no digest is refused here, before anything is written
        head = self.head()
        numbered = draft._replace(seq=head.seq + 1, previous=head.digest)
        entry = numbered._replace(digest=digest_of(self.key, numbered, numbered.seq))
        standing = head.ledger if ledger is None else ledger(entry.seq)
        under_seal = seal(self.key, entry.seq, entry.digest, standing)
        self.connection.execute(insert(_EVENTS).values(entry._asdict()))
        self.connection.execute(
            update(_HEAD).values(seq=entry.seq, digest=entry.digest, seal=under_seal, ledger=standing)
        )
        if action in _SIGNED:
            signed = checkpoint(entry.seq, entry.digest, self._signing_key)
            self.connection.execute(insert(_CHECKPOINTS).values(seq=entry.seq, envelope=signed))
        return _event(entry)


def _sound_head(connection: Connection, key: bytes) -> Head:
    """The head, if its seal holds and it belongs to the last event; nothing is added to a broken log."""
    head = _stored_head(connection)
    newest = select(_EVENTS.c.seq, _EVENTS.c.digest).order_by(_EVENTS.c.seq.desc()).limit(1)
    last = tuple(connection.execute(newest).first() or (0, GENESIS))
    if head is None or not head_holds(key, head) or (head.seq, head.digest) != last:
        raise LogAltered.at(
            "head",
            rule="its seal must hold under this key, and it must belong to the last event",
            remedy="Run `penstock audit verify` to see what is wrong; nothing is written until then.",
        )
    return Head(head.seq, head.digest, head.ledger)


def _stored_head(connection: Connection) -> SealedHead | None:
    row = connection.execute(
        select(_HEAD.c.seq, _HEAD.c.digest, _HEAD.c.ledger, _HEAD.c.seal).where(_HEAD.c.id == 1)
    ).first()
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
        raise _altered(entry.seq)
    return Event(**{**entry._asdict(), "action": action, "facts": facts})


def _altered(seq: int) -> LogAltered:
    return LogAltered.at(
        f"event {seq}",
        rule="altered: it is not as it was written",
        remedy="Run `penstock audit verify` to see all that is wrong.",
    )
