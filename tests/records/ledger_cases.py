"""Claims, accounts, and an officer with a fixed key, for the tests of the ledger."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from penstock.records import Records
from penstock.records.ledger.accounts import Account, Claim, Cost
from penstock.records.ledger.limits import Officer, open_account
from penstock.records.people.trusted_keys import trust
from tests.records.reviewers import private, public

NOW = datetime(2026, 11, 16, 2, 15, tzinfo=UTC)
HOW: dict[str, Any] = {"actor": "canary", "now": NOW}
REASON = "canary: agreed in the board"


def officer(name: str = "olga", *, owner: str = "olga", reason: str = REASON) -> Officer:
    """`owner` is whose key it is."""
    return Officer(name, private(owner), reason)


def claim(**changes: Any) -> Claim:
    """One of the whole budget of `account`."""
    given = {
        "dataset": "income",
        "source": "s1",
        "model": "dp",
        "epsilon": Fraction(1),
        "adjacency": "add_remove",
        "unit": "row",
    }
    return Claim(**{**given, **changes})


def uncounted(**changes: Any) -> Claim:
    """A release whose promise does not add up with any other."""
    given = {"dataset": None, "model": "prob_k", "epsilon": None, "adjacency": "none"}
    return claim(**{**given, **changes})


def account(**changes: Any) -> Account:
    given = {
        "dataset": "income",
        "model": "dp",
        "limit": Fraction(1),
        "adjacency": "add_remove",
        "unit": "row",
        "partition": None,
    }
    return Account(**{**given, **changes})


def with_accounts(records: Records, *accounts: Account) -> Records:
    """The officer is trusted, and opens these accounts."""
    trust(records.log, "olga", public("olga"), reason=REASON, **HOW)
    for one in accounts:
        open_account(records.log, one, officer(), **HOW)
    return records


def released(records: Records, run: str, wanted: Claim, outcome: str = "published") -> None:
    """The whole way of one run."""
    records.ledger.reserve(wanted, run=run, **HOW)
    records.ledger.spend(run, **HOW)
    records.ledger.settle(run, outcome, **HOW)  # type: ignore[arg-type]


def states(records: Records, dataset: str = "income") -> list[tuple[str, int, str]]:
    """Run, attempt and state of every cost."""
    return [(cost.run, cost.attempt, cost.state) for cost in records.ledger.book(dataset).costs]


def charges(records: Records, run: str, dataset: str = "income") -> list[Cost]:
    return [cost for cost in records.ledger.book(dataset).costs if cost.run == run]
