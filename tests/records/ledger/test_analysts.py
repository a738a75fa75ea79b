"""An officer allows an analyst to spend so much, signs it, and only ever raises it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from penstock.records import Action, Home, Records, open_records
from penstock.records.ledger._transactions import LedgerWriter
from penstock.records.ledger.accounts import LedgerAltered, dataset_subject
from penstock.records.ledger.limits import AccountRefused, OfficerNotTrusted
from penstock.records.ledger.questions import allow_analyst
from penstock.records.people.trusted_keys import withdraw
from tests.records.ledger_cases import HOW, REASON, account, officer, with_accounts
from tests.records.question_cases import asked, stands, verified

HALF = Fraction(1, 2)


@pytest.fixture
def records(either_home: Home) -> Records:
    return with_accounts(open_records(home=either_home), account())


def allow(records: Records, epsilon: Fraction = HALF, **changes: Any) -> None:
    given = {"dataset": "income", "model": "dp", "analyst": "ann", "officer": officer(), **changes}
    signer = given.pop("officer")
    allow_analyst(records.log, epsilon=epsilon, officer=signer, **given, **HOW)


def test_an_allowance_says_who_gave_it_why_and_under_which_signature(records: Records) -> None:
    allow(records)
    event = records.log.events()[-1]
    assert event.action is Action.ANALYST_ALLOWED
    told = {name: event.facts[name] for name in ("dataset", "model", "analyst", "allowed", "officer", "reason")}
    assert told == {
        "dataset": "income",
        "model": "dp",
        "analyst": "ann",
        "allowed": "1/2",
        "officer": "olga",
        "reason": REASON,
    }
    assert records.ledger.book("income").allowances == {("dp", "ann"): HALF}
    assert records.log.verify().checkpoints == 3
    assert verified(records) == 2


def test_an_allowance_is_only_ever_raised(records: Records) -> None:
    allow(records)
    for epsilon in (HALF, Fraction(1, 3)):
        with pytest.raises(AccountRefused, match="must be above 1/2, which ann may spend already") as caught:
            allow(records, epsilon)
        assert [fault.field for fault in caught.value.faults] == ["epsilon"]
    allow(records, Fraction(3))  # more than the account has: it promises nothing
    assert (stands(records).allowed, stands(records).left) == (3, 1)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"analyst": ""}, "analyst"),
        ({"analyst": "two words"}, "analyst"),
        ({"epsilon": Fraction(0)}, "epsilon"),
        ({"epsilon": Fraction(-1)}, "epsilon"),
        ({"dataset": "wages"}, "dataset"),
        ({"model": "idp"}, "dataset"),
        ({"model": "prob_k"}, "dataset"),
        ({"officer": officer(reason=" ")}, "reason"),
    ],
)
def test_what_cannot_be_allowed_is_refused(records: Records, changes: dict[str, Any], field: str) -> None:
    before = records.log.head()
    with pytest.raises(AccountRefused) as caught:
        allow(records, **changes)
    assert [fault.field for fault in caught.value.faults] == [field]
    assert records.log.head() == before


def test_only_a_trusted_officer_allows(records: Records) -> None:
    for signer in (officer("mallory", owner="mallory"), officer("olga", owner="mallory")):
        with pytest.raises(OfficerNotTrusted) as caught:
            allow(records, officer=signer)
        assert [fault.field for fault in caught.value.faults] == ["officer"]
    withdraw(records.log, "olga", reason="left", **HOW)
    with pytest.raises(OfficerNotTrusted):
        allow(records)


def forged(records: Records, **changes: Any) -> None:
    """The last allowance once more, changed by somebody who can write to the log and has no officer's key."""
    facts = {name: value for name, value in records.log.events()[-1].facts.items() if name != "subjects"}
    with records.log.transaction() as writer:
        ledger = LedgerWriter(writer, **HOW)
        place = [dataset_subject("income")]
        ledger.write(Action.ANALYST_ALLOWED, run="-", facts={**facts, **changes}, subjects=place)


@pytest.mark.parametrize("changes", [{"allowed": "5"}, {"analyst": "eve"}, {"dataset": "wages"}, {"envelope": "{}"}])
def test_an_allowance_that_no_officer_signed_is_found(records: Records, changes: dict[str, str]) -> None:
    allow(records)
    forged(records, **changes)
    with pytest.raises(LedgerAltered, match="must carry the signature of its officer, and does not"):
        verified(records)


def test_an_allowance_that_was_exceeded_is_found(records: Records) -> None:
    allow(records)
    asked(records, "k1", epsilon=Fraction(1, 3))
    facts = {"dataset": "income", "model": "dp", "analyst": "ann", "allowed": "1/4", "officer": "olga"}
    with records.log.transaction() as writer:
        ledger = LedgerWriter(writer, **HOW)
        ledger.write(Action.ANALYST_ALLOWED, run="-", facts=facts | {"envelope": ""}, subjects=["dataset income"])
    with pytest.raises(LedgerAltered, match="dp allowance of ann refused: must not be charged beyond its limit"):
        verified(records)
