from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from typing import Any

import pytest

from penstock.mechanisms.composition import NotCountable
from penstock.records import Action, Home, LogAltered, Records, open_records
from penstock.records.files.digest import canonical
from penstock.records.ledger._transactions import LedgerWriter
from penstock.records.ledger.accounts import Account, LedgerAltered, dataset_subject
from penstock.records.ledger.limits import AccountRefused, OfficerNotTrusted, open_account, raise_limit
from penstock.records.people.trusted_keys import trust, withdraw
from penstock.records.signing.envelope import sealed
from penstock.records.signing.signing import key_id
from tests.records.database_faults import tamper
from tests.records.ledger_cases import HOW, REASON, account, claim, officer, released, with_accounts
from tests.records.reviewers import private, public


@pytest.fixture
def records(either_home: Home) -> Records:
    """The officer olga is trusted; no account yet."""
    return with_accounts(open_records(home=either_home))


@pytest.fixture
def stored(either_home: Home) -> Records:
    """The same, in a database that others can write to, with an account."""
    return with_accounts(open_records(home=either_home), account())


def opened(records: Records, **changes: Any) -> None:
    open_account(records.log, account(**changes), officer(), **HOW)


def test_an_account_says_who_opened_it_why_and_under_which_signature(records: Records) -> None:
    opened(records, partition="region", limit=Fraction(7, 3))
    (event,) = [event for event in records.log.events() if event.action is Action.BUDGET_OPENED]
    facts = dict(event.facts)
    assert {name: facts.pop(name) for name in ("officer", "reason", "key_id")} == {
        "officer": "olga",
        "reason": REASON,
        "key_id": key_id(public("olga")),
    }
    assert {name: facts.pop(name) for name in account().as_dict()} == {
        **account(partition="region").as_dict(),
        "limit": "7/3",
    }
    assert set(facts) == {"public_key", "envelope", "subjects"}
    assert records.ledger.book("income").accounts == {"dp": account(partition="region", limit=Fraction(7, 3))}
    assert records.log.verify().checkpoints == 2
    assert records.ledger.verify() == 1


def test_an_account_is_opened_once(records: Records) -> None:
    opened(records)
    with pytest.raises(AccountRefused, match="model refused: must not have an account already") as caught:
        opened(records, limit=Fraction(5))
    assert (caught.value.code, caught.value.kind) == ("account-refused", "budget")
    opened(records, dataset="wages")


@pytest.mark.parametrize("dataset", ["", "  ", "two\nlines", "\ud800"])
def test_a_data_set_needs_a_name(records: Records, dataset: str) -> None:
    with pytest.raises(AccountRefused, match="dataset refused: must be a name"):
        opened(records, dataset=dataset)


def test_every_fault_of_an_account_is_listed(records: Records) -> None:
    wrong = account(dataset="", unit="household", partition="two\nlines")
    with pytest.raises(AccountRefused) as caught:
        open_account(records.log, wrong, officer(reason=" "), **HOW)
    assert [(fault.field, fault.rule) for fault in caught.value.faults] == [
        ("dataset", "must be a name"),
        ("partition", "must be the name of a column"),
        ("unit", "must be row or individual"),
        ("reason", "must be given"),
    ]


@pytest.mark.parametrize(
    "changes",
    [{"model": "prob_k"}, {"adjacency": "from_D"}, {"limit": Fraction(0)}, {"limit": Fraction(-1)}, {"limit": 0.5}],
)
def test_an_account_that_no_theorem_counts_is_refused(records: Records, changes: dict[str, Any]) -> None:
    with pytest.raises(NotCountable):
        opened(records, **changes)
    assert records.ledger.verify() == 0


def test_an_account_opened_later_must_cover_what_was_spent(records: Records) -> None:
    opened(records)
    released(records, "r1", claim(), "refused")
    with pytest.raises(AccountRefused, match="epsilon refused: must be at least 2, which the data set has spent"):
        opened(records, model="idp", adjacency="from_D")
    opened(records, model="idp", adjacency="from_D", limit=Fraction(2))
    with pytest.raises(NotCountable, match="must be the unit of the account, individual"):
        opened(records, model="bdp", adjacency="bootstrap_replace", unit="individual")


