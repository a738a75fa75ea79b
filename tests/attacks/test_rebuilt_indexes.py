"""A database administrator rebuilds an index, or filters rows, so that a question misses an event of the log.

The withdrawal of a key, a reviewer's refusal and the end of a run were hidden that way: no row was changed, every
digest held, and `penstock audit verify` was content.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from penstock.records import Action, Home, Records, open_records
from penstock.records.approval.approval import DecidedTwice, ReviewerNotTrusted, Rule, approval_state, decide, wait
from penstock.records.approval.decision import APPROVE, REFUSE, sign_decision
from penstock.records.audit import verify_everything
from penstock.records.ledger.accounts import Claim
from penstock.records.people.trusted_keys import people, trust, withdraw
from tests.records.reviewers import CONTENT, private, public
from tests.support.postgres import PostgresServer

NOW = datetime(2026, 11, 16, 2, 15, tzinfo=UTC)
INDEX = "log_events_by_run"


def index_without_on_sqlite(home: Home, _: pytest.FixtureRequest, action: Action) -> None:
    """Every question that the index by run answers misses the events of this action; no row is touched.

    A partial index, whose condition is then wiped out of the schema: it passes for a full one.
    """
    with contextlib.closing(sqlite3.connect(home.root / "penstock.db", isolation_level=None)) as database:
        database.execute(f"DROP INDEX IF EXISTS {INDEX}")
        database.execute(f"CREATE INDEX {INDEX} ON log_events (run) WHERE action <> '{action}'")
        database.execute("PRAGMA writable_schema = on")
        plain = f"CREATE INDEX {INDEX} ON log_events (run)"
        database.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (plain, INDEX))


def index_without_on_postgresql(home: Home, request: pytest.FixtureRequest, action: Action) -> None:
    """The same."""
    server: PostgresServer = request.getfixturevalue("postgres")
    database = home.database_url.rpartition("/")[2]
    server.execute(
        database,
        f"DROP INDEX IF EXISTS {INDEX}",
        f"CREATE INDEX {INDEX} ON log_events (run) WHERE action <> '{action}'",
        f"UPDATE pg_index SET indpred = NULL WHERE indexrelid = '{INDEX}'::regclass",
        f"ALTER DATABASE {database} SET enable_seqscan = off",  # as a large table would do by itself
    )


def filtered_rows(home: Home, request: pytest.FixtureRequest, action: Action) -> None:
    """Row-level security that filters questions about a run, and lets the full reading of an auditor see all."""
    server: PostgresServer = request.getfixturevalue("postgres")
    database = home.database_url.rpartition("/")[2]
    server.execute(
        database,
        "DO $$ BEGIN CREATE ROLE clerk LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
        "GRANT USAGE ON SCHEMA public TO clerk",
        "GRANT ALL ON ALL TABLES IN SCHEMA public TO clerk",
        "CREATE FUNCTION asked() RETURNS boolean LANGUAGE sql VOLATILE AS "
        "$$ SELECT current_query() ~ 'WHERE log_events.run =' $$",
        f"CREATE POLICY hiding ON log_events USING (action <> '{action}' OR NOT asked()) WITH CHECK (true)",
        "ALTER TABLE log_events ENABLE ROW LEVEL SECURITY",
    )
    # The owner of the table sees all of it, so the clerk is who runs releases.
    request.getfixturevalue("monkeypatch").setenv("PENSTOCK_DB", home.database_url.replace("app@", "clerk@"))


ATTACKS: dict[Callable[[Home, pytest.FixtureRequest, Action], None], str] = {
    index_without_on_sqlite: "home",
    index_without_on_postgresql: "postgres_home",
    filtered_rows: "postgres_home",
}


@dataclass
class House:
    """A home, and one way to hide events of its log."""

    home: Home
    attack: Callable[[Home, pytest.FixtureRequest, Action], None]
    request: pytest.FixtureRequest

    def hide(self, action: Action) -> Records:
        """The records as the next command opens them."""
        self.attack(self.home, self.request, action)
        return open_records()


@pytest.fixture(params=ATTACKS, ids=lambda attack: attack.__name__)
def house(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> House:
    """Anna's key was withdrawn; one run waits, ben has refused another."""
    home: Home = request.getfixturevalue(ATTACKS[request.param])
    monkeypatch.setenv("PENSTOCK_HOME", str(home.root))
    records = open_records()
    for name in ("anna", "ben"):
        trust(records.log, name, public(name), actor="officer", reason="reviewer", now=NOW)
    withdraw(records.log, "anna", actor="officer", reason="key lost", now=NOW)
    for run in ("run-1", "run-2"):
        rule = Rule(1, ("anna", "ben"), timedelta(days=1))
        wait(records.log, run=run, content=CONTENT, rule=rule, started_by=["carl"], actor="carl", now=NOW)
    decided(records, "ben", "run-2", REFUSE)
    return House(home, request.param, request)


def decided(records: Records, name: str, run: str, word: str) -> str:
    signature = sign_decision(private(name), content=CONTENT, decision=word, reason="read")
    return decide(
        records.log,
        run=run,
        content=CONTENT,
        reviewer=name,
        decision=word,
        signature=signature,
        reason="read",
        actor=name,
        now=NOW,
    ).state


def test_the_withdrawal_of_a_key_cannot_be_hidden(house: House) -> None:
    after = house.hide(Action.KEY_WITHDRAWN)
    with pytest.raises(ReviewerNotTrusted):
        decided(after, "anna", "run-1", APPROVE)
    assert "anna" not in people(open_records().log)
    assert approval_state(open_records().log, "run-1", NOW).state == "waiting"


def test_the_refusal_of_a_reviewer_cannot_be_hidden(house: House) -> None:
    after = house.hide(Action.DECLINED)
    assert approval_state(after.log, "run-2", NOW).state == "declined"
    with pytest.raises(DecidedTwice):
        decided(after, "ben", "run-2", APPROVE)


def test_a_run_that_ended_cannot_be_made_to_go_on(house: House) -> None:
    open_records().log.append(Action.REFUSED, run="run-1", actor="carl", facts={"code": "x"}, occurred=NOW)
    after = house.hide(Action.REFUSED)
    assert [event.action for event in after.log.events("run-1")] == [Action.WAITING, Action.REFUSED]
    assert approval_state(after.log, "run-1", NOW).state == "none"


def test_what_a_run_was_charged_cannot_be_hidden(house: House) -> None:
    ledger = open_records().ledger
    claim = Claim(
        dataset="survey",
        source="ab" * 32,
        model="prob_k",
        epsilon=None,
        adjacency="",
        unit="row",
        column=None,
        part=None,
        acknowledges=(),
        about=("age",),
    )
    ledger.reserve(claim, run="run-3", actor="carl", now=NOW)
    after = house.hide(Action.RESERVED).ledger
    after.spend("run-3", actor="carl", now=NOW)  # it finds the reservation
    assert [cost.state for cost in after.book("survey").costs] == ["spent"]


def test_no_row_was_changed_so_the_auditor_is_content(house: House) -> None:
    """What makes it an attack: the log as a whole is sound, only a part of it was hidden from a question."""
    house.hide(Action.KEY_WITHDRAWN)
    assert verify_everything()["events"] == 6
