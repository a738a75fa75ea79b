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
from typing import TYPE_CHECKING, Any, Literal, Self

from penstock.mechanisms.composition import Charge, composed, joined
from penstock.mechanisms.models import Model
from penstock.mechanisms.refusal import Refusal
from penstock.records.log.actions import Action

if TYPE_CHECKING:
    from penstock.records.log.log import Event

__all__ = ["Account", "Book", "Claim", "Cost", "LedgerAltered", "read_book"]

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
class Claim:
    """A release's request to the ledger before it draws.

    source: keyed digest of the source's content; the same content is recognised by it under any name.
    values: keyed digest of the records' values, whatever file holds them; None in claims of versions that did not
    record it.
    formerly: the digest that versions before `values` gave the same source, under which their claims are found; it does
    not cover the names of partitions, so for two claims of this version it says nothing.
    files: keyed digests of the bytes of its files, without their names and folders; none in claims of versions that did
    not record them. Whoever shares one shares its records, whatever the folders add to them.
    edition: the public name of this state of data that change; None if the records of a data set never change.
    column, part: the release uses only the records whose declared `column` is `part`.
    acknowledges: earlier releases of the same records that no common promise covers.
    about: the columns that the release is made from; None in claims of versions that did not record them.
    table: whether the output is a table, not records; None in claims of versions that did not record it.
    repeats: the run whose table comes out again. Such a claim has no epsilon: that run was charged for the draw.
    whose: if the unit is an individual, the column that tells whose record it is; None in claims of versions that did
    not record it.
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
    table: bool | None = None
    repeats: str | None = None
    files: tuple[str, ...] = ()
    whose: str | None = None

    @property
    def records(self) -> frozenset[str]:
        """Return the subjects by which these records are found again, under whatever name."""
        valued = () if self.values is None else (values_subject(self.values),)
        return frozenset((source_subject(self.source), *valued))

    @property
    def known_by(self) -> frozenset[str]:
        """Return the same, with the subjects by which versions before `values` knew the records, and one for each file.
        For two claims of this version these say only that some files are the same except for their folders: enough to
        count both together, not to call them one."""
        return self.known_as_whole.union(file_subject(file) for file in self.files)

    @property
    def known_as_whole(self) -> frozenset[str]:
        """Return the same without the files, some of which a release of the whole shares with each part."""
        former = () if self.formerly is None else (source_subject(self.formerly),)
        return self.records.union(former)

    @property
    def may_be_table(self) -> bool:
        """Return whether the output is a table, or may have been one: two models never make any."""
        return self.table is True or (self.table is None and self.model not in ("prob_k", "t_close"))

    @property
    def subjects(self) -> tuple[str, ...]:
        """Return the subjects under which this release is found again."""
        named = () if self.dataset is None else (dataset_subject(self.dataset),)
        return (*named, *sorted(self.known_by))

    def has_records_of(self, other: Claim) -> bool:
        """Return whether both are certainly about the same records: the same content, or the same values saved
        again."""
        if self.values is not None and self.values == other.values:
            return True
        return self.source in (other.source, other.formerly) or other.source == self.formerly

    def part_by(self, partition: str | None) -> str | None:
        """Return its part of a partition; None if it is about the whole, or about a part of another column."""
        return self.part if partition is not None and self.column == partition else None

    def is_among_files_of(self, whole: Claim) -> bool:
        """Return whether every file that it is made from is one of the other's."""
        return bool(self.files) and set(self.files) <= set(whole.files)

    def is_known_to_be_of_data_of(self, other: Claim, partition: str | None) -> bool:
        """Return whether both are about one actual data set: the same records in the same edition; or different parts
        of the partition that their account was opened with, which its officer declares to be of one data set; or a part
        of it and the whole, as their files show."""
        mine, its = self.part_by(partition), other.part_by(partition)
        if self.edition != other.edition:
            return False
        if mine is None and its is not None:
            return self.has_records_of(other) or other.is_among_files_of(self)
        if mine is not None and its is None:
            return self.has_records_of(other) or self.is_among_files_of(other)
        return mine != its or self.has_records_of(other)

    def is_apart_from(self, other: Claim) -> bool:
        """Return whether nobody is in both: rows of different parts of one partition. An individual may have rows in
        both, and so may anyone who moved between two editions; and whatever is declared, the same records are not
        apart."""
        parts, units = {self.part, other.part}, {self.unit, other.unit}
        same_column = self.column is not None and self.column == other.column
        said_apart = same_column and len(parts - {None}) == 2 and units == {"row"} and self.edition == other.edition
        return said_apart and not self.has_records_of(other) and set(self.files).isdisjoint(other.files)

    def shares_with(self, other: Claim) -> tuple[str, ...]:
        """Return the columns that both releases are made from; all of this one's if the other does not record its
        own."""
        return tuple(name for name in self.about or () if other.about is None or name in other.about)

    def facts(self) -> dict[str, Any]:
        """Return the claim in the form that the log holds."""
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
            "table": self.table,
            "repeats": self.repeats,
            "files": list(self.files),
            "whose": self.whose,
        }

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Claim:
        """Return the claim in an event."""
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
            table=facts.get("table"),
            repeats=facts.get("repeats"),
            files=tuple(facts.get("files") or ()),
            whose=facts.get("whose"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The amount of one model that the releases of a data set may spend together."""

    dataset: str
    model: Model
    limit: Fraction
    adjacency: str
    unit: str
    partition: str | None

    def spent(self, costs: Iterable[Cost]) -> Fraction:
        """Return the sum of these costs under this account's model and adjacency."""
        return composed(
            [cost.charge(self.partition) for cost in costs if cost.claim.epsilon is not None],
            model=self.model,
            adjacency=self.adjacency,
            unit=self.unit,
        )

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
        )


@dataclass(frozen=True, slots=True)
class Book:
    """The accounts of a data set by model, and what was charged, oldest first."""

    accounts: dict[Model, Account]
    costs: tuple[Cost, ...]

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
                "whose": cost.claim.whose,
                "edition": cost.claim.edition,
                "repeats": cost.claim.repeats,
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
                raise LedgerAltered.where(
                    f"event {event.seq}", "must follow the events that it refers to; one is missing"
                )
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


def file_subject(file: str) -> str:
    return f"file {file}"


def values_subject(values: str) -> str:
    return f"values {values}"
