"""Bootstrap and individual promises are about one actual data set; other data are charged to its account."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pytest
from private_release import begun
from workplace import ROWS, Workplace, make_table, open_dp_account

from mechanisms.refusal import Refusal
from records import Ledger, open_records
from records.accounts import Claim, LedgerAltered
from records.log import Action
from records.sheet import WritingSheet

RELAXED = {
    "bdp": {"adjacency": "bootstrap_replace", "scale": "per_cell", "empty_cells": "noise", "acknowledges": ["bdp"]},
    "idp": {"adjacency": "from_D", "acknowledges": ["idp"]},
}
HOW: dict[str, Any] = {"actor": "mallory", "now": datetime(2026, 11, 16, 2, 15, tzinfo=UTC)}
OTHERS = {
    "other records": {"source": "s2", "values": "v2"},
    "another edition": {"edition": "2026-11"},
    "another edition of other records": {"source": "s2", "values": "v2", "edition": "2026-11"},
}


def claim_of(model: str, **changes: Any) -> Claim:
    given = {
        "dataset": "survey",
        "source": "s1",
        "values": "v1",
        "edition": "2026-10",
        "model": model,
        "epsilon": Fraction(1),
        "adjacency": RELAXED[model]["adjacency"],
        "unit": "row",
    }
    return Claim(**{**given, **changes})


def ledger() -> Ledger:
    return open_records().ledger


def codes(act: Any) -> str | None:
    try:
        act()
    except Refusal as refusal:
        return refusal.code
    return None


@pytest.mark.parametrize("model", RELAXED)
def test_a_table_of_other_records_is_not_charged_to_the_same_account(either_workplace: Workplace, model: str) -> None:
    make_table(either_workplace, model=model, **RELAXED[model])
    with begun(either_workplace) as line:
        line.publish()
    either_workplace.write_survey(ROWS, seed=2)
    either_workplace.raw["name"] = "other"

    def other() -> None:
        with begun(either_workplace, account=False) as line:
            line.publish()

    assert codes(other) == "other-data"
    assert len(ledger().book("survey").costs) == 1


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("model", RELAXED)
def test_other_data_are_refused_and_found(either_workplace: Workplace, model: str, change: dict[str, str]) -> None:
    open_dp_account(9, model=model, adjacency=RELAXED[model]["adjacency"])  # type: ignore[arg-type]
    ledger().reserve(claim_of(model), run="r1", **HOW)
    ledger().reserve(claim_of(model, source="s3"), run="r2", **HOW)  # saved again
    assert codes(lambda: ledger().reserve(claim_of(model, **change), run="r3", **HOW)) == "other-data"
    ledger().verify()
    wrong = claim_of(model, **change)
    with open_records().log.transaction() as pen:
        facts = {**wrong.facts(), "attempt": 1}
        WritingSheet(pen, **HOW).write(Action.RESERVED, run="r3", facts=facts, subjects=wrong.subjects)
    with pytest.raises(LedgerAltered, match=f"{model} account of survey refused: charges of different data"):
        ledger().verify()
