"""An older copy of the database is put back, from before the last decision of a person.

No run had spent or ended since, so the home did not notice: the withdrawn key was trusted again, the raised limit was
lowered, the approval gone. Where it did notice, it asked the database for one event by its number, before the
transaction that counts: the event was shown to that question only, or the copy was put back after it.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from penstock.records import Action, Home, LogAltered, Records, RecordsAbsent, open_records
from penstock.records.approval.approval import Rule, approval_state, decide, wait
from penstock.records.approval.decision import APPROVE, sign_decision
from penstock.records.audit import verify_everything
from penstock.records.ledger.accounts import Account, Claim
from penstock.records.ledger.limits import Officer, open_account, raise_limit
from penstock.records.ledger.looks import allow_looks
from penstock.records.ledger.questions import allow_analyst, ask, record_refusal
from penstock.records.log.sighting import remembered
from penstock.records.people.trusted_keys import people, trust, withdraw
from penstock.records.store.database import SCHEMA
from tests.records.published_home import copied, decided
from tests.records.reviewers import CONTENT, private, public
from tests.support.postgres import PostgresServer

NOW = datetime(2026, 11, 16, 2, 15, tzinfo=UTC)
HOW: dict[str, Any] = {"actor": "admin", "now": NOW}
OFFICER = Officer("olga", private("olga"), "agreed")
ACCOUNT = Account(dataset="survey", model="dp", limit=Fraction(1), adjacency="replace", unit="row", partition=None)


def allowed() -> None:
    allow_analyst(open_records().log, "survey", "dp", "ann", Fraction(1), OFFICER, **HOW)


def answered(key: str) -> None:
    log, draw = open_records().log, key.encode
    ask(log, CLAIM, analyst="ann", key=key, individual=None, draw=draw, facts={}, **HOW)


SIGNED: dict[str, Callable[[Home], object]] = {
    "a key is withdrawn": lambda home: withdraw(open_records().log, "olga", reason="stolen", **HOW),
    "must not have been trusted before: a key is for one name, and never again after its withdrawal": lambda home: (
        trust(open_records().log, "eve", public("eve"), reason="hired", **HOW)
    ),
    "a budget is opened": lambda home: open_account(
        open_records().log,
        Account(dataset="other", model="dp", limit=Fraction(1), adjacency="replace", unit="row", partition=None),
        OFFICER,
        **HOW,
    ),
    "a budget is raised": lambda home: raise_limit(open_records().log, "survey", "dp", Fraction(2), OFFICER, **HOW),
    "an analyst is allowed": lambda home: allowed(),
    "a question is answered": lambda home: (allowed(), answered("k1")),
    "a question is asked again": lambda home: (allowed(), answered("k1"), answered("k1")),
    "a question is refused": lambda home: record_refusal(
        open_records().log, dataset="survey", analyst="eve", key="k1", code="analyst-not-allowed", **HOW
    ),
    "a reviewer approves": lambda home: decided(home, "r1", "rita"),
    "a reviewer declines": lambda home: decided(home, "r1", "rita", "refuse"),
}


@pytest.fixture
def home(either_home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Olga's key is trusted, and an account is open."""
    monkeypatch.setenv("PENSTOCK_HOME", str(either_home.root))
    trust(open_records().log, "olga", public("olga"), reason="hired", **HOW)
    open_account(open_records().log, ACCOUNT, OFFICER, **HOW)
    return either_home


@pytest.mark.parametrize("happens", SIGNED)
def test_an_older_database_is_refused_after(home: Home, happens: str) -> None:
    put_back = copied(home)
    SIGNED[happens](home)
    assert verify_everything()["events"] > 2
    put_back()
    for command in (open_records, verify_everything):
        with pytest.raises(
            LogAltered, match="must be the one that this home has seen: the log was cut short or replaced"
        ):
            command()


def test_a_database_that_was_emptied_is_refused_although_no_run_began(home: Home) -> None:
    engine = open_records().engine
    with engine.begin() as connection:
        SCHEMA.drop_all(connection)
        connection.exec_driver_sql("DROP TABLE penstock_schema")
    with pytest.raises(RecordsAbsent):
        open_records()


