"""The budget ledger: what the releases of each data set may spend, and what they have spent.

Check and reservation are one transaction that excludes all other writers: two releases never spend the same
budget. What was reserved counts, whatever becomes of the run (accounts.py). The source of truth is the audit
log (_transactions.py). Composition: mechanisms/composition.py; a filter over pure epsilon is safe for
adaptive choices.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Literal

from penstock.mechanisms.models import ADDS_UP
from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.approval.state import approval_state
from penstock.records.ledger._transactions import LedgerReader, LedgerWriter
from penstock.records.ledger.accounts import Book, Claim, Cost, LedgerAltered, dataset_subject, source_subject
from penstock.records.ledger.countable import ClaimRefused, require_countable
from penstock.records.ledger.limits import limit_faults
from penstock.records.log.log import Action, Log, LogReader
from penstock.records.people.trusted_keys import REGISTER

__all__ = [
    "AccountMissing",
    "BudgetExceeded",
    "ClaimRefused",
    "Ledger",
    "OtherData",
    "OtherUnit",
    "ReservationMissing",
    "SecondRelease",
    "SourceElsewhere",
    "require_countable",
    "unacknowledged",
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


class ReservationMissing(Refusal):
    """A draw was about to begin for which nothing was reserved."""

    code = "reservation-missing"
    kind = "failure"
    remedy = "Report this defect; nothing was drawn."


class Ledger:
    """The ledger in the database of the log."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def reserve(self, claim: Claim, *, run: str, actor: str, now: datetime) -> Cost:
        """Reserve what the release will cost; when this returns, it is on disk and counts.

        A run that was killed before its draw finds its reservation again. A run whose draw was lost
        reserves again: what was drawn is spent.
        """
        require_countable(claim)
        with self._log.transaction() as writer:
            ledger = LedgerWriter(writer, actor=actor, now=now)
            mine = ledger.costs_of(run)
            waiting = next((cost for cost in mine if cost.state == "reserved"), None)
            if waiting is not None and waiting.claim == claim:
                return waiting
            if waiting is not None:  # the source changed before anything was drawn
                facts = {"attempt": waiting.attempt}
                ledger.write(Action.RETURNED, run=run, facts=facts, subjects=waiting.claim.subjects)
            related, records = _related(ledger, claim)
            _require_one_dataset(claim, [cost for cost in related if not records.isdisjoint(cost.claim.known_by)])
            _require_acknowledged(claim, _not_acknowledged(writer, run, claim, related, records, now))
            attempt = 1 + max((cost.attempt for cost in mine), default=0)
            cost = Cost(
                run=run, attempt=attempt, claim=claim, state="reserved", occurred=now.astimezone(UTC).isoformat()
            )
            if claim.dataset is not None and claim.model in ADDS_UP:
                book = ledger.book(dataset_subject(claim.dataset))
                _require_one_actual_data_set(book, cost)
                _require_one_unit(book, claim)
                _require_budget(book, cost)
            facts = {**claim.facts(), "attempt": attempt}
            ledger.write(Action.RESERVED, run=run, facts=facts, subjects=claim.subjects)
            return cost

    def spend(self, run: str, *, actor: str, now: datetime, draws: bool = True) -> None:
        """Record that the draw begins, or that what another run drew comes out; from here on nothing is given back."""
        with self._log.transaction() as writer:
            ledger = LedgerWriter(writer, actor=actor, now=now)
            reserved = [cost for cost in ledger.costs_of(run) if cost.state == "reserved"]
            # A repeat costs nothing, so nothing may be drawn for it.
            if not reserved or (draws and reserved[-1].claim.repeats is not None):
                raise ReservationMissing.at(
                    "protect", rule="needs a reservation before anything is drawn", remedy="Reserve before drawing."
                )
            facts = {"attempt": reserved[-1].attempt}
            ledger.write(Action.SPENT, run=run, facts=facts, subjects=reserved[-1].claim.subjects)

    def settle(self, run: str, outcome: Literal["published", "refused"], *, actor: str, now: datetime) -> None:
        """Record how the run ended. What was drawn stays spent; a reservation without a draw is given back."""
        with self._log.transaction() as writer:
            ledger = LedgerWriter(writer, actor=actor, now=now)
            costs = ledger.costs_of(run)
            drawn = [cost for cost in costs if cost.state == "spent"]
            for cost in costs:
                facts: dict[str, int | str] = {"attempt": cost.attempt}
                if cost.state == "reserved":
                    ledger.write(Action.RETURNED, run=run, facts=facts, subjects=cost.claim.subjects)
                elif cost.state == "spent":
                    # Of several draws of one run the last one was staged; the others were lost in a crash.
                    facts["outcome"] = outcome if cost is drawn[-1] else "refused"
                    ledger.write(Action.SETTLED, run=run, facts=facts, subjects=cost.claim.subjects)

    def overlapping(self, claim: Claim, *, run: str) -> tuple[Cost, ...]:
        """Return other releases of the same data set or records, out or in progress, that share a column with this one,
        if at least one of the two is a table. The table that this one repeats does not count as another."""
        with self._log.reader() as reader:
            related, records = _related(LedgerReader(reader), claim)
        return tuple(
            cost
            for cost in related
            if cost.run != run
            and cost.drawn_by != (claim.repeats or run)
            and cost.blocks
            and claim.shares_with(cost.claim)
            and (claim.may_be_table or cost.claim.may_be_table)
            and not _are_apart(claim, cost.claim, records)
        )

    def partition_of(self, claim: Claim) -> str | None:
        """Return the partition of the account that a claim is charged to."""
        account = None if claim.dataset is None else self.book(claim.dataset).accounts.get(claim.model)
        return None if account is None else account.partition

    def book(self, dataset: str) -> Book:
        """Return the accounts and costs of one data set."""
        with self._log.reader() as reader:
            return LedgerReader(reader).book(dataset_subject(dataset))

    def books(self) -> dict[str, Book]:
        """Return the book of every data set by name, and under "" what was released without a data set."""
        named, unnamed = dataset_subject(""), dict[tuple[str, int], Cost]()
        found: dict[str, Book] = {}
        with self._log.reader() as reader:
            ledger = LedgerReader(reader)
            for subject in sorted(ledger.tails):
                book = ledger.book(subject)
                if subject.startswith(named):
                    found[subject.removeprefix(named)] = book
                elif subject.startswith(source_subject("")):
                    unnamed |= {(c.run, c.attempt): c for c in book.costs if c.claim.dataset is None}
        costs = tuple(sorted(unnamed.values(), key=lambda cost: cost.occurred))
        return {**found, "": Book({}, costs)} if costs else found

    def verify(self, reader: LogReader | None = None) -> int:
        """Check every event of the ledger, its signatures, and that no limit is exceeded; return how many events."""
        if reader is None:
            with self._log.reader() as reader:
                return self.verify(reader)
        histories, register = LedgerReader(reader).histories(), reader.events(REGISTER)
        faults = [fault for events in histories.values() for fault in limit_faults(events, register)]
        LedgerAltered.raise_for(dict.fromkeys(faults))
        return len({event.seq for events in histories.values() for event in events})


