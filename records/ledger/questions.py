"""Questions that analysts ask of a data set, one after the other, each charged before its answer is seen.

    sitting     all questions of one data set, one analyst, and one claim but for its epsilon, the columns that it is
                about and the releases that it acknowledges, so that there are few however different the questions are
    SITTING_OPENED   once, under everything the claim is known by (claims.py), with the claim                      (1)
    ANSWERED         for each question, under its sitting alone: epsilon, key, digest of the answer               (2)

The book of the data set shows a sitting as one release whose epsilon is its closing balance (_balances.py). So a
question costs what it would cost as a release, every rule for releases holds for it, and a later release acknowledges
the sitting, by its number, where no theorem covers both; but neither questions nor releases read the earlier questions.

Why adaptive questions are safe: check, draw and charge are one transaction that excludes all others, so whatever
an analyst chooses after seeing answers, the sum of all that were given stays within the account, and pure epsilon adds
up for adaptive choices (mechanisms/composition.py). Nothing leaves the process before the transaction is on disk; a
process that is killed leaves an answer that is charged and stored, or neither.

Questions about one individual, under presence, cost that individual only: what a data set loses by them is the largest
sum of one individual, over all analysts. They are charged to two sittings: that of the analyst, for the allowance, and
one of all analysts together, which is the cost of the data set (_individuals.py). Both are upper bounds where one
person is asked about under several claims: their largest sums are added.

A question that was asked before gets its stored answer (_stored.py), for nothing. Whether it was, and whether a
question is refused here, follows from the log alone, so it tells nothing about the data.

The log is not scanned for a question (log/_walk.py), except once for the first of a claim. All that is read instead is
bound by the seal of the head, which the walk binds to what the home has seen. The tails, and what stands beside them,
are under that seal themselves (_transactions.py (2)). So are balances and with them what each sitting costs; and the
first digest of the pages of individuals, by which each page that is read is checked (_pages.py). Accounts, allowances,
reservations and the openings of sittings are events of a data set or of its records, whose digests must give the sealed
history (_transactions.py (3)). A stored answer must be that of the event whose digest the pages of answers hold, whose
first digest is sealed too (_stored.py (3)). Decisions of reviewers, which say whether an earlier release waits, and
events of subjects without a sealed history are read with a scan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from penstock.mechanisms.models import ADDS_UP, Model
from penstock.records.files.digest import canonical, keyed
from penstock.records.ledger._balances import FINEST, NO_QUESTIONS, Balance, added
from penstock.records.ledger._checks import require_account, require_grantable
from penstock.records.ledger._individuals import Individuals
from penstock.records.ledger._pages import keep_pages
from penstock.records.ledger._stored import Given, answer_digest, keep_answer
from penstock.records.ledger._transactions import LedgerReader, LedgerWriter, sitting_subject
from penstock.records.ledger.accounts import Claim, Cost, dataset_subject
from penstock.records.ledger.analysts import allow_analyst, require_allowance, require_allowed
from penstock.records.ledger.countable import ClaimRefused, require_countable
from penstock.records.log.log import Action, Log, LogWriter

__all__ = [
    "Asked",
    "Standing",
    "allow_analyst",
    "answer_digest",
    "ask",
    "record_refusal",
    "standing",
    "stored_answer",
]

_ID_DIGITS = 24


@dataclass(frozen=True, slots=True)
class Asked:
    """The answer to a question. digest, seq: as the log has it; repeated: whether it was stored, and cost nothing."""

    answer: bytes
    digest: str
    seq: int
    repeated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What an account may spend on questions and releases, and what one analyst may of it."""

    limit: Fraction
    spent: Fraction
    left: Fraction
    allowed: Fraction
    spent_by_analyst: Fraction
    left_to_analyst: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """One question as the ledger charges it. individual: whom alone it costs, as the log knows them."""

    claim: Claim
    analyst: str
    key: str
    individual: str | None
    facts: Mapping[str, Any]
    destination: str | None

    @property
    def epsilon(self) -> Fraction:
        return self.claim.epsilon or Fraction(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seat:
    """One sitting that a question is charged to. within: as in Sitting; individuals: what was asked about each."""

    id: str
    analyst: str | None
    within: str | None
    is_new: bool
    balance: Balance
    individuals: Individuals


def ask(
    log: Log,
    claim: Claim,
    *,
    analyst: str,
    key: str,
    individual: str | None,
    draw: Callable[[], bytes],
    facts: Mapping[str, Any],
    actor: str,
    now: datetime,
    destination: str | None = None,
) -> Asked:
    """Return the answer to a question, after it was charged; or the stored one, if it was asked before.

    claim: what a release of the answer would claim; its epsilon is what the question costs. key: keyed digest of
    everything that makes it this question: data set, query, mechanism and epsilon. individual: keyed digest of the
    person whom alone the question is about, under presence. draw: draws the answer, at once, as exact values are known;
    it is called while all other writers wait, and only if the question may be asked. facts: what else the log says.
    destination: the file in which the answer is to be published; it is written after this returns.
    """
    _require_question(claim, individual)
    with log.transaction(whole=False) as writer:
        ledger = LedgerWriter(writer, actor=actor, now=now)
        ledger.load(claim.subjects)
        book = ledger.book(dataset_subject(str(claim.dataset)))
        require_account(book, claim.dataset, claim.model, claim)
        require_allowed(book, claim.dataset, claim.model, analyst)
        again = _asked_again(ledger, writer, claim, analyst, key, actor, now, destination)
        if again is not None:
            return again
        person = None if individual is None else keyed(writer.key, "individual", str(claim.dataset), individual)
        question = _Question(
            claim=claim, analyst=analyst, key=key, individual=person, facts=facts, destination=destination
        )
        seats = _seats(ledger, writer, question)
        counted, mine = (_cost(seat, question, now) for seat in (seats[0], seats[-1]))
        require_grantable(ledger, writer, counted, now, asked=question.epsilon)
        require_allowance(book, analyst, mine, question.epsilon)
        answer = draw()
        return _charge(ledger, writer, question, seats, answer)


def stored_answer(log: Log, key: str) -> Asked | None:
    """Return the answer of a question that was asked before; nothing is written, and nobody is asked who wants it."""
    with log.reader(whole=False) as reader:
        found = Given(LedgerReader(reader), reader).find(key)
        if found is None:
            return None
        answer, event = found
        return Asked(answer, event.facts["answer"], event.seq, repeated=True)


def standing(log: Log, *, dataset: str, model: Model, analyst: str) -> Standing:
    """Return what may still be asked. An analyst without an allowance is allowed 0."""
    with log.reader(whole=False) as reader:
        book = LedgerReader(reader).book(dataset_subject(dataset))
    require_account(book, dataset, model)
    account, allowed = book.accounts[model], book.allowances.get((model, analyst), Fraction(0))
    spent, by_analyst = account.spent(book.costs), book.spent_by(analyst, model)
    return Standing(
        limit=account.limit,
        spent=spent,
        left=account.limit - spent,
        allowed=allowed,
        spent_by_analyst=by_analyst,
        left_to_analyst=allowed - by_analyst,
    )


def record_refusal(
    log: Log, *, dataset: str | None, analyst: str, key: str | None, code: str, actor: str, now: datetime
) -> None:
    """Put on record that a question was refused, and by which code. Nothing of the data belongs here."""
    facts = {"dataset": dataset, "analyst": analyst, "key": key, "code": code}
    with log.transaction(whole=False) as writer:
        writer.append(Action.QUESTION_REFUSED, run="questions", actor=actor, facts=facts, occurred=now)


def _require_question(claim: Claim, individual: str | None) -> None:
    """Refuse a claim that no question can make."""
    require_countable(claim)
    if claim.model not in ADDS_UP or claim.epsilon is None:
        raise ClaimRefused.at(
            "epsilon",
            rule="must be above 0, under a model whose promises add up: every question is charged",
            got=claim.model,
            remedy="Ask under dp, idp or bdp, with an epsilon.",
        )
    if claim.epsilon.denominator > FINEST:
        raise ClaimRefused.at(
            "epsilon",
            rule="must have a denominator of at most 2^64, so that sums stay short",
            remedy="Round it up to a simpler fraction.",
        )
    if individual is not None and (claim.adjacency, claim.unit) != ("presence", "individual"):
        raise ClaimRefused.at(
            "adjacency",
            rule="must be presence, for individuals, where a question costs one individual only",
            got=claim.adjacency,
            remedy="Charge the question to everybody, or ask under presence.",
        )


def _asked_again(
    ledger: LedgerReader,
    writer: LogWriter,
    claim: Claim,
    analyst: str,
    key: str,
    actor: str,
    now: datetime,
    destination: str | None,
) -> Asked | None:
    """Return the stored answer, and put on record that it was given again."""
    found = Given(ledger, writer).find(key)
    if found is None:
        return None
    answer, event = found
    if (event.facts["dataset"], event.facts["model"]) != (claim.dataset, claim.model):
        raise ClaimRefused.at(
            "key",
            rule="must be of one data set and one model; this one is of a question of another",
            remedy="Make the data set and the model part of the key.",
        )
    facts = {"dataset": claim.dataset, "analyst": analyst, "key": key, "of": event.seq, "answer": event.facts["answer"]}
    facts |= _published(destination)
    writer.append(Action.ASKED_AGAIN, run=event.run, actor=actor, facts=facts, occurred=now)
    return Asked(answer, event.facts["answer"], event.seq, repeated=True)


def _seats(ledger: LedgerReader, writer: LogWriter, question: _Question) -> tuple[_Seat, ...]:
    """Return the sittings that the question is charged to: first the one that counts for the data set, last the
    analyst's."""

    def seat(analyst: str | None, within: str | None) -> _Seat:
        shape = canonical([_shape(question).facts(), analyst, within])
        found = f"questions-{keyed(writer.key, 'sitting', shape)[:_ID_DIGITS]}"
        before = ledger.balance(found)
        balance = before or NO_QUESTIONS
        people = Individuals(writer.connection, writer.key, found, balance)
        return _Seat(
            id=found, analyst=analyst, within=within, is_new=before is None, balance=balance, individuals=people
        )

    if question.individual is None:
        return (seat(question.analyst, None),)
    common = seat(None, None)
    return common, seat(question.analyst, common.id)


def _shape(question: _Question) -> Claim:
    """Return the claim of its sitting, which may be about any column. What it acknowledges is checked with each
    question, and stands in its event."""
    return replace(question.claim, epsilon=None, about=None, acknowledges=())


def _cost(seat: _Seat, question: _Question, now: datetime) -> Cost:
    """Return what the question adds to the balance of a sitting."""
    before, more = seat.balance, added(seat.balance.sum, question.epsilon) - seat.balance.sum
    if question.individual is not None:
        after = added(seat.individuals.sum_of(question.individual), question.epsilon)
        more = max(before.sum, after) - before.sum
    return Cost(
        run=seat.id,
        attempt=before.questions + 1,
        claim=replace(question.claim, epsilon=more),
        state="spent",
        occurred=now.astimezone(UTC).isoformat(),
    )


def _charge(
    ledger: LedgerWriter, writer: LogWriter, question: _Question, seats: tuple[_Seat, ...], answer: bytes
) -> Asked:
    """Write everything that the answer costs, and the answer."""
    claim, closing, pages = question.claim, dict[str, Balance](), dict[str, dict[str, str]]()
    for seat in seats:
        if seat.is_new:
            _open(ledger, question, seat)
        if question.individual is None:
            after = seat.balance.with_question(question.epsilon)
        else:
            after, pages[seat.id] = seat.individuals.with_question(question.individual, question.epsilon)
        closing[sitting_subject(seat.id)] = after
    if pages:
        keep_pages(writer.connection, pages)
    digest = answer_digest(writer.key, question.key, answer)
    facts = {
        "dataset": claim.dataset,
        "model": claim.model,
        "analyst": question.analyst,
        "epsilon": str(question.epsilon),
        "key": question.key,
        "answer": digest,
        "individual": question.individual,
        "acknowledges": list(claim.acknowledges),
        "question": dict(question.facts),
        **_published(question.destination),
    }
    given = Given(ledger, writer)
    event = ledger.write(
        Action.ANSWERED,
        run=seats[-1].id,
        facts=facts,
        subjects=closing,
        balances=closing,
        answers=lambda charged: given.add(question.key, charged),
    )
    keep_answer(writer.connection, writer.key, question.key, event.seq, answer)
    return Asked(answer, digest, event.seq, repeated=False)


def _published(destination: str | None) -> dict[str, str]:
    """Return what an event says of where its answer is published: nothing, if it is not."""
    return {} if destination is None else {"destination": destination}


def _open(ledger: LedgerWriter, question: _Question, seat: _Seat) -> None:
    """Write (1). A sitting within another is found under the data set alone, where it does not count."""
    claim = _shape(question)
    ledger.bind(ledger.visited)
    subjects = claim.subjects if seat.within is None else (dataset_subject(str(claim.dataset)),)
    facts = {**claim.facts(), "analyst": seat.analyst, "within": seat.within}
    ledger.write(Action.SITTING_OPENED, run=seat.id, facts=facts, subjects=subjects)
