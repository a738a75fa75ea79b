"""What the accounts of this home have left for a planned release, and for how many like it that is enough.

    the largest n for which no account is overdrawn by n such releases beside all that it was charged             (1)

Releases of the same individuals add up. One of another edition adds up too, whatever part it is about: who moved
between two editions is in both. So (1) takes the releases after the first to be of editions of their own, where the
spec states one; under bdp and idp, whose accounts are about one state of the data, they are of the same. Nothing is
reserved: others may spend meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from penstock.mechanisms.composition import NotCountable

if TYPE_CHECKING:
    from penstock.records.ledger.accounts import Account, Book, Cost
    from penstock.records.ledger.claims import Claim
    from penstock.records.store.store import Records
    from penstock.tasks.run.plan import Plan

__all__ = ["account_left", "home_records"]

UNKNOWN = "What its account has left is not known here: this home has no records."


def home_records() -> Records | None:
    """Return the records of this home; None if it has none. They are not made for a plan."""
    from penstock.records.home import Home

    if not (Home.located().keys / "secret.key").is_file():  # before a database is loaded, for nothing
        return None
    from penstock.records.store.store import RecordsAbsent, existing_records

    try:
        return existing_records()
    except RecordsAbsent:
        return None


def account_left(plan: Plan, records: Records | None) -> Iterator[str]:
    """Yield what each account that a release is charged to has left; nothing for a release that spends nothing."""
    claims = [claim for claim in (each.claim("") for each in plan.outputs) if claim.epsilon is not None]
    if not claims or plan.dataset is None:
        return
    if records is None:
        yield UNKNOWN
        return
    book = records.ledger.book(plan.dataset)
    models = {claim.model for claim in claims}
    for model in sorted(models - book.accounts.keys()):
        missing = f"{model} account of data set {plan.dataset}"
        yield f"This home has no {missing}: an officer opens one, `penstock budget open`."
    for account in book.accounts.values():
        counted = [claim for claim in claims if claim.model in (account.model, "dp")]
        if counted:
            yield _left(account, book, counted)


def _left(account: Account, book: Book, claims: Sequence[Claim]) -> str:
    whose = f"the {account.model} account of data set {account.dataset}"
    left = f"{account.limit - account.spent(book.costs)} of {account.limit}"
    if account.delta:
        left += f", and of delta {account.delta - account.delta_spent(book.costs)} of {account.delta}"
    try:
        number = _pays_for(account, book.costs, claims)
    except NotCountable:
        counts = f"{account.adjacency} of each {account.unit}"
        return f"Left in {whose}: {left}. It counts {counts}, and cannot count this promise."
    if number == 0:
        return f"Left in {whose}: {left}. That does not pay for this release."
    more = "this release alone" if number == 1 else f"{number} releases like this one"
    return f"Left in {whose}: {left}. That pays for {more}."


def _pays_for(account: Account, costs: Sequence[Cost], claims: Sequence[Claim]) -> int:
    """Return (1)."""
    # Each of them counts at least once.
    epsilon = sum((claim.epsilon or Fraction(0) for claim in claims), Fraction(0))
    delta = sum((claim.delta for claim in claims), Fraction(0))
    fewest, most = 0, int(account.limit / epsilon)
    most = most if delta == 0 else min(most, int(account.delta / delta))
    while fewest < most:
        middle = (fewest + most + 1) // 2
        if account.is_overdrawn([*costs, *_costs_of(claims, middle)]):
            most = middle - 1
        else:
            fewest = middle
    return fewest


def _costs_of(claims: Sequence[Claim], number: int) -> Iterator[Cost]:
    """Yield what so many releases would be charged. Charges of one part of one edition add up, so those after the first
    are one charge for each output."""
    for claim in claims:
        anew = claim.edition is not None and claim.model == "dp"
        yield _cost(claim, claim.edition, 1 if anew else number)
        if anew and number > 1:
            yield _cost(claim, f"after {claim.edition}", number - 1)


def _cost(claim: Claim, edition: str | None, times: int) -> Cost:
    from penstock.records.ledger.accounts import Cost

    epsilon, delta = (claim.epsilon or Fraction(0)) * times, claim.delta * times
    charged = replace(claim, edition=edition, epsilon=epsilon, delta=delta)
    return Cost(run="planned", attempt=1, claim=charged, state="reserved", occurred="")
