"""Why a claim is refused that an account could count: other data, another name, an earlier release, too little left.

All of it in the transaction of the caller, who excludes all other writers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from fractions import Fraction
from shlex import quote

from penstock.mechanisms.composition import joined
from penstock.mechanisms.models import ADDS_UP
from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.approval.state import approval_state
from penstock.records.ledger._transactions import LedgerReader
from penstock.records.ledger.accounts import Book, Claim, Cost, dataset_subject
from penstock.records.log.log import LogReader

__all__ = [
    "AccountMissing",
    "BudgetExceeded",
    "OtherData",
    "OtherUnit",
    "SecondRelease",
    "SourceElsewhere",
    "TotalNotPublic",
    "are_apart",
    "not_acknowledged",
    "related_costs",
    "require_account",
    "require_grantable",
]

# A release that reviewers have not approved does not come out before a decision, which asks the ledger again
# (`unacknowledged`).
_HELD_BACK = ("waiting", "expired", "declined")


class AccountMissing(Refusal):
    """The data set has no account of the model."""

    code = "account-missing"
    kind = "budget"
    remedy = "Have an officer open an account: penstock budget open DATASET ..."


class BudgetExceeded(Refusal):
    """The release would spend more than is left."""

    code = "budget-exceeded"
    kind = "budget"
    remedy = "Spend less, or have an officer raise the limit."


class SecondRelease(Refusal):
    """The same records were released before, and no theorem says what both releases together promise."""

    code = "second-release"
    kind = "budget"
    remedy = "If you accept that, list the earlier releases in budget.acknowledges."


class SourceElsewhere(Refusal):
    """The same records are counted under another data set."""

    code = "source-elsewhere"
    kind = "budget"
    remedy = "Use the data set name under which these records are counted."


class OtherData(Refusal):
    """The account is of a model whose promises are about one actual data set, and these are other data."""

    code = "other-data"
    kind = "budget"
    remedy = "Release from the records of the earlier releases, or use another data set name."


class OtherUnit(Refusal):
    """The account counts the loss of individuals, and this release identifies them by another column."""

    code = "other-unit"
    kind = "budget"
    remedy = "Name the column by which the earlier releases count individuals."


class TotalNotPublic(Refusal):
    """Somebody's number of records would be published, or was, that is not known to be that of the whole data set."""

    code = "total-not-public"
    kind = "budget"
    remedy = "Release without the exact number, or from the same records as every release of the data set and edition."


def require_grantable(
    ledger: LedgerReader,
    reader: LogReader,
    cost: Cost,
    now: datetime,
    *,
    asked: Fraction | None = None,
    beside: Sequence[Cost] = (),
    unread: bool = False,
) -> None:
    """Refuse a cost that would be the first of other data, a second release that nothing covers, or too much.

    asked: the epsilon that was asked for, where the cost adds less. beside: costs of other outputs of its release that
    are not on record yet. unread: the records are not known yet, so refuse only what is refused whichever they are:
    records that turn out to be those of earlier releases are counted with these, which costs no less.
    """
    claim = cost.claim
    related, records = related_costs(ledger, claim)
    _require_one_dataset(claim, [other for other in related if not records.isdisjoint(other.claim.known_by)])
    _require_acknowledged(claim, not_acknowledged(reader, cost.run, claim, related, records, now))
    _require_no_parts(ledger, claim)
    if not unread:
        _require_public_total(claim, related)
    if claim.dataset is not None and claim.model in ADDS_UP:
        book = ledger.book(dataset_subject(claim.dataset))
        if not unread:
            _require_one_actual_data_set(book, cost)
        _require_one_unit(book, claim)
        together = [cost, *(other for other in beside if other.claim.model in (claim.model, "dp"))]
        whole = sum((other.claim.epsilon or Fraction(0) for other in together), Fraction(0))
        _require_budget(book, together, whole if asked is None else asked)


def related_costs(ledger: LedgerReader, claim: Claim) -> tuple[list[Cost], frozenset[str]]:
    """Return what was charged to the data set of a claim or for its records, and the subjects by which those are known.

    A release of the same content with other columns knows the records by other values, and leads further.
    """
    found: dict[tuple[str, int], Cost] = {}
    records, asked = claim.known_by, list(claim.subjects)
    while asked:
        ledger.load(asked)
        found |= {(cost.run, cost.attempt): cost for subject in asked for cost in ledger.book(subject).costs}
        known = [cost.claim.known_by for cost in found.values()]
        same = frozenset().union(*(each for each in known if not records.isdisjoint(each)))
        asked, records = sorted(same - records), records | same
    return list(found.values()), records


