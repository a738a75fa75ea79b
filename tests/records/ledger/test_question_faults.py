"""Behind the back of the ledger: balances forged, answers changed, questions removed, other states put back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

import pytest
from sqlalchemy import text

from penstock.records import Action, Home, LogAltered, LogAppendFailed, Records, open_records
from penstock.records.files.digest import canonical, keyed
from penstock.records.ledger._balances import Balance, text_of_history
from penstock.records.ledger._stored import AnswerAltered
from penstock.records.ledger._transactions import LedgerReader
from penstock.records.ledger.accounts import Claim, LedgerAltered
from penstock.records.ledger.ledger import BudgetExceeded
from penstock.records.ledger.questions import record_refusal, stored_answer
from penstock.records.log._scan import Known
from penstock.records.log.chain import seal
from penstock.records.log.sighting import SEEN
from penstock.records.store.database import reading
from tests.records.database_faults import killed_at_each_moment, refusing, tamper
from tests.records.ledger_cases import HOW, claim, released
from tests.records.published_home import copied
from tests.records.question_cases import PERSONAL, QUESTION, TENTH, asked, stands, verified, with_analysts

TABLES = ("log_events", "log_head", "ledger_entries", "ledger_tails", "question_answers", "question_pages")


def fill(records: Records) -> Records:
    """Two sittings, of three questions and one."""
    with_analysts(records, "ann", "bob")
    for number in range(3):
        asked(records, f"k{number}")
    asked(records, "k9", analyst="bob")
    return records


@pytest.fixture
def records(either_home: Home) -> Records:
    return fill(open_records(home=either_home))


@contextmanager
def kept(home: Home, *tables: str) -> Iterator[None]:
    """These tables are afterwards as they were."""
    tamper(home, *(f"CREATE TABLE kept_{table} AS SELECT * FROM {table}" for table in tables))
    yield
    for table in tables:
        tamper(home, f"DELETE FROM {table}", f"INSERT INTO {table} SELECT * FROM kept_{table}")
    tamper(home, *(f"DROP TABLE kept_{table}" for table in tables))


def drawn() -> bytes:
    raise AssertionError("drawn")


def refuses_all(home: Home) -> None:
    """New processes neither answer nor say what is left, and the check of everything notices."""
    asks: tuple[Callable[[Records], object], ...] = (lambda it: asked(it, "new", draw=drawn), stands, verified)
    for act in asks:
        with pytest.raises((LedgerAltered, LogAltered)) as caught:
            act(open_records(home=home, whole=False))
        assert caught.value.kind == "integrity"
        assert "canary" not in str(caught.value)


def literal(content: str) -> str:
    """JSON in a statement: a colon would begin the name of a parameter."""
    return content.replace(":", "\\:")


def sittings(records: Records) -> list[str]:
    return list(records.ledger.book("income").sittings)


def test_what_was_not_touched_is_answered_without_a_scan(
    records: Records, either_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: without a change the questions of these tests are answered, and nothing is scanned for them."""

    def scanned(*_: object, **__: object) -> None:
        raise AssertionError("scanned")

    monkeypatch.setattr(Known, "catch_up", scanned)
    fresh = open_records(home=either_home, whole=False)
    assert not asked(fresh, "new").repeated
    assert asked(fresh, "new").repeated
    assert stored_answer(fresh.log, "new") is not None
    assert stands(fresh).spent == 5 * TENTH
    record_refusal(fresh.log, dataset="income", analyst="ann", key="x", code="budget-exceeded", **HOW)


def test_each_balance_that_is_changed_removed_or_exchanged_is_noticed(records: Records, either_home: Home) -> None:
    one, other = sittings(records)
    for change in (
        f"UPDATE ledger_tails SET balance = '{literal(Balance(TENTH, 3).text)}' WHERE subject = 'questions {one}'",
        f"UPDATE ledger_tails SET balance = NULL WHERE subject = 'questions {one}'",
        f"DELETE FROM ledger_tails WHERE subject = 'questions {one}'",
        f"UPDATE ledger_tails SET balance = (SELECT balance FROM ledger_tails WHERE subject = 'questions {other}')"
        f" WHERE subject = 'questions {one}'",
        "UPDATE ledger_tails SET balance = NULL WHERE subject = 'dataset income'",
    ):
        with kept(either_home, "ledger_tails"):
            tamper(either_home, change)
            refuses_all(either_home)
    verified(records)