def test_another_home_on_the_same_database_remembers_what_it_saw_itself(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the same keys and its own memory; what it did not see is not for it to miss."""
    second = Home.located(home.root.with_name("second"))
    Home.open(second.root)
    for name in ("secret.key", "signing.pem", "signing.pub"):
        (second.keys / name).write_bytes((home.keys / name).read_bytes())
        (second.keys / name).chmod(0o600)
    monkeypatch.setenv("PENSTOCK_DB", home.database_url)
    monkeypatch.setenv("PENSTOCK_HOME", str(second.root))
    assert "olga" in people(open_records().log)
    put_back = copied(home)
    trust(open_records().log, "eve", public("eve"), reason="hired", **HOW)
    put_back()
    with pytest.raises(LogAltered, match="event 3 "):
        open_records()
    monkeypatch.setenv("PENSTOCK_HOME", str(home.root))
    assert set(people(open_records().log)) == {"olga"}


FIELDS = "seq, occurred, run, action, actor, code, facts, previous, digest"
CLAIM = Claim(
    dataset="survey", source="s1", values="v1", model="dp", epsilon=Fraction(1), adjacency="replace", unit="row"
)


def approve(records: Records, name: str) -> str:
    signature = sign_decision(private(name), content=CONTENT, decision=APPROVE, reason="read")
    return decide(
        records.log,
        run="r1",
        content=CONTENT,
        reviewer=name,
        decision=APPROVE,
        signature=signature,
        reason="read",
        actor=name,
        now=NOW,
    ).state


def a_run_waits_for(name: str) -> None:
    log = open_records().log
    rule = Rule(1, (name,), timedelta(days=1))
    wait(log, run="r1", content=CONTENT, rule=rule, started_by=["carl"], actor="carl", now=NOW)


def shown_by_number_on_sqlite(home: Home, hidden: tuple[object, ...], _: pytest.FixtureRequest) -> None:
    """The row is in the table; a covering index from which it was left out answers who reads all of them."""
    columns = ", ".join(f"{name} TEXT NOT NULL" for name in FIELDS.split(", ")[1:])
    with contextlib.closing(sqlite3.connect(home.root / "penstock.db", isolation_level=None)) as database:
        for statement in (
            f"CREATE TABLE rebuilt (seq INTEGER NOT NULL, {columns})",
            f"INSERT INTO rebuilt SELECT {FIELDS} FROM log_events",
            "DROP TABLE log_events",
            "ALTER TABLE rebuilt RENAME TO log_events",
        ):
            database.execute(statement)
        database.execute(f"INSERT INTO log_events VALUES ({', '.join('?' * len(hidden))})", hidden)
        for statement in (
            "CREATE INDEX by_seq ON log_events (seq)",
            f"CREATE INDEX cover ON log_events ({FIELDS}) WHERE digest <> '{hidden[-1]}'",
            "ANALYZE",
            "DELETE FROM sqlite_stat1 WHERE tbl = 'log_events'",
            "INSERT INTO sqlite_stat1 VALUES ('log_events', 'by_seq', '100000 1')",
            f"INSERT INTO sqlite_stat1 VALUES ('log_events', 'cover', '100000{' 50000' * len(hidden)}')",
            "PRAGMA writable_schema = on",
            f"UPDATE sqlite_master SET sql = 'CREATE INDEX cover ON log_events ({FIELDS})' WHERE name = 'cover'",
        ):
            database.execute(statement)


def shown_by_number_on_postgresql(home: Home, hidden: tuple[object, ...], request: pytest.FixtureRequest) -> None:
    """Row-level security shows the row to a question that names its number, and to no other."""
    server: PostgresServer = request.getfixturevalue("postgres")
    database = home.database_url.rpartition("/")[2]
    values = {f"v{place}": value for place, value in enumerate(hidden)}
    engine = create_engine(home.database_url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE log_events DROP CONSTRAINT log_events_pkey"))
        query = f"INSERT INTO log_events ({FIELDS}) VALUES ({', '.join(f':{name}' for name in values)})"
        connection.execute(text(query), values)
    server.execute(
        database,
        "DO $$ BEGIN CREATE ROLE clerk LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
        "GRANT USAGE ON SCHEMA public TO clerk",
        "GRANT ALL ON ALL TABLES IN SCHEMA public TO clerk",
        "CREATE FUNCTION asked() RETURNS boolean LANGUAGE sql VOLATILE AS $$ SELECT current_query() ~ 'seq IN' $$",
        f"CREATE POLICY hiding ON log_events USING (digest <> '{hidden[-1]}' OR asked()) WITH CHECK (true)",
        "ALTER TABLE log_events ENABLE ROW LEVEL SECURITY",
    )
    request.getfixturevalue("monkeypatch").setenv("PENSTOCK_DB", home.database_url.replace("app@", "clerk@"))


def test_an_event_that_only_a_question_by_number_sees_is_not_in_the_log(
    home: Home, request: pytest.FixtureRequest
) -> None:
    a_run_waits_for("olga")
    before, put_back = open_records().log.head().seq, copied(home)
    withdraw(open_records().log, "olga", reason="stolen", **HOW)
    engine = create_engine(home.database_url, poolclass=NullPool)
    with engine.begin() as connection:
        [hidden] = connection.execute(text(f"SELECT {FIELDS} FROM log_events WHERE seq > {before}")).all()
    put_back()
    on_sqlite = home.database_url.startswith("sqlite")
    hide = shown_by_number_on_sqlite if on_sqlite else shown_by_number_on_postgresql
    hide(home, tuple(hidden), request)

    def attack() -> str:
        after = open_records()
        after.log.append(Action.PLANNED, run="x", actor="carl", facts={}, occurred=NOW)  # the hidden number is taken
        return approve(after, "olga")

    with pytest.raises(LogAltered, match=r"event 4 refused: must be the one that this home"):
        attack()


ASKED: dict[str, Callable[[Records], object]] = {
    "a withdrawn key approves": lambda records: approve(records, "olga"),
    "a withdrawn key raises a limit": lambda records: raise_limit(
        records.log, "survey", "dp", Fraction(9), OFFICER, **HOW
    ),
    "a withdrawn key allows looks": lambda records: allow_looks(records.log, "survey", 99, OFFICER, **HOW),
    "a withdrawn key is withdrawn": lambda records: withdraw(records.log, "olga", reason="again", **HOW),
    "somebody is trusted": lambda records: trust(records.log, "eve", public("eve"), reason="hired", **HOW),
    "a run reserves": lambda records: records.ledger.reserve(CLAIM, run="r2", **HOW),
    "a run waits": lambda records: wait(
        records.log,
        run="r3",
        content=CONTENT,
        rule=Rule(1, ("olga",), timedelta(days=1)),
        started_by=["carl"],
        actor="carl",
        now=NOW,
    ),
    "a run ends": lambda records: records.log.append(Action.REFUSED, run="r1", actor="c", facts={}, occurred=NOW),
    "the people are listed": lambda records: people(records.log),
    "an approval is looked up": lambda records: approval_state(records.log, "r1", NOW),
    "the budget is shown": lambda records: records.ledger.book("survey"),
    "the log is verified": lambda records: records.log.verify(),
    "all events are read": lambda records: records.log.events(),
}


def test_a_copy_put_back_after_the_records_were_opened_is_refused_whatever_is_asked(home: Home) -> None:
    a_run_waits_for("olga")
    early = open_records()
    put_back = copied(home)
    withdraw(open_records().log, "olga", reason="stolen", **HOW)
    late = open_records()
    seen = remembered(home)
    put_back()
    for opened in (early, late):
        for act in ASKED.values():
            with pytest.raises(LogAltered, match="cut short or replaced"):
                act(opened)
    assert remembered(home) == seen  # not forgotten for what was written on the older copy
    with pytest.raises(LogAltered, match="event 4 "):
        open_records()


def test_what_was_spent_is_not_given_back_by_a_copy_put_back_after_the_records_were_opened(home: Home) -> None:
    opened = open_records()
    put_back = copied(home)
    ledger = open_records().ledger
    ledger.reserve(CLAIM, run="r1", **HOW)
    ledger.spend("r1", **HOW)
    put_back()
    with pytest.raises(LogAltered, match="event 4 "):
        opened.ledger.reserve(CLAIM, run="r2", **HOW)
