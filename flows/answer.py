"""An answer: one question of an analyst in, one charged answer out, or one refusal on record.

    description ─ query ─ method ─ cost ─ which records ─ stored? ─ means ─ read ─ charge and draw ─ answer

Everything up to the reading is decided by public facts and the log. The draw happens inside the transaction that
charges it, so nobody sees an answer that is not paid for. Protocols, by who says what a question costs:

    1     the owner of the data: questions.each in the data description, the same for every question
    1'    whoever asks, by the scale of Laplace noise: epsilon = sensitivity / scale
    2     whoever asks, by epsilon, or by the error that is wanted: the least epsilon that keeps it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction

from penstock.flows.query_remedies import with_declared
from penstock.flows.query_text import QueryRefused, as_text
from penstock.flows.spec.data_description import DataDescription
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.questions import CONFIDENCE, Method, Query, Terms, canonical, faults, methods, why_not
from penstock.mechanisms.refinement.priors import AnyPrior
from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records import open_records
from penstock.records.bundle.outside import require_outside
from penstock.records.files.addresses import Place, place_of
from penstock.records.home import Home, login
from penstock.records.ledger.questions import record_refusal
from penstock.records.log.log import Log
from penstock.tasks.questions.answered import Answer
from penstock.tasks.questions.asking import (
    answer_again,
    draw_answer,
    evaluate_question,
    handed_over,
    key_on_record,
    public_records,
    require_means,
)
from penstock.tasks.questions.identity import identify
from penstock.tasks.questions.question import Question

__all__ = ["Answer", "Wish", "answer", "settled", "ways"]

# Whoever names no method gets the first of these that can answer; the relaxed ones are only ever chosen by name.
_USUAL = ("laplace", "exponential", "refinement", "staircase")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A question as somebody wants it asked. Exactly one of epsilon, scale and within says what it may cost.

    scale: of Laplace noise, in the unit of the answer. within, confidence: the answer is to be that near to the truth,
    with this confidence. method: None for the usual one. prior: for refinement; of medians and quantiles by the
    exponential mechanism it says what to expect, and nothing else.
    """

    query: Query
    method: str | None = None
    epsilon: Fraction | None = None
    scale: Fraction | None = None
    within: Fraction | None = None
    confidence: Fraction = CONFIDENCE
    prior: AnyPrior | None = None


@dataclass(frozen=True, slots=True)
class Way:
    """One method for a question. epsilon: what it costs; None if `why` it cannot be asked so."""

    method: Method
    epsilon: Fraction | None
    why: str = ""


def answer(description: DataDescription, wish: Callable[[], Wish], *, analyst: str) -> Answer:
    """Return the answer to a question, charged to its analyst; or refuse, on record. wish: reads it, or refuses."""
    home = Home.open()
    log = open_records(home=home, whole=False).log
    with _on_record(log, description.budget.dataset, analyst) as noted:
        publish = _destination(description, home)
        question = settled(description, wish(), home)
        identity = identify(home, description.source.path, description.columns, unit=description.whose)
        noted.key = key = key_on_record(log, home, question, identity)
        asked = answer_again(log, home, question, identity, key, analyst=analyst, publish=publish)  # stored: free
        if asked is None:
            require_means(log, question, analyst)
            exact = evaluate_question(question, identity)  # the only step that reads rows
            asked = draw_answer(log, home, question, identity, exact, key, analyst=analyst, publish=publish)
        return handed_over(log, home, question, key, asked, analyst=analyst, publish=publish)


def settled(description: DataDescription, wish: Wish, home: Home) -> Question:
    """Return the question with its method, its cost and its promise; refuse by public facts alone."""
    terms = terms_of(description, home, wish.query)
    wish = replace(wish, query=canonical(wish.query))  # asked in other words, it is the same question
    chosen = _chosen(ways(description, wish, terms), wish)
    if chosen.epsilon is None:
        raise QueryRefused(Fault(_asked_by(wish), f"cannot be kept by {chosen.method.name}: {chosen.why}", _ANOTHER))
    return Question(
        name=description.name,
        dataset=description.budget.dataset,
        acknowledges=description.budget.acknowledges,
        edition=description.source.edition,
        source=description.source.path,
        declared=description.columns,
        terms=terms,
        query=wish.query,
        text=as_text(wish.query),
        method=chosen.method,
        epsilon=chosen.epsilon,
        guarantee=_of_edition(chosen.method.guarantee(chosen.epsilon), description.source.edition),
        prior=None if wish.prior is None else wish.prior.model_dump(mode="json"),
        records=terms.records,
    )


def terms_of(description: DataDescription, home: Home, query: Query) -> Terms:
    """Return the public terms of a data set; refuse a question that cannot be asked of it under any method."""
    asked = description.questions
    bare = Terms(
        adjacency=asked.adjacency,
        whose=description.whose,
        rows_per_unit=asked.rows_per_unit or 1,
        relaxations=asked.relaxations,
    )
    QueryRefused.raise_for(
        _named(with_declared(fault, query, description.columns)) for fault in faults(query, description.columns, bare)
    )
    if asked.adjacency != "replace" or description.whose is not None:
        return bare  # how many records there are is a secret
    known = public_records(home, description.source.path, description.columns)
    return Terms(bare.adjacency, bare.whose, bare.rows_per_unit, bare.relaxations, known)