def unacknowledged(reader: LogReader, run: str, now: datetime) -> list[str]:
    """Return the other releases of the same records that are out, or may be, and that this run's draws do not
    acknowledge.

    A release that only waits is not among them, so several may wait; whoever approves one asks this, and the approval
    of the next is refused.
    """
    ledger = LedgerReader(reader)
    missing = set[str]()
    for claim in [cost.claim for cost in ledger.costs_of(run) if cost.blocks]:
        missing.update(_not_acknowledged(reader, run, claim, *_related(ledger, claim), now))
    return sorted(missing)


def _related(ledger: LedgerReader, claim: Claim) -> tuple[list[Cost], frozenset[str]]:
    """Return what was charged to the data set of a claim or for its records, and the subjects by which those are known.

    A release of the same content with other columns knows the records by other values, and leads further.
    """
    found: dict[tuple[str, int], Cost] = {}
    records, asked = claim.known_by, list(claim.subjects)
    while asked:
        found |= {(cost.run, cost.attempt): cost for subject in asked for cost in ledger.book(subject).costs}
        known = [cost.claim.known_by for cost in found.values()]
        same = frozenset().union(*(each for each in known if not records.isdisjoint(each)))
        asked, records = sorted(same - records), records | same
    return list(found.values()), records


def _are_apart(claim: Claim, other: Claim, records: frozenset[str]) -> bool:
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


def _not_acknowledged(
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
            and not _are_apart(claim, other.claim, records)
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


def _require_budget(book: Book, cost: Cost) -> None:
    """Refuse a cost that does not fit into its own account, or a dp cost that does not fit into the idp and bdp
    accounts too."""
    if cost.claim.epsilon is None:
        return  # a repeat
    model = cost.claim.model
    if model not in book.accounts:
        raise AccountMissing.at(
            "budget.dataset",
            rule=f"must have an account of model {model}",
            got=cost.claim.dataset,
            remedy=f"Open one: penstock budget open {cost.claim.dataset} --model {model} ...",
        )
    faults = []
    for account in book.accounts.values():
        if account.model == model or model == "dp":
            left = account.limit - account.spent(book.costs)
            if account.spent([*book.costs, cost]) > account.limit:
                has_left = f"the {account.model} account of {account.dataset} has left, {left} of {account.limit}"
                rule = f"must not exceed what {has_left}"
                faults.append(Fault("epsilon", rule, "Spend less, or have the limit raised.", str(cost.claim.epsilon)))
    BudgetExceeded.raise_for(faults)
