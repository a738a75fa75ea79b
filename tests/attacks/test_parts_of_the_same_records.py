"""One file, or a copy of it, is charged for several parts. Whatever a spec says, the same records are one part."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pytest

from penstock.records import Ledger, open_records
from penstock.records.ledger._transactions import LedgerWriter
from penstock.records.ledger.accounts import Claim, LedgerAltered
from penstock.records.ledger.ledger import BudgetExceeded, SecondRelease
from penstock.records.log.log import Action
from tests.support.workplace import Workplace, budget_of, open_dp_account

PARTS = ("North", "South", "East", "West")
HOW: dict[str, Any] = {"actor": "mallory", "now": datetime(2026, 11, 16, 2, 15, tzinfo=UTC)}


def part_of(place: int, **changes: Any) -> Claim:
    given = {
        "dataset": "survey",
        "source": "one file",
        "model": "dp",
        "epsilon": Fraction(1),
        "adjacency": "add_remove",
        "unit": "row",
        "column": "region",
        "part": PARTS[place],
    }
    return Claim(**{**given, **changes})


# How the same records come back as another part.
COPIES: dict[str, Any] = {
    "the same file": lambda place: {},
    "the same values saved again": lambda place: {"source": f"file {place}", "values": "v"},
    "the same file below other folders": lambda place: {
        "source": f"file {place}",
        "values": f"values {place}",
        "files": ("the file", f"another {place}"),
    },
    "copies of copies": lambda place: {"source": f"file {place // 2}", "values": f"values {(place + 1) // 2}"},
}


def ledger() -> Ledger:
    return open_records().ledger


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_parts_of_the_same_records_are_not_charged_beside_each_other(either_workplace: Workplace, copy: Any) -> None:
    open_dp_account(3, adjacency="add_remove", partition="region")
    for place in range(3):
        ledger().reserve(part_of(place, **copy(place)), run=f"r{place}", **HOW)
    assert budget_of()[:2] == ("3", "0")
    with pytest.raises(BudgetExceeded):
        ledger().reserve(part_of(3, **copy(3)), run="r3", **HOW)
    ledger().verify()


def test_who_writes_past_the_ledger_is_found(either_workplace: Workplace) -> None:
    open_dp_account(1, adjacency="add_remove", partition="region")
    with open_records().log.transaction() as writer:
        entries = LedgerWriter(writer, **HOW)
        for place in range(4):
            claim = part_of(place)
            facts = {**claim.facts(), "attempt": 1}
            entries.write(Action.RESERVED, run=f"r{place}", facts=facts, subjects=claim.subjects)
    with pytest.raises(LedgerAltered, match="must not be charged beyond its limit, and was"):
        ledger().verify()


@pytest.mark.parametrize("dataset", [None, "survey"])
@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_an_exact_release_of_another_part_of_the_same_records_is_a_second_one(
    either_workplace: Workplace, copy: Any, dataset: str | None
) -> None:
    exact: dict[str, Any] = {"dataset": dataset, "model": "k_anon", "epsilon": None, "adjacency": "none"}
    ledger().reserve(part_of(0, **exact, **copy(0)), run="r0", **HOW)
    with pytest.raises(SecondRelease, match="r0"):
        ledger().reserve(part_of(1, **exact, **copy(1)), run="r1", **HOW)
    ledger().reserve(part_of(1, **exact, **copy(1), acknowledges=("r0",)), run="r1", **HOW)
    with pytest.raises(SecondRelease, match="r0"):  # of the last copy only by way of the one between
        ledger().reserve(part_of(2, **exact, **copy(2), acknowledges=("r1",)), run="r2", **HOW)


def test_a_part_of_another_edition_is_not_apart(either_workplace: Workplace) -> None:
    """Who moved from North to South between two editions is in both."""
    open_dp_account(2, adjacency="add_remove", partition="region")
    for place, edition in enumerate(["2026-10", "2026-11"]):
        moved = part_of(place, source=f"file {place}", edition=edition)
        ledger().reserve(moved, run=f"r{place}", **HOW)
    assert budget_of()[:2] == ("2", "0")
