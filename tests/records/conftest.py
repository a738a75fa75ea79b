from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock.records import open_records
from penstock.records.home import Home
from tests.records.database_faults import POSTGRES_FAULTS, SHARED_FAULTS, FaultyHome
from tests.records.review_house import House
from tests.support.homes import HOMES


@pytest.fixture
def now() -> datetime:
    return datetime(2026, 11, 16, 2, 15, tzinfo=UTC)


@pytest.fixture(
    params=[(database, fault) for database in HOMES for fault in SHARED_FAULTS]
    + [("postgresql", fault) for fault in POSTGRES_FAULTS],
    ids=lambda pair: f"{pair[0]}: {pair[1]}",
)
def faulty(request: pytest.FixtureRequest) -> FaultyHome:
    """A new home with one fault of its database, for every fault that the database can have."""
    database, name = request.param
    server = request.getfixturevalue("postgres") if database == "postgresql" else None
    return FaultyHome(request.getfixturevalue(HOMES[database]), name, server)


@pytest.fixture
def house(either_home: Home, now: datetime) -> House:
    return House(open_records(home=either_home).log, now)


@pytest.fixture
def public_folder(tmp_path: Path) -> Path:
    return tmp_path / "public"


@pytest.fixture
def checked(either_home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The home that is checked, on each database."""
    monkeypatch.setenv("PENSTOCK_HOME", str(either_home.root))
    return either_home


@pytest.fixture
def small(home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The same on SQLite alone, for what does not depend on the database."""
    monkeypatch.setenv("PENSTOCK_HOME", str(home.root))
    return home
