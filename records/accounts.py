"""What the ledger's events say: the accounts of a data set, and what each release cost.

    RESERVED -> SPENT -> SETTLED (published or refused)
    RESERVED -> RETURNED, only before the draw

A reservation counts from the moment it is on record, whatever becomes of its run; only RETURNED,
which is refused after SPENT, takes it back. Pure: events in, accounts and costs out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any, Literal, Self

from mechanisms.composition import Charge, composed
from mechanisms.guarantee import Model
from mechanisms.refusal import Refusal
from records.log import Action, Event

__all__ = ["Account", "Book", "Claim", "Cost", "LedgerAltered", "read_book"]

Budgeted = Literal["dp", "idp", "bdp"]
State = Literal["reserved", "spent", "published", "refused"]

# The state in which an event finds a cost.
_STATE_BEFORE: Mapping[Action, State] = {
    Action.RETURNED: "reserved",
    Action.SPENT: "reserved",
    Action.SETTLED: "spent",
}


class LedgerAltered(Refusal):
    """The ledger is not what was written."""

    code = "ledger-altered"
    kind = "integrity"

    @classmethod
    def where(cls, field: str, rule: str) -> Self:
        """What is wrong in which table."""
        remedy = "Keep the database as it is and run `penstock audit verify`; nothing is spent until then."
        return cls.at(field, rule=rule, remedy=remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a release asks of the ledger before it draws.

    source: keyed digest of the source's content; the same content is recognised by it under any name.
    values: keyed digest of the records' values, whatever file holds them; None in claims of versions that did not say.
    formerly: the digest that versions before `values` gave the same source, under which their claims are found; the
    names of partitions are not in it, so of two claims of this version it says nothing.
    edition: the public name of this state of data that change; None where the records of a data set never do.
    column, part: the release uses only the records whose declared `column` is `part`.
    acknowledges: earlier releases of the same records that no common promise covers.
    about: the columns that the release is made from; None in claims of versions that did not say.
    """

    dataset: str | None
    source: str
    model: Model
    epsilon: Fraction | None
    adjacency: str
    unit: str
    column: str | None = None
    part: str | None = None
    acknowledges: tuple[str, ...] = ()
    about: tuple[str, ...] | None = None
    values: str | None = None
    edition: str | None = None
    formerly: str | None = None

    @property
    def subjects(self) -> tuple[str, ...]:
        """Under what this release is found again."""
        named = () if self.dataset is None else (dataset_subject(self.dataset),)
        valued = () if self.values is None else (values_subject(self.values),)
        return (*named, source_subject(self.source), *valued)

    @property
    def looked_up(self) -> tuple[str, ...]:
        """Under what earlier releases of the same data set or records stand."""
        return self.subjects if self.formerly is None else (*self.subjects, source_subject(self.formerly))

    def has_records_of(self, other: Claim) -> bool:
        """Whether both are certainly about the same records: the same content, or the same values saved again."""
        if self.values is not None and self.values == other.values:
            return True
        return self.source in (other.source, other.formerly) or other.source == self.formerly

    def is_apart_from(self, other: Claim) -> bool:
        """Whether nobody is in both: rows of different parts of one partition. An individual may have rows in both."""
        parts, units = {self.part, other.part}, {self.unit, other.unit}
        same_column = self.column is not None and self.column == other.column
        return same_column and len(parts - {None}) == 2 and units == {"row"}

    def shares_with(self, other: Claim) -> tuple[str, ...]:
        """The columns that both releases are made from; all of this one's where the other does not say."""
        return tuple(name for name in self.about or () if other.about is None or name in other.about)

    def facts(self) -> dict[str, Any]:
        """The claim as it stands in the log."""
        return {
            "dataset": self.dataset,
            "source": self.source,
            "model": self.model,
            "epsilon": None if self.epsilon is None else str(self.epsilon),
            "adjacency": self.adjacency,
            "unit": self.unit,
            "column": self.column,
            "part": self.part,
            "acknowledges": list(self.acknowledges),
            "about": None if self.about is None else list(self.about),
            "values": self.values,
            "edition": self.edition,
            "formerly": self.formerly,
        }

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Claim:
        """The claim in an event."""
        epsilon = facts["epsilon"]
        return cls(
            dataset=facts["dataset"],
            source=facts["source"],
            model=facts["model"],
            epsilon=None if epsilon is None else Fraction(epsilon),
            adjacency=facts["adjacency"],
            unit=facts["unit"],
            column=facts["column"],
            part=facts["part"],
            acknowledges=tuple(facts["acknowledges"]),
            about=None if facts.get("about") is None else tuple(facts["about"]),
            values=facts.get("values"),
            edition=facts.get("edition"),
            formerly=facts.get("formerly"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """How much of one model the releases of a data set may spend together."""

    dataset: str
    model: Model
    limit: Fraction
    adjacency: str
    unit: str
    partition: str | None

    def spent(self, costs: Iterable[Cost]) -> Fraction:
        """What all these costs together are under this account's model and adjacency."""
        return composed(
            [cost.charge(self.partition) for cost in costs if cost.claim.epsilon is not None],
            model=self.model,
            adjacency=self.adjacency,
            unit=self.unit,
        )

    def as_dict(self) -> dict[str, Any]:
        """As a program reads it; numbers are exact, so they are text."""
        return {**asdict(self), "limit": str(self.limit)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One draw, or the reservation for one. A run whose draw was lost in a crash has several."""

    run: str
    attempt: int
    claim: Claim
    state: State
    occurred: str

    @property
    def blocks(self) -> bool:
        """Whether it is out, or may be: only a refused release certainly is not."""
        return self.state != "refused"

    def charge(self, partition: str | None) -> Charge:
        """As the composition theorems count it; its part counts only if the account declared that partition."""
        claim = self.claim
        return Charge(
            model=claim.model,
            epsilon=claim.epsilon or Fraction(0),  # refused there; only costs with an epsilon are asked
            adjacency=claim.adjacency,
            unit=claim.unit,
            part=claim.part if claim.column is not None and claim.column == partition else None,
        )


@dataclass(frozen=True, slots=True)
class Book:
    """The accounts of a data set by model, and what was charged, oldest first."""

    accounts: dict[Model, Account]
    costs: tuple[Cost, ...]

    def as_dict(self, dataset: str) -> dict[str, Any]:
        """What may be spent, what was, what is left, and what each release cost."""
        accounts = []
        for account in self.accounts.values():
            spent = account.spent(self.costs)
            accounts.append({**account.as_dict(), "spent": str(spent), "left": str(account.limit - spent)})
        releases = [
            {
                "run": cost.run,
                "occurred": cost.occurred,
                "model": cost.claim.model,
                "epsilon": None if cost.claim.epsilon is None else str(cost.claim.epsilon),
                "adjacency": cost.claim.adjacency,
                "part": cost.claim.part,
                "state": cost.state,
            }
            for cost in self.costs
        ]
        return {"dataset": dataset, "accounts": accounts, "releases": releases}


def read_book(events: Iterable[Event]) -> Book:
    """Fold the events that concern one subject, in order."""
    accounts: dict[Model, Account] = {}
    costs: dict[tuple[str, int], Cost] = {}
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
            )
        elif event.action is Action.BUDGET_RAISED:
            accounts[facts["model"]] = replace(accounts[facts["model"]], limit=Fraction(facts["limit"]))
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
                raise LedgerAltered.where(f"event {event.seq}", "an event before it is missing")
            if event.action is Action.RETURNED:
                del costs[place]
            else:
                state: State = "spent" if event.action is Action.SPENT else facts["outcome"]
                costs[place] = replace(costs[place], state=state)
    return Book(accounts, tuple(costs.values()))


def dataset_subject(dataset: str) -> str:
    return f"dataset {dataset}"


def source_subject(source: str) -> str:
    return f"source {source}"


def values_subject(values: str) -> str:
    return f"values {values}"
