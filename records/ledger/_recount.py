"""Everything that questions left in the database, recomputed from the events of the log and compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from penstock.mechanisms.refusal import Fault
from penstock.records.ledger._balances import Balance, added
from penstock.records.ledger._individuals import pages_of
from penstock.records.ledger._pages import stored_pages
from penstock.records.ledger._stored import is_answer_of, pages_of_answers, stored_answers
from penstock.records.ledger._transactions import LedgerReader, is_sitting, sitting_subject
from penstock.records.log.log import Action, Event, LogReader

__all__ = ["recounted"]

_REMEDY = "Find out who could write to the database, or hold the keys; nothing is spent until then."


def recounted(
    ledger: LedgerReader, reader: LogReader, histories: Mapping[str, Sequence[Event]]
) -> tuple[dict[str, Balance], list[Fault]]:
    """Return the balance of every sitting as its events give it, and a fault for each balance, page, history or answer
    that is not as the events say."""
    questions = {subject: events for subject, events in histories.items() if is_sitting(subject)}
    stored, balances, faults = stored_pages(reader.connection), dict[str, Balance](), list[Fault]()
    for subject, events in questions.items():
        sitting = subject.removeprefix(sitting_subject(""))
        balances[sitting], pages = _recount(reader.key, sitting, events)
        if ledger.balance(sitting) != balances[sitting]:
            faults.append(Fault(subject, "must have the balance that its questions add up to", _REMEDY))
        if stored.pop(sitting, {}) != pages:
            faults.append(Fault("question_pages", "must hold what was asked about each individual", _REMEDY))
    answered = {event.seq: event for events in questions.values() for event in events}
    charged = {event.facts["key"]: event for _, event in sorted(answered.items())}
    tree, pages, first = pages_of_answers(reader.key, charged)
    if ledger.answers != first:
        faults.append(Fault("ledger_tails", "must seal every answer that was given", _REMEDY))
    if stored.pop(tree, {}) != pages:
        faults.append(Fault("question_pages", "must hold which event charged each answer", _REMEDY))
    faults += [Fault("question_pages", "must hold pages of sittings and of answers only", _REMEDY) for _ in stored]
    faults += [
        Fault("ledger_tails", "must seal the events of each data set as they are", _REMEDY)
        for subject, events in histories.items()
        if not is_sitting(subject) and not ledger.is_sealed_as(subject, events)
    ]
    return balances, [*faults, *_answer_faults(reader, answered, charged)]


def _recount(key: bytes, sitting: str, events: Sequence[Event]) -> tuple[Balance, dict[str, str]]:
    """Return the balance of a sitting and its pages, from the questions that were answered in it."""
    sums: defaultdict[str, Fraction] = defaultdict(Fraction)
    everybody = Fraction(0)
    for event in events:
        if event.facts["individual"] is None:
            everybody = added(everybody, Fraction(event.facts["epsilon"]))
        else:
            person = event.facts["individual"]
            sums[person] = added(sums[person], Fraction(event.facts["epsilon"]))
    pages, first = pages_of(key, sitting, sums)
    return Balance(everybody + max(sums.values(), default=Fraction(0)), len(events), first), pages


def _answer_faults(reader: LogReader, answered: Mapping[int, Event], questions: Mapping[str, Event]) -> Iterator[Fault]:
    """Yield a fault for each stored answer that no question was charged for, each that is missing, and each that was
    given again and not charged."""
    stored = stored_answers(reader)
    for question in questions.keys() - stored.keys():
        rule = f"must hold each answer that was given; that of event {questions[question].seq} was removed"
        yield Fault("question_answers", rule, _REMEDY)
    for question, (seq, answer) in stored.items():
        charged = answered.get(seq)
        if answer is None or charged is None or not is_answer_of(reader.key, charged, question, answer):
            rule = f"must hold each answer as it was given; that of event {seq} was altered"
            yield Fault("question_answers", rule, _REMEDY)
    for event in reader.events(only=(Action.ASKED_AGAIN,)):
        first = answered.get(event.facts["of"])
        if first is None or any(first.facts[name] != event.facts[name] for name in ("dataset", "key", "answer")):
            yield Fault(f"event {event.seq}", "must repeat an answer that was charged", _REMEDY)
