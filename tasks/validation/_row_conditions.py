"""Row conditions: which rows an expectation of a suite is about.

    {"type": "comparison", "column": {"name": "age"}, "operator": "<", "parameter": 16}
    {"type": "nullity", "column": {"name": "age"}, "is_null": true}
    {"type": "and" | "or", "conditions": [...]}

Great Expectations makes text of a condition and lets pandas evaluate it, where a name or a value can become code. So
no condition reaches it: one is rebuilt here from exactly these keys, and the rows are chosen here, by comparing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Condition", "NotACondition", "row_condition"]

Scalar = str | int | float | bool

_DEEPEST = 5
_MOST = 100
_LONGEST = 1000
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MEMBERSHIPS = ("IN", "NOT_IN")


class NotACondition(ValueError):
    """The written value is none of the known conditions."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of a column with a number, a text or a list of these; a missing value differs from all."""

    column: str
    operator: str
    parameter: Scalar | tuple[Scalar, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def rows(self, frame: pd.DataFrame) -> pd.Series:
        values = frame[self.column]
        if isinstance(self.parameter, tuple):
            among = values.isin(list(self.parameter))
            return among if self.operator == "IN" else ~among
        chosen: pd.Series = _COMPARISONS[self.operator](values, self.parameter)
        return chosen.fillna(self.operator == "!=").astype(bool)

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.parameter)) if isinstance(self.parameter, tuple) else self.parameter
        return f"{self.column} {self.operator} {shown}"


@dataclass(frozen=True, slots=True)
class Nullity:
    """The condition that the value of a column is missing, or is not."""

    column: str
    is_null: bool

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def rows(self, frame: pd.DataFrame) -> pd.Series:
        missing = frame[self.column].isna()
        return missing if self.is_null else ~missing

    def __str__(self) -> str:
        return f"{self.column} is {'missing' if self.is_null else 'not missing'}"


@dataclass(frozen=True, slots=True)
class Joined:
    """Several conditions, all or any of which hold."""

    word: Literal["and", "or"]
    parts: tuple[Condition, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column for part in self.parts for column in part.columns)

    def rows(self, frame: pd.DataFrame) -> pd.Series:
        join = operator.and_ if self.word == "and" else operator.or_
        return reduce(join, (part.rows(frame) for part in self.parts))

    def __str__(self) -> str:
        return f" {self.word} ".join(f"({part})" for part in self.parts)


Condition = Comparison | Nullity | Joined


def row_condition(written: object) -> Condition:
    """Return the condition that exactly these keys say, or raise NotACondition with the rule that is broken."""
    found = _condition(written, 1)
    if len(found.columns) > _MOST:
        raise NotACondition(f"must have at most {_MOST} conditions")
    return found


def _condition(written: object, depth: int) -> Condition:
    if depth > _DEEPEST:
        raise NotACondition(f"must have conditions at most {_DEEPEST} deep")
    if not isinstance(written, dict):
        raise NotACondition("must be an object; text is not run")
    kind, keys = written.get("type"), set(written)
    if kind == "comparison" and keys == {"type", "column", "operator", "parameter"}:
        return _comparison(_column(written["column"]), written["operator"], written["parameter"])
    if kind == "nullity" and keys == {"type", "column", "is_null"} and isinstance(written["is_null"], bool):
        return Nullity(_column(written["column"]), written["is_null"])
    if kind in ("and", "or") and keys == {"type", "conditions"}:
        parts = written["conditions"]
        if not isinstance(parts, list) or not 1 <= len(parts) <= _MOST:
            raise NotACondition(f"must be a list of 1 to {_MOST} conditions")
        return Joined(kind, tuple(_condition(part, depth + 1) for part in parts))
    raise NotACondition(
        "must be a comparison (column, operator, parameter), a nullity (column, is_null), or several joined by and or "
        "or (conditions), with exactly these keys"
    )


def _comparison(column: str, sign: object, parameter: object) -> Comparison:
    if sign in _MEMBERSHIPS:
        if not isinstance(parameter, list) or not parameter or not all(map(_is_scalar, parameter)):
            raise NotACondition(f"must have a list of numbers or texts as the parameter of {sign}")
        return Comparison(column, str(sign), tuple(parameter))
    if not isinstance(sign, str) or sign not in _COMPARISONS:
        raise NotACondition(f"must have an operator out of {', '.join([*_COMPARISONS, *_MEMBERSHIPS])}")
    if not isinstance(parameter, Scalar) or not _is_scalar(parameter):
        raise NotACondition(f"must have a number or a text as the parameter of {sign}")
    return Comparison(column, sign, parameter)


def _column(written: object) -> str:
    if isinstance(written, dict) and set(written) == {"name"} and isinstance(written["name"], str):
        return str(written["name"])
    raise NotACondition('must have a column {"name": ...}')


def _is_scalar(value: object) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= _LONGEST)
