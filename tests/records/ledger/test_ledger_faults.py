"""What becomes of the ledger when the database, the way to it or the process fails in the middle."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest

from penstock.records import Action, Home, LogAppendFailed, Records, open_records
from penstock.records.ledger._transactions import LedgerWriter
from penstock.records.ledger.accounts import Claim
from penstock.records.ledger.limits import open_account, raise_limit
from tests.records.database_faults import FaultyHome, answer_to_commit_lost, impatient, killed_at_each_moment, refusing
from tests.records.ledger_cases import HOW, account, charges, claim, officer, states, with_accounts

SMALL = claim(epsilon=Fraction(1, 1000), dataset="income")


@pytest.fixture
def records(either_home: Home) -> Records:
    return with_accounts(open_records(home=either_home), account())


def fails_without_a_word(act: Callable[[], object]) -> None:
    with pytest.raises(LogAppendFailed, match="must hold every step before the next one begi") as caught:
        act()
    assert "canary" not in str(caught.value)
    assert caught.value.__suppress_context__


def verify(records: Records) -> None:
    records.log.verify()
    records.ledger.verify()


def test_a_fault_in_the_middle_loses_nothing_and_the_run_is_charged_once(faulty: FaultyHome) -> None:
    records = with_accounts(open_records(home=faulty.home), account())
    ledger = records.ledger
    for run in ("drawn", "waits"):
        ledger.reserve(SMALL, run=run, **HOW)
    ledger.spend("drawn", **HOW)
    before = records.log.head(), states(records)
    acts: list[Callable[[], object]] = [
        lambda: ledger.reserve(SMALL, run="new", **HOW),
        lambda: ledger.reserve(claim(epsilon=SMALL.epsilon, source="changed"), run="waits", **HOW),
        lambda: ledger.spend("waits", **HOW),
        lambda: ledger.settle("drawn", "published", **HOW),
    ]
    with faulty.broken(records.engine):
        for act in acts:
            fails_without_a_word(act)
    assert (records.log.head(), states(records)) == before
    verify(records)
    for act in acts:
        act()
    ledger.reserve(SMALL, run="new", **HOW)
    assert states(records) == [("drawn", 1, "published"), ("new", 1, "reserved"), ("waits", 2, "spent")]
    verify(records)


def test_each_write_of_an_operation_that_is_refused_takes_back_the_whole(records: Records) -> None:
    ledger = records.ledger
    ledger.reserve(SMALL, run="r1", **HOW)
    operations: tuple[Callable[[], object], ...] = (
        lambda: ledger.reserve(SMALL, run="r2", **HOW),
        lambda: ledger.spend("r1", **HOW),
        lambda: ledger.settle("r1", "refused", **HOW),
        lambda: open_account(records.log, account(dataset="wages"), officer(), **HOW),
        lambda: raise_limit(records.log, "income", "dp", Fraction(2), officer(), **HOW),
    )
    for operation in operations:
        before = records.log.head(), ledger.books()
        for statement, table in (
            ("INSERT", "log_events"),
            ("UPDATE", "log_head"),
            ("INSERT", "ledger_tails"),
            ("INSERT", "ledger_entries"),
        ):
            with refusing(records.engine, statement, table):
                fails_without_a_word(operation)
            assert (records.log.head(), ledger.books()) == before
        operation()
        assert records.log.head().seq == before[0].seq + 1
        verify(records)


def test_a_reservation_whose_confirmation_was_lost_is_charged_once(postgres_home: Home) -> None:
    records = with_accounts(open_records(home=postgres_home), account())
    with answer_to_commit_lost(records.engine):
        fails_without_a_word(lambda: records.ledger.reserve(claim(), run="r1", **HOW))
    assert states(records) == [("r1", 1, "reserved")]
    assert records.ledger.reserve(claim(), run="r1", **HOW).attempt == 1
    assert len(charges(records, "r1")) == 1
    verify(records)


def test_a_draw_whose_confirmation_was_lost_counts_as_drawn(postgres_home: Home) -> None:
    records = with_accounts(open_records(home=postgres_home), account())
    records.ledger.reserve(SMALL, run="r1", **HOW)
    with answer_to_commit_lost(records.engine):
        fails_without_a_word(lambda: records.ledger.spend("r1", **HOW))
    records.ledger.reserve(SMALL, run="r1", **HOW)
    assert states(records) == [("r1", 1, "spent"), ("r1", 2, "reserved")]
    verify(records)


def test_a_commit_that_sqlite_refuses_leaves_nothing_and_the_run_is_charged_once(home: Home) -> None:
    """A reader of the file keeps the writer from its commit, after everything was written."""
    records = with_accounts(open_records(home=home), account())
    reader = sqlite3.connect(home.root / "penstock.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM log_events").fetchone()
    with impatient(records.engine):
        fails_without_a_word(lambda: records.ledger.reserve(claim(), run="r1", **HOW))
    reader.close()
    assert states(records) == []
    assert records.ledger.reserve(claim(), run="r1", **HOW).attempt == 1
    assert len(charges(records, "r1")) == 1
    verify(records)


def killed(records: Records, act: Callable[[str], object], done: Callable[[str], bool]) -> Iterator[tuple[str, bool]]:
    """Kill `act` at each of its moments, each time for another run; give out the run and whether it was done.

    Only who was killed after the commit has done it; and the next writer never waits for the dead one.
    """
    runs = [f"k{number}" for number in range(400)]
    moments: list[str] = []
    found: list[bool] = []
    for moment in killed_at_each_moment(lambda: act(runs[len(found)])):
        verify(records)
        run = runs[len(found)]
        moments.append(moment)
        found.append(done(run))
        yield run, found[-1]
    assert moments[-2:] == ["commit", "close"]
    assert moments.count("before_cursor_execute") >= 10
    assert found == [False] * (len(found) - 1) + [True]
    assert done(runs[len(found)])  # the one that lived


def reserved(records: Records, run: str, wanted: Claim = SMALL) -> list[str]:
    """Reserve; the sources and states of the run's charges."""
    records.ledger.reserve(wanted, run=run, **HOW)
    return [f"{cost.claim.source} {cost.state}" for cost in charges(records, run)]


