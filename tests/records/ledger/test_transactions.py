"""Behind the back of the ledger: its tables, the head and the events changed, removed, inserted, put back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import pytest
from sqlalchemy import text

from penstock.records import Action, Home, LogAltered, Records, open_records
from penstock.records.ledger.accounts import Claim, LedgerAltered
from penstock.records.ledger.limits import raise_limit
from penstock.records.store.database import reading
from tests.records.database_faults import tamper
from tests.records.ledger_cases import HOW, account, claim, officer, released, uncounted, with_accounts

TABLES = ("ledger_entries", "ledger_tails", "log_head", "log_events", "log_checkpoints")
TENTH = Fraction(1, 10)


def fill(records: Records) -> Records:
    """Two data sets and records without one; runs in every state. The last event is not the ledger's."""
    with_accounts(records, account(), account(dataset="wages"))
    released(records, "r1", claim(epsilon=TENTH))
    records.ledger.reserve(claim(epsilon=TENTH), run="r2", **HOW)
    records.ledger.spend("r2", **HOW)
    records.ledger.reserve(claim(epsilon=TENTH, dataset="wages", source="s2"), run="r3", **HOW)
    records.ledger.reserve(uncounted(source="s3"), run="r4", **HOW)
    records.log.append(Action.PLANNED, run="r5", facts={}, actor="a", occurred=HOW["now"])
    return records


@pytest.fixture
def records(either_home: Home) -> Records:
    return fill(open_records(home=either_home))


def rows(records: Records, table: str) -> list[tuple[str, int]]:
    with reading(records.engine) as connection:
        return [(row.subject, row.seq) for row in connection.execute(text(f"SELECT subject, seq FROM {table}"))]


@contextmanager
def kept(home: Home, *tables: str) -> Iterator[None]:
    """These tables are afterwards as they were."""
    tamper(home, *(f"CREATE TABLE kept_{table} AS SELECT * FROM {table}" for table in tables))
    yield
    put_back(home, *tables)
    tamper(home, *(f"DROP TABLE kept_{table}" for table in tables))


def put_back(home: Home, *tables: str) -> None:
    for table in tables:
        tamper(home, f"DELETE FROM {table}", f"INSERT INTO {table} SELECT * FROM kept_{table}")


def touching(subject: str) -> Claim:
    """A claim that would be granted, and for which this subject is read."""
    kind, _, name = subject.partition(" ")
    if kind == "dataset":
        return claim(dataset=name, source="new", epsilon=TENTH)
    return uncounted(source=name, acknowledges=("r1", "r2", "r3", "r4"))


def refuses(records: Records, subject: str) -> None:
    with pytest.raises((LedgerAltered, LogAltered)) as caught:
        records.ledger.reserve(touching(subject), run="new", **HOW)
    assert caught.value.kind == "integrity"
    with pytest.raises((LedgerAltered, LogAltered)) as caught:
        _verify(records)
    assert caught.value.kind == "integrity"
    assert "canary" not in str(caught.value)


def _verify(records: Records) -> None:
    records.log.verify()
    records.ledger.verify()


def test_what_was_not_touched_is_granted_and_verifies(records: Records) -> None:
    """The twin: without a change none of the claims of these tests is refused."""
    subjects = [subject for subject, _ in rows(records, "ledger_tails")]
    assert sorted(subjects) == ["dataset income", "dataset wages", "source s1", "source s2", "source s3"]
    assert records.ledger.verify() == 9
    for number, subject in enumerate(subjects):
        wanted = touching(subject)
        records.ledger.reserve(wanted, run=f"new-{number}", **HOW)
        records.ledger.settle(f"new-{number}", "refused", **HOW)
    assert records.ledger.verify() == 9 + 2 * len(subjects)


ROW_CHANGES = (
    "DELETE FROM {table} WHERE {row}",
    "UPDATE {table} SET seq = 1 WHERE {row}",
    "UPDATE {table} SET seq = 99 WHERE {row}",
    "UPDATE {table} SET subject = 'x' WHERE {row}",
)


@pytest.mark.parametrize("table", ["ledger_entries", "ledger_tails"])
def test_each_row_that_is_removed_or_changed_is_noticed(records: Records, either_home: Home, table: str) -> None:
    found = rows(records, table)
    assert len(found) >= 5
    with kept(either_home, table):
        for subject, seq in found:
            for change in ROW_CHANGES:
                tamper(either_home, change.format(table=table, row=f"subject = '{subject}' AND seq = {seq}"))
                refuses(records, subject)
                put_back(either_home, table)
    assert records.ledger.verify() == 9


def test_each_row_that_is_inserted_is_noticed(records: Records, either_home: Home) -> None:
    last = records.log.head().seq
    entries = set(rows(records, "ledger_entries"))
    tails = rows(records, "ledger_tails")
    for subject, _ in tails:
        for seq in {0, 2, last, last + 1}:
            if (subject, seq) not in entries:
                with kept(either_home, "ledger_entries"):
                    tamper(either_home, f"INSERT INTO ledger_entries VALUES ('{subject}', {seq})")
                    refuses(records, subject)
    for table in ("ledger_entries", "ledger_tails"):
        with kept(either_home, table):
            tamper(either_home, f"INSERT INTO {table} (subject, seq) VALUES ('dataset new', 2)")
            refuses(records, "dataset new")
    assert records.ledger.verify() == 9


def test_the_rows_of_an_unknown_data_set_are_named(records: Records, either_home: Home) -> None:
    tamper(either_home, "INSERT INTO ledger_entries VALUES ('dataset new', 2)")
    with pytest.raises(LedgerAltered, match="must hold only data sets of the ledger"):
        records.ledger.verify()


