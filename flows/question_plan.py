"""The plan of a question: what each method would promise, how far it may stray, what it costs and what is left.

Public facts alone: the data description, the prior, the log; of the source, where the number of records is public, its
footers. No row is read, nothing is spent, and nothing goes on record.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypedDict

from penstock.flows.answer import Way, Wish, terms_of, ways
from penstock.flows.query_text import as_text
from penstock.flows.spec.data_description import DataDescription
from penstock.mechanisms.models import Budgeted
from penstock.mechanisms.questions import CONFIDENCE, Expected, why_not
from penstock.records import RecordsAbsent, existing_records
from penstock.records.home import Home
from penstock.records.ledger.ledger import AccountMissing
from penstock.records.ledger.questions import Standing, standing
from penstock.tasks.questions.drawn import Spread, drawn

__all__ = ["PlannedMethod", "QuestionPlan", "plan_question"]

_NOTHING = "there is no account, or too little is left of it"
_OF_ONE = "what is left depends on the person, and is not told"


class PlannedMethod(TypedDict):
    """One method that could answer. Exact numbers are text; None where nothing is known without the data.

    standard_error, half_width: how far an answer may stray, and how far at most with 95 % confidence. is_upper_bound:
    these are of the worst case, since the size of the noise is secret. left, left_to_analyst: afterwards; None where
    there is no account, or it has too little, or the question is about one individual.
    """

    method: str
    model: str
    adjacency: str
    epsilon: str
    promise: str
    standard_error: float | None
    half_width: float | None
    rank_error: float | None
    is_upper_bound: bool
    is_typical: bool
    expect: list[str]
    left: str | None
    left_to_analyst: str | None


class QuestionPlan(TypedDict):
    """A question before it is asked.

    wanted: how near the answer is to be, as text; None if that was not said. cannot: why each other method is out.
    nothing_left: what it means where a method has no `left`. picture: SVG of the distributions.
    """

    name: str
    query: str
    wanted: str | None
    records: int | None
    methods: list[PlannedMethod]
    cannot: dict[str, str]
    nothing_left: str
    picture: str


def plan_question(description: DataDescription, wish: Wish, *, analyst: str) -> QuestionPlan:
    """Return what to expect of every method; refuse what the question itself would be refused for."""
    home = Home.located()
    terms = terms_of(description, home, wish.query)
    found = ways(description, wish, terms)
    cannot = dict(why_not(wish.query, description.columns, terms, prior=wish.prior))
    planned: list[PlannedMethod] = []
    spreads: list[Spread] = []
    is_about_one = wish.query.individual is not None
    left = _Left(description.budget.dataset, analyst, is_about_one)
    for name, way in found.items():
        if wish.method not in (None, name):
            continue
        if way.epsilon is None:
            cannot[name] = way.why
            continue
        expected = way.method.expected(way.epsilon, terms.records, CONFIDENCE)
        planned.append(_planned(way, way.epsilon, expected, left))
        spreads.append(Spread(way.method, way.epsilon, expected))
    text = as_text(wish.query)
    return {
        "name": description.name,
        "query": text,
        "wanted": None if wish.within is None else f"{_percent(wish.confidence)} % within {_decimal(wish.within)}",
        "records": terms.records,
        "methods": planned,
        "cannot": cannot,
        "nothing_left": _OF_ONE if is_about_one else _NOTHING,
        "picture": drawn(spreads, title=text),
    }


def _planned(way: Way, epsilon: Fraction, expected: Expected, left: _Left) -> PlannedMethod:
    guarantee = way.method.guarantee(epsilon)
    account, analyst = left.after(way.method.model, epsilon)
    return {
        "method": way.method.name,
        "model": guarantee.model,
        "adjacency": guarantee.adjacency,
        "epsilon": str(epsilon),
        "promise": guarantee.statement,
        "standard_error": expected.standard_error,
        "half_width": expected.half_width,
        "rank_error": expected.rank_error,
        "is_upper_bound": expected.is_upper_bound,
        "is_typical": expected.is_typical,
        "expect": list(expected.sentences),
        "left": account,
        "left_to_analyst": analyst,
    }


def _percent(confidence: Fraction) -> str:
    return _decimal(100 * confidence)


def _decimal(number: Fraction) -> str:
    """Return a decimal where it is short, and a fraction elsewhere."""
    short = f"{float(number):g}"
    return short if Fraction(short) == number else str(number)


class _Left:
    """The amounts that account and analyst have left, looked up once for each model."""

    def __init__(self, dataset: str, analyst: str, is_about_one: bool) -> None:
        self._dataset, self._analyst, self._is_about_one = dataset, analyst, is_about_one
        self._known: dict[str, Standing | None] = {}

    def after(self, model: Budgeted, epsilon: Fraction) -> tuple[str | None, str | None]:
        """Return what is left once this is spent; None where it cannot be."""
        found = self._standing(model)
        if found is None or self._is_about_one:  # what a person has left tells what was asked about them
            return None, None
        amounts = (found.left - epsilon, found.left_to_analyst - epsilon)
        account, analyst = (str(amount) if amount >= 0 else None for amount in amounts)
        return account, analyst

    def _standing(self, model: Budgeted) -> Standing | None:
        if model not in self._known:
            try:
                log = existing_records(whole=False).log
                self._known[model] = standing(log, dataset=self._dataset, model=model, analyst=self._analyst)
            except (RecordsAbsent, AccountMissing):  # a plan needs neither
                self._known[model] = None
        return self._known[model]
