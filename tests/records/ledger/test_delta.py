"""Delta beside epsilon: signed with the account, spent up to a limit of its own, never taken down."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from penstock.mechanisms.composition import NotCountable
from penstock.records import Action, Home, Records, open_records
from penstock.records.files.digest import canonical
from penstock.records.ledger._transactions import LedgerWriter
from penstock.records.ledger.accounts import LedgerAltered, dataset_subject
from penstock.records.ledger.ledger import BudgetExceeded
from penstock.records.ledger.limits import AccountRefused, open_account, raise_limit, write_signed
from penstock.records.signing.envelope import sealed
from penstock.records.signing.signing import key_id
from tests.records.ledger.test_limits import opened, records, stored
from tests.records.ledger_cases import HOW, REASON, account, claim, officer, released, with_accounts
from tests.records.reviewers import private, public

__all__ = ["records", "stored"]  # the fixtures


def reserve(records: Records, run: str, **changes: Any) -> None:
    records.ledger.reserve(claim(**changes), run=run, **HOW)


DELTA = Fraction(1, 10**6)


def test_delta_is_spent_up_to_its_own_limit_and_comes_back_if_nothing_was_drawn(either_home: Home) -> None:
    records = with_accounts(open_records(home=either_home), account(limit=Fraction(4), delta=2 * DELTA))
    for run in ("r1", "r2"):
        reserve(records, run, epsilon=Fraction(1, 2), delta=DELTA)
    with pytest.raises(BudgetExceeded) as refused:
        reserve(records, "r3", epsilon=Fraction(1, 2), delta=DELTA / 1000)
    [fault] = refused.value.faults
    assert (fault.field, fault.rule.rpartition(", ")[2], fault.got) == ("delta", "0 of 1/500000", "1/1000000000")
    records.ledger.settle("r2", "refused", **HOW)
    reserve(records, "r3", epsilon=Fraction(1, 2), delta=DELTA)
    reserve(records, "r4", epsilon=Fraction(1, 2))
    book = records.ledger.book("income")
    assert book.accounts["dp"].delta_spent(book.costs) == 2 * DELTA
    [shown] = book.as_dict("income")["accounts"]
    assert (shown["delta"], shown["delta_spent"], shown["delta_left"]) == ("1/500000", "1/500000", "0")
    assert [cost.get("delta") for cost in book.as_dict("income")["releases"]] == ["1/1000000"] * 2 + [None]
    assert records.ledger.verify() > 0


def test_an_account_without_delta_pays_for_none_and_neither_does_one_of_a_relaxation(stored: Records) -> None:
    records = stored
    raise_limit(records.log, "income", "dp", Fraction(2), officer(), delta=DELTA, **HOW)
    open_account(records.log, account(model="idp", adjacency="from_D", limit=Fraction(9)), officer(), **HOW)
    with pytest.raises((BudgetExceeded, NotCountable)) as refused:
        reserve(records, "r1", adjacency="replace", delta=DELTA)
    assert refused.value.code == "not-countable"  # a promise for replace says nothing under add_remove
    replaced = account(dataset="wages", adjacency="replace", limit=Fraction(9), delta=DELTA)
    relaxed = account(dataset="wages", model="idp", adjacency="from_D", limit=Fraction(9))
    for one in (replaced, relaxed):
        open_account(records.log, one, officer(), **HOW)
    wanted = {"dataset": "wages", "source": "s7", "adjacency": "replace", "delta": DELTA}
    with pytest.raises(BudgetExceeded) as refused:
        reserve(records, "r2", **wanted)
    assert [(fault.field, "idp account" in fault.rule) for fault in refused.value.faults] == [("delta", True)]
    raise_limit(records.log, "wages", "idp", None, officer(), delta=DELTA, **HOW)
    reserve(records, "r2", **wanted)
    assert records.ledger.verify() > 0


def test_delta_is_signed_with_the_account_and_raised_alone_or_with_the_limit(records: Records) -> None:
    opened(records, delta=DELTA)
    raised = raise_limit(records.log, "income", "dp", None, officer(), delta=2 * DELTA, **HOW)
    assert raised == account(delta=2 * DELTA)
    raised = raise_limit(records.log, "income", "dp", Fraction(3), officer(), **HOW)
    assert raised == account(limit=Fraction(3), delta=2 * DELTA)
    raised = raise_limit(records.log, "income", "dp", Fraction(4), officer(), delta=3 * DELTA, **HOW)
    assert records.ledger.book("income").accounts == {"dp": raised}
    assert [event.facts.get("delta") for event in records.log.events() if event.action.value.startswith("BUDGET")] == [
        "1/1000000",
        "1/500000",
        "1/500000",
        "3/1000000",
    ]
    assert records.ledger.verify() == 4


@pytest.mark.parametrize(
    ("amounts", "field"),
    [
        ((None, None), "epsilon"),
        ((Fraction(5), DELTA), "delta"),
        ((Fraction(1), 2 * DELTA), "epsilon"),
        ((None, Fraction(1)), "delta"),
        ((None, Fraction(-1, 9)), "delta"),
        ((None, Fraction(1, 3**50)), "delta"),
    ],
)
def test_neither_of_two_limits_is_lowered_nor_made_long(
    records: Records, amounts: tuple[Fraction | None, Fraction | None], field: str
) -> None:
    opened(records, delta=DELTA)
    with pytest.raises(AccountRefused) as refused:
        raise_limit(records.log, "income", "dp", amounts[0], officer(), delta=amounts[1], **HOW)
    assert [fault.field for fault in refused.value.faults] == [field]
    assert records.ledger.book("income").accounts == {"dp": account(delta=DELTA)}


@pytest.mark.parametrize("delta", [Fraction(-1, 9), Fraction(1), Fraction(1, 3**50)])
def test_an_account_with_a_delta_that_is_none_is_not_opened(records: Records, delta: Fraction) -> None:
    with pytest.raises(AccountRefused) as refused:
        opened(records, delta=delta)
    assert [fault.field for fault in refused.value.faults] == ["delta"]


def test_an_account_must_cover_the_delta_that_was_spent(records: Records) -> None:
    opened(records, adjacency="replace", delta=DELTA)
    released(records, "r1", claim(adjacency="replace", delta=DELTA), "refused")
    for limit, fields in ((Fraction(9), ["delta"]), (Fraction(1, 2), ["epsilon", "delta"])):
        with pytest.raises(AccountRefused) as refused:
            opened(records, model="idp", adjacency="from_D", limit=limit)
        assert [fault.field for fault in refused.value.faults] == fields
    opened(records, model="idp", adjacency="from_D", limit=Fraction(9), delta=DELTA)


def test_a_delta_that_nobody_signed_is_found(stored: Records) -> None:
    """Whoever writes to the database and holds the key of the home, but not the officer's."""
    facts = {**account(delta=Fraction(1, 2)).as_dict(), "reason": REASON, "officer": "olga"}
    envelope = sealed(canonical(facts), "application/vnd.penstock.budget+json", private("otto"))
    forged = {**facts, "key_id": key_id(public("olga")), "public_key": public("olga").public_bytes_raw().hex()}
    with stored.log.transaction() as writer:
        LedgerWriter(writer, **HOW).write(
            Action.BUDGET_RAISED,
            run="keys",
            facts={**forged, "envelope": canonical(envelope).decode()},
            subjects=[dataset_subject("income")],
        )
    with pytest.raises(LedgerAltered, match="must carry the signature"):
        stored.ledger.verify()


@pytest.mark.parametrize(
    "lowered", [{"limit": Fraction(1, 2)}, {"limit": Fraction(2), "delta": Fraction(0)}, {"delta": Fraction(5)}]
)
def test_a_limit_that_an_officer_took_down_past_the_command_is_found(stored: Records, lowered: dict[str, Any]) -> None:
    raise_limit(stored.log, "income", "dp", Fraction(2), officer(), delta=DELTA, **HOW)
    after = account(**{"limit": Fraction(2), "delta": DELTA, **lowered})
    with stored.log.transaction() as writer:
        ledger = LedgerWriter(writer, **HOW)
        facts = {name: value for name, value in after.as_dict().items() if name != "dataset"}
        write_signed(ledger, writer, Action.BUDGET_RAISED, "income", facts, officer())
    with pytest.raises(LedgerAltered, match="must raise a limit"):
        stored.ledger.verify()
