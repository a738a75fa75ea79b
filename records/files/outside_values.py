"""What values from outside may be: bounded in number, depth, digits and length, alone and together, and fit to show.

A broken rule raises OutsideWrong; the reader of a file turns it into a refusal.
"""

from __future__ import annotations

import math
import re
from typing import NoReturn

from penstock.mechanisms.refusal import Fault, Refusal

__all__ = [
    "DEEPEST",
    "LONGEST_TEXT",
    "MOST_CHARACTERS",
    "MOST_VALUES",
    "OutsideWrong",
    "Tally",
    "finite_number",
    "first_unfit",
    "require_bounds",
    "require_text",
    "require_values",
    "too_many",
    "whole_number",
]

DEEPEST = 32
MOST_VALUES = 500_000
MOST_CHARACTERS = 16 * 2**20  # of all texts together: no file that is read has more, but aliases can repeat a text
LONGEST_TEXT = 10_000
_MOST_DIGITS = 40

# Characters that XML cannot hold or a terminal would obey; half of a surrogate pair is no character at all.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")


class OutsideWrong(ValueError):
    """The error that a rule is broken; line: where, if that is known."""

    def __init__(self, rule: str, remedy: str, line: int | None = None) -> None:
        super().__init__(rule)
        self.rule = rule if line is None else f"line {line}: {rule}"
        self.remedy = remedy


class Tally:
    """A count of values and characters as they are read; an excess is refused before anything is done with it."""

    __slots__ = ("characters", "values")

    def __init__(self) -> None:
        self.values = self.characters = 0

    def add(self, value: object, depth: int, line: int | None = None) -> None:
        """Count one value, without what it contains."""
        self.values += 1
        if self.values > MOST_VALUES or depth > DEEPEST:
            too_many(line)
        self.characters += len(value) if isinstance(value, str) else 0
        if self.characters > MOST_CHARACTERS:
            rule = f"must hold at most {MOST_CHARACTERS:,} characters in all texts, each counted as often as it is used"
            raise OutsideWrong(rule, "Check that it is the right file.", line)


def require_values(field: str, value: object, refusal: type[Refusal]) -> None:
    """Refuse values that did not come from a file and break one of the rules."""
    try:
        require_bounds(value)
    except OutsideWrong as wrong:
        raise refusal(Fault(field, wrong.rule, wrong.remedy)) from None


def require_bounds(value: object) -> None:
    """Refuse a value in lists and mappings, keys included, that breaks a rule; no recursion, so no depth is a
    problem."""
    waiting: list[tuple[object, int]] = [(value, 0)]
    tally = Tally()
    while waiting:
        found, depth = waiting.pop()
        tally.add(found, depth)
        if isinstance(found, str):
            require_text(found)
        elif isinstance(found, int) and abs(found) >= 10**_MOST_DIGITS:
            _too_long()
        elif isinstance(found, dict):
            waiting += ((part, depth + 1) for pair in found.items() for part in pair)
        elif isinstance(found, list | tuple):
            waiting += ((part, depth + 1) for part in found)


def require_text(text: str, line: int | None = None) -> str:
    """Return the text, if it is short enough and has no control characters."""
    if len(text) > LONGEST_TEXT:
        raise OutsideWrong(f"must not hold a text of more than {LONGEST_TEXT:,} characters", "Shorten it.", line)
    if _UNFIT.search(text):
        raise OutsideWrong("must not hold control characters or halves of characters", "Remove them.", line)
    return text


def first_unfit(text: str) -> int | None:
    """Return the position of the first character that no text may hold; None if there is none."""
    found = _UNFIT.search(text)
    return None if found is None else found.start()


def whole_number(digits: str, line: int | None = None) -> int:
    """Return a whole number of bounded length: Python's own limit raises an error, and is far higher."""
    return int(digits) if len(digits) <= _MOST_DIGITS else _too_long(line)


def finite_number(digits: str, line: int | None = None) -> float:
    """Return a finite number of bounded length: neither infinite nor beyond what floating point holds."""
    number = float(digits) if len(digits) <= _MOST_DIGITS else _too_long(line)
    if not math.isfinite(number):
        raise OutsideWrong("must hold finite numbers only", "Write the number.", line)
    return number


def too_many(line: int | None = None) -> NoReturn:
    """Refuse too many values, or values nested too deep."""
    rule = f"must hold at most {MOST_VALUES:,} values, at most {DEEPEST} deep"
    raise OutsideWrong(rule, "Check that it is the right file.", line)


def _too_long(line: int | None = None) -> NoReturn:
    raise OutsideWrong(
        f"must not hold a number of more than {_MOST_DIGITS} digits", "Round it, or put it in quotes.", line
    )
