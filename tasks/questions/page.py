"""The page of a stored answer: question, answer, promise, expected error, and the picture of its distribution."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.questions import CONFIDENCE
from penstock.reports.pages import AnswerSheet, answer_report
from penstock.tasks.questions.drawn import Spread, drawn
from penstock.tasks.questions.signed import AnswerContent
from penstock.tasks.questions.stored import method_of

__all__ = ["answer_page"]


def answer_page(stored: bytes) -> str:
    """Return the page of an answer as the home stores it. Confidential."""
    answer = AnswerContent.model_validate(json.loads(stored))
    method, epsilon = method_of(answer), Fraction(answer.epsilon)
    spread = Spread(method, epsilon, method.expected(epsilon, answer.records, CONFIDENCE))
    errors: Sequence[float | None] = answer.errors or [None] * len(answer.values)
    sheet = AnswerSheet(
        name=answer.name,
        query=answer.text,
        method=answer.method,
        epsilon=answer.epsilon,
        values=list(zip(answer.groups, answer.values, errors, strict=True)),
        standard_error=answer.standard_error,
        half_width=answer.half_width,
        is_upper_bound=answer.is_upper_bound,
        is_typical=answer.is_typical,
        expect=answer.expect,
        guarantee=Guarantee.model_validate(answer.guarantee),
        picture=drawn([spread], title="How far the answer may lie from the truth"),
    )
    return answer_report(sheet)
