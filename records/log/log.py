"""The audit log: what happened to each run, append-only, chained, sealed (chain.py) and signed (_checkpoint.py).

A failed append raises, and the caller stops: nothing is published that is not on record.
Facts are settings, digests and verdicts; never a row, a cell or a small count.
Callers that must read before writing (the ledger, a decision) do both in one `transaction`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from penstock.mechanisms.refusal import Refusal
from penstock.records.files.digest import canonical
from penstock.records.log import _rows as log_rows
from penstock.records.log._checkpoint import checkpoint, checkpoint_faults, removed_checkpoint
from penstock.records.log._scan import Known, LogAltered, altered, scan, unseen_faults
from penstock.records.log._walk import Walked
from penstock.records.log.actions import NOTED, SIGNED, Action
from penstock.records.log.chain import GENESIS, Entry, SealedHead, digest_of, head_holds, is_genuine, seal
from penstock.records.log.sighting import Memory, Sighting
from penstock.records.signing.envelope import sealed
from penstock.records.store.database import reading, writing

__all__ = [
    "Action",
    "Event",
    "EventRefused",
    "Head",
    "Log",
    "LogAltered",
    "LogAppendFailed",
    "LogReader",
    "LogWriter",
    "Verified",
    "first_rows",
]

# Version 0.1.0 signed nothing.
_UNSIGNED_THEN = frozenset({("0.1.0", Action.PUBLISHED), ("0.1.0", Action.REFUSED)})


class LogAppendFailed(Refusal):
    """The event could not be written; whoever wanted to write it must stop."""

    code = "log-append-failed"
    kind = "failure"
    remedy = "Check the database, its permissions and the free space; then run again."


class EventRefused(Refusal):
    """The event is not one that the log can hold."""

    code = "event-refused"
    remedy = "Report this defect; the event was not written."


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
    """The result of checking the whole log and finding nothing wrong."""

    count: int
    head: Head
    checkpoints: int


def first_rows(key: bytes) -> dict[str, list[dict[str, Any]]]:
    """Return what new tables of the log hold: the sealed head of no events."""
    return {log_rows.HEAD.name: [{"id": 1, "seq": 0, "digest": GENESIS, "seal": seal(key, 0, GENESIS, "")}]}


class Log:
    """The audit log in one database, under one key, its checkpoints signed with another."""

    def __init__(
        self,
        engine: Engine,
        key: bytes,
        signing_key: Ed25519PrivateKey,
        code: str,
        memory: Memory | None = None,
    ) -> None:
        """Open the log. memory: that of the home the log belongs to; None for a rehearsal, which nobody remembers."""
        self._engine = engine
        self._memory = memory
        self._key = key
        self._signing_key = signing_key
        self._code = code
        self._known = Known()
        self._walked = Walked()

    @contextmanager
    def transaction(self, *, whole: bool = True) -> Iterator[LogWriter]:
        """Read and append, excluding all other writers in all processes; on leaving, all of it is on disk, or none.

        whole: whether the log is believed as a whole (_scan.py), or only its head and what that binds (_walk.py).
        """
        try:
            with writing(self._engine) as connection:
                # Read while nobody else can write, so that nothing can be added to it meanwhile.
                seen, newest = self._seen()
                writer = LogWriter(connection, self._key, self._known, self._signing_key, self._code, seen)
                if not whole:
                    writer.require_walked(self._walked, newest)
                yield writer
                if writer.noted is not None and seen and not writer.is_walked:
                    writer.require_seen()  # otherwise an event of another log would replace what was seen
        except SQLAlchemyError:
            # The database's message can quote the facts, so it is left out.
            raise LogAppendFailed.at(
                "log",
                rule="must hold every step before the next one begins",
                remedy="Check the database, its permissions and the free space; then run again, it resumes.",
            ) from None
        if writer.noted is not None and self._memory is not None:
            self._memory.note(writer.noted, seen)  # after the commit, so that what is noted is certainly in the log

    @contextmanager
    def reader(self, *, whole: bool = True) -> Iterator[LogReader]:
        """Read, while others may write. whole: as for `transaction`."""
        seen, newest = self._seen()  # before the snapshot, which may lack what is written down later
        with reading(self._engine) as connection:
            reader = LogReader(connection, self._key, self._known, self._signing_key.public_key(), seen)
            if not whole:
                reader.require_walked(self._walked, newest)
            yield reader

    def append(self, action: Action, *, run: str, actor: str, facts: Mapping[str, Any], occurred: datetime) -> Event:
        """Write one event. When this returns, the event is on disk."""
        with self.transaction() as writer:
            return writer.append(action, run=run, actor=actor, facts=facts, occurred=occurred)

    def events(self, run: str | None = None, only: Collection[Action] | None = None) -> list[Event]:
        """Return all events, or those of one run, or those with certain actions; in order, each as it was written."""
        with self.reader() as reader:
            return reader.events(run, only)

    def head(self) -> Head:
        """Return where the log stands; public manifests carry it, so that a later rewrite can be noticed."""
        with self.reader() as reader:
            return reader.head()

    def require_seen(self, *, whole: bool = True) -> None:
        """Refuse a log that does not hold every event that its home has seen. whole: as for `transaction`."""
        with self.reader(whole=whole) as reader:
            if whole:
                reader.require_seen()

    def verify(self) -> Verified:
        """Check every event and the head; raise LogAltered with all that is wrong."""
        with self.reader() as reader:
            return reader.verify()

    def sealed(self, payload: bytes, kind: str) -> dict[str, Any]:
        """Return a statement about this log for others, signed with its signing key."""
        return sealed(payload, kind, self._signing_key)

    def _seen(self) -> tuple[frozenset[Sighting], frozenset[Sighting]]:
        return (frozenset(), frozenset()) if self._memory is None else (self._memory.sightings(), self._memory.newest())


class LogReader:
    """The log as one transaction sees it; every event it returns was checked, and none is left out (_scan.py).

    seen: what the home remembers of the log, read at a moment when this transaction could not lack any of it.
    """

    def __init__(
        self,
        connection: Connection,
        key: bytes,
        known: Known,
        public_key: Ed25519PublicKey,
        seen: frozenset[Sighting] = frozenset(),
    ) -> None:
        self.connection = connection
        self.key = key
        self._known = known
        self._public_key = public_key
        self._seen = seen
        self._whole: list[Entry] | None = None  # once this transaction has scanned the log
        self._caught_up = False
        self.is_walked = False  # whether the head is known to follow all that the home has seen
        self._head: Head | None = None  # where the walk ended, which nobody else can change before the end
        self._written: list[Entry] = []  # by this transaction, so others must not know it before it ends

    def head(self) -> Head:
        """Return where the log stands."""
        return _sound_head(self.connection, self.key) if self._head is None else self._head

    def verify(self) -> Verified:
        """Check every event, the head and every checkpoint; raise LogAltered with all that is wrong.

        Anything asked of this reader afterwards is answered from what was checked.
        """
        entries, faults = scan(self.connection, self.key)
        signed = log_rows.checkpoints(self.connection)
        digests = {entry.seq: entry.digest for entry in entries}
        due = {e.seq for e in entries if e.action in SIGNED and (e.code, e.action) not in _UNSIGNED_THEN}
        LogAltered.raise_for(
            [
                *faults,
                *unseen_faults(self._seen, digests.get),
                *checkpoint_faults(signed, digests, self._public_key),
                *(removed_checkpoint(seq) for seq in sorted(due - dict(signed).keys())),
            ]
        )
        self._believe(entries)
        return Verified(len(entries), self.head(), len(signed))

    def events(self, run: str | None = None, only: Collection[Action] | None = None) -> list[Event]:
        """Return all events, or those of one run, or those with certain actions; in order.

        Refuse if the log is not sound as a whole.
        """
        if self._whole is None and run is None:
            entries, faults = scan(self.connection, self.key)
            digests = {entry.seq: entry.digest for entry in entries}
            LogAltered.raise_for([*faults, *unseen_faults(self._seen, digests.get)])
            self._believe(entries)
        if self._whole is None:
            self.require_seen()
            entries = [*self._known.entries(self.connection, self.key, str(run), only), *self._written]
        else:
            entries = self._whole
        return [
            _event(entry) for entry in entries if run in (None, entry.run) and (only is None or entry.action in only)
        ]

    def numbered(self, numbers: Sequence[int]) -> list[Event]:
        """Return the events with these numbers, in order, each as it was scanned; the caller must notice if one is
        missing."""
        if self._whole is not None:
            return [_event(self._whole[number - 1]) for number in sorted(numbers) if 0 < number <= len(self._whole)]
        self.require_seen()
        own = {entry.seq: entry.digest for entry in self._written}
        found = log_rows.entries_numbered(self.connection, numbers)
        for entry in found:
            scanned = own.get(entry.seq) or self._known.digest(entry.seq)
            if entry.digest != scanned or not is_genuine(self.key, entry):
                raise altered(entry.seq)
        return [_event(entry) for entry in found]

    def require_seen(self) -> None:
        """Scan what was written since this process last did, and refuse a log that lacks anything its home has seen."""
        if self._whole is None and not self._caught_up:
            self._known.catch_up(self.connection, self.key, self._first_written, self._seen)
            self._caught_up = True

    def require_walked(self, walked: Walked, newest: frozenset[Sighting]) -> None:
        """Walk from what the home last saw to the head; scan the whole log if that fails, or nothing was seen."""
        found = walked.to_head(self.connection, self.key, newest)
        if found is None:
            self.require_seen()
        else:
            self.is_walked, self._head = True, Head(found.seq, found.digest, found.ledger)

    def genuine(self, numbers: Sequence[int]) -> list[Event]:
        """Return the events stored under these numbers, each written by a log of this key, in order; whether they are
        of this log, the caller must know from their digests."""
        found = log_rows.entries_numbered(self.connection, numbers)
        for entry in found:
            if not is_genuine(self.key, entry):
                raise altered(entry.seq)
        return [_event(entry) for entry in found]

    @property
    def _first_written(self) -> int | None:
        return self._written[0].seq if self._written else None

    def _believe(self, entries: list[Entry]) -> None:
        """Answer all further questions from this scan."""
        self._known.learn(entries, self._first_written)
        self._whole = entries


class LogWriter(LogReader):
    """A reader that can also append, excluding all other writers in all processes."""

    def __init__(
        self,
        connection: Connection,
        key: bytes,
        known: Known,
        signing_key: Ed25519PrivateKey,
        code: str,
        seen: frozenset[Sighting] = frozenset(),
    ) -> None:
        super().__init__(connection, key, known, signing_key.public_key(), seen)
        self._signing_key = signing_key
        self._code = code
        self.noted: Sighting | None = None  # the last event of this transaction that the home writes down

    def append(
        self,
        action: Action,
        *,
        run: str,
        actor: str,
        facts: Mapping[str, Any],
        occurred: datetime,
        ledger: Callable[[int, str], str] | None = None,
    ) -> Event:
        """Write one event; `ledger` returns, given its number and digest, where the ledger stands after it."""
        if occurred.tzinfo is None:
            raise EventRefused.at("occurred", rule="must carry its time zone", remedy="Pass datetime.now(UTC).")
        if "\0" in run + actor:
            raise EventRefused.at(
                "run", rule="must be plain text, as the actor must", remedy="Remove the NUL character."
            )
        moment = occurred.astimezone(UTC).isoformat()
        text = canonical(dict(facts)).decode()
        draft = Entry(0, moment, run, action.value, actor, self._code, text, "", "")
        canonical(draft)  # text that has no digest is refused here, before anything is written
        head = self.head()
        numbered = draft._replace(seq=head.seq + 1, previous=head.digest)
        entry = numbered._replace(digest=digest_of(self.key, numbered, numbered.seq))
        standing = head.ledger if ledger is None else ledger(entry.seq, entry.digest)
        sealed_head = SealedHead(entry.seq, entry.digest, standing, seal(self.key, entry.seq, entry.digest, standing))
        signed = checkpoint(entry.seq, entry.digest, self._signing_key) if action in SIGNED else None
        log_rows.add(self.connection, entry, sealed_head, signed)
        if action in NOTED:
            self.noted = entry.seq, entry.digest
        self._written.append(entry)
        self._head = None if self._head is None else Head(entry.seq, entry.digest, standing)
        if self._whole is not None:
            self._whole.append(entry)
        return _event(entry)


def _sound_head(connection: Connection, key: bytes) -> Head:
    """Return the head, if its seal holds and it belongs to the last event; nothing is added to a broken log."""
    head = log_rows.head(connection)
    if head is None or not head_holds(key, head) or (head.seq, head.digest) != log_rows.last_link(connection):
        raise LogAltered.at(
            "head",
            rule="must carry a seal of this key, and belong to the last event",
            remedy="Run `penstock audit verify` to see what is wrong; nothing is written until then.",
        )
    return Head(head.seq, head.digest, head.ledger)


def _event(entry: Entry) -> Event:
    try:
        action, facts = Action(entry.action), json.loads(entry.facts)
    except (ValueError, TypeError):
        facts = None
    if not isinstance(facts, dict):
        raise altered(entry.seq)
    return Event(**{**entry._asdict(), "action": action, "facts": facts})
