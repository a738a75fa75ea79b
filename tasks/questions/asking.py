"""A settled question is answered: from the store, or by a draw that is charged before anybody sees it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import system
from penstock.records.files.addresses import ObjectPath, Place
from penstock.records.files.digest import canonical
from penstock.records.home import Home, login
from penstock.records.ledger.analysts import AllowanceExceeded, AnalystNotAllowed
from penstock.records.ledger.ledger import BudgetExceeded
from penstock.records.ledger.questions import Asked, Standing, ask, standing, stored_answer
from penstock.records.log.log import Log
from penstock.tasks.questions._sealed import sealed
from penstock.tasks.questions.answered import Answer
from penstock.tasks.questions.identity import Identity, known_identity
from penstock.tasks.questions.question import Question

if TYPE_CHECKING:
    from penstock.mechanisms.questions import Exact

__all__ = [
    "answer_again",
    "draw_answer",
    "evaluate_question",
    "handed_over",
    "key_on_record",
    "public_records",
    "require_means",
]


def public_records(home: Home, source: str, declared: Mapping[str, Column]) -> int:
    """Return how many records a source has; only for where that is public. No row is read."""
    known = known_identity(home, source, declared)
    if known is not None:
        return known.records
    from penstock.tasks.files.source import count_rows, open_source

    return count_rows(open_source(source, declared))


def require_means(log: Log, question: Question, analyst: str) -> None:
    """Refuse a question that cannot be paid for, before any row is read; the ledger checks again when it is charged.

    What a question about one individual adds to a balance depends on what was asked of them before; that is left to the
    ledger.
    """
    found = standing(log, dataset=question.dataset, model=question.guarantee.model, analyst=analyst)
    if not found.allowed:
        raise AnalystNotAllowed.at(
            "analyst",
            rule=f"must be allowed to ask questions of {question.dataset} under {question.guarantee.model}",
            got=analyst,
            remedy=f"Have an officer allow it: penstock budget allow {question.dataset} --analyst NAME ...",
        )
    if question.is_about_one:
        return
    if question.epsilon > found.left_to_analyst:
        raise AllowanceExceeded.at(
            "epsilon",
            rule=f"must not exceed what {analyst} has left, {found.left_to_analyst} of {found.allowed}",
            got=str(question.epsilon),
            remedy="Ask for less, or have an officer raise the allowance: penstock budget allow ...",
        )
    if question.epsilon > found.left:
        raise BudgetExceeded.at(
            "epsilon",
            rule=f"must not exceed what the account of {question.dataset} has left, {found.left} of {found.limit}",
            got=str(question.epsilon),
            remedy="Spend less, or have an officer raise the limit.",
        )


def key_on_record(log: Log, home: Home, question: Question, identity: Identity) -> str:
    """Return the key of a question: its former one, if it was answered under that."""
    former = question.former_key(home, identity)
    if former is not None and stored_answer(log, former) is not None:
        return former
    return question.key(home, identity)


def evaluate_question(question: Question, identity: Identity) -> Exact:
    """Return the exact aggregates over all records, which must be those that were identified. Confidential."""
    from penstock.tasks.files.source import open_source
    from penstock.tasks.files.source_files import changed, source_state
    from penstock.tasks.questions.reading import evaluate

    dataset = open_source(question.source, question.declared, unit=question.terms.whose)
    as_found = source_state(dataset)
    with sealed():
        exact = evaluate(dataset, question.method, question.declared, question.terms, system())
    if source_state(dataset) != as_found:
        raise changed(question.source)
    identity.require_still(question.source)
    return exact


def draw_answer(
    log: Log,
    home: Home,
    question: Question,
    identity: Identity,
    exact: Exact,
    key: str,
    *,
    analyst: str,
    publish: Place | None = None,
) -> Asked:
    """Charge the question and draw its answer, in one transaction; or take the stored one, if somebody was faster.

    publish: where answers appear, which the log says beside it.
    """

    def draw() -> bytes:
        with sealed():
            drawn = question.method.drawn(exact, question.epsilon, system())
        return canonical(question.document(drawn))

    return _ask(log, home, question, identity, key, draw, analyst, publish)


def answer_again(
    log: Log,
    home: Home,
    question: Question,
    identity: Identity,
    key: str,
    *,
    analyst: str,
    publish: Place | None = None,
) -> Asked | None:
    """Return the stored answer of a question that was asked before, and put on record who asked it again."""
    if stored_answer(log, key) is None:
        return None

    def draw() -> bytes:
        raise RuntimeError("an answer that was stored is never drawn again")

    return _ask(log, home, question, identity, key, draw, analyst, publish)


def _ask(
    log: Log,
    home: Home,
    question: Question,
    identity: Identity,
    key: str,
    draw: Callable[[], bytes],
    analyst: str,
    publish: Place | None,
) -> Asked:
    place = _destination(question, key, publish)
    return ask(
        log,
        question.claim(identity),
        analyst=analyst,
        key=key,
        destination=None if place is None else str(place),
        individual=question.individual(home),
        draw=draw,
        facts=question.facts(),
        actor=login(),
        now=datetime.now(UTC),
    )


def _destination(question: Question, key: str, publish: Place | None) -> Place | None:
    """Return where the answer is published; None where it is not, as for one individual."""
    if publish is None or question.is_about_one:
        return None
    from penstock.records.published_answers import place_of_answer

    return place_of_answer(publish if isinstance(publish, ObjectPath) else publish.absolute(), question.name, key)


def handed_over(
    log: Log, home: Home, question: Question, key: str, asked: Asked, *, analyst: str, publish: Place | None
) -> Answer:
    """Return the answer for whoever asked; publish it, if it is to be published and is not there yet."""
    told = json.loads(asked.answer)
    place = _destination(question, key, publish)
    if place is not None:
        from penstock.tasks.questions.signed import publish as put_there

        with log.reader(whole=False) as reader:
            head = reader.head().digest
        put_there(home, place, {"answer": told, "digest": asked.digest, "log_head": {"digest": head}})
    left = standing(log, dataset=question.dataset, model=question.guarantee.model, analyst=analyst)
    if question.prior != question.drawn_prior:  # what whoever asks may expect by their own prior, which is not stored
        expected = question.expected()
        told |= {name: getattr(expected, name) for name in _EXPECTED}
        told["expect"] = expected.sentences
    return _answer(key, told, asked, left, None if place is None else str(place))


_EXPECTED = ("standard_error", "half_width", "is_upper_bound", "is_typical")


def _answer(key: str, told: dict[str, Any], asked: Asked, left: Standing, path: str | None) -> Answer:
    return Answer(
        id=key,
        query=told["text"],
        values=dict(zip(told["groups"], told["values"], strict=True)),
        errors=None if told.get("errors") is None else dict(zip(told["groups"], told["errors"], strict=True)),
        method=told["method"],
        model=told["guarantee"]["model"],
        epsilon=Fraction(told["epsilon"]),
        promise=told["guarantee"]["statement"],
        standard_error=told["standard_error"],
        half_width=told["half_width"],
        is_upper_bound=told["is_upper_bound"],
        is_typical=told["is_typical"],
        expect=tuple(told["expect"]),
        repeated=asked.repeated,
        left=left.left,
        left_to_analyst=left.left_to_analyst,
        path=path,
    )
