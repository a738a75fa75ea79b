"""An older copy of the database is put back, from before the last decision of a person.

No run had spent or ended since, so the home did not notice: the withdrawn key was trusted again, the raised limit was
lowered, the approval gone.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction

import pytest
from published_home import copied, decided
from reviewers import private, public

from records import Home, LogAltered, RecordsAbsent, open_records
from records.accounts import Account
from records.audit import verify_everything
from records.database import SCHEMA
from records.limits import Officer, open_account, raise_limit
from records.people import people, trust, withdraw

NOW = datetime(2026, 11, 16, 2, 15, tzinfo=UTC)
HOW = {"actor": "admin", "now": NOW}
OFFICER = Officer("olga", private("olga"), "agreed")
ACCOUNT = Account(dataset="survey", model="dp", limit=Fraction(1), adjacency="replace", unit="row", partition=None)

SIGNED: dict[str, Callable[[Home], object]] = {
    "a key is withdrawn": lambda home: withdraw(open_records().log, "olga", reason="stolen", **HOW),
    "a key is trusted": lambda home: trust(open_records().log, "eve", public("eve"), reason="hired", **HOW),
    "a budget is opened": lambda home: open_account(
        open_records().log,
        Account(dataset="other", model="dp", limit=Fraction(1), adjacency="replace", unit="row", partition=None),
        OFFICER,
        **HOW,
    ),
    "a budget is raised": lambda home: raise_limit(open_records().log, "survey", "dp", Fraction(2), OFFICER, **HOW),
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
            LogAltered, match="is not the one that this home has seen: the log was cut short or replaced"
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