def are_apart(claim: Claim, other: Claim, records: frozenset[str]) -> bool:
    """Return whether nobody is in both; records: the subjects by which those of the claim are known."""
    return claim.is_apart_from(other) and records.isdisjoint(other.known_by)


def _require_one_dataset(claim: Claim, of_its_records: Iterable[Cost]) -> None:
    """Refuse another data set name: spending under one name binds the records to it, even if nothing came out."""
    binding = [cost for cost in of_its_records if cost.blocks or cost.claim.epsilon is not None]
    names = {cost.claim.dataset for cost in binding} - {None, claim.dataset}
    if claim.dataset is not None and names:
        raise SourceElsewhere.at(
            "budget.dataset",
            rule=f"must be the name under which these records are counted: {', '.join(sorted(map(str, names)))}",
            got=claim.dataset,
            remedy="Use that name: a second name would give the same people a second budget.",
        )


def not_acknowledged(
    reader: LogReader, run: str, claim: Claim, related: Iterable[Cost], records: frozenset[str], now: datetime
) -> list[str]:
    """Return every other release out or in progress that no theorem covers together with this one, and that it does not
    acknowledge; once for each table: a repeat shows what the run that drew it shows, so neither needs to acknowledge
    the other, and whoever acknowledges one knows both. A release that only waits for its reviewers is not in
    progress."""
    out = [other for other in related if other.blocks and other.run != run]
    known = {claim.repeats, *(other.drawn_by for other in out if other.run in claim.acknowledges)}
    return sorted(
        {
            other.run
            for other in out
            if other.drawn_by not in known
            and not (other.drawn_by == run and other.claim.source == claim.source)
            and not {claim.model, other.claim.model} <= ADDS_UP
            and not are_apart(claim, other.claim, records)
            and not (other.state == "spent" and approval_state(reader, other.run, now).state in _HELD_BACK)
        }
    )


def _require_acknowledged(claim: Claim, missing: Sequence[str]) -> None:
    if missing:
        raise SecondRelease.at(
            "budget.acknowledges",
            rule="must list the earlier releases of the same records, because no theorem covers both",
            got=list(claim.acknowledges),
            remedy=f"If you accept that, list the earlier ones: {', '.join(missing)}.",
        )


def _require_no_parts(ledger: LedgerReader, claim: Claim) -> None:
    """Refuse to publish how many records there are of a data set that has parts: this may be one of them."""
    if not claim.counted or claim.dataset is None:
        return
    accounts = ledger.book(dataset_subject(claim.dataset)).accounts
    partitions = sorted({account.partition for account in accounts.values() if account.partition is not None})
    if partitions:
        why = f"for a data set with parts by {', '.join(partitions)}: how many a part has is secret"
        raise TotalNotPublic(_printed(claim, why, "figures of all records under add_remove"))


def _require_public_total(claim: Claim, related: Sequence[Cost]) -> None:
    """Refuse to publish how many records there are, unless they are the same in every release of the data set and
    edition; and other records, once that was published.

    The number n of all records is public under `replace`. Of two different sources under one name at most one can be
    all of them, and a replaced record may leave the other; nothing here proves which is which.
    """
    if claim.model not in ADDS_UP:
        return
    others = [cost for cost in related if cost.claim.edition == claim.edition]
    alike, *found = joined([claim.known_as_whole, *(cost.claim.known_as_whole for cost in others)])
    different = [cost for cost, same in zip(others, found, strict=True) if same != alike]
    if claim.counted and any(cost.blocks or cost.claim.epsilon is not None for cost in different):
        why = "where other records were released under this data set and edition: which are all of them is not proven"
        raise TotalNotPublic(_printed(claim, why, "release from the records of the earlier releases"))
    if any(cost.blocks and cost.claim.counted for cost in different):
        raise TotalNotPublic.at(
            "budget.dataset",
            rule="must be another name for other records: an exact total was published as that of all records of "
            f"{claim.dataset} in this edition",
            got=claim.dataset,
            remedy="Release from the same records; choose some of them with source.where and adjacency add_remove.",
        )