def test_a_balance_of_another_type_is_noticed_on_sqlite(home: Home) -> None:
    one, _ = sittings(fill(open_records(home=home)))
    for value in ("x'ff'", "CAST(x'ff' AS TEXT)", "1.5"):
        with kept(home, "ledger_tails"):
            tamper(home, f"UPDATE ledger_tails SET balance = {value} WHERE subject = 'questions {one}'")
            refuses_all(home)


def resealed(records: Records, home: Home, *changes: str) -> None:
    """As somebody does who holds the key: the tails are changed, and sealed anew."""
    tamper(home, *changes)
    key = home.secret_key()
    with reading(records.engine) as connection:
        rows = connection.execute(text("SELECT subject, seq, balance FROM ledger_tails")).all()
        head = connection.execute(text("SELECT seq, digest FROM log_head")).one()
    tails = {row.subject: row.seq if row.balance is None else [row.seq, row.balance] for row in rows}
    standing = keyed(key, "ledger", canonical(tails))
    tamper(home, f"UPDATE log_head SET ledger = '{standing}', seal = '{seal(key, head.seq, head.digest, standing)}'")


def test_a_balance_that_was_forged_with_the_key_is_found_by_adding_up(records: Records, either_home: Home) -> None:
    one, _ = sittings(records)
    for forged in (Balance(TENTH, 3), Balance(3 * TENTH, 2), Balance(3 * TENTH, 3, "0" * 64)):
        with kept(either_home, "ledger_tails", "log_head"):
            change = f"UPDATE ledger_tails SET balance = '{literal(forged.text)}' WHERE subject = 'questions {one}'"
            resealed(records, either_home, change)
            with pytest.raises(LedgerAltered, match="must have the balance that its questions add up to"):
                verified(records)
    with kept(either_home, "ledger_tails", "log_head"):
        forged_history = literal(text_of_history("0" * 64))
        change = f"UPDATE ledger_tails SET balance = '{forged_history}' WHERE subject = 'source s1'"
        resealed(records, either_home, change)
        with pytest.raises(LedgerAltered, match="must seal the events of each data set as they are"):
            verified(records)
        with pytest.raises(LedgerAltered, match="one is of another history under the same key"):
            asked(open_records(home=either_home, whole=False), "new", draw=drawn)
    with kept(either_home, "ledger_tails", "log_head"):
        resealed(records, either_home, f"UPDATE ledger_tails SET balance = NULL WHERE subject = 'questions {one}'")
        with pytest.raises(LedgerAltered, match="must hold the balance of each sitting; one is missing"):
            stands(open_records(home=either_home, whole=False))
    verified(records)


def test_a_removed_question_is_noticed(records: Records, either_home: Home) -> None:
    """An old one by whoever checks everything, or releases; the newest, and all that is read, by whoever asks."""
    answered = [event.seq for event in records.log.events() if event.action is Action.ANSWERED]
    for seq in answered:
        with kept(either_home, "log_events", "ledger_entries"):
            tamper(either_home, f"DELETE FROM log_events WHERE seq = {seq}")
            with pytest.raises(LogAltered):
                verified(records)
            with pytest.raises(LogAltered):
                open_records(home=either_home)
            tamper(either_home, f"DELETE FROM ledger_entries WHERE seq = {seq}")
            with pytest.raises((LogAltered, LedgerAltered)):
                verified(records)
    with kept(either_home, "log_events"):
        tamper(either_home, f"DELETE FROM log_events WHERE seq = {answered[-1]}")
        for act in (stands, lambda it: asked(it, "new", draw=drawn)):
            with pytest.raises(LogAltered):
                act(records)
    for action in (Action.SITTING_OPENED, Action.ANALYST_ALLOWED, Action.BUDGET_OPENED):
        with kept(either_home, "log_events"):
            tamper(either_home, f"DELETE FROM log_events WHERE action = '{action}'")
            refuses_all(either_home)
    verified(records)


def test_an_older_database_is_refused_by_those_who_only_ask(records: Records, either_home: Home) -> None:
    older = copied(either_home)
    asked(records, "later", epsilon=Fraction(6, 10))
    older()
    for act in (
        lambda: open_records(home=either_home, whole=False),
        lambda: asked(records, "more", epsilon=Fraction(6, 10), draw=drawn),
        lambda: stands(records),
        lambda: stored_answer(records.log, "k1"),
        lambda: record_refusal(records.log, dataset="d", analyst="a", key="k", code="c", **HOW),
    ):
        with pytest.raises(LogAltered, match="must be the one that"):
            act()


