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
            + the outputs without epsilon that other runs left out, whatever became of these runs
    a run may look while (2), with what it may leave out, is within the limit of its data set                   (3)

That an output was left out, because its gate or the data refused it, is an answer for which nothing was published and
nothing spent. A run that may leave out several asks several, so (3) is asked for all of them, or for the run itself if
it can leave out none: once the data have answered, it is too late to refuse, because whether the others appear would
tell about the data.

A declaration is new if no earlier look at these records made it: for a column that is used, its type,
categories, bounds and rule for missing values; how many records there must be; and which column identifies people.

(2) counts over all subjects of the run, so that giving the spec another name, or the data set none, starts no new
count; and (3) takes the smallest limit of all data sets under whose name the same source was looked at. Check and
LOOKED are one transaction. A run that was killed, failed or waits for its reviewers counts until it is published.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

from penstock.mechanisms.refusal import Refusal
from penstock.records.approval.decision import reason_faults
from penstock.records.ledger._transactions import LedgerReader, LedgerWriter
from penstock.records.ledger.accounts import dataset_subject, source_subject
from penstock.records.ledger.limits import AccountRefused, Officer, write_signed
from penstock.records.log.log import Action, Event, Log, LogReader

__all__ = [
    "ALLOWED",
    "Looks",
    "LooksExhausted",
    "allow_looks",
    "look",
    "looks",
    "looks_of",
    "note_left_out",
    "on_record",
]

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
    """The runs that count, oldest first, and how many looks are allowed.

    left_out: how many outputs runs left out, each of which counts too. names: the data sets whose limits these are.
    """

    runs: tuple[str, ...]
    allowed: int
    names: str = ""
    left_out: int = 0

    @property
    def count(self) -> int:
        """Return (2)."""
        return len(self.runs) + self.left_out

    @property
    def in_words(self) -> str:
        return f"{self.count} of {self.allowed} allowed"


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
    may_leave_out: int = 0,
) -> None:
    """Put on record that a run looks at the data, or refuse; only then may anything be revealed that the data answer.

    known_by: further subjects under which the same records are found again. declared: if epsilon is spent, keyed
    digests of everything that the data are declared to be. may_leave_out: how many outputs may be left out because of
    the data.
    """
    subjects = _subjects(dataset, source, known_by)
    with log.transaction() as writer:
        ledger = LedgerWriter(writer, actor=actor, now=now)
        before = _events(ledger, subjects)
        if any(e.action is Action.LOOKED and e.run == run and e.facts["source"] == source for e in before):
            return  # it was killed since, and is resumed
        found = _counted(ledger, writer, before, dataset, run)
        asked = max(1, may_leave_out)
        if found.count + asked > found.allowed:
            raise _exhausted(found, asked)
        told = sorted(declared)
        facts = {"dataset": dataset, "source": source, **({"declared": told} if told else {})}
        ledger.write(Action.LOOKED, run=run, facts=facts, subjects=subjects)


def _exhausted(found: Looks, asked: int) -> LooksExhausted:
    beside = f", {found.left_out} outputs were left out" if found.left_out else ""
    more = "another look" if asked == 1 else f"{asked} more looks, one for each output that may be left out"
    return LooksExhausted.at(
        "budget.dataset",
        rule=f"must allow {more}: {len(found.runs)} runs have looked at these data and published "
        f"nothing, or declared them anew{beside}, and {found.allowed} may, which is the smallest limit of "
        f"{found.names}: however a run ends, it answers something about the data",
        remedy="Publish what waits; or let an officer see why the others ended, and allow more for the data "
        "set that the spec names: penstock budget looks DATASET --most NUMBER ...",
    )


def note_left_out(log: Log, *, run: str, output: str, why: Mapping[str, Any], actor: str, now: datetime) -> None:
    """Put on record, once for each source, that a run left out an output because of the data, under all subjects under
    which it looked. why: the code of the refusal, and what refused."""
    with log.transaction() as writer:
        mine = writer.events(run)
        looked = [event for event in mine if event.action is Action.LOOKED]
        if not looked:
            raise ValueError("a run leaves nothing out because of data at which it has not looked")
        source = looked[-1].facts["source"]
        if output not in on_record(mine, source):
            facts = {"output": output, **why, "source": source}
            LedgerWriter(writer, actor=actor, now=now).write(
                Action.LEFT_OUT, run=run, facts=facts, subjects=looked[-1].facts["subjects"]
            )


def on_record(events: Iterable[Event], source: str) -> dict[str, dict[str, Any]]:
    """Return what the run of these events left out because of the data of this source, and why."""
    found = (event.facts for event in events if event.action is Action.LEFT_OUT)
    return {
        facts["output"]: {name: facts[name] for name in ("code", "because") if name in facts}
        for facts in found
        if facts.get("source") == source
    }


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
    bounded, paid, gone = {but}, set[str](), set[tuple[str, str, str]]()
    for event in events:
        facts = event.facts
        if event.action is Action.LOOKED:
            looked[event.run] = None
            names.add(facts["dataset"])
            if not declared.issuperset(facts.get("declared", ())):
                anew.add(event.run)
            declared.update(facts.get("declared", ()))
        elif event.action is Action.LEFT_OUT and event.run != but:
            gone.add((event.run, facts["output"], facts["source"]))
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
        len(gone),
    )


def _limit(ledger: LedgerReader, dataset: str) -> int:
    set_to = [e.facts["looks"] for e in ledger.events(dataset_subject(dataset)) if e.action is Action.LOOKS_LIMITED]
    return int(set_to[-1]) if set_to else ALLOWED


def _gave_receipt(reader: LogReader, run: str) -> bool:
    """Return whether the same spec was published from the same source before, so that it passed only checks it had
    passed."""
    return any(event.action is Action.FOUND_PUBLISHED for event in reader.events(run))