def _printed(claim: Claim, why: str, remedy: str) -> Fault:
    """Return the fault of an output that shows how many records there are: because it says so, or because it is of all
    records under a promise that takes their number as public."""
    rule = f"must not take the number of records as public {why}"
    fault = Fault("adjacency", rule, f"Release without an exact total, or {remedy}.", claim.adjacency)
    return fault.of_output(claim.output)


def _require_one_actual_data_set(book: Book, cost: Cost) -> None:
    """Refuse other data: the theorems of bdp and idp are about one actual data set, so their accounts are too."""
    account = book.accounts.get(cost.claim.model)
    if account is not None and not account.is_of_one_data_set([*book.costs, cost]):
        raise OtherData.at(
            "budget.dataset",
            rule=f"must be another name: the {account.model} account of {account.dataset} is about one actual data "
            "set, and these are other records or another edition; only parts of the partition that it was opened with "
            "may differ",
            got=account.dataset,
            remedy="Release from the records of the earlier releases, or open an account under a data set name of "
            "its own for the other data.",
        )


def _require_one_unit(book: Book, claim: Claim) -> None:
    """Refuse another unit column: losses of individuals add up only if every release counts the same individuals."""
    others = book.whose - {claim.whose}
    if claim.whose is not None and others:
        raise OtherUnit.at(
            "source.unit",
            rule=f"must be {', '.join(sorted(others))}, by which the releases of {claim.dataset} count individuals; "
            "by another column one person may be several, and lose more than is counted",
            got=claim.whose,
            remedy="Name that column, or open an account under a data set name of its own for other records.",
        )


def _require_budget(book: Book, costs: Sequence[Cost], asked: Fraction) -> None:
    """Refuse a cost, with those beside it, that does not fit into its own account, or a dp cost that does not fit into
    the idp and bdp accounts too."""
    cost = costs[0]
    if not cost.claim.epsilon:
        return  # a repeat, or a question about somebody who has lost less than another
    model = cost.claim.model
    require_account(book, cost.claim.dataset, model, cost.claim, asked)
    faults = []
    for account in book.accounts.values():
        if account.model == model or model == "dp":
            whose = f"the {account.model} account of {account.dataset} has left"
            left = account.limit - account.spent(book.costs)
            if account.spent([*book.costs, *costs]) > account.limit:
                rule = f"must not exceed what {whose}, {left} of {account.limit}"
                faults.append(Fault("epsilon", rule, "Spend less, or have the limit raised.", _by_output(costs, asked)))
            if account.delta_spent([*book.costs, *costs]) > account.delta:
                left = account.delta - account.delta_spent(book.costs)
                rule = f"must not exceed what {whose}, {left} of {account.delta}"
                raised = f"penstock budget raise {account.dataset} --model {account.model} --delta ..."
                remedy = f"Spend less, or have it raised: {raised}"
                faults.append(Fault("delta", rule, remedy, str(sum(c.claim.delta for c in costs))))
    BudgetExceeded.raise_for(faults)


def _by_output(costs: Sequence[Cost], asked: Fraction) -> str:
    """Return an epsilon with the share of each of several outputs."""
    if len(costs) == 1:
        return str(asked)
    each = ", ".join(
        f"{c.claim.output} {c.claim.epsilon}" for c in sorted(costs, key=lambda c: c.attempt) if c.claim.epsilon
    )
    return f"{asked} ({each})"


def require_account(
    book: Book, dataset: str | None, model: str, claim: Claim | None = None, needed: Fraction | None = None
) -> None:
    """Refuse a data set without an account of the model. claim, needed: for whom one is to be opened, and the epsilon
    that is asked for."""
    if model in book.accounts:
        return
    remedy = f"Open one: penstock budget open {quote(str(dataset))} --model {model} ..."
    if claim is not None:
        epsilon = claim.epsilon if needed is None else needed
        remedy = (
            f"{remedy.removesuffix(' ...')} --epsilon {epsilon} --adjacency {claim.adjacency} --unit {claim.unit} "
            "--officer NAME --key FILE --reason TEXT; this is the least epsilon that pays for what is asked."
        )
    raise AccountMissing.at("budget.dataset", rule=f"must have an account of model {model}", got=dataset, remedy=remedy)
