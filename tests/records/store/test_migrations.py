"""Steps of the schema. test_database.py has the kills, the read-only copies and the dropped tables."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, inspect
from sqlalchemy.pool import NullPool

from penstock.records import Action, Home, open_records
from penstock.records.files.digest import canonical, keyed
from penstock.records.ledger.ledger import BudgetExceeded
from penstock.records.ledger.questions import allow_analyst
from penstock.records.log.chain import GENESIS, Entry, digest_of
from penstock.records.store.database import SCHEMA, RecordsUnavailable, reading
from penstock.records.store.migrations import NEWEST, VERSION_TABLE, SchemaRefused
from tests.records.database_faults import tamper
from tests.records.ledger_cases import HOW, account, claim, officer, released, states, with_accounts
from tests.records.ledger_worker import race
from tests.records.question_cases import asked, verified

FIRST_VERSION = (
    "CREATE TABLE log_events (seq INTEGER NOT NULL, occurred TEXT NOT NULL, run TEXT NOT NULL, action TEXT NOT NULL,"
    " actor TEXT NOT NULL, code TEXT NOT NULL, facts TEXT NOT NULL, previous TEXT NOT NULL, digest TEXT NOT NULL,"
    " PRIMARY KEY (seq))",
    "CREATE TABLE log_head (id INTEGER NOT NULL CHECK (id = 1), seq INTEGER NOT NULL, digest TEXT NOT NULL,"
    " seal TEXT NOT NULL, PRIMARY KEY (id))",
)
ACTIONS = ("PLANNED", "INGESTED", "PROTECTED", "PUBLISHED", "REFUSED")


def written_by_the_first_version(home: Home, now: datetime) -> None:
    """Its two tables, an event of each kind, and the head as it was sealed then: number and digest alone."""
    key, previous = home.secret_key(), GENESIS
    statements = list(FIRST_VERSION)
    for seq, action in enumerate(ACTIONS, start=1):
        draft = Entry(seq, now.isoformat(), "r1", action, "a", "0.1.0", '{"spec":"d1"}', previous, "")
        entry = draft._replace(digest=digest_of(key, draft, seq))
        statements.append(f"INSERT INTO log_events VALUES {tuple(entry)}")
        previous = entry.digest
    seal = keyed(key, "head", canonical([len(ACTIONS), previous]))
    tamper(home, *statements, f"INSERT INTO log_head VALUES {(1, len(ACTIONS), previous, seal)}")


def shape(engine: Engine, table: str) -> dict[str, Any]:
    """What a database says of a table."""
    found = inspect(engine)
    return {
        "columns": [
            (column["name"], str(column["type"]), column["nullable"], column["default"])
            for column in found.get_columns(table)
        ],
        "key": found.get_pk_constraint(table)["constrained_columns"],
        "checks": [check["sqltext"] for check in found.get_check_constraints(table)],
        "indexes": [(index["name"], index["column_names"], index["unique"]) for index in found.get_indexes(table)],
        "unique": found.get_unique_constraints(table),
    }


@pytest.mark.parametrize("old", [False, True], ids=["empty", "first version"])
def test_the_steps_lead_to_the_tables_that_the_code_declares(
    request: pytest.FixtureRequest, either_home: Home, now: datetime, old: bool
) -> None:
    if old:
        written_by_the_first_version(either_home, now)
    stepped = open_records(home=either_home).engine
    if stepped.dialect.name == "sqlite":
        declared = create_engine("sqlite://")
    else:
        declared = create_engine(request.getfixturevalue("postgres").new_database(), poolclass=NullPool)
    with declared.connect() as connection, connection.begin():
        SCHEMA.create_all(connection)
        for table in SCHEMA.tables:
            assert shape(stepped, table) == shape(connection, table)  # type: ignore[arg-type]
    declared.dispose()
    assert shape(stepped, VERSION_TABLE) == {
        "columns": [("version_num", "VARCHAR(32)", False, None)],
        "key": ["version_num"],
        "checks": [],
        "indexes": [],
        "unique": [],
    }


def test_what_the_first_version_wrote_is_kept_and_a_budget_can_be_opened_on_it(
    either_home: Home, now: datetime
) -> None:
    written_by_the_first_version(either_home, now)
    records = open_records(home=either_home)
    assert [event.action for event in records.log.events("r1")] == [Action(name) for name in ACTIONS]
    assert (records.log.verify().count, records.log.head().ledger) == (len(ACTIONS), "")
    assert records.ledger.verify() == 0
    with_accounts(records, account())
    released(records, "r2", claim())
    again = open_records(home=either_home)
    assert states(again) == [("r2", 1, "published")]
    assert again.ledger.verify() == 4
    assert again.log.verify().count == len(ACTIONS) + 5


@pytest.mark.parametrize("old", [False, True], ids=["empty", "first version"])
def test_processes_that_open_it_together_all_succeed(either_home: Home, now: datetime, old: bool) -> None:
    if old:
        written_by_the_first_version(either_home, now)
    assert race(either_home, 8, "open") == {0: 8}
    assert open_records(home=either_home).log.verify().count == (len(ACTIONS) if old else 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (f"INSERT INTO {VERSION_TABLE} VALUES ('0001')", "must hold one version in penstock_schema, which was altered"),
        (f"DELETE FROM {VERSION_TABLE}", "must hold one version in penstock_schema, which was altered"),
        (f"UPDATE {VERSION_TABLE} SET version_num = '9999'", "this version of Penstock knows; 9999 is newer"),
        ("DROP TABLE ledger_tails", "must hold ledger_tails, which was removed"),
        ("DROP TABLE question_answers", "must hold question_answers, which was removed"),
        ("DROP TABLE question_pages", "must hold question_pages, which was removed"),
    ],
)
def test_a_schema_that_no_step_made_is_refused_and_left_as_it_is(either_home: Home, change: str, message: str) -> None:
    records = with_accounts(open_records(home=either_home), account())
    tamper(either_home, change)
    before = sorted(inspect(records.engine).get_table_names())
    with pytest.raises(SchemaRefused, match=message):
        open_records(home=either_home)
    assert sorted(inspect(records.engine).get_table_names()) == before


def test_a_step_that_was_taken_already_is_not_taken_again(either_home: Home) -> None:
    records = with_accounts(open_records(home=either_home), account())
    tamper(either_home, f"UPDATE {VERSION_TABLE} SET version_num = '0001'")
    with pytest.raises(RecordsUnavailable):
        open_records(home=either_home)
    assert (records.log.verify().count, records.ledger.verify()) == (2, 1)


UNDONE = (
    "ALTER TABLE ledger_tails DROP COLUMN balance",
    "DROP TABLE question_answers",
    "DROP TABLE question_pages",
)


@pytest.mark.parametrize("step", ["0002", "0003"])
def test_a_ledger_from_before_there_were_questions_goes_on_and_can_be_asked(either_home: Home, step: str) -> None:
    records = with_accounts(open_records(home=either_home), account())
    released(records, "r1", claim(epsilon=Fraction(1, 2)))
    head = records.log.head()
    tamper(either_home, *UNDONE, f"UPDATE {VERSION_TABLE} SET version_num = '{step}'")
    if step == "0002":
        tamper(either_home, "CREATE INDEX log_events_by_run ON log_events (run)")
    later = open_records(home=either_home)
    assert (later.log.head(), later.ledger.verify()) == (head, 4)
    allow_analyst(later.log, "income", "dp", "ann", Fraction(1), officer(), **HOW)
    asked(later, "k1", epsilon=Fraction(1, 2))
    with pytest.raises(BudgetExceeded):
        asked(later, "k2", epsilon=Fraction(1, 100))
    verified(later)


def test_a_ledger_without_questions_is_sealed_as_before_there_were_any(either_home: Home) -> None:
    """The seal of the ledger and that of the head, from the recipe of the versions before."""
    records = with_accounts(open_records(home=either_home), account())
    released(records, "r1", claim())
    allow_analyst(records.log, "income", "dp", "ann", Fraction(1), officer(), **HOW)
    with reading(records.engine) as connection:
        tails = {row.subject: row.seq for row in connection.exec_driver_sql("SELECT subject, seq FROM ledger_tails")}
        seq, digest, ledger, seal = connection.exec_driver_sql("SELECT seq, digest, ledger, seal FROM log_head").one()
        assert set(connection.exec_driver_sql("SELECT balance FROM ledger_tails").scalars()) == {None}
    key = either_home.secret_key()
    assert ledger == keyed(key, "ledger", canonical(tails))
    assert seal == keyed(key, "head", canonical([seq, digest, ledger]))


@pytest.mark.parametrize("table", ["log_events", "log_head"])
def test_half_of_what_the_first_version_made_is_refused(either_home: Home, now: datetime, table: str) -> None:
    written_by_the_first_version(either_home, now)
    tamper(either_home, f"DROP TABLE {table}")
    with pytest.raises(
        SchemaRefused, match=f"database refused: must hold {table}, which was removed. Find out who"
    ) as caught:
        open_records(home=either_home)
    assert (caught.value.code, caught.value.kind) == ("schema-refused", "integrity")


def test_the_newest_step_is_the_one_that_is_written_down(home: Home) -> None:
    engine = open_records(home=home).engine
    with engine.connect() as connection:
        assert connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}").scalars().all() == [NEWEST]
