"""How many runs learnt something from a data set without being charged for it, and how many may.

Whoever starts a run learns from how it ends: that a value is missing, that a gate holds. What was published without
epsilon is bounded by its acknowledgement. What spent epsilon is bounded by its account, if it was not next to nothing,
except for one thing that no epsilon covers: that the run got this far says that every value is as declared. Every other
answer is counted here, including that of a run that was refused for something else, since it passed the checks before,
and that of a table that came out again, of which only the gates can have been new. A receipt that came back answered
nothing new.

    LOOKED, under everything the records are known by, is on disk before anything the data answer is revealed   (1)
    count = the other runs with (1), except first publications, receipts, and draws of at least ENOUGH,         (2)
            the first and the last of these only if, where epsilon is spent, they declared nothing new
    a run may look while (2) is below the limit of its data set                                                 (3)

A declaration is new if no earlier look at these records made it: for a column that is used, its type,
categories, bounds and rule for missing values; how many records there must be; and which column identifies people.

(2) counts over all subjects of the run, so that giving the spec another name, or the data set none, starts no new
count; and (3) takes the smallest limit of all data sets under whose name the same source was looked at. Check and
LOOKED are one transaction. A run that was killed, failed or waits for its reviewers counts until it is published.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from penstock.mechanisms.refusal import Refusal
from penstock.records.approval.decision import reason_faults
from penstock.records.ledger._transactions import LedgerReader, LedgerWriter
from penstock.records.ledger.accounts import dataset_subject, source_subject
from penstock.records.ledger.limits import AccountRefused, Officer, write_signed
from penstock.records.log.log import Action, Event, Log, LogReader

__all__ = ["ALLOWED", "Looks", "LooksExhausted", "allow_looks", "look", "looks", "looks_of"]

# The limit if no officer set one: ten answers of yes or no tell 1,024 cases apart. Where epsilon is spent, the answer
# that all is as declared is one of the ten the first time it is declared so; the account counts the draw itself.
ALLOWED = 10
ENOUGH = Fraction(1, 100)  # a draw that spends less could be asked for as often as anybody likes


class LooksExhausted(Refusal):
    """Too many runs looked at the data without publishing anything."""

    code = "looks-exhausted"
    kind = "budget"
    remedy = "Publish what waits, or have an officer allow more: penstock budget looks DATASET ..."


@dataclass(frozen=True, slots=True)
class Looks:
    """The runs that count, oldest first, and how many may. names: the data sets whose limits these are."""

    runs: tuple[str, ...]
    allowed: int
    names: str = ""

    @property
    def in_words(self) -> str:
        return f"{len(self.runs)} of {self.allowed} allowed"


def look(
    log: Log,
    *,
    dataset: str | None,
    source: str,
    run: str,
    actor: str,
    now: datetime,
    known_by: Iterable[str] = (),
    declared: Iterable[str] = (),
) -> None:
    """Put on record that a run looks at the data, or refuse; only then may anything be revealed that the data answer.

    known_by: further subjects under which the same records are found again. declared: if epsilon is spent, keyed
    digests of everything that the data are declared to be.
    """
    subjects = _subjects(dataset, source, known_by)
    with log.transaction() as writer:
        ledger = LedgerWriter(writer, actor=actor, now=now)
        before = _events(ledger, subjects)
        if any(e.action is Action.LOOKED and e.run == run and e.facts["source"] == source for e in before):
            return  # it was killed since, and is resumed
        found = _counted(ledger, writer, before, dataset, run)
        if len(found.runs) >= found.allowed:
            raise LooksExhausted.at(
                "budget.dataset",
                rule=f"must allow another look: {len(found.runs)} runs have looked at these data and published "
                f"nothing, or declared them anew, and {found.allowed} may, which is the smallest limit of "
                f"{found.names}: however a run ends, it answers something about the data",
                remedy="Publish what waits; or let an officer see why the others ended, and allow more for the data "
                "set that the spec names: penstock budget looks DATASET --most NUMBER ...",
            )
        told = sorted(declared)
        facts = {"dataset": dataset, "source": source, **({"declared": told} if told else {})}
        ledger.write(Action.LOOKED, run=run, facts=facts, subjects=subjects)


def looks(log: Log, *, dataset: str | None, source: str, known_by: Iterable[str] = (), but: str | None = None) -> Looks:
    """Return the looks that count for a run of this source under this name, and under everything its records are known
    by.

    but: a run to leave out, namely the one that asks.
    """
    with log.reader() as reader:
        ledger = LedgerReader(reader)
        return _counted(ledger, reader, _events(ledger, _subjects(dataset, source, known_by)), dataset, but)


def looks_of(log: Log, dataset: str) -> Looks:
    """Return the looks that count for a data set, whatever files its runs read."""
    with log.reader() as reader:
        ledger = LedgerReader(reader)
        return _counted(ledger, reader, ledger.events(dataset_subject(dataset)), dataset, None)


def allow_looks(log: Log, dataset: str, most: int, officer: Officer, *, actor: str, now: datetime) -> None:
    """Set how many runs may look at a data set and publish nothing, earlier ones included. Signed, with a reason."""
    AccountRefused.raise_for(reason_faults(officer.reason, needed=True))
    if not dataset.strip() or not dataset.isprintable():
        raise AccountRefused.at("dataset", rule="must be a name", got=dataset, remedy="Name the data set.")
    if most < 1:
        raise AccountRefused.at(
            "most", rule="must be at least 1", got=most, remedy="Allow at least one look, or withdraw keys."
        )
    with log.transaction() as writer:
        writer.verify()  # otherwise a withdrawal that was removed from the log would go unnoticed
        ledger = LedgerWriter(writer, actor=actor, now=now)
        write_signed(ledger, writer, Action.LOOKS_LIMITED, dataset, {"looks": most}, officer)


def _subjects(dataset: str | None, source: str, known_by: Iterable[str]) -> tuple[str, ...]:
    named = () if dataset is None else (dataset_subject(dataset),)
    return tuple(dict.fromkeys((*named, source_subject(source), *known_by)))


def _events(ledger: LedgerReader, subjects: Iterable[str]) -> list[Event]:
    found = {event.seq: event for subject in subjects for event in ledger.events(subject)}
    return [found[seq] for seq in sorted(found)]


def _counted(
    ledger: LedgerReader, reader: LogReader, events: list[Event], dataset: str | None, but: str | None
) -> Looks:
    """Return (2) and the limit of (3), from the events of all subjects of a run."""
    looked: dict[str, None] = {}
    names = {dataset}
    declared, anew = set[str](), set[str]()
    costs, repeats = dict[tuple[str, int], Fraction](), set[tuple[str, int]]()
    bounded, paid = {but}, set[str]()
    for event in events:
        facts = event.facts
        if event.action is Action.LOOKED:
            looked[event.run] = None
            names.add(facts["dataset"])
            if not declared.issuperset(facts.get("declared", ())):
                anew.add(event.run)
            declared.update(facts.get("declared", ()))
        elif event.action is Action.RESERVED:
            place = (event.run, facts["attempt"])
            if facts.get("repeats") is not None:
                repeats.add(place)
            elif facts["epsilon"] is not None:
                costs[place] = Fraction(facts["epsilon"])
        elif event.action is Action.SPENT and costs.get((event.run, facts["attempt"]), Fraction(0)) >= ENOUGH:
            paid.add(event.run)
        elif event.action is Action.SETTLED and facts["outcome"] == "published":
            place = (event.run, facts["attempt"])
            if place not in repeats:
                (paid if place in costs else bounded).add(event.run)
    bounded |= paid - anew
    left = [run for run in looked if run not in bounded and not _gave_receipt(reader, run)]
    known = sorted(name for name in names if name is not None)
    return Looks(
        tuple(left),
        min((_limit(ledger, name) for name in known), default=ALLOWED),
        ", ".join(known) or "data without a name",
    )


def _limit(ledger: LedgerReader, dataset: str) -> int:
    set_to = [e.facts["looks"] for e in ledger.events(dataset_subject(dataset)) if e.action is Action.LOOKS_LIMITED]
    return int(set_to[-1]) if set_to else ALLOWED


def _gave_receipt(reader: LogReader, run: str) -> bool:
    """Return whether the same spec was published from the same source before, so that it passed only checks it had
    passed."""
    return any(event.action is Action.FOUND_PUBLISHED for event in reader.events(run))
