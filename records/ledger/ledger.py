"""The budget ledger: what the releases of each data set may spend, and what they have spent.

Check and reservation are one transaction that excludes all other writers: two releases never spend the same
budget. What was reserved counts, whatever becomes of the run (accounts.py). The source of truth is the audit
log (_transactions.py). Composition: mechanisms/composition.py; a filter over pure epsilon is safe for
adaptive choices.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Literal

from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.ledger._checks import (
    AccountMissing,
    BudgetExceeded,
    OtherData,
    OtherUnit,
    SecondRelease,
    SourceElsewhere,
    TotalNotPublic,
    are_apart,
    not_acknowledged,
    related_costs,
    require_grantable,
)
from penstock.records.ledger._recount import recounted
from penstock.records.ledger._transactions import LedgerReader, LedgerWriter, is_sitting
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
    "TotalNotPublic",
    "require_countable",
    "unacknowledged",
]


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
        """Reserve what a release with one output will cost."""
        return self.reserve_all((claim,), run=run, actor=actor, now=now)[0]

    def reserve_all(self, claims: Sequence[Claim], *, run: str, actor: str, now: datetime) -> list[Cost]:
        """Reserve what the outputs of a release will cost, all or none; when this returns, it is on disk and counts.

        A run that was killed before its draw finds its reservations again. A run whose draw was lost
        reserves again: what was drawn is spent.
        """
        for claim in claims:
            require_countable(claim)
        with self._log.transaction() as writer:
            ledger = LedgerWriter(writer, actor=actor, now=now)
            mine = ledger.costs_of(run)
            waiting = [cost for cost in mine if cost.state == "reserved"]
            if [cost.claim for cost in waiting] == list(claims):
                return waiting
            for cost in waiting:  # the source changed before anything was drawn
                facts = {"attempt": cost.attempt}
                ledger.write(Action.RETURNED, run=run, facts=facts, subjects=cost.claim.subjects)
            first, occurred = 1 + max((cost.attempt for cost in mine), default=0), now.astimezone(UTC).isoformat()
            costs = [
                Cost(run=run, attempt=attempt, claim=claim, state="reserved", occurred=occurred)
                for attempt, claim in enumerate(claims, start=first)
            ]
            for place, cost in enumerate(costs):
                require_grantable(ledger, writer, cost, now, beside=costs[place + 1 :])
                facts = {**cost.claim.facts(), "attempt": cost.attempt}
                ledger.write(Action.RESERVED, run=run, facts=facts, subjects=cost.claim.subjects)
            return costs

    def refusals_of(self, claims: Sequence[Claim], *, run: str, now: datetime) -> list[Refusal]:
        """Return what `reserve_all` refuses of these claims whichever records they turn out to be about, each once.

        It saves a look at the data; who is granted what is decided by `reserve_all` alone.
        """
        costs = [
            Cost(run=run, attempt=place, claim=claim, state="reserved", occurred="")
            for place, claim in enumerate(claims)
        ]
        found: dict[tuple[str, tuple[Fault, ...]], Refusal] = {}
        with self._log.reader() as reader:
            ledger = LedgerReader(reader)
            for cost in costs:
                others = [other for other in costs if other is not cost]
                try:
                    require_grantable(ledger, reader, cost, now, beside=others, unread=True)
                except Refusal as refusal:
                    if refusal.kind != "budget":
                        raise  # nothing is known from a ledger that was altered
                    found.setdefault((refusal.code, refusal.faults), refusal)
        return list(found.values())

    def spend(
        self,
        run: str,
        *,
        actor: str,
        now: datetime,
        draws: Collection[str | None] = (None,),
        only: Collection[str | None] | None = None,
    ) -> None:
        """Record that the draw begins, or that what another run drew comes out; from here on nothing is given back.

        A reservation is spent once, so a draw that follows this has paid for itself: one that is lost, whatever has
        become of the run's files since, needs another reservation. draws: the outputs that will be drawn; the others
        that were reserved repeat what was drawn before. only: the outputs that this is about; all, if not given.
        """
        with self._log.transaction() as writer:
            ledger = LedgerWriter(writer, actor=actor, now=now)
            reserved = [cost for cost in ledger.costs_of(run) if cost.state == "reserved"]
            reserved = [cost for cost in reserved if only is None or cost.claim.output in only]
            # A repeat costs nothing, so nothing may be drawn for it.
            charged = {cost.claim.output for cost in reserved if cost.claim.repeats is None}
            if not reserved or not charged.issuperset(draws):
                raise ReservationMissing.at(
                    "protect", rule="needs a reservation before anything is drawn", remedy="Reserve before drawing."
                )
            for cost in reserved:
                facts = {"attempt": cost.attempt}
                ledger.write(Action.SPENT, run=run, facts=facts, subjects=cost.claim.subjects)

    def settle(
        self,
        run: str,
        outcome: Literal["published", "refused"],
        *,
        actor: str,
        now: datetime,
        left_out: Collection[str | None] = (),
    ) -> None:
        """Record how the run ended. What was drawn stays spent; a reservation without a draw is given back.

        left_out: the outputs that are not among what was published.
        """
        with self._log.transaction() as writer:
            ledger = LedgerWriter(writer, actor=actor, now=now)
            costs = ledger.costs_of(run)
            last = {cost.claim.output: cost.attempt for cost in costs if cost.state == "spent"}
            for cost in costs:
                facts: dict[str, int | str] = {"attempt": cost.attempt}
                if cost.state == "reserved":
                    ledger.write(Action.RETURNED, run=run, facts=facts, subjects=cost.claim.subjects)
                elif cost.state == "spent":
                    # Of several draws of one output the last one was staged; the others were lost in a crash.
                    staged = cost.attempt == last[cost.claim.output] and cost.claim.output not in left_out
                    facts["outcome"] = outcome if staged else "refused"
                    ledger.write(Action.SETTLED, run=run, facts=facts, subjects=cost.claim.subjects)

    def overlapping(self, claims: Iterable[Claim], *, run: str) -> list[tuple[Cost, ...]]:
        """Return for each claim other releases of the same data set or records, out or in progress, that share a column
        with it, if at least one of the two is a table. The table that it repeats does not count as another."""
        with self._log.reader() as reader:
            ledger = LedgerReader(reader)
            return [self._overlapping(claim, *related_costs(ledger, claim), run) for claim in claims]

    @staticmethod
    def _overlapping(claim: Claim, related: Iterable[Cost], records: frozenset[str], run: str) -> tuple[Cost, ...]:
        return tuple(
            cost
            for cost in related
            if cost.run != run
            and cost.drawn_by != (claim.repeats or run)
            and cost.blocks
            and claim.shares_with(cost.claim)
            and (claim.may_be_table or cost.claim.may_be_table)
            and not are_apart(claim, cost.claim, records)
        )

    def partitions_of(self, claims: Iterable[Claim]) -> list[str | None]:
        """Return for each claim the partition of the account that it is charged to."""
        with self._log.reader() as reader:
            ledger = LedgerReader(reader)
            accounts = [
                None if claim.dataset is None else ledger.book(dataset_subject(claim.dataset)).accounts.get(claim.model)
                for claim in claims
            ]
        return [None if account is None else account.partition for account in accounts]

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
            for subject in ledger.subjects:
                book = Book({}, ()) if is_sitting(subject) else ledger.book(subject)
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
        ledger, register = LedgerReader(reader), reader.events(REGISTER)
        histories = ledger.histories()
        balances, faults = recounted(ledger, reader, histories)
        for subject, events in histories.items():
            faults += [] if is_sitting(subject) else limit_faults(events, register, balances)
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
        missing.update(not_acknowledged(reader, run, claim, *related_costs(ledger, claim), now))
    return sorted(missing)
