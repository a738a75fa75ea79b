"""The fixture that gives a new home on each database."""

from __future__ import annotations

HOMES = {"sqlite": "home", "postgresql": "postgres_home"}
