"""The events of the ledger, found quickly and none left out.

The ledger's source of truth is the audit log. Two small tables only serve to find the events of a data set quickly:

    entries: subject -> numbers of its events        tails: subject -> number of its last event
    each ledger event names, for each subject, the event before it (0 for none)           (1)
    L = keyed(K, "ledger", canonical(tails)), sealed into the head of the log              (2)

By (2) the tails cannot be changed or put back without the head, by (1) no event between can be left
out; so a reservation sees every earlier one or refuses.

Once there are questions, more is sealed, so that nobody has to scan the log, or add up all questions, to ask another:
beside the tail of a sitting its closing balance, beside every other tail that is written or read for a question

    h_i = keyed(K, "history", h_(i-1), digest of its i-th event)                           (3)

By (3) the events of a subject are those of the history that the head ends, even where the log was not scanned: others
of the same key, which are as genuine and as well linked, have other digests. One more tail, `answers`, has no events
of its own: it is the number of the last question, and beside it stands the digest of all answers (_stored.py). A ledger
without questions is sealed as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Column, Integer, Table, Text, insert, select, update

from penstock.records.files.digest import NotCanonical, canonical, keyed
from penstock.records.ledger._balances import (
    Balance,
    answers_of,
    balance_of,
    history_of,
    longer,
    text_of_answers,
    text_of_history,
)
from penstock.records.ledger.accounts import Book, Cost, LedgerAltered, read_book, source_subject
from penstock.records.log.log import Action, Event, LogReader, LogWriter
from penstock.records.store.database import SCHEMA, put

__all__ = ["LedgerReader", "LedgerWriter", "is_sitting", "sitting_subject"]

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
    Column("balance", Text),
)
_QUESTIONS = "questions "
_ANSWERS = "answers"
_AT_ONCE = 500  # SQLite takes at most some tens of thousands of values in one statement


class LedgerReader:
    """The ledger as one transaction sees it; its tails were checked against the head of the log."""

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader
        self._read: dict[int, Event] = {}
        self._checked: dict[str, list[Event]] = {}  # of each subject that was asked for, until it is written to
        self._books: dict[str, Book] = {}
        if not reader.is_walked:
            reader.require_seen()
        rows = reader.connection.execute(select(_TAILS)).all()
        self.tails: dict[str, int] = {row.subject: row.seq for row in rows}
        self.sealed: dict[str, str] = {row.subject: row.balance for row in rows if row.balance is not None}
        try:
            holds = reader.head().ledger == _seal_of_tails(reader.key, self.tails, self.sealed)
        except NotCanonical:  # SQLite keeps any type in any column
            holds = False
        if not holds:
            raise LedgerAltered.where("ledger_tails", "must be as the head of the log says")

    def events(self, subject: str) -> list[Event]:
        """Return the events of one subject; refuse if any of them is missing or was altered."""
        self.load((subject,))
        return self._checked[subject]

    @property
    def visited(self) -> list[str]:
        """Return the subjects whose events were asked for and not written to since."""
        return sorted(self._checked)

    def load(self, subjects: Iterable[str]) -> None:
        """Read the events of several subjects at once, each as `events` returns them."""
        wanted = [subject for subject in subjects if subject not in self._checked]
        for start in range(0, len(wanted), _AT_ONCE):
            self._load(wanted[start : start + _AT_ONCE])

    def _load(self, wanted: Sequence[str]) -> None:
        listed: dict[str, list[int]] = {subject: [] for subject in wanted}
        which = _ENTRIES.c.subject.in_(wanted)
        query = select(_ENTRIES.c.subject, _ENTRIES.c.seq).where(which).order_by(_ENTRIES.c.seq)
        for subject, number in self._reader.connection.execute(query):
            listed[subject].append(number)
        self._fetch({number for subject in wanted if self._is_bound(subject) for number in listed[subject]}, bound=True)
        self._fetch({number for numbers in listed.values() for number in numbers}, bound=False)
        for subject, numbers in listed.items():
            self._checked[subject] = self._chained(subject, numbers)

    def _is_bound(self, subject: str) -> bool:
        """Return whether the log was not scanned, and (3) says which events these are."""
        return self._reader.is_walked and history_of(self.sealed.get(subject)) is not None

    def _fetch(self, numbers: Iterable[int], *, bound: bool) -> None:
        """Read these events. bound: their digests will be compared by (3), so they need not be scanned."""
        # Most events belong to two subjects, and checking one costs more than finding it.
        # SQLite keeps any type in any column; what is not a number is not an event.
        unread = sorted(number for number in numbers if isinstance(number, int) and number not in self._read)
        if unread:
            fetched = self._reader.genuine(unread) if bound else self._reader.numbered(unread)
            self._read.update({event.seq: event for event in fetched})

    def _chained(self, subject: str, numbers: Sequence[int]) -> list[Event]:
        """Return these events, if they are all events of the subject by (1) and (2), and by (3) where it is needed."""
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
        if self._is_bound(subject) and not self.is_sealed_as(subject, events):
            raise LedgerAltered.where(
                "ledger_entries", "must hold the events of this log; one is of another history under the same key"
            )
        return events

    def balance(self, sitting: str) -> Balance | None:
        """Return the closing balance of a sitting; None if there is no such sitting."""
        return balance_of(self.sealed.get(sitting_subject(sitting)))

    @property
    def answers(self) -> str | None:
        """Return the sealed digest of all answers that were given; None before the first."""
        return answers_of(self.sealed.get(_ANSWERS))

    @property
    def subjects(self) -> list[str]:
        """Return everything that events are found under."""
        return sorted(self.tails.keys() - {_ANSWERS})

    def book(self, subject: str) -> Book:
        """Return the accounts and costs of one subject; read once, until something is written."""
        if subject not in self._books:
            self._books[subject] = self.read(self.events(subject))
        return self._books[subject]

    def read(self, events: Iterable[Event]) -> Book:
        """Return what these events say, with the closing balances of their sittings."""
        events = list(events)
        opened = {event.run: self.balance(event.run) for event in events if event.action is Action.SITTING_OPENED}
        return read_book(events, {sitting: balance for sitting, balance in opened.items() if balance is not None})

    def costs_of(self, run: str) -> tuple[Cost, ...]:
        """Return what one run was charged, read under its sources, where a removed event is noticed."""
        named = {subject for event in self._reader.events(run) for subject in event.facts.get("subjects", {})}
        sources = [subject for subject in named if subject.startswith(source_subject(""))]
        found = {event.seq: event for subject in sources for event in self.events(subject) if event.run == run}
        return self.read(found[seq] for seq in sorted(found)).costs

    def histories(self) -> dict[str, list[Event]]:
        """Return the events of every subject; refuse if the tables know a subject that the ledger does not."""
        if set(self._reader.connection.execute(select(_ENTRIES.c.subject).distinct()).scalars()) - set(self.subjects):
            raise LedgerAltered.where("ledger_entries", "must hold only data sets of the ledger")
        self.load(self.subjects)
        return {subject: self._checked[subject] for subject in self.subjects}

    def is_sealed_as(self, subject: str, events: Iterable[Event]) -> bool:
        """Return whether these are the events whose history (3) is sealed; also where none is, before questions."""
        history = history_of(self.sealed.get(subject))
        return history == self._folded(events) if subject in self.sealed else True

    def _folded(self, events: Iterable[Event]) -> str:
        """Return (3)."""
        history = ""
        for event in events:
            history = longer(self._reader.key, history, event.digest)
        return history


class LedgerWriter(LedgerReader):
    """A reader of the ledger that can also write to it."""

    def __init__(self, writer: LogWriter, *, actor: str, now: datetime) -> None:
        super().__init__(writer)
        self._writer, self._actor, self._now = writer, actor, now

    def bind(self, subjects: Iterable[str]) -> None:
        """Seal the history (3) of these subjects from the next event on; the next question need not scan for them."""
        for subject in subjects:
            if subject in self.tails and subject not in self.sealed:
                self.sealed[subject] = text_of_history(self._folded(self.events(subject)))
                changed = update(_TAILS).where(_TAILS.c.subject == subject).values(balance=self.sealed[subject])
                self._writer.connection.execute(changed)

    def write(
        self,
        action: Action,
        *,
        run: str,
        facts: Mapping[str, Any],
        subjects: Iterable[str],
        balances: Mapping[str, Balance] | None = None,
        answers: Callable[[str], str] | None = None,
    ) -> Event:
        """Append a ledger event under its subjects. balances: of those subjects that are sittings, after the event;
        answers: returns the digest of all answers, once that of the event is known, if it gives one."""
        closing = balances or {}
        linked = {subject: self.tails.get(subject, 0) for subject in subjects}
        histories = {subject: self._history(subject) for subject in linked if subject not in closing and self.sealed}

        def tails_at(seq: int, digest: str) -> str:
            self.tails.update(dict.fromkeys(linked, seq))
            for subject, history in histories.items():
                self.sealed[subject] = text_of_history(longer(self._writer.key, history, digest))
            self.sealed.update({subject: balance.text for subject, balance in closing.items()})
            if answers is not None:
                self.tails[_ANSWERS], self.sealed[_ANSWERS] = seq, text_of_answers(answers(digest))
            for subject in linked:
                self._checked.pop(subject, None)
            self._books.clear()  # a book has the balances of other subjects in it
            return _seal_of_tails(self._writer.key, self.tails, self.sealed)

        event = self._writer.append(
            action,
            run=run,
            actor=self._actor,
            facts={**facts, "subjects": linked},
            occurred=self._now,
            ledger=tails_at,
        )
        connection = self._writer.connection
        changed = [*linked] if answers is None else [*linked, _ANSWERS]
        tails = [{"subject": name, "seq": event.seq, "balance": self.sealed.get(name)} for name in changed]
        put(connection, _TAILS, tails)
        connection.execute(insert(_ENTRIES), [{"subject": name, "seq": event.seq} for name in linked])
        return event

    def _history(self, subject: str) -> str:
        """Return (3) so far; of a subject that was written before there were questions it is made now."""
        known = history_of(self.sealed.get(subject))
        return self._folded(self.events(subject)) if known is None else known


def sitting_subject(sitting: str) -> str:
    return f"{_QUESTIONS}{sitting}"


def is_sitting(subject: str) -> bool:
    """Return whether the subject is a sitting, whose events are answered questions."""
    return subject.startswith(_QUESTIONS)


def _seal_of_tails(key: bytes, tails: Mapping[str, int], sealed: Mapping[str, str]) -> str:
    """Return (2); empty while nothing is in the ledger."""
    whole = {subject: [seq, sealed[subject]] if subject in sealed else seq for subject, seq in tails.items()}
    return keyed(key, "ledger", canonical(whole)) if whole else ""
