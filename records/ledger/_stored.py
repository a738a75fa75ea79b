"""Answers that were given, found again by the key of their question: the same question gets the same answer.

    question_answers    key, seq of the event that charged it, answer (base64), seal
    digest = keyed(K, "question answer", key, answer), in the event                                (1)
    seal = keyed(K, "stored answer", key, seq, answer)                                             (2)
    tree of pages (_pages.py): keyed(K, "question answered", key) -> digest of that event          (3)

New noise for an old question would let analysts average the noise away. The answer lies in the database, so that it is
written in the transaction that charges it; it is confidential, like the database. One that was changed, or moved to
another question, contradicts (1) or (2) and is refused. The first digest of (3) is sealed with the tails of the ledger
(_transactions.py). So an answer of another history under the same key, whose event is as genuine, is refused, because
(3) knows no such event; and one that was removed is refused too, because (3) knows it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

from sqlalchemy import Column, Connection, Integer, Table, Text, insert, select

from penstock.mechanisms.refusal import Refusal
from penstock.records.files.digest import keyed
from penstock.records.ledger._pages import Pages, keep_pages, pages_with
from penstock.records.ledger._transactions import LedgerReader
from penstock.records.log.log import Action, Event, LogReader
from penstock.records.store.database import SCHEMA

__all__ = [
    "AnswerAltered",
    "Given",
    "answer_digest",
    "is_answer_of",
    "keep_answer",
    "pages_of_answers",
    "stored_answers",
]

_ANSWERS = Table(
    "question_answers",
    SCHEMA,
    Column("key", Text, primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("answer", Text, nullable=False),
    Column("seal", Text, nullable=False),
)
_TREE = "answers"  # no sitting has this number


class AnswerAltered(Refusal):
    """A stored answer is not the one that was given."""

    code = "answer-altered"
    kind = "integrity"
    remedy = "Keep the database as it is and run `penstock audit verify`."


def answer_digest(key: bytes, question: str, answer: bytes) -> str:
    """Return (1)."""
    return keyed(key, "question answer", question, answer)


def keep_answer(connection: Connection, key: bytes, question: str, seq: int, answer: bytes) -> None:
    """Store the answer of a question that has none, in the transaction that charges it."""
    text = base64.b64encode(answer).decode()
    seal = _seal(key, question, seq, text)
    connection.execute(insert(_ANSWERS).values(key=question, seq=seq, answer=text, seal=seal))


class Given:
    """All answers that were given, as one transaction sees them."""

    def __init__(self, ledger: LedgerReader, reader: LogReader) -> None:
        self._reader = reader
        self._pages = Pages(reader.connection, reader.key, _TREE, ledger.answers)

    def find(self, question: str) -> tuple[bytes, Event] | None:
        """Return the answer of a question and the event that charged it, if it was asked before; refuse one that was
        altered or removed, or is of another history."""
        reader, charged = self._reader, self._pages.value_of(_name(self._reader.key, question))
        row = reader.connection.execute(select(_ANSWERS).where(_ANSWERS.c.key == question)).first()
        if row is None and charged is None:
            return None
        answer = None if row is None else _answer(reader.key, *row)
        if row is None or answer is None or charged is None:
            raise altered_answer()
        events = reader.genuine([row.seq])
        if [event.digest for event in events] != [charged] or not is_answer_of(reader.key, events[0], question, answer):
            raise altered_answer()
        return answer, events[0]

    def add(self, question: str, digest: str) -> str:
        """Write that the event with this digest gives the answer; return the first digest of (3) after it."""
        first, changed = self._pages.with_value(_name(self._reader.key, question), digest)
        keep_pages(self._reader.connection, {_TREE: changed})
        return first


def pages_of_answers(key: bytes, charged: Mapping[str, Event]) -> tuple[str, dict[str, str], str | None]:
    """Return the name of (3), its pages, and its first digest. charged: the event of each question."""
    values = {_name(key, question): event.digest for question, event in charged.items()}
    return _TREE, *pages_with(key, _TREE, values)


def is_answer_of(key: bytes, event: Event, question: str, answer: bytes) -> bool:
    """Return whether this event charged this answer to this question."""
    facts = event.facts
    return event.action is Action.ANSWERED and (facts["key"], facts["answer"]) == (
        question,
        answer_digest(key, question, answer),
    )


def altered_answer() -> AnswerAltered:
    """Return the refusal to give a stored answer."""
    return AnswerAltered.at(
        "question_answers",
        rule="must hold each answer as it was given and as the audit log says",
        remedy="Keep the database as it is, find out who could write to it, and run `penstock audit verify`.",
    )


def stored_answers(reader: LogReader) -> dict[str, tuple[int, bytes | None]]:
    """Return all stored answers by question, with the numbers of their events; None for one whose seal does not
    hold."""
    rows = reader.connection.execute(select(_ANSWERS))
    return {question: (seq, _answer(reader.key, question, seq, text, seal)) for question, seq, text, seal in rows}


def _answer(key: bytes, question: str, seq: int, text: str, seal: str) -> bytes | None:
    """Return the answer, if its seal holds."""
    try:
        return base64.b64decode(text, validate=True) if seal == _seal(key, question, seq, text) else None
    except (ValueError, TypeError, AttributeError):  # SQLite keeps any type in any column
        return None


def _name(key: bytes, question: str) -> str:
    return keyed(key, "question answered", question)


def _seal(key: bytes, question: str, seq: int, text: str) -> str:
    """Return (2)."""
    return keyed(key, "stored answer", question, str(seq), text)