@pytest.mark.parametrize(
    "together",
    [
        ("ledger_tails",),
        ("ledger_tails", "log_head"),
        ("ledger_tails", "log_head", "ledger_entries"),
        ("log_head",),
        ("log_events",),
        ("log_events", "ledger_entries", "ledger_tails"),
        TABLES,
    ],
    ids=" ".join,
)
def test_an_older_state_of_some_tables_is_refused(
    records: Records, either_home: Home, together: tuple[str, ...]
) -> None:
    tamper(either_home, *(f"CREATE TABLE older_{table} AS SELECT * FROM {table}" for table in TABLES))
    asked(records, "later", analyst="bob")
    for table in together:
        tamper(either_home, f"DELETE FROM {table}", f"INSERT INTO {table} SELECT * FROM older_{table}")
    refuses_all(either_home)


@pytest.mark.parametrize("guarded", [True, False], ids=["", "the twin without the guard"])
def test_events_of_another_history_under_the_same_key_are_not_believed(
    records: Records, either_home: Home, monkeypatch: pytest.MonkeyPatch, guarded: bool
) -> None:
    """A reservation that was put back is genuine and linked as the present one; only its digest is another.

    It was not noted by the home, so a copy from before it can be put back, and another one be written in its place.
    """
    put_back = copied(either_home)
    records.ledger.reserve(claim(epsilon=Fraction(1, 100)), run="r1", **HOW)
    tamper(either_home, "CREATE TABLE other AS SELECT * FROM log_events")
    with reading(records.engine) as connection:
        other = connection.execute(text("SELECT * FROM other WHERE run = 'r1'")).one()
    put_back()
    present = open_records(home=either_home)
    present.ledger.reserve(claim(epsilon=Fraction(5, 10)), run="r1", **HOW)
    asked(present, "later", epsilon=Fraction(1, 100))
    fields = ", ".join(f"{name} = :{name}" for name in other._mapping if name != "seq")
    with present.engine.begin() as connection:
        connection.execute(text(f"UPDATE log_events SET {fields} WHERE seq = :seq"), dict(other._mapping))
    beyond = Fraction(3, 10)
    if guarded:
        with pytest.raises(LedgerAltered, match="one is of another history under the same key"):
            asked(open_records(home=either_home, whole=False), "new", epsilon=beyond, draw=drawn)
    else:
        monkeypatch.setattr(LedgerReader, "is_sealed_as", lambda *_: True)
        assert asked(open_records(home=either_home, whole=False), "new", epsilon=beyond).answer
    with pytest.raises(LogAltered):
        verified(present)


def test_a_home_that_remembers_nothing_scans_the_log(records: Records, either_home: Home) -> None:
    (either_home.root / SEEN).unlink()
    fresh = open_records(home=either_home, whole=False)
    assert asked(fresh, "new").repeated is False
    (either_home.root / SEEN).unlink()
    tamper(either_home, "DELETE FROM log_events WHERE seq = 2")
    with pytest.raises(LogAltered):
        asked(open_records(home=either_home, whole=False), "other", draw=drawn)


CHANGED_ANSWERS = (
    "UPDATE question_answers SET answer = 'Y2FuYXJ5' WHERE key = 'k1'",
    "UPDATE question_answers SET answer = 'canary, not base64' WHERE key = 'k1'",
    "UPDATE question_answers SET seal = 'x' WHERE key = 'k1'",
    "UPDATE question_answers SET seq = seq + 1 WHERE key = 'k1'",
    "UPDATE question_answers SET seq = 1 WHERE key = 'k1'",
    "UPDATE question_answers SET answer = (SELECT answer FROM question_answers WHERE key = 'k2'),"
    " seal = (SELECT seal FROM question_answers WHERE key = 'k2') WHERE key = 'k1'",
)


def test_each_stored_answer_that_was_changed_is_refused(records: Records, either_home: Home) -> None:
    for change in CHANGED_ANSWERS:
        with kept(either_home, "question_answers"):
            tamper(either_home, change)
            for act in (lambda: asked(records, "k1", draw=drawn), lambda: stored_answer(records.log, "k1")):
                with pytest.raises(AnswerAltered) as caught:
                    act()
                assert (caught.value.code, caught.value.kind) == ("answer-altered", "integrity")
                assert [fault.field for fault in caught.value.faults] == ["question_answers"]
                assert "canary" not in str(caught.value)
            with pytest.raises(LedgerAltered, match="must hold each answer as it was given"):
                verified(records)
    verified(records)


