"""What was asked about each individual: the sums by a plain dictionary, and every page sealed."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, text

from penstock.records import Home, Records, open_records
from penstock.records.ledger._balances import NO_QUESTIONS
from penstock.records.ledger._individuals import Individuals, pages_of
from penstock.records.ledger._pages import keep_pages, stored_pages
from penstock.records.ledger.accounts import LedgerAltered
from penstock.records.store.database import SCHEMA, reading
from tests.records.database_faults import tamper
from tests.records.question_cases import PERSONAL, asked, verified, with_analysts
from tests.support.order import examples

KEY = bytes(32)
PEOPLE = [f"i{number}" for number in range(6)]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 5)), max_size=60), st.integers(1, 4))
@settings(max_examples=examples(60, at_first=15), deadline=None)
def test_the_pages_follow_from_the_sums_whatever_the_order(questions: list[tuple[int, int]], most: int) -> None:
    engine, plain, balance = create_engine("sqlite://"), defaultdict[str, Fraction](Fraction), NO_QUESTIONS
    with pytest.MonkeyPatch.context() as patch, engine.begin() as connection:
        patch.setattr("penstock.records.ledger._pages._MOST", most)
        patch.setattr("penstock.records.ledger._pages._DEEPEST", 2)  # so that some are read one by one
        SCHEMA.create_all(connection)
        for person, tenths in questions:
            individuals = Individuals(connection, KEY, "s", balance)
            assert individuals.sum_of(f"i{person}") == plain[f"i{person}"]
            balance, changed = individuals.with_question(f"i{person}", Fraction(tenths, 10))
            keep_pages(connection, {"s": changed})
            plain[f"i{person}"] += Fraction(tenths, 10)
            assert (balance.sum, balance.questions) == (max(plain.values()), balance.questions)
        charged = {person: total for person, total in plain.items() if total}
        pages, first = pages_of(KEY, "s", charged)
        assert (stored_pages(connection).get("s", {}), balance.pages) == (pages, first)
        assert all(len(content) < 4000 for content in pages.values())
        names = {word for content in pages.values() for word in content.split('"') if len(word) == 64}
        other, _ = pages_of(KEY, "another sitting", charged)
        assert names.isdisjoint(word for content in other.values() for word in content.split('"') if len(word) == 64)


@pytest.fixture
def personal(either_home: Home, monkeypatch: pytest.MonkeyPatch) -> Records:
    """Questions about enough people for two depths of small pages."""
    monkeypatch.setattr("penstock.records.ledger._pages._MOST", 3)
    records = with_analysts(open_records(home=either_home), "ann")
    for number, person in enumerate(PEOPLE):
        asked(records, f"p{number}", of=PERSONAL, individual=person, epsilon=Fraction(1 + number, 100))
    verified(records)
    return records


def nearly_asked(records: Records, person: str) -> str | None:
    """Ask a question that would be answered, but break off; the field if it is refused."""
    try:
        asked(records, "new", of=PERSONAL, individual=person, draw=lambda: bytes(1 // 0))
    except LedgerAltered as refusal:
        return refusal.faults[0].field
    except ZeroDivisionError:
        return None
    raise AssertionError("asked")


def test_each_page_that_is_changed_or_removed_is_noticed(personal: Records, either_home: Home) -> None:
    """By a question about one of its individuals; and by whoever checks everything, in any case."""
    with reading(personal.engine) as connection:
        query = "SELECT sitting, page, content FROM question_pages WHERE sitting <> 'answers'"
        rows = connection.execute(text(query)).all()
    assert len({len(row.page) for row in rows}) > 1
    assert {nearly_asked(personal, person) for person in PEOPLE} == {None}
    for sitting, page, content in rows:
        where = f"WHERE sitting = '{sitting}' AND page = '{page}'"
        for change in (
            f"DELETE FROM question_pages {where}",
            f"UPDATE question_pages SET content = content || ' ' {where}",
            f"UPDATE question_pages SET page = 'x' {where}",
        ):
            tamper(either_home, change)
            assert "question_pages" in {nearly_asked(personal, person) for person in PEOPLE}
            with pytest.raises(LedgerAltered, match="question_pages refused: must hold"):
                verified(personal)
            tamper(either_home, f"DELETE FROM question_pages {where}")
            tamper(either_home, f"DELETE FROM question_pages WHERE sitting = '{sitting}' AND page = 'x'")
            tamper(either_home, f"INSERT INTO question_pages VALUES ('{sitting}', '{page}', '{content}')")
    verified(personal)


def test_pages_of_an_earlier_moment_are_noticed(personal: Records, either_home: Home) -> None:
    tamper(either_home, "CREATE TABLE older AS SELECT * FROM question_pages")
    asked(personal, "later", of=PERSONAL, individual="i1", epsilon=Fraction(1, 2))
    tamper(either_home, "DELETE FROM question_pages", "INSERT INTO question_pages SELECT * FROM older")
    assert nearly_asked(personal, "i1") == "question_pages"
    with pytest.raises(LedgerAltered, match="must hold what was asked about each individual"):
        verified(personal)


def test_pages_of_no_sitting_are_noticed(personal: Records, either_home: Home) -> None:
    tamper(either_home, "INSERT INTO question_pages VALUES ('x', '', '{}')")
    with pytest.raises(LedgerAltered, match="must hold pages of sittings and of answers only"):
        verified(personal)


def test_a_page_of_another_type_is_noticed_on_sqlite(home: Home) -> None:
    records = with_analysts(open_records(home=home), "ann")
    asked(records, "p1", of=PERSONAL, individual="i1")
    for value in ("x'ff'", "CAST(x'ff' AS TEXT)", "1.5"):
        tamper(home, f"UPDATE question_pages SET content = {value}")
        assert nearly_asked(records, "i1") == "question_pages"
