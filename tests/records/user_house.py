"""What tests of users share: how users are added, and hashes that cost little."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from argon2 import PasswordHasher

from penstock.records import Home, Log
from penstock.records.people.users import User, find_user, is_password

NOW = datetime(2026, 11, 16, 2, 15, tzinfo=UTC)
REASON = "works here"
HOW: dict[str, Any] = {"actor": "root", "reason": REASON, "now": NOW}
PERSON: dict[str, Any] = {"is_program": False, **HOW}
PROGRAM: dict[str, Any] = {"is_program": True, **HOW}
CHOSEN, OTHER = "four words of mine", "four words of yours"
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


def known(log: Log, name: str) -> User:
    user = find_user(log, name)
    assert user is not None
    return user


def opens(log: Log, home: Home, name: str, given: str) -> bool:
    return is_password(home, known(log, name), given)
