"""What becomes of the ledger when the database, the way to it or the process fails in the middle."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from fractions import Fraction

import pytest
from database_faults import FaultyHome, answer_to_commit_lost, impatient, killed_at_each_moment, refusing
from ledger_cases import HOW, account, charges, claim, officer, states, with_accounts

from records import Action, Home, LogAppendFailed, Records, open_records
from records.limits import open_account, raise_limit

SMALL = claim(epsilon=Fraction(1, 1000), dataset="income")


@pytest.fixture
def records(either_home: Home) -> Records:
    return with_accounts(open_records(home=either_home), account())


def fails_without_a_word(act: Callable[[], object]) -> None:
    with pytest.raises(LogAppendFailed, match="on record") as caught:
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


@pytest.mark.parametrize("act", ["reserve", "spend", "settle", "open", "raise"])
def test_each_write_of_an_operation_that_is_refused_takes_back_the_whole(records: Records, act: str) -> None:
    ledger = records.ledger
    ledger.reserve(SMALL, run="r1", **HOW)
    operations: dict[str, Callable[[], object]] = {
        "reserve": lambda: ledger.reserve(SMALL, run="r2", **HOW),
        "spend": lambda: ledger.spend("r1", **HOW),
        "settle": lambda: ledger.settle("r1", "refused", **HOW),
        "open": lambda: open_account(records.log, account(dataset="wages"), officer(), **HOW),
        "raise": lambda: raise_limit(records.log, "income", "dp", Fraction(2), officer(), **HOW),
    }
    before = records.log.head(), records.ledger.books()
    for statement, table in (
        ("INSERT", "log_events"),
        ("UPDATE", "log_head"),
        ("INSERT", "ledger_tails"),
        ("INSERT", "ledger_entries"),
    ):
        with refusing(records.engine, statement, table):
            fails_without_a_word(operations[act])
        assert (records.log.head(), records.ledger.books()) == before
        verify(records)
    operations[act]()
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


def kills(records: Records, prepare: Callable[[str], object], act: Callable[[str], object]) -> list[tuple[str, str]]:
    """Kill `act` at each of its moments, each time for another run; the moments with the run that was killed there."""
    runs = [f"k{number}" for number in range(100)]
    found: list[tuple[str, str]] = []
    prepare(runs[0])
    for moment in killed_at_each_moment(lambda: act(runs[len(found)])):
        found.append((moment, runs[len(found)]))
        verify(records)
        prepare(runs[len(found)])  # the next writer does not wait for the dead one
    moments = [moment for moment, _ in found]
    assert moments[-2:] == ["commit", "close"]
    assert moments.count("after_cursor_execute") >= 8
    act(runs[len(found)])  # the child that lived to its end has done this already, and again is harmless or refused
    return found


def nothing(_: str) -> None:
    pass


def test_a_kill_at_each_moment_of_reserving_leaves_all_of_it_or_nothing(records: Records) -> None:
    def reserve(run: str) -> None:
        records.ledger.reserve(SMALL, run=run, **HOW)

    for moment, run in kills(records, nothing, reserve):
        assert len(charges(records, run)) == (moment == "close")
        reserve(run)
        assert [(cost.attempt, cost.state) for cost in charges(records, run)] == [(1, "reserved")]
    verify(records)


def test_a_kill_at_each_moment_of_reserving_anew_leaves_one_of_the_two_reservations(records: Records) -> None:
    def changed(run: str) -> None:
        records.ledger.reserve(claim(epsilon=SMALL.epsilon, source="changed"), run=run, **HOW)

    found = kills(records, lambda run: records.ledger.reserve(SMALL, run=run, **HOW), changed)
    for moment, run in found:
        assert [cost.claim.source for cost in charges(records, run)] == ["changed" if moment == "close" else "s1"]
        changed(run)
        assert [cost.claim.source for cost in charges(records, run)] == ["changed"]


def test_a_kill_at_each_moment_of_the_draw_s_record_leaves_it_drawn_or_not(records: Records) -> None:
    def spend(run: str) -> None:
        if charges(records, run)[-1].state == "reserved":
            records.ledger.spend(run, **HOW)

    def direct(run: str) -> None:
        records.ledger.spend(run, **HOW)

    runs = iter(range(100))
    records.ledger.reserve(SMALL, run="k0", **HOW)
    current = ["k0"]
    for moment in killed_at_each_moment(lambda: direct(current[-1])):
        verify(records)
        run = current[-1]
        assert [cost.state for cost in charges(records, run)] == ["spent" if moment == "close" else "reserved"]
        records.ledger.reserve(SMALL, run=run, **HOW)
        assert len(charges(records, run)) == (2 if moment == "close" else 1)
        current.append(f"n{next(runs)}")
        records.ledger.reserve(SMALL, run=current[-1], **HOW)
    assert [cost.state for cost in charges(records, current[-1])] == ["spent"]
