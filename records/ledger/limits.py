"""Who sets a budget says why and signs it: opening an account and raising its limit.

    signature = DSSE over canonical(dataset, model, limit, adjacency, unit, partition, reason, officer)

The limit of looks (looks.py) and what an analyst may spend (analysts.py) are signed in the same way; their facts have
other names, so that none passes for another.

The officer is a person with a trusted key (trusted_keys.py). A limit is only ever raised: what was
promised to be possible stays possible, and lowering it could not take back what was spent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from penstock.mechanisms.composition import Charge
from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.approval.decision import reason_faults
from penstock.records.files.digest import canonical
from penstock.records.ledger._balances import FINEST, Balance
from penstock.records.ledger._transactions import LedgerWriter
from penstock.records.ledger.accounts import Account, Book, dataset_subject, read_book
from penstock.records.log.log import Action, Event, Log, LogWriter
from penstock.records.people.trusted_keys import REGISTER, people, with_keys
from penstock.records.signing.envelope import opened, sealed
from penstock.records.signing.signing import SignatureWrong, key_id

__all__ = [
    "AccountRefused",
    "Officer",
    "OfficerNotTrusted",
    "limit_faults",
    "long_faults",
    "open_account",
    "raise_limit",
    "write_signed",
]

_KIND = "application/vnd.penstock.budget+json"
_CHANGES = (Action.BUDGET_OPENED, Action.BUDGET_RAISED, Action.LOOKS_LIMITED, Action.ANALYST_ALLOWED)


class AccountRefused(Refusal):
    """The account cannot be opened or raised as asked."""

    code = "account-refused"
    kind = "budget"
    remedy = "Correct the named option of the budget command."


class OfficerNotTrusted(Refusal):
    """Whoever signs has no trusted key, or another one."""

    code = "officer-not-trusted"
    kind = "budget"
    remedy = "Have the officer's public key trusted: penstock keys trust NAME FILE."


@dataclass(frozen=True, slots=True)
class Officer:
    """A person who sets the budget: a trusted name, its key, and the reason."""

    name: str
    key: Ed25519PrivateKey
    reason: str


def open_account(log: Log, account: Account, officer: Officer, *, actor: str, now: datetime) -> None:
    """Open an account; earlier dp releases count in it at once."""
    AccountRefused.raise_for([*_account_faults(account), *reason_faults(officer.reason, needed=True)])
    with log.transaction() as writer:
        writer.verify()  # otherwise a withdrawal that was removed from the log would go unnoticed
        ledger = LedgerWriter(writer, actor=actor, now=now)
        book = ledger.book(dataset_subject(account.dataset))
        if account.model in book.accounts:
            raise _refused("model", "must not have an account already", account.model, "Raise its limit instead.")
        AccountRefused.raise_for(_overdrafts(account, book))
        _write(ledger, writer, Action.BUDGET_OPENED, account, officer)


def raise_limit(
    log: Log,
    dataset: str,
    model: str,
    limit: Fraction | None,
    officer: Officer,
    *,
    delta: Fraction | None = None,
    actor: str,
    now: datetime,
) -> Account:
    """Raise the limit of an account, or its delta, or both; return the account as it is afterwards."""
    faults = [*long_faults(limit), *_delta_faults(delta), *reason_faults(officer.reason, needed=True)]
    AccountRefused.raise_for(faults)
    with log.transaction() as writer:
        writer.verify()
        ledger = LedgerWriter(writer, actor=actor, now=now)
        accounts = {str(found.model): found for found in ledger.book(dataset_subject(dataset)).accounts.values()}
        account = accounts.get(model)
        if account is None:
            raise _refused("dataset", f"must have an account of model {model}", dataset, "Open it.")
        wanted = {"epsilon": (limit, account.limit), "delta": (delta, account.delta)}
        given = {name: amounts for name, amounts in wanted.items() if amounts[0] is not None}
        for name, (amount, now_allowed) in (given or {"epsilon": wanted["epsilon"]}).items():
            if amount is None or amount <= now_allowed:
                rule = f"must be above {now_allowed}"
                raise _refused(name, rule, str(amount), "Give a higher limit; it is only ever raised.")
        raised = replace(account, limit=limit or account.limit, delta=delta or account.delta)
        _write(ledger, writer, Action.BUDGET_RAISED, raised, officer)
    return raised


def limit_faults(
    history: Sequence[Event], register: Iterable[Event], balances: Mapping[str, Balance]
) -> Iterator[Fault]:
    """Yield a fault for each account event that no officer signed with the key trusted then, and for accounts and
    allowances that are overdrawn. balances: of all sittings, as their events give them."""
    signed = set(_signed(register))
    remedy = "Find out who could write to the database, or hold the keys; nothing is spent until then."
    for event in history:
        if event.action in _CHANGES and event.seq not in signed:
            yield Fault(f"event {event.seq}", "must carry the signature of its officer, and does not", remedy)
    yield from _lowered(history, remedy)
    book = read_book(history, balances)
    for account in book.accounts.values():
        if account.is_overdrawn(book.costs):
            yield Fault(
                f"{account.model} account of {account.dataset}", "must not be charged beyond its limit, and was", remedy
            )
        if not account.is_of_one_data_set(book.costs):
            rule = "must have charges of one actual data set only, which its promise is about"
            yield Fault(f"{account.model} account of {account.dataset}", rule, remedy)
        if len(book.whose) > 1:
            rule = "must count individuals by one column: only then is a sum the loss of one of them"
            yield Fault(f"{account.model} account of {account.dataset}", rule, remedy)
    for (model, analyst), allowed in book.allowances.items():
        if book.spent_by(analyst, model) > allowed:
            yield Fault(f"{model} allowance of {analyst}", "must not be charged beyond its limit, and was", remedy)


def _overdrafts(account: Account, book: Book) -> Iterator[Fault]:
    """Yield a fault for each limit of a new account that is below what the data set has spent already."""
    sums = {
        "epsilon": (account.spent(book.costs), account.limit),
        "delta": (account.delta_spent(book.costs), account.delta),
    }
    for field, (spent, limit) in sums.items():
        if spent > limit:
            rule = f"must be at least {spent}, which the data set has spent already"
            yield Fault(field, rule, "Open it with more.", str(limit))


def _lowered(history: Iterable[Event], remedy: str) -> Iterator[Fault]:
    """Yield a fault for each event that takes a limit of an account down, or delta to where nothing is protected."""
    before: dict[str, tuple[Fraction, Fraction]] = {}
    for event in history:
        if event.action in (Action.BUDGET_OPENED, Action.BUDGET_RAISED):
            limit, delta = Fraction(event.facts["limit"]), Fraction(event.facts.get("delta", 0))
            first, second = before.get(event.facts["model"], (Fraction(0), Fraction(0)))
            if limit < first or delta < second or not 0 <= delta < 1:
                yield Fault(f"event {event.seq}", "must raise a limit, and keep delta below 1", remedy)
            before[event.facts["model"]] = limit, delta


def _write(ledger: LedgerWriter, writer: LogWriter, action: Action, account: Account, officer: Officer) -> None:
    facts = {
        "model": account.model,
        "limit": str(account.limit),
        "adjacency": account.adjacency,
        "unit": account.unit,
        "partition": account.partition,
        **({"delta": str(account.delta)} if account.delta else {}),
    }
    write_signed(ledger, writer, action, account.dataset, facts, officer)


def write_signed(
    ledger: LedgerWriter, writer: LogWriter, action: Action, dataset: str, setting: Mapping[str, Any], officer: Officer
) -> None:
    """Append what the officer sets for a data set, signed; refuse if the key is not the one trusted now."""
    person = people(writer).get(officer.name)
    public_key = officer.key.public_key()
    if person is None or person.key_id != key_id(public_key):
        raise OfficerNotTrusted.at(
            "officer",
            rule="must have a trusted key, and sign with it",
            got=officer.name,
            remedy="Have the public key trusted: penstock keys trust NAME FILE",
        )
    facts = {"dataset": dataset, **setting, "reason": officer.reason, "officer": officer.name}
    envelope = sealed(canonical(facts), _KIND, officer.key)
    signed = {
        **facts,
        "key_id": person.key_id,
        "public_key": public_key.public_bytes_raw().hex(),
        "envelope": canonical(envelope).decode(),
    }
    ledger.write(action, run=REGISTER, facts=signed, subjects=[dataset_subject(dataset)])


def _signed(register: Iterable[Event]) -> Iterator[int]:
    """Yield the numbers of the account events that their officer signed, each with the key trusted at its time."""
    for event, trusted in with_keys(register):
        if event.action in _CHANGES and _is_signed(event.facts, trusted.get(event.facts["officer"])):
            yield event.seq


def _is_signed(facts: Mapping[str, Any], public_key: str | None) -> bool:
    if public_key is None:
        return False
    signed = {name: facts[name] for name in facts if name not in ("key_id", "public_key", "envelope", "subjects")}
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
    try:
        return opened(json.loads(facts["envelope"]), _KIND, key) == canonical(signed)
    except (SignatureWrong, TypeError, ValueError, RecursionError):
        return False


def long_faults(limit: Fraction | None, field: str = "epsilon") -> Iterator[Fault]:
    """Yield a fault for a limit that would make what is left of it long."""
    if isinstance(limit, Fraction) and limit.denominator > FINEST:  # what is no fraction is refused for that
        rule = "must have a denominator of at most 2^64, so that what is left stays short"
        yield Fault(field, rule, "Round it to a simpler fraction.")


def _delta_faults(delta: Fraction | None) -> Iterator[Fault]:
    yield from long_faults(delta, "delta")
    if delta is not None and not 0 <= delta < 1:
        yield Fault(
            "delta", "must be above 0 and below 1", 'Give a small probability, such as "1/1000000".', repr(str(delta))
        )


def _account_faults(account: Account) -> Iterator[Fault]:
    yield from long_faults(account.limit)
    yield from _delta_faults(account.delta)
    if not account.dataset.strip() or not account.dataset.isprintable():
        yield Fault("dataset", "must be a name", "Name the data set.", repr(account.dataset))
    if account.partition is not None and (not account.partition.strip() or not account.partition.isprintable()):
        yield Fault("partition", "must be the name of a column", "Name the column.", repr(account.partition))
    if account.unit not in ("row", "individual"):
        yield Fault("unit", "must be row or individual", "Choose what one unit of privacy is.", repr(account.unit))
    # Making a charge of the whole limit refuses anything that the composition theorems do not cover.
    Charge(model=account.model, epsilon=account.limit, adjacency=account.adjacency, unit=account.unit)


def _refused(field: str, rule: str, got: Any, remedy: str) -> AccountRefused:
    return AccountRefused.at(field, rule=rule, got=got, remedy=remedy)
