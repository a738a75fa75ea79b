from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from records.home import Home

NOW = datetime(2026, 11, 16, 2, 15, tzinfo=UTC)


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.delenv("PENSTOCK_DB", raising=False)
    monkeypatch.delenv("PENSTOCK_HOME", raising=False)
    return Home.open(tmp_path / "home")
