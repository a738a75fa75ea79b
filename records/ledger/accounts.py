"""What the ledger's events say: the accounts of a data set, and what each release cost.

    RESERVED -> SPENT -> SETTLED (published or refused)
    RESERVED -> RETURNED, only before the draw

    SITTING_OPENED, once for all questions of one analyst under one claim (questions.py)

A reservation counts from the moment it is on record, whatever becomes of its run; only RETURNED,
which is refused after SPENT, takes it back. A sitting counts with its closing balance (_balances.py), as one release
that is out. Pure: events and balances in, accounts and costs out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Self

from penstock.mechanisms.composition import Charge, composed, composed_delta, joined
from penstock.mechanisms.models import Model
from penstock.mechanisms.refusal import Refusal
from penstock.records.ledger._balances import Balance, rounded_up
from penstock.records.ledger.claims import Claim, dataset_subject, source_subject
from penstock.records.log.actions import Action

if TYPE_CHECKING:
    from penstock.records.log.log import Event

__all__ = [
    "Account",
    "Book",
    "Claim",
    "Cost",
    "LedgerAltered",
    "Sitting",
    "dataset_subject",
    "read_book",
    "source_subject",
]

State = Literal["reserved", "spent", "published", "refused"]

# The state in which an event finds a cost.
_STATE_BEFORE: Mapping[Action, State] = {
    Action.RETURNED: "reserved",
    Action.SPENT: "reserved",
    Action.SETTLED: "spent",
}


class LedgerAltered(Refusal):
    """The ledger is not as it was written."""

    code = "ledger-altered"
    kind = "integrity"
    remedy = "Keep the database as it is and run `penstock audit verify`."

    @classmethod
    def where(cls, field: str, rule: str) -> Self:
        """Return the refusal that says what is wrong in which table."""
        remedy = "Keep the database as it is and run `penstock audit verify`; nothing is spent until then."
        return cls.at(field, rule=rule, remedy=remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The amount of one model that the releases of a data set may spend together; of delta, 0 unless an officer allows
    some."""

    dataset: str
    model: Model
    limit: Fraction
    adjacency: str
    unit: str
    partition: str | None
    delta: Fraction = Fraction(0)

    def spent(self, costs: Iterable[Cost]) -> Fraction:
        """Return the sum of these costs under this account's model and adjacency, rounded up where it is long."""
        total = composed(self._charges(costs), model=self.model, adjacency=self.adjacency, unit=self.unit)
        return rounded_up(total)

    def delta_spent(self, costs: Iterable[Cost]) -> Fraction:
        """Return the delta of these costs, as `spent` does for epsilon."""
        total = composed_delta(self._charges(costs), model=self.model, adjacency=self.adjacency, unit=self.unit)
        return rounded_up(total)

    def is_overdrawn(self, costs: Iterable[Cost]) -> bool:
        """Return whether these costs are more than the account allows."""
        costs = list(costs)
        return self.spent(costs) > self.limit or self.delta_spent(costs) > self.delta

    def _charges(self, costs: Iterable[Cost]) -> list[Charge]:
        return [cost.charge(self.partition) for cost in costs if cost.claim.epsilon is not None]

    def is_of_one_data_set(self, costs: Iterable[Cost]) -> bool:
        """Return whether everything charged under this model is about one actual data set, as its theorems are (except
        for dp).

        Other records and another edition are other data, whatever a spec calls them. Only parts of this account's own
        partition may be other records, and beside a charge for the whole only if they are made from its files. Claims
        of versions that did not record what their values are cannot be compared.
        """
        claims = [cost.claim for cost in costs if cost.claim.model == self.model and cost.claim.values is not None]
        alike = joined([claim.records for claim in claims])
        found = {(claim.part_by(self.partition), same) for claim, same in zip(claims, alike, strict=True)}
        wholes = [claim for claim in claims if claim.part_by(self.partition) is None]
        parts = [claim for claim in claims if claim.part_by(self.partition) is not None]
        related = not wholes or all(any(part.is_among_files_of(whole) for whole in wholes) for part in parts)
        each_once = len(found) == len({part for part, _ in found})
        return self.model == "dp" or (len({claim.edition for claim in claims}) <= 1 and each_once and related)

    def as_dict(self) -> dict[str, Any]:
        """Return it in a form for programs; numbers are exact, so they are text."""
        told = {**asdict(self), "limit": str(self.limit), "delta": str(self.delta)}
        return told if self.delta else {name: value for name, value in told.items() if name != "delta"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One draw, or the reservation for one. A run has one for each of its outputs, and another for each draw that was
    lost in a crash."""

    run: str
    attempt: int
    claim: Claim
    state: State
    occurred: str

    @property
    def blocks(self) -> bool:
        """Return whether the release is out, or may be: only a refused release certainly is not."""
        return self.state != "refused"

    @property
    def drawn_by(self) -> str:
        """Return the run that drew what this one is about: itself, or the one whose table it repeats."""
        return self.claim.repeats or self.run

    def charge(self, partition: str | None) -> Charge:
        """Return the charge as the composition theorems count it; its part counts only if the account declared that
        partition."""
        claim = self.claim
        part = claim.part_by(partition)
        return Charge(
            model=claim.model,
            epsilon=claim.epsilon or Fraction(0),  # a Charge refuses 0; this is only called for costs with an epsilon
            adjacency=claim.adjacency,
            unit=claim.unit,
            part=part,
            edition=claim.edition,
            # What is charged for the whole counts for every part; its files would join all parts into one.
            records=claim.known_as_whole if part is None else claim.known_by,
            delta=claim.delta,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """All questions of one analyst under one claim, or, without an analyst, all questions about individuals under it.

    within: the sitting without an analyst in which these questions count too; only that one is a cost of the data set,
    because there one individual's questions from all analysts come together.
    """

    id: str
    analyst: str | None
    claim: Claim
    within: str | None
    balance: Balance
    occurred: str

    @property
    def costs(self) -> tuple[Cost, ...]:
        """Return its balance as one cost; none while it is 0."""
        if self.balance.sum == 0:
            return ()
        charged = replace(self.claim, epsilon=self.balance.sum)
        return (Cost(run=self.id, attempt=1, claim=charged, state="published", occurred=self.occurred),)


@dataclass(frozen=True, slots=True)
class Book:
    """The accounts of a data set by model, and what was charged, oldest first; its sittings by number, and what each
    analyst may spend of each model."""

    accounts: dict[Model, Account]
    costs: tuple[Cost, ...]
    sittings: Mapping[str, Sitting] = field(default_factory=dict)
    allowances: Mapping[tuple[Model, str], Fraction] = field(default_factory=dict)

    def spent_by(self, analyst: str, model: Model, *more: Cost) -> Fraction:
        """Return what the questions of one analyst, and these, cost the account of a model."""
        mine = [each for each in self.sittings.values() if (each.analyst, each.claim.model) == (analyst, model)]
        return self.accounts[model].spent([*(cost for sitting in mine for cost in sitting.costs), *more])

    @property
    def whose(self) -> frozenset[str]:
        """Return the columns by which charges for individuals tell whose record it is. A sum of epsilon is one
        individual's loss only if there is at most one such column: by another column the same person may be several,
        each with the whole epsilon.

        Claims of versions that named none are taken to mean the first column named after them: whether they did cannot
        be known, and refusing them would close every account of these versions.
        """
        named = (cost.claim.whose for cost in self.costs if cost.claim.unit == "individual")
        return frozenset(column for column in named if column is not None)

    def as_dict(self, dataset: str) -> dict[str, Any]:
        """Return what may be spent, what was, what is left, and what each release cost."""
        accounts = []
        for account in self.accounts.values():
            spent, delta = account.spent(self.costs), account.delta_spent(self.costs)
            told = {"delta_spent": str(delta), "delta_left": str(account.delta - delta)} if account.delta else {}
            accounts.append({**account.as_dict(), "spent": str(spent), "left": str(account.limit - spent), **told})
        releases = [
            {
                "run": cost.run,
                "occurred": cost.occurred,
                "model": cost.claim.model,
                "epsilon": None if cost.claim.epsilon is None else str(cost.claim.epsilon),
                **({"delta": str(cost.claim.delta)} if cost.claim.delta else {}),
                **({} if cost.claim.output is None else {"output": cost.claim.output}),
                "adjacency": cost.claim.adjacency,
                "part": cost.claim.part,
                "whose": cost.claim.whose,
                "edition": cost.claim.edition,
                "repeats": cost.claim.repeats,
                "state": cost.state,
            }
            for cost in self.costs
        ]
        analysts = [self._analyst_as_dict(model, analyst) for model, analyst in sorted(self.allowances)]
        people = {"analysts": analysts} if analysts else {}
        return {"dataset": dataset, "accounts": accounts, "releases": releases, **people}

    def _analyst_as_dict(self, model: Model, analyst: str) -> dict[str, Any]:
        allowed, spent = self.allowances[model, analyst], self.spent_by(analyst, model)
        return {
            "analyst": analyst,
            "model": model,
            "allowed": str(allowed),
            "spent": str(spent),
            "left": str(allowed - spent),
        }


def read_book(events: Iterable[Event], balances: Mapping[str, Balance] | None = None) -> Book:
    """Fold the events that concern one subject, in order. balances: of its sittings, by their number."""
    accounts: dict[Model, Account] = {}
    costs: dict[tuple[str, int], Cost] = {}
    sittings: dict[str, Sitting] = {}
    allowances: dict[tuple[Model, str], Fraction] = {}
    for event in events:
        facts = event.facts
        if event.action is Action.BUDGET_OPENED:
            accounts[facts["model"]] = Account(
                dataset=facts["dataset"],
                model=facts["model"],
                limit=Fraction(facts["limit"]),
                adjacency=facts["adjacency"],
                unit=facts["unit"],
                partition=facts["partition"],
                delta=Fraction(facts.get("delta", 0)),
            )
        elif event.action is Action.BUDGET_RAISED:
            before, delta = accounts[facts["model"]], Fraction(facts.get("delta", 0))
            accounts[facts["model"]] = replace(before, limit=Fraction(facts["limit"]), delta=delta)
        elif event.action is Action.ANALYST_ALLOWED:
            allowances[facts["model"], facts["analyst"]] = Fraction(facts["allowed"])
        elif event.action is Action.SITTING_OPENED:
            sitting = _sitting(event, balances or {})
            sittings[sitting.id] = sitting
            costs |= {(cost.run, cost.attempt): cost for cost in sitting.costs if sitting.within is None}
        elif event.action is Action.RESERVED:
            costs[event.run, facts["attempt"]] = Cost(
                run=event.run,
                attempt=facts["attempt"],
                claim=Claim.of(facts),
                state="reserved",
                occurred=event.occurred,
            )
        elif event.action in _STATE_BEFORE:
            place = (event.run, facts["attempt"])
            if place not in costs or costs[place].state != _STATE_BEFORE[event.action]:
                raise LedgerAltered.where(
                    f"event {event.seq}", "must follow the events that it refers to; one is missing"
                )
            if event.action is Action.RETURNED:
                del costs[place]
            else:
                state: State = "spent" if event.action is Action.SPENT else facts["outcome"]
                costs[place] = replace(costs[place], state=state)
    return Book(accounts, tuple(costs.values()), sittings, allowances)


def _sitting(event: Event, balances: Mapping[str, Balance]) -> Sitting:
    """Return the sitting that an event opened."""
    if event.run not in balances:
        raise LedgerAltered.where("ledger_tails", "must hold the balance of each sitting; one is missing")
    return Sitting(
        id=event.run,
        analyst=event.facts["analyst"],
        claim=Claim.of(event.facts),
        within=event.facts["within"],
        balance=balances[event.run],
        occurred=event.occurred,
    )
