"""Exact numbers as people write them: "2", "0.5", "1/2".

Python's Fraction also reads exponents, and "1e999999999" would never end; so the form is checked first.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError

__all__ = ["ExactNumber", "SignedNumber", "exact_number", "readable", "stated_number"]

_WRITTEN = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30}|/0*[1-9][0-9]{0,29})?")
_STATED = re.compile(r"[0-9]{1,400}(/[1-9][0-9]{0,399})?")


def exact_number(text: str) -> Fraction | None:
    """Return the number, or None where it is not written exactly."""
    return Fraction(text) if _WRITTEN.fullmatch(text) else None


def stated_number(stated: object) -> Fraction:
    """Return the number that a promise states, such as "2" or "1/2"; raise ValueError for anything else."""
    if not isinstance(stated, str) or not _STATED.fullmatch(stated):
        raise ValueError("not an exact number as it is stated")
    return Fraction(stated)


def readable(number: Fraction) -> str:
    """Return a number for a sentence: exact where it is short, else a decimal of six digits."""
    exact = str(number)
    return exact if len(exact) <= 12 else f"{float(number):.6g}"


def _exact(value: object) -> Fraction:
    """Return an exact number from "1/2", "0.5" or 2; refuse a float, because it is not the number written."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise PydanticCustomError("exact_number", 'must be an exact number in quotes, such as "1/2" or "0.5"')
    number = exact_number(str(value))
    if number is None:
        raise PydanticCustomError("exact_number", 'must be an exact number of 0 or more, written as "1/2", "0.5" or 2')
    return number


ExactNumber = Annotated[
    Fraction,
    BeforeValidator(_exact),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": ["string", "integer"], "examples": ["1/2", "0.5", 2]}),
]


def _signed(value: object) -> Fraction:
    """Return an exact number, which may have a minus before it."""
    if isinstance(value, int) and not isinstance(value, bool) and value < 0:
        return -_exact(-value)
    if isinstance(value, str) and value.startswith("-"):
        return -_exact(value.removeprefix("-"))
    return value if isinstance(value, Fraction) else _exact(value)


SignedNumber = Annotated[
    Fraction,
    BeforeValidator(_signed),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": ["string", "integer"], "examples": ["-1/2", "0.5", 2]}),
]