def test_an_answer_sealed_with_the_key_that_was_never_given_is_refused(records: Records, either_home: Home) -> None:
    """Its seal holds; the event that charged the question has another digest, or is of another kind."""
    key = either_home.secret_key()
    answered = next(event.seq for event in records.log.events() if event.facts.get("key") == "k1")
    for seq in (answered, 1, 999):
        forged = keyed(key, "stored answer", "k1", str(seq), "Y2FuYXJ5")
        values = f"seq = {seq}, answer = 'Y2FuYXJ5', seal = '{forged}'"
        with kept(either_home, "question_answers"):
            tamper(either_home, f"UPDATE question_answers SET {values} WHERE key = 'k1'")
            with pytest.raises(AnswerAltered):
                stored_answer(records.log, "k1")
            with pytest.raises(LedgerAltered, match="must hold each answer as it was given"):
                verified(records)


def test_a_value_of_another_type_is_no_answer_on_sqlite(home: Home) -> None:
    records = fill(open_records(home=home))
    for column in ("answer", "seal", "seq"):
        for value in ("x'ff'", "CAST(x'ff' AS TEXT)", "'canary'", "1.5"):
            with kept(home, "question_answers"):
                tamper(home, f"UPDATE question_answers SET {column} = {value} WHERE key = 'k1'")
                with pytest.raises(AnswerAltered):
                    stored_answer(records.log, "k1")


def test_a_removed_answer_is_neither_drawn_nor_charged_anew(records: Records, either_home: Home) -> None:
    tamper(either_home, "DELETE FROM question_answers WHERE key = 'k1'")
    before = stands(records).spent
    for act in (lambda: asked(records, "k1", draw=drawn), lambda: stored_answer(records.log, "k1")):
        with pytest.raises(AnswerAltered):
            act()
    assert stands(records).spent == before
    with pytest.raises(LedgerAltered, match="must hold each answer that was given; that of event"):
        verified(records)


def test_a_repeat_of_what_was_never_charged_is_found(records: Records) -> None:
    facts = {"dataset": "income", "analyst": "ann", "key": "k1", "of": 1, "answer": "x"}
    records.log.append(Action.ASKED_AGAIN, run="questions", actor="a", facts=facts, occurred=HOW["now"])
    with pytest.raises(LedgerAltered, match="must repeat an answer that was charged"):
        verified(records)


@pytest.mark.parametrize(("of", "person"), [(QUESTION, None), (PERSONAL, "i1")], ids=["about everybody", "about one"])
def test_a_question_killed_at_any_moment_is_charged_and_stored_or_neither(
    either_home: Home, of: Claim, person: str | None
) -> None:
    dataset = str(of.dataset)
    records = with_analysts(open_records(home=either_home), "ann")
    small, count = Fraction(1, 1000), 0
    moments, found = list[str](), list[bool]()
    for moment in killed_at_each_moment(
        lambda: asked(records, f"k{len(found)}", of=of, individual=person, epsilon=small)
    ):
        verified(records)
        stored = stored_answer(records.log, f"k{len(found)}")
        moments.append(moment)
        found.append(stored is not None)
        count += stored is not None
        assert stands(records, dataset).spent == count * small
    assert moments[-2:] == ["commit", "close"]
    assert found == [False] * (len(found) - 1) + [True]
    assert asked(records, f"k{len(found) - 1}", of=of, individual=person, epsilon=small, draw=drawn).repeated


def test_a_question_that_the_database_refuses_costs_nothing(records: Records) -> None:
    before = stands(records)
    for statement, table in (("INSERT", "log_events"), ("INSERT", "ledger_tails"), ("INSERT", "question_answers")):
        with refusing(records.engine, statement, table), pytest.raises(LogAppendFailed):
            asked(records, "new")
        assert (stands(records), stored_answer(records.log, "new")) == (before, None)
    asked(records, "new")
    verified(records)


def test_a_release_after_questions_is_noticed_by_the_next_question(records: Records, either_home: Home) -> None:
    """Its subjects are sealed too, those that no question knew among them."""
    released(records, "r1", claim(epsilon=TENTH, values="v2", source="s1"))
    released(records, "r2", claim(epsilon=TENTH, values="v2", source="s7"))
    with pytest.raises(BudgetExceeded):
        asked(open_records(home=either_home, whole=False), "new", epsilon=Fraction(1, 2), draw=drawn)
    for run in ("r1", "r2"):
        with kept(either_home, "log_events"):
            tamper(either_home, f"DELETE FROM log_events WHERE run = '{run}' AND action = 'SETTLED'")
            refuses_all(either_home)
    verified(records)
