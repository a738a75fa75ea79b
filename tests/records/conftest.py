from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from database_faults import POSTGRES_FAULTS, SHARED_FAULTS, FaultyHome
from postgres import PostgresServer
from review_house import House

from records import open_records
from records.home import Home

NOW = datetime(2026, 11, 16, 2, 15, tzinfo=UTC)
DATABASES = ("sqlite", "postgresql")


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A new home with its default database, an SQLite file."""
    monkeypatch.delenv("PENSTOCK_DB", raising=False)
    monkeypatch.delenv("PENSTOCK_HOME", raising=False)
    return Home.open(tmp_path / "home")


@pytest.fixture
def postgres_home(home: Home, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A new home whose database is a new one on the PostgreSQL server."""
    url = postgres.new_database()
    monkeypatch.setenv("PENSTOCK_DB", url)
    yield home
    postgres.give_back(url)


def _home_on(database: str, request: pytest.FixtureRequest) -> Home:
    chosen: Home = request.getfixturevalue({"sqlite": "home", "postgresql": "postgres_home"}[database])
    return chosen


@pytest.fixture(params=DATABASES)
def either_home(request: pytest.FixtureRequest) -> Home:
    """A new home, once on SQLite and once on PostgreSQL."""
    return _home_on(request.param, request)


@pytest.fixture(
    params=[(database, fault) for database in DATABASES for fault in SHARED_FAULTS]
    + [("postgresql", fault) for fault in POSTGRES_FAULTS],
    ids=lambda pair: f"{pair[0]}: {pair[1]}",
)
def faulty(request: pytest.FixtureRequest) -> FaultyHome:
    """A new home with one fault of its database, for every fault that the database can have."""
    database, name = request.param
    server = request.getfixturevalue("postgres") if database == "postgresql" else None
    return FaultyHome(_home_on(database, request), name, server)


@pytest.fixture
def house(either_home: Home, now: datetime) -> House:
    return House(open_records(home=either_home).log, now)
