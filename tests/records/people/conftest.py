from __future__ import annotations

import pytest

from penstock.records.people import _secrets
from tests.records.user_house import CHEAP


@pytest.fixture
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash passwords cheaply; how costly it really is, test_user_secrets.py says."""
    monkeypatch.setattr(_secrets, "_HASHER", CHEAP)
