"""What all questions of one sitting cost together, so that nobody has to add them up again.

    sum         of the epsilons of its answered questions; if each is about one individual, the largest sum of one
    questions   how many were answered
    pages       only for individuals: the digest of the sums of each (_individuals.py)

It stands beside the tail of its sitting, under the seal of the head (_transactions.py), and `penstock audit verify`
recomputes it from the events. Numbers are exact, so they are text.

Fractions with ever new denominators would make an exact sum longer with each question, without end. So

    s + e, if its denominator has at most 256 bits; else the next multiple of 2^-128 above it       (1)

is the sum after a question. It is never too small, and too large by at most 2^-128 for each question. What an account
has spent, with its releases, is rounded in the same way, once. Limits have denominators of at most 2^64.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction

from penstock.records.files.digest import canonical, keyed

__all__ = [
    "FINEST",
    "NO_QUESTIONS",
    "Balance",
    "added",
    "answers_of",
    "balance_of",
    "history_of",
    "longer",
    "rounded_up",
    "text_of_answers",
    "text_of_history",
]

FINEST = 2**64
_LONGEST = 256  # bits
_GRID = 2**128


@dataclass(frozen=True, slots=True)
class Balance:
    """The closing balance of one sitting."""

    sum: Fraction = Fraction(0)
    questions: int = 0
    pages: str | None = None

    @property
    def text(self) -> str:
        """Return it in the form that is sealed."""
        pages = {} if self.pages is None else {"pages": self.pages}
        return canonical({"sum": str(self.sum), "questions": self.questions, **pages}).decode()

    def with_question(self, epsilon: Fraction) -> Balance:
        """Return the balance after a question that everybody pays for."""
        return Balance(added(self.sum, epsilon), self.questions + 1)


NO_QUESTIONS = Balance()


def added(total: Fraction, epsilon: Fraction) -> Fraction:
    """Return (1)."""
    return rounded_up(total + epsilon)


def rounded_up(exact: Fraction) -> Fraction:
    """Return a sum as short as in (1)."""
    if exact.denominator.bit_length() <= _LONGEST:
        return exact
    return Fraction(math.ceil(exact * _GRID), _GRID)


def balance_of(text: str | None) -> Balance | None:
    """Return the balance in a sealed text; None if it is none."""
    content = {} if text is None else json.loads(text)
    return Balance(Fraction(content["sum"]), content["questions"], content.get("pages")) if "sum" in content else None


def history_of(text: str | None) -> str | None:
    """Return the digest of a subject's events in a sealed text; None if it is none."""
    content = {} if text is None else json.loads(text)
    return str(content["history"]) if "history" in content else None


def text_of_history(history: str) -> str:
    """Return the text that is sealed for a subject with this history."""
    return canonical({"history": history}).decode()


def answers_of(text: str | None) -> str | None:
    """Return the digest of all answers that were given (_stored.py) in a sealed text; None if it is none."""
    content = {} if text is None else json.loads(text)
    return str(content["answers"]) if "answers" in content else None


def text_of_answers(first: str) -> str:
    """Return the text that is sealed for the answers whose first page has this digest."""
    return canonical({"answers": first}).decode()


def longer(key: bytes, history: str, digest: str) -> str:
    """Return the digest of a subject's events with one more: h_i = keyed(K, "history", h_(i-1), d_i), h_0 empty."""
    return keyed(key, "history", history, digest)
