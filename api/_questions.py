"""A question and its plan, as the command line has them.

The examples below run in a folder with a data description, an account and an allowance; a test runs them.
"""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.flows.answer import Wish
    from penstock.flows.question_plan import QuestionPlan
    from penstock.flows.spec.data_description import DataDescription
    from penstock.mechanisms.questions import Query
    from penstock.tasks.questions.answered import Answer

__all__ = ["ask", "load_description", "plan_question"]

# Exact: a float is not the number that was written, so it is refused.
Exact = str | int | Fraction


def load_description(path: str | os.PathLike[str], *, source: str | os.PathLike[str] | None = None) -> DataDescription:
    """Read a data description, YAML or JSON, and check it; no row of the data is read.

    It says what the data are, which accounts pay, and what may be asked. Paths in it are relative to the file. source:
    use these data instead.

    >>> import penstock
    >>> data = penstock.load_description("specs/survey-data.yaml")
    >>> data.name, data.questions.adjacency
    ('survey', 'replace')
    """
    from penstock._front import path_of
    from penstock.flows.spec.data_description import load_description as load

    return load(path_of("data", path), source=source)


def plan_question(
    data: DataDescription | str | os.PathLike[str],
    query: Query | str,
    *,
    epsilon: Exact | None = None,
    scale: Exact | None = None,
    within: Exact | None = None,
    confidence: Exact | None = None,
    method: str | None = None,
    prior: Any = None,
) -> QuestionPlan:
    """Return what each method would answer with: promise, standard error, 95 % interval, cost, what remains; an SVG.

    Nothing is spent, no row is read, and nothing goes on record. query: one line, the path of a .json or .yaml file, or
    a `Query`. Exactly one of epsilon, scale and within says what it may cost, unless the data description does; within
    and confidence (0.95, if not given) find the least epsilon. prior: for `refinement`, a mapping or a path.

    >>> import penstock
    >>> planned = penstock.plan_question("specs/survey-data.yaml", "count where region is North", epsilon="1/4")
    >>> [each["method"] for each in planned["methods"]][:2]
    ['laplace', 'staircase']
    >>> planned["methods"][0]["left_to_analyst"]
    '7/4'
    """
    from penstock.flows.question_plan import plan_question as plan
    from penstock.records.home import login

    wish = _wish(query, epsilon, scale, within, confidence, method, prior)
    return plan(_described(data), wish, analyst=login())


def ask(
    data: DataDescription | str | os.PathLike[str],
    query: Query | str,
    *,
    epsilon: Exact | None = None,
    scale: Exact | None = None,
    within: Exact | None = None,
    confidence: Exact | None = None,
    method: str | None = None,
    prior: Any = None,
) -> Answer:
    """Ask a question of confidential data, and return its answer, with its promise and how far it may stray.

    This is `penstock ask`: it uses the home, the log and the ledger that PENSTOCK_HOME and PENSTOCK_DB name, and
    charges the question to the account of the data set and to the login that runs it. What was asked before comes back
    as it was, and costs nothing. The arguments are those of `plan_question`.

    Raise a `Refusal` if it cannot be asked, by the data description, the account or the analyst's allowance; what the
    data hold never decides that. Every question and every refusal is on the audit log.

    >>> import penstock
    >>> found = penstock.ask("specs/survey-data.yaml", "count where region is North", epsilon="1/4")
    >>> found.method, str(found.epsilon), str(found.left_to_analyst), found.repeated
    ('laplace', '1/4', '7/4', False)
    >>> again = penstock.ask("specs/survey-data.yaml", "count where region is North", epsilon="1/4")
    >>> again.value == found.value, again.repeated, str(again.left_to_analyst)
    (True, True, '7/4')
    """
    from penstock.flows.answer import answer
    from penstock.records.home import login

    described = _described(data)
    return answer(described, lambda: _wish(query, epsilon, scale, within, confidence, method, prior), analyst=login())


def _described(data: DataDescription | str | os.PathLike[str]) -> DataDescription:
    from penstock.flows.spec.data_description import DataDescription

    return data if isinstance(data, DataDescription) else load_description(data)


def _wish(
    query: Query | str,
    epsilon: Exact | None,
    scale: Exact | None,
    within: Exact | None,
    confidence: Exact | None,
    method: str | None,
    prior: Any,
) -> Wish:
    from penstock.flows.answer import Wish
    from penstock.flows.query_text import QueryRefused, query_of, read_query
    from penstock.mechanisms.questions import Query
    from penstock.mechanisms.refusal import Fault

    numbers = {"epsilon": epsilon, "scale": scale, "within": within, "confidence": confidence}
    exact = {name: _exact(value) for name, value in numbers.items() if value is not None}
    QueryRefused.raise_for(
        Fault(name, "must be an exact number, such as 1/4 or 0.25", _as_exact(numbers[name]), repr(numbers[name]))
        for name, value in exact.items()
        if value is None
    )
    if not isinstance(query, Query):
        query = read_query(query) if isinstance(query, str) else query_of(query)
    return Wish(query=query, method=method, prior=_prior(prior), **{n: v for n, v in exact.items() if v is not None})


def _as_exact(given: object) -> str:
    """Return the remedy for a number that is not exact."""
    if isinstance(given, float):
        return f'A float is not exact; write it as text: "{given}".'
    return 'Write it in quotes: "1/4".'


def _exact(given: object) -> Fraction | None:
    from penstock.mechanisms.numbers.exact import exact_number

    if isinstance(given, bool) or not isinstance(given, str | int | Fraction):
        return None
    return given if isinstance(given, Fraction) else exact_number(str(given))


def _prior(given: Any) -> Any:
    if given is None:
        return None
    from penstock.flows.priors import prior_of, read_prior

    return read_prior(Path(given)) if isinstance(given, str | os.PathLike) else prior_of(given)
