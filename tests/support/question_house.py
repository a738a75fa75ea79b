"""A house where questions may be asked: a survey, its data description, an account, an analyst with an allowance."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from penstock.flows.answer import Answer, Wish, answer
from penstock.flows.query_text import parse_query
from penstock.flows.spec.data_description import DataDescription, load_description
from penstock.mechanisms.models import Model
from penstock.records import open_records
from penstock.records.home import login
from penstock.records.ledger.limits import Officer
from penstock.records.ledger.questions import allow_analyst
from tests.support.workplace import OFFICER, Workplace, open_dp_account

__all__ = ["allow", "asked", "description_of", "rested", "set_up"]


def description_of(place: Workplace, **questions: Any) -> dict[str, Any]:
    """The keys of a data description of the workplace's survey."""
    columns = {name: column for name, column in place.raw["source"]["columns"].items() if name != "weight"}
    source = {**place.raw["source"], "path": str(place.source), "columns": columns}
    return {
        "name": "survey",
        "source": source,
        "budget": {"dataset": "survey"},
        "questions": {"adjacency": "replace", **questions},
    }


def set_up(
    place: Workplace, limit: int = 2, allowed: str = "2", *, unit: str = "row", adjacency: str = "replace", **more: Any
) -> DataDescription:
    """Write the description, open the account, allow whoever runs the tests; return the description."""
    raw = description_of(place, **{"adjacency": adjacency, **more})
    file = place.folder / "data.yaml"
    file.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    open_dp_account(limit, unit=unit, adjacency=adjacency)
    allow(allowed)
    rested(place.source)
    return load_description(file)


def allow(epsilon: str, analyst: str | None = None, model: Model = "dp", dataset: str = "survey") -> None:
    """An officer allows an analyst to spend so much."""
    how = {"actor": "olga", "now": datetime.now(UTC)}
    officer = Officer("olga", OFFICER, "a colleague")
    allow_analyst(open_records().log, dataset, model, analyst or login(), Fraction(epsilon), officer, **how)


def rested(file: Path) -> None:
    """Wait until a file rests, so that what is known of it is kept: its clock must have moved on."""
    while time.time_ns() - os.stat(file).st_ctime_ns < 10**7:
        time.sleep(0.002)


def asked(data: DataDescription, text: str, analyst: str | None = None, **wanted: Any) -> Answer:
    """Ask, with numbers as text; as whoever runs the tests, or as a named analyst."""
    numbers = {name: value if name == "method" else Fraction(value) for name, value in wanted.items()}
    return answer(data, lambda: Wish(query=parse_query(text), **numbers), analyst=analyst or login())
