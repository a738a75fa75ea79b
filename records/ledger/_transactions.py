"""The events of the ledger, found quickly and none left out.

The ledger's source of truth is the audit log. Two small tables only serve to find the events of a data set quickly:

    entries: subject -> numbers of its events        tails: subject -> number of its last event
    each ledger event names, for each subject, the event before it (0 for none)           (1)
    L = keyed(K, "ledger", canonical(tails)), sealed into the head of the log              (2)

By (2) the tails cannot be changed or put back without the head, by (1) no event between can be left
out; so a reservation sees every earlier one or refuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Column, Integer, Table, Text, delete, insert, select

from penstock.records.files.digest import NotCanonical, canonical, keyed
from penstock.records.ledger.accounts import Book, Cost, LedgerAltered, read_book, source_subject
from penstock.records.log.log import Action, Event, LogReader, LogWriter
from penstock.records.store.database import SCHEMA

__all__ = ["LedgerReader", "LedgerWriter"]

_ENTRIES = Table(
    "ledger_entries",
    SCHEMA,
    Column("subject", Text, primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
)
_TAILS = Table(
    "ledger_tails",
    SCHEMA,
    Column("subject", Text, primary_key=True),
    Column("seq", Integer, nullable=False),
)


class LedgerReader:
    """The ledger as one transaction sees it; its tails were checked against the head of the log."""

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader
        self._read: dict[int, Event] = {}
        reader.require_seen()
        self.tails = {row.subject: row.seq for row in reader.connection.execute(select(_TAILS))}
        try:
            holds = reader.head().ledger == _seal_of_tails(reader.key, self.tails)
        except NotCanonical:  # SQLite keeps any type in any column
            holds = False
        if not holds:
            raise LedgerAltered.where("ledger_tails", "must be as the head of the log says")

    def events(self, subject: str) -> list[Event]:
        """Return the events of one subject; refuse if any of them is missing or was altered."""
        query = select(_ENTRIES.c.seq).where(_ENTRIES.c.subject == subject).order_by(_ENTRIES.c.seq)
        numbers = self._reader.connection.execute(query).scalars().all()
        # Most events belong to two subjects, and checking one costs more than finding it.
        # SQLite keeps any type in any column; what is not a number is not an event.
        unread = [number for number in numbers if isinstance(number, int) and number not in self._read]
        self._read.update({event.seq: event for event in self._reader.numbered(unread)})
        events = [self._read[number] for number in numbers if number in self._read]
        before = 0
        for event in events:
            if event.facts.get("subjects", {}).get(subject) != before:
                raise LedgerAltered.where(
                    "ledger_entries", "must hold the events of each data set; one is missing or does not belong"
                )
            before = event.seq
        if before != self.tails.get(subject, 0) or len(events) != len(numbers):
            raise LedgerAltered.where(
                "ledger_entries", "must hold the last event of each data set; one is missing or was never written"
            )
        return events

    def book(self, subject: str) -> Book:
        """Return the accounts and costs of one subject."""
        return read_book(self.events(subject))

    def costs_of(self, run: str) -> tuple[Cost, ...]:
        """Return what one run was charged, read under its sources, where a removed event is noticed."""
        named = {subject for event in self._reader.events(run) for subject in event.facts.get("subjects", {})}
        sources = [subject for subject in named if subject.startswith(source_subject(""))]
        found = {event.seq: event for subject in sources for event in self.events(subject) if event.run == run}
        return read_book(found[seq] for seq in sorted(found)).costs

    def histories(self) -> dict[str, list[Event]]:
        """Return the events of every subject; refuse if the tables know a subject that the ledger does not."""
        if set(self._reader.connection.execute(select(_ENTRIES.c.subject).distinct()).scalars()) - set(self.tails):
            raise LedgerAltered.where("ledger_entries", "must hold only data sets of the ledger")
        return {subject: self.events(subject) for subject in self.tails}


class LedgerWriter(LedgerReader):
    """A reader of the ledger that can also write to it."""

    def __init__(self, writer: LogWriter, *, actor: str, now: datetime) -> None:
        super().__init__(writer)
        self._writer, self._actor, self._now = writer, actor, now

    def write(self, action: Action, *, run: str, facts: Mapping[str, Any], subjects: Iterable[str]) -> Event:
        """Append a ledger event under its subjects."""
        linked = {subject: self.tails.get(subject, 0) for subject in subjects}

        def tails_at(seq: int) -> str:
            self.tails.update(dict.fromkeys(linked, seq))
            return _seal_of_tails(self._writer.key, self.tails)

        event = self._writer.append(
            action,
            run=run,
            actor=self._actor,
            facts={**facts, "subjects": linked},
            occurred=self._now,
            ledger=tails_at,
        )
        connection = self._writer.connection
        connection.execute(delete(_TAILS).where(_TAILS.c.subject.in_(list(linked))))
        rows = [{"subject": subject, "seq": event.seq} for subject in linked]
        connection.execute(insert(_TAILS), rows)
        connection.execute(insert(_ENTRIES), rows)
        return event


def _seal_of_tails(key: bytes, tails: Mapping[str, int]) -> str:
    """Return (2); empty while nothing is in the ledger."""
    return keyed(key, "ledger", canonical(dict(tails))) if tails else ""
