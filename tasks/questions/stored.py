"""A stored answer, read again: which method gave it, made anew from what it says of itself."""

from __future__ import annotations

from pydantic import TypeAdapter

from penstock.mechanisms.columns import Column
from penstock.mechanisms.questions import Method, Query, Terms, methods
from penstock.mechanisms.refinement.priors import AnyPrior
from penstock.tasks.questions.signed import AnswerContent

__all__ = ["method_of"]


def method_of(answer: AnswerContent) -> Method:
    """Return the method of an answer, from its question, columns, terms and prior; refuse what does not fit."""
    columns = {name: Column.model_validate(column) for name, column in answer.columns.items()}
    prior = None if answer.prior is None else TypeAdapter(AnyPrior).validate_python(answer.prior)
    terms = Terms(
        adjacency=answer.terms.adjacency,  # type: ignore[arg-type]  # `methods` refuses others
        whose=answer.terms.whose,
        rows_per_unit=answer.terms.rows_per_unit,
        relaxations=("idp", "bdp"),  # which of them the owner accepts is not the reader's business
        records=answer.records,
    )
    return methods(Query.model_validate(answer.query), columns, terms, prior=prior)[answer.method]