def test_a_limit_is_only_ever_raised_and_the_rest_of_the_account_stays(records: Records) -> None:
    opened(records, partition="region")
    for limit in (Fraction(1), Fraction(1, 2), Fraction(-3)):
        with pytest.raises(AccountRefused, match=f"epsilon refused: must be above 1, got '{limit}'"):
            raise_limit(records.log, "income", "dp", limit, officer(), **HOW)
    raised = raise_limit(records.log, "income", "dp", Fraction(4, 3), officer(), **HOW)
    assert raised == account(partition="region", limit=Fraction(4, 3))
    assert records.ledger.book("income").accounts == {"dp": raised}
    assert records.ledger.verify() == 2


@pytest.mark.parametrize(("dataset", "model"), [("wages", "dp"), ("income", "idp"), ("income", "prob_k")])
def test_what_was_not_opened_cannot_be_raised(records: Records, dataset: str, model: str) -> None:
    opened(records)
    with pytest.raises(
        AccountRefused, match=f"dataset refused: must have an account of model {model}, got '{dataset}'"
    ):
        raise_limit(records.log, dataset, model, Fraction(2), officer(), **HOW)


@pytest.mark.parametrize(
    "signer",
    [officer("mallory", owner="mallory"), officer("olga", owner="mallory"), officer("mallory", owner="olga")],
    ids=["not trusted", "the key of another", "must not have the name of a figure"],
)
def test_only_a_trusted_officer_sets_a_limit_and_with_the_own_key(records: Records, signer: Any) -> None:
    opened(records)
    with pytest.raises(OfficerNotTrusted, match=f"must have a trusted key, and sign with it, got '{signer.name}'"):
        open_account(records.log, account(dataset="wages"), signer, **HOW)
    with pytest.raises(OfficerNotTrusted) as caught:
        raise_limit(records.log, "income", "dp", Fraction(2), signer, **HOW)
    assert (caught.value.code, caught.value.kind) == ("officer-not-trusted", "budget")
    assert records.ledger.verify() == 1


def test_a_withdrawn_officer_sets_no_limit_and_what_was_set_before_holds(records: Records) -> None:
    opened(records)
    withdraw(records.log, "olga", reason=REASON, **HOW)
    with pytest.raises(OfficerNotTrusted):
        raise_limit(records.log, "income", "dp", Fraction(2), officer(), **HOW)
    trust(records.log, "olga", public("olga again"), reason=REASON, **HOW)
    with pytest.raises(OfficerNotTrusted):
        raise_limit(records.log, "income", "dp", Fraction(2), officer(), **HOW)
    raise_limit(records.log, "income", "dp", Fraction(2), officer(owner="olga again"), **HOW)
    assert records.ledger.verify() == 2


@pytest.mark.parametrize("reason", ["", "  ", "x" * 501, "two\nlines"])
def test_a_limit_needs_a_reason_and_it_is_never_quoted(records: Records, reason: str) -> None:
    opened(records)
    for act in (
        lambda: open_account(records.log, account(dataset="wages"), officer(reason=reason), **HOW),
        lambda: raise_limit(records.log, "income", "dp", Fraction(2), officer(reason=reason), **HOW),
    ):
        with pytest.raises(AccountRefused, match="reason refused") as caught:
            act()
        assert "x" * 10 not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM log_events WHERE action = 'KEY_WITHDRAWN'",
        "UPDATE log_events SET run = 'x' WHERE action = 'KEY_WITHDRAWN'",
    ],
)
def test_a_withdrawal_that_was_taken_out_of_the_log_does_not_bring_the_officer_back(
    stored: Records, either_home: Home, change: str
) -> None:
    withdraw(stored.log, "olga", reason=REASON, **HOW)
    stored.log.append(Action.PLANNED, run="r1", facts={}, actor="a", occurred=HOW["now"])
    tamper(either_home, change)
    with pytest.raises(LogAltered):
        raise_limit(stored.log, "income", "dp", Fraction(2), officer(), **HOW)
    with pytest.raises(LogAltered):
        open_account(stored.log, account(dataset="wages"), officer(), **HOW)