def ways(description: DataDescription, wish: Wish, terms: Terms) -> dict[str, Way]:
    """Return every method that could answer, and what it would cost."""
    QueryRefused.raise_for(_cost_faults(description, wish))
    found = methods(wish.query, description.columns, terms, prior=wish.prior)
    if wish.method is not None and wish.method not in found:
        reasons = why_not(wish.query, description.columns, terms, prior=wish.prior)
        reason = reasons.get(wish.method, f"there is no such method; these can: {', '.join(found)}")
        raise QueryRefused(Fault("method", f"cannot answer this question: {reason}", _ANOTHER, repr(wish.method)))
    return {name: _way(description, wish, method, terms.records) for name, method in found.items()}


_ANOTHER = "Choose another method, or plan the question first: penstock ask ... --plan."


def _way(description: DataDescription, wish: Wish, method: Method, records: int | None) -> Way:
    epsilon, why = description.questions.each, ""
    if wish.scale is not None:
        epsilon = method.epsilon_of_scale(wish.scale)
        why = "it has no noise of such a scale" if epsilon is None else ""
    elif wish.within is not None:
        epsilon = method.least_epsilon(wish.within, wish.confidence, records)
        why = method.why_no_epsilon() if epsilon is None else ""
    elif wish.epsilon is not None:
        epsilon = wish.epsilon
    most = description.questions.most
    if epsilon is not None and most is not None and epsilon > most:
        return Way(method, None, f"it needs epsilon {epsilon}, and no question may spend more than {most}")
    wrong = [] if epsilon is None else method.epsilon_faults(epsilon)
    return Way(method, None, f"epsilon {epsilon} {wrong[0].rule}") if wrong else Way(method, epsilon, why)


def _cost_faults(description: DataDescription, wish: Wish) -> Iterator[Fault]:
    given = {name: value for name in ("epsilon", "scale", "within") if (value := getattr(wish, name)) is not None}
    each = description.questions.each
    if each is not None:
        for name, value in given.items():
            if (name, value) != ("epsilon", each):
                rule = f"must not be given: every question of {description.name} costs {each}"
                yield Fault(name, rule, "Leave it out.", str(value))
        return
    if len(given) != 1:
        rule = "must be given, or scale, or within: exactly one of the three says what the question costs"
        yield Fault("epsilon", rule, 'Give one, such as --epsilon "1/4".', ", ".join(given))
    for name, value in given.items():
        if value <= 0:
            yield Fault(name, "must be above 0", "Correct it.", str(value))
    if not 0 < wish.confidence < 1:
        yield Fault("confidence", "must be above 0 and below 1", 'Write it as "0.95".', str(wish.confidence))


def _chosen(found: Mapping[str, Way], wish: Wish) -> Way:
    """Return the named way; else the usual one, or, for a wanted error, the cheapest that is differentially private."""
    if wish.method is not None:
        return found[wish.method]
    private = {name: way for name, way in found.items() if way.method.model == "dp"}
    if not private:
        names = ", ".join(found) or "none"
        rule = f"must be named: no method of differential privacy answers this, and a relaxed one is chosen ({names})"
        raise QueryRefused(Fault("method", rule, _ANOTHER))
    possible = [way for way in private.values() if way.epsilon is not None]
    if wish.within is not None and possible:
        return min(possible, key=lambda way: way.epsilon or 0)
    usual = [private[name] for name in _USUAL if name in private]
    return next((way for way in usual if way.epsilon is not None), (usual or list(private.values()))[0])


def _asked_by(wish: Wish) -> str:
    return "scale" if wish.scale is not None else "within" if wish.within is not None else "epsilon"


def _named(fault: Fault) -> Fault:
    """Return a fault of the query, or of the data description where its terms are at fault."""
    places = {"terms.whose": "data.source.unit", "terms.": "data.questions.", "columns.": "data.source.columns."}
    for start, place in places.items():
        if fault.field.startswith(start):
            return Fault(place + fault.field.removeprefix(start), fault.rule, fault.remedy, fault.got)
    return Fault(f"query.{fault.field}", fault.rule, fault.remedy, fault.got)


def _of_edition(guarantee: Guarantee, edition: str | None) -> Guarantee:
    """Add what the promise says about data that change: whoever gets a stored answer learns that they did not."""
    within = "" if edition is None else " within an edition"
    unchanged = (
        f"the records of a data set do not change{within}: whoever gets the stored answer again can see that they have "
        "not changed"
    )
    public = guarantee.public if edition is None else (*guarantee.public, "edition of the data")
    return guarantee.model_copy(update={"public": public, "assumptions": (*guarantee.assumptions, unchanged)})


def _destination(description: DataDescription, home: Home) -> Place | None:
    """Return where answers are published; refuse a folder in the home."""
    if description.questions.publish is None:
        return None
    place = place_of(description.questions.publish, "questions.publish")
    require_outside(place, home)
    return place


@dataclass(slots=True)
class _Noted:
    key: str | None = None


@contextmanager
def _on_record(log: Log, dataset: str, analyst: str) -> Iterator[_Noted]:
    """Put a refusal on record before anybody sees it. A failure of the machine is not a refusal."""
    noted = _Noted()
    try:
        yield noted
    except Refusal as refusal:
        if refusal.kind not in ("failure", "integrity"):
            record_refusal(
                log,
                dataset=dataset,
                analyst=analyst,
                key=noted.key,
                code=refusal.code,
                actor=login(),
                now=datetime.now(UTC),
            )
        raise
