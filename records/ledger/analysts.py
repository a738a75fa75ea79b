"""What each analyst may spend of a data set's account on questions: set by an officer, signed, only ever raised.

    signature = DSSE over canonical(dataset, model, analyst, allowed, reason, officer)            (limits.py)

An analyst without an allowance gets no answer, not even one that is stored. Allowances may add up to more than the
limit of the account, which holds whatever they say: they divide it among people, and promise nobody anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from fractions import Fraction

from penstock.mechanisms.models import Model
from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.approval.decision import reason_faults
from penstock.records.ledger._transactions import LedgerWriter
from penstock.records.ledger.accounts import Book, Cost, dataset_subject
from penstock.records.ledger.limits import AccountRefused, Officer, long_faults, write_signed
from penstock.records.log.log import Action, Log
from penstock.records.people.names import is_name

__all__ = ["AllowanceExceeded", "AnalystNotAllowed", "allow_analyst", "require_allowance", "require_allowed"]


class AnalystNotAllowed(Refusal):
    """Nobody allowed the analyst to ask questions of the data set."""

    code = "analyst-not-allowed"
    kind = "budget"
    remedy = "Have an officer allow it: penstock budget allow DATASET --analyst NAME ..."


class AllowanceExceeded(Refusal):
    """The question would cost more than is left of what the analyst may spend."""

    code = "allowance-exceeded"
    kind = "budget"
    remedy = "Ask for less, or have an officer raise the allowance: penstock budget allow ..."


def allow_analyst(
    log: Log, dataset: str, model: str, analyst: str, epsilon: Fraction, officer: Officer, *, actor: str, now: datetime
) -> None:
    """Set how much an analyst may spend of the account of a model, questions before included. Signed, with a reason."""
    AccountRefused.raise_for([*_faults(analyst, epsilon), *reason_faults(officer.reason, needed=True)])
    with log.transaction() as writer:
        writer.verify()  # otherwise a withdrawal that was removed from the log would go unnoticed
        ledger = LedgerWriter(writer, actor=actor, now=now)
        book = ledger.book(dataset_subject(dataset))
        found = next((account for account in book.accounts.values() if account.model == model), None)
        if found is None:
            raise AccountRefused.at(
                "dataset", rule=f"must have an account of model {model}", got=dataset, remedy="Open it."
            )
        before = book.allowances.get((found.model, analyst), Fraction(0))
        if epsilon <= before:
            raise AccountRefused.at(
                "epsilon",
                rule=f"must be above {before}, which {analyst} may spend already",
                got=str(epsilon),
                remedy="Give more; an allowance is only ever raised.",
            )
        setting = {"model": model, "analyst": analyst, "allowed": str(epsilon)}
        write_signed(ledger, writer, Action.ANALYST_ALLOWED, dataset, setting, officer)


def require_allowed(book: Book, dataset: str | None, model: Model, analyst: str) -> None:
    """Refuse an analyst who has no allowance."""
    if (model, analyst) not in book.allowances:
        raise AnalystNotAllowed.at(
            "analyst",
            rule=f"must be allowed to ask questions of {dataset} under {model}",
            got=analyst,
            remedy=f"Have an officer allow it: penstock budget allow {dataset} --analyst NAME --model {model} ...",
        )


def require_allowance(book: Book, analyst: str, cost: Cost, asked: Fraction) -> None:
    """Refuse a question that does not fit into what the analyst may spend. cost: what it adds to the analyst's
    balance; asked: its epsilon."""
    model = cost.claim.model
    allowed = book.allowances[model, analyst]
    if cost.claim.epsilon and book.spent_by(analyst, model, cost) > allowed:
        left = allowed - book.spent_by(analyst, model)
        raise AllowanceExceeded.at(
            "epsilon",
            rule=f"must not exceed what {analyst} has left under {model}, {left} of {allowed}",
            got=str(asked),
            remedy="Ask for less, or have an officer raise the allowance: penstock budget allow ...",
        )


def _faults(analyst: str, epsilon: Fraction) -> Iterator[Fault]:
    yield from long_faults(epsilon)
    if not is_name(analyst):
        yield Fault("analyst", "must be a name", "Name the analyst.", repr(analyst))
    if epsilon <= 0:
        yield Fault("epsilon", "must be above 0", "Give what the analyst may spend.", repr(str(epsilon)))
