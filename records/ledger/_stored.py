"""Answers that were given, found again by the key of their question: the same question gets the same answer.

    question_answers    key, seq of the event that charged it, answer (base64), seal
    digest = keyed(K, "question answer", key, answer), in the event                                (1)
    seal = keyed(K, "stored answer", key, seq, answer)                                             (2)

New noise for an old question would let analysts average the noise away. The answer lies in the database, so that it is
written in the transaction that charges it; it is confidential, like the database. One that was changed, or moved to
another question, contradicts (1) or (2) and is refused. One that was removed is not there: the question is then drawn
anew, and charged anew.
"""

from __future__ import annotations

import base64

from sqlalchemy import Column, Connection, Integer, Table, Text, insert, select

from penstock.mechanisms.refusal import Refusal
from penstock.records.files.digest import keyed
from penstock.records.log.log import Action, Event, LogReader
from penstock.records.store.database import SCHEMA

__all__ = ["AnswerAltered", "answer_digest", "find_answer", "is_answer_of", "keep_answer", "stored_answers"]

_ANSWERS = Table(
    "question_answers",
    SCHEMA,
    Column("key", Text, primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("answer", Text, nullable=False),
    Column("seal", Text, nullable=False),
)


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


def find_answer(reader: LogReader, question: str) -> tuple[bytes, Event] | None:
    """Return the answer of a question and the event that charged it, if it was asked before; refuse an altered one."""
    row = reader.connection.execute(select(_ANSWERS).where(_ANSWERS.c.key == question)).first()
    if row is None:
        return None
    answer = _answer(reader.key, *row)
    events = [] if answer is None else reader.genuine([row.seq])
    if answer is None or not events or not is_answer_of(reader.key, events[0], question, answer):
        raise altered_answer()
    return answer, events[0]


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


def _seal(key: bytes, question: str, seq: int, text: str) -> str:
    """Return (2)."""
    return keyed(key, "stored answer", question, str(seq), text)
