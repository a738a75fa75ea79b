"""Errors that nobody foresaw, while records are evaluated: one failure for all of them.

pyarrow and NumPy put values into their messages, and which error it is, at which line, depends on the records as well.
So nothing of it is told. (A step of a release tells the kind of the error: there it is the data owner who reads it.)
"""

from __future__ import annotations

from types import TracebackType

from penstock.mechanisms.refusal import Refusal

__all__ = ["QuestionFailed", "sealed"]


class QuestionFailed(Refusal):
    """Evaluating a question stopped on something that is not a refusal: too little memory, a defect."""

    code = "question-failed"
    kind = "failure"
    remedy = "Have the data owner look for the cause, and ask the same again; nothing was spent."


class sealed:  # reads as a word in a with statement
    """A context in which any foreign error becomes the same QuestionFailed, which holds nothing of the original."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, Refusal) or not isinstance(error, Exception):
            return
        failed = QuestionFailed.at(
            "query",
            rule="must be evaluated to its end, which failed",
            remedy="Have the data owner look for the cause. Nothing was spent.",
        )
        try:
            raise failed from None
        finally:
            failed.__context__ = None  # not shown, but there, with the text of the original
