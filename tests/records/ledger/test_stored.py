"""Answers are those of this log: one of another history under the same key is not given, however genuine it is."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from penstock.records import Action, Home, LogAltered, Records, open_records
from penstock.records.ledger._pages import Pages
from penstock.records.ledger._stored import AnswerAltered
from penstock.records.ledger.accounts import LedgerAltered
from penstock.records.ledger.questions import stored_answer
from penstock.records.log.sighting import SEEN
from penstock.records.store.database import reading
from tests.records.database_faults import tamper
from tests.records.published_home import copied
from tests.records.question_cases import asked, verified, with_analysts


def drawn() -> bytes:
    raise AssertionError("drawn")


def with_answer_of_another_history(home: Home) -> Records:
    """In a copy a question is asked; in the original two others; then its event and its answer are put into it."""
    records = with_analysts(open_records(home=home), "ann")
    asked(records, "before")
    put_back, memory = copied(home), (home.root / SEEN).read_bytes()
    asked(records, "wanted")
    with reading(records.engine) as connection:
        event = connection.execute(text("SELECT * FROM log_events ORDER BY seq DESC LIMIT 1")).one()._mapping
        row = connection.execute(text("SELECT * FROM question_answers WHERE key = 'wanted'")).one()._mapping
    put_back()
    (home.root / SEEN).write_bytes(memory)  # a copy of the home has its own memory
    present = open_records(home=home)
    asked(present, "other 1")
    asked(present, "other 2")
    fields = ", ".join(f"{name} = :{name}" for name in event if name != "seq")
    places = ", ".join(f":{name}" for name in row)
    with present.engine.begin() as connection:
        connection.execute(text(f"UPDATE log_events SET {fields} WHERE seq = :seq"), dict(event))
        connection.execute(text(f"INSERT INTO question_answers ({', '.join(row)}) VALUES ({places})"), dict(row))
    return present


def test_an_answer_of_another_history_is_not_given(either_home: Home) -> None:
    present = with_answer_of_another_history(either_home)
    for act in (
        lambda it: asked(it, "wanted", draw=drawn),
        lambda it: stored_answer(it.log, "wanted"),
        lambda it: asked(it, "other 1", draw=drawn),
    ):
        with pytest.raises(AnswerAltered) as caught:
            act(open_records(home=either_home, whole=False))
        assert caught.value.kind == "integrity"
    with pytest.raises(LogAltered):
        verified(present)


def test_pages_of_answers_are_recomputed(either_home: Home) -> None:
    records = with_analysts(open_records(home=either_home), "ann")
    asked(records, "k1")
    tamper(either_home, "CREATE TABLE older AS SELECT * FROM question_pages")
    asked(records, "k2")
    tamper(either_home, "DELETE FROM question_pages", "INSERT INTO question_pages SELECT * FROM older")
    with pytest.raises(LedgerAltered, match="a page was altered"):
        asked(records, "k2", draw=drawn)
    with pytest.raises(LedgerAltered, match="must hold which event charged each answer"):
        verified(records)


def test_a_log_without_questions_seals_no_answers(either_home: Home) -> None:
    records = with_analysts(open_records(home=either_home), "ann")
    with reading(records.engine) as connection:
        assert connection.execute(text("SELECT balance FROM ledger_tails")).scalars().all() == [None, None]
    asked(records, "k1")
    with reading(records.engine) as connection:
        last = connection.execute(text("SELECT seq FROM ledger_tails WHERE subject = 'answers'")).scalar_one()
    assert [event.seq for event in records.log.events() if event.action is Action.ANSWERED] == [last]


def test_the_twin_that_believes_any_genuine_event_gives_the_answer(
    either_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_answer_of_another_history(either_home)
    fresh = open_records(home=either_home, whole=False)
    with fresh.log.reader(whole=False) as reader:
        digest = reader.connection.execute(
            text("SELECT digest FROM log_events WHERE seq = (SELECT seq FROM question_answers WHERE key = 'wanted')")
        ).scalar_one()
    monkeypatch.setattr(Pages, "value_of", lambda *_: digest)
    assert asked(fresh, "wanted", draw=drawn).repeated