def with_reservations(records: Records) -> Records:
    """More runs than any operation has moments wait for their draw, reserved in one go."""
    with records.log.transaction() as writer:
        sheet = LedgerWriter(writer, **HOW)
        for number in range(50):
            facts = {**SMALL.facts(), "attempt": 1}
            sheet.write(Action.RESERVED, run=f"k{number}", facts=facts, subjects=SMALL.subjects)
    return records


@pytest.fixture
def prepared(records: Records) -> Records:
    return with_reservations(records)


def test_a_kill_at_each_moment_of_reserving_leaves_all_of_it_or_nothing(records: Records) -> None:
    def reserve(run: str) -> None:
        records.ledger.reserve(SMALL, run=run, **HOW)

    for run, _ in killed(records, reserve, lambda run: bool(charges(records, run))):
        assert reserved(records, run) == ["s1 reserved"]


@pytest.mark.slow
def test_a_kill_at_each_moment_of_reserving_anew_leaves_one_of_the_two_reservations(home: Home) -> None:
    prepared = with_reservations(with_accounts(open_records(home=home), account()))
    anew = claim(epsilon=SMALL.epsilon, source="s2")

    def reserve_anew(run: str) -> None:
        prepared.ledger.reserve(anew, run=run, **HOW)

    def was_changed(run: str) -> bool:
        (cost,) = charges(prepared, run)
        return cost.claim == anew

    for run, _ in killed(prepared, reserve_anew, was_changed):
        assert reserved(prepared, run, anew) == ["s2 reserved"]


def test_after_a_kill_at_each_moment_of_the_draw_it_is_charged_again_only_if_it_was_on_record(
    prepared: Records,
) -> None:
    def state(run: str) -> str:
        return charges(prepared, run)[0].state

    for run, drawn in killed(
        prepared, lambda run: prepared.ledger.spend(run, **HOW), lambda run: state(run) == "spent"
    ):
        assert reserved(prepared, run) == (["s1 spent", "s1 reserved"] if drawn else ["s1 reserved"])


@pytest.mark.slow
def test_a_kill_at_each_moment_of_settling_gives_back_what_was_not_drawn_or_nothing(prepared: Records) -> None:
    def settle(run: str) -> None:
        prepared.ledger.settle(run, "refused", **HOW)

    for run, returned in killed(prepared, settle, lambda run: not charges(prepared, run)):
        settle(run)
        assert charges(prepared, run) == []
        assert [event.action for event in prepared.log.events(run)] == [Action.RESERVED, Action.RETURNED], returned


@pytest.mark.slow
def test_a_kill_at_each_moment_of_settling_what_was_drawn_leaves_it_spent(records: Records) -> None:
    """One run with two draws: both of them are settled, or none."""
    for _ in range(2):
        records.ledger.reserve(SMALL, run="r1", **HOW)
        records.ledger.spend("r1", **HOW)
    seen = set()
    for _ in killed_at_each_moment(lambda: records.ledger.settle("r1", "published", **HOW)):
        verify(records)
        seen.add(tuple(cost.state for cost in charges(records, "r1")))
    assert seen == {("spent", "spent"), ("refused", "published")}


@pytest.mark.slow
def test_a_kill_at_each_moment_of_opening_an_account_leaves_all_of_it_or_nothing(records: Records) -> None:
    def open_one(run: str) -> None:
        open_account(records.log, account(dataset=run), officer(), **HOW)

    for run, _ in killed(records, open_one, lambda run: bool(records.ledger.book(run).accounts)):
        assert reserved(records, f"after {run}") == ["s1 reserved"]