NAMED = {
    "DELETE FROM ledger_tails": "ledger_tails refused: must be as the head of the log says",
    "DELETE FROM ledger_entries": "ledger_entries refused: must hold the last event of each data set",
    "DELETE FROM ledger_entries WHERE seq < 5": "ledger_entries refused: must hold the events of each data set",
    "UPDATE log_head SET ledger = ''": "head refused: must carry its seal; it was altered",
    "UPDATE log_head SET ledger = 'x'": "head refused: must carry its seal; it was altered",
}


def test_what_is_wrong_is_named(records: Records, either_home: Home) -> None:
    looks = (records.ledger.verify, lambda: records.ledger.book("income"), records.ledger.books)
    for change, message in NAMED.items():
        with kept(either_home, "ledger_entries", "ledger_tails", "log_head"):
            tamper(either_home, change)
            for look in looks:
                with pytest.raises((LedgerAltered, LogAltered), match=message):
                    look()
            refuses(records, "dataset income")


def test_a_value_of_another_type_is_noticed_on_sqlite(home: Home) -> None:
    records = fill(open_records(home=home))
    for table in ("ledger_entries", "ledger_tails"):
        with kept(home, table):
            for column in ("seq", "subject"):
                for value in ("x'ff'", "'canary'", "CAST(x'ff' AS TEXT)", "1.5", "9e999"):
                    row = "subject = 'dataset wages' AND seq > 4"
                    tamper(home, f"UPDATE {table} SET {column} = {value} WHERE {row}")
                    refuses(records, "dataset wages")
                    put_back(home, table)


def go_on(records: Records, how: str) -> None:
    if how == "reserved":
        records.ledger.reserve(claim(epsilon=TENTH), run="late", **HOW)
    elif how == "settled":
        records.ledger.settle("r2", "published", **HOW)
    else:
        raise_limit(records.log, "income", "dp", Fraction(2), officer(), **HOW)


@pytest.mark.parametrize("how", ["reserved", "settled", "raised"])
def test_an_older_state_put_back_while_the_log_went_on_is_noticed(
    records: Records, either_home: Home, how: str
) -> None:
    older = [f"CREATE TABLE older_{table} AS SELECT * FROM {table}" for table in TABLES]
    tamper(either_home, *older)
    go_on(records, how)
    count = records.ledger.verify()
    for together in (
        ("ledger_tails",),
        ("ledger_entries",),
        ("ledger_entries", "ledger_tails"),
        ("ledger_entries", "ledger_tails", "log_head"),
        ("log_head",),
        ("log_events",),
        ("log_events", "ledger_entries", "ledger_tails"),
    ):
        with kept(either_home, *together):
            for table in together:
                tamper(either_home, f"DELETE FROM {table}", f"INSERT INTO {table} SELECT * FROM older_{table}")
            refuses(records, "dataset income")
    assert records.ledger.verify() == count


EVENT_CHANGES = (
    "DELETE FROM log_events WHERE {which}",
    "UPDATE log_events SET run = 'x' WHERE {which}",
    "UPDATE log_events SET action = 'PLANNED' WHERE {which}",
    "UPDATE log_events SET facts = replace(facts, '1/10', '1/99') || ' ' WHERE {which}",
)


def test_a_run_does_not_draw_twice_because_its_events_were_changed(records: Records, either_home: Home) -> None:
    acts = (
        lambda: records.ledger.reserve(claim(epsilon=TENTH), run="r2", **HOW),
        lambda: records.ledger.reserve(claim(epsilon=TENTH), run="r6", **HOW),
        records.ledger.verify,
    )
    with kept(either_home, "log_events"):
        for which in ("run = 'r2' AND action = 'RESERVED'", "run = 'r2' AND action = 'SPENT'", "run = 'r2'"):
            for change in EVENT_CHANGES:
                tamper(either_home, change.format(which=which))
                for act in acts:
                    with pytest.raises((LedgerAltered, LogAltered)):
                        act()
                put_back(either_home, "log_events")
    assert records.ledger.verify() == 9


def test_what_was_given_back_is_not_drawn_because_the_return_was_taken_out(records: Records, either_home: Home) -> None:
    records.ledger.settle("r4", "refused", **HOW)
    records.log.append(Action.PLANNED, run="r5", facts={}, actor="a", occurred=HOW["now"])
    tamper(either_home, "DELETE FROM log_events WHERE action = 'RETURNED'")
    for act in (
        lambda: records.ledger.spend("r4", **HOW),
        lambda: records.ledger.settle("r4", "refused", **HOW),
    ):
        with pytest.raises(LogAltered):
            act()


CHECKPOINT_CHANGES = {
    "DELETE FROM log_checkpoints WHERE seq = 2": "checkpoint 2 refused: must exist; it was removed",
    "UPDATE log_checkpoints SET seq = 4 WHERE seq = 3": "checkpoint 3 refused: must exist; it was removed",
    "DELETE FROM log_checkpoints": "checkpoint 1 refused: must exist; it was removed",
    "UPDATE log_checkpoints SET envelope = '{}' WHERE seq = 2": "checkpoint 2 refused: must carry its signature",
    "INSERT INTO log_checkpoints SELECT 5, envelope FROM log_checkpoints WHERE seq = 2": "checkpoint 5 refused: must",
    "INSERT INTO log_checkpoints VALUES (99, 'x')": "checkpoint 99 refused: must",
}


def test_a_removed_changed_or_inserted_checkpoint_is_named(records: Records, either_home: Home) -> None:
    for change, message in CHECKPOINT_CHANGES.items():
        with kept(either_home, "log_checkpoints"):
            tamper(either_home, change)
            with pytest.raises(LogAltered, match=message):
                records.log.verify()