def forge(records: Records, signer: str, now: datetime, said: Account, signed: Account, **changes: str) -> None:
    """A raised limit, written as the log would have written it, by someone who has the log's key."""
    facts = {**said.as_dict(), "reason": REASON, "officer": "olga"}
    payload = canonical({**signed.as_dict(), "reason": REASON, "officer": "olga"})
    envelope = sealed(payload, changes.pop("kind", "application/vnd.penstock.budget+json"), private(signer))
    proof = {
        "key_id": key_id(public(signer)),
        "public_key": public(signer).public_bytes_raw().hex(),
        "envelope": canonical(envelope).decode(),
    }
    with records.log.transaction() as writer:
        sheet = LedgerWriter(writer, actor="mallory", now=now)
        place = [dataset_subject("income")]
        run = changes.pop("run", "-")
        sheet.write(Action.BUDGET_RAISED, run=run, facts={**facts, **proof, **changes}, subjects=place)


HIGHER = account(limit=Fraction(9))


@pytest.mark.parametrize(
    ("signer", "signed", "changes"),
    [
        ("mallory", HIGHER, {}),
        ("mallory", HIGHER, {"key_id": key_id(public("olga")), "public_key": public("olga").public_bytes_raw().hex()}),
        ("olga", account(limit=Fraction(2)), {}),
        ("olga", HIGHER, {"reason": "another reason"}),
        ("olga", HIGHER, {"officer": "anna"}),
        ("olga", HIGHER, {"kind": "application/vnd.penstock.decision+json"}),
        ("olga", HIGHER, {"envelope": "[]"}),
        ("olga", HIGHER, {"envelope": "x"}),
        ("olga", HIGHER, {"run": "r1"}),
    ],
    ids=[
        "another key",
        "another key under her name",
        "another limit",
        "another reason",
        "another officer",
        "signed as something else",
        "no envelope",
        "no JSON",
        "outside of the register",
    ],
)
def test_a_forged_limit_is_found_also_if_the_log_was_forged_with_it(
    records: Records, now: datetime, signer: str, signed: Account, changes: dict[str, str]
) -> None:
    opened(records)
    forge(records, signer, now, HIGHER, signed, **changes)
    assert records.log.verify().count == 3
    with pytest.raises(LedgerAltered) as caught:
        records.ledger.verify()
    assert [str(fault).partition(". ")[0] for fault in caught.value.faults] == [
        "event 3 refused: must carry the signature of its officer, and does not"
    ]


def test_a_limit_signed_after_the_withdrawal_of_the_key_is_found(records: Records, now: datetime) -> None:
    opened(records)
    withdraw(records.log, "olga", reason=REASON, **HOW)
    forge(records, "olga", now, HIGHER, HIGHER)
    with pytest.raises(LedgerAltered, match="event 4 refused: must carry the signature of its officer, and"):
        records.ledger.verify()


def test_the_forger_of_these_tests_could_have_been_the_officer(records: Records, now: datetime) -> None:
    """The twin: signed by her own key in the register, the same event holds."""
    opened(records)
    forge(records, "olga", now, HIGHER, HIGHER)
    assert records.ledger.verify() == 2


def test_an_overdrawn_account_is_found(records: Records, now: datetime) -> None:
    """Written past the ledger, by someone who has the log's key."""
    opened(records)
    wanted = claim(epsilon=Fraction(2))
    with records.log.transaction() as writer:
        sheet = LedgerWriter(writer, actor="mallory", now=now)
        sheet.write(Action.RESERVED, run="r1", facts={**wanted.facts(), "attempt": 1}, subjects=wanted.subjects)
    with pytest.raises(
        LedgerAltered, match="dp account of income refused: must not be charged beyond its limit, and was"
    ):
        records.ledger.verify()
