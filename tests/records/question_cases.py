"""Questions, analysts and what they may spend, for the tests of questions on the ledger."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from penstock.records import Records
from penstock.records.ledger.accounts import Claim
from penstock.records.ledger.questions import Asked, Standing, allow_analyst, ask, standing
from tests.records.ledger_cases import HOW, account, claim, officer, with_accounts

TENTH = Fraction(1, 10)
QUESTION = claim(epsilon=TENTH, values="v1", files=("f1",), table=True)
PERSONAL = claim(
    dataset="people", source="s2", epsilon=TENTH, adjacency="presence", unit="individual", whose="person", table=True
)
PEOPLE = account(dataset="people", adjacency="presence", unit="individual")


def with_analysts(records: Records, *names: str, allowed: Fraction = Fraction(1)) -> Records:
    """Two accounts of 1, and each of these analysts may spend as much of both."""
    with_accounts(records, account(), PEOPLE)
    for name in names:
        for dataset in ("income", "people"):
            allow_analyst(records.log, dataset, "dp", name, allowed, officer(), **HOW)
    return records


def asked(
    records: Records,
    key: str,
    *,
    of: Claim = QUESTION,
    analyst: str = "ann",
    individual: str | None = None,
    draw: Callable[[], bytes] | None = None,
    epsilon: Fraction | None = None,
    **facts: Any,
) -> Asked:
    """One question; its answer tells its key, unless something else draws it."""
    of = of if epsilon is None else claim(**{name: getattr(of, name) for name in of.__slots__} | {"epsilon": epsilon})
    return ask(
        records.log,
        of,
        analyst=analyst,
        key=key,
        individual=individual,
        draw=draw or (lambda: f"canary answer to {key}".encode()),
        facts={"query": key, **facts},
        **HOW,
    )


def stands(records: Records, dataset: str = "income", analyst: str = "ann") -> Standing:
    return standing(records.log, dataset=dataset, model="dp", analyst=analyst)


def verified(records: Records) -> int:
    """Check log and ledger; how many events the ledger has."""
    with records.log.reader() as reader:
        reader.verify()
        return records.ledger.verify(reader)
