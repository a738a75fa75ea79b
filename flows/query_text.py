"""A question as one line of text: a small typed language, never code and never SQL.

    question   = statistic [where condition {and condition}] [by NAME]                                          (1)
    statistic  = count | sum of NAME | mean of NAME | median of NAME | quantile SHARE of NAME
               | minimum of NAME | maximum of NAME | value of NAME for INDIVIDUAL
    condition  = NAME is CATEGORY {or CATEGORY} | NAME from NUMBER [below NUMBER] | NAME below NUMBER

    mean of income where sex is F and age from 18 below 65 by region

A band takes its lower bound and leaves out its upper one. Names and categories that hold blanks or quotes, look like a
number, or are a word of the language stand in double quotes, as in JSON: "hours per week". NUMBER and SHARE are exact:
18, 0.5, 1/3. An INDIVIDUAL is a text, or without quotes a whole number, as the data hold it. What `as_text` writes,
`parse_query` reads back; a fault says at which character.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from penstock.mechanisms.questions import Condition, Query
from penstock.mechanisms.refusal import Fault, Refusal, as_rule
from penstock.records.files.outside_text import OutsideFile

__all__ = ["QueryRefused", "as_text", "parse_conditions", "parse_query", "query_of", "read_query"]

T = TypeVar("T")

_LONGEST = 10_000  # characters; a question is a line, not a program
_MOST_WORDS = 2_000
_STATISTICS = ("count", "sum", "mean", "median", "quantile", "minimum", "maximum", "value")
_RESERVED = frozenset({*_STATISTICS, "of", "for", "where", "and", "or", "is", "from", "below", "by"})
_TOKEN = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|([^\s"]+))')
_NUMBER = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30}|/0*[1-9][0-9]{0,29})?")
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_SEE = "Write it like: mean of income where sex is F and age from 18 below 65 by region."


class QueryRefused(Refusal):
    """The question is not one that can be asked of these data."""

    code = "query-refused"
    kind = "spec"
    remedy = "Correct the question at the named place; docs/questions.md has its grammar."


@dataclass(frozen=True, slots=True)
class _Word:
    """One word of the text, and at which character it begins, counted from 1."""

    text: str
    at: int
    quoted: bool


def parse_query(text: str) -> Query:
    """Return the question that a text asks (1); refuse one that is not of this form, and say where."""
    words = _Words(text, "query")
    found = _statistic(words)
    if words.takes("where"):
        found["where"] = _conditions(words)
    if words.takes("by"):
        found["by"] = words.name("a column to group by")
    words.require_end()
    return query_of(found)


def parse_conditions(text: str, field: str) -> list[dict[str, Any]]:
    """Return conditions that are joined by `and`, as the keys of a query. field: where the text was typed."""
    words = _Words(text, field)
    found = _conditions(words)
    words.require_end()
    return found


def query_of(raw: object) -> Query:
    """Return the query with these keys; refuse with every fault."""
    try:
        return Query.model_validate(raw)
    except ValidationError as error:
        raise QueryRefused(*_told(error)) from None


def read_query(given: str) -> Query:
    """Return the question in a text, or in a file with its keys where the text is the path of a .json or .yaml file."""
    path = Path(given)
    if path.suffix not in (".json", ".yaml", ".yml"):
        return parse_query(given)
    file = OutsideFile(path, str(path), QueryRefused)
    return query_of(file.json() if path.suffix == ".json" else file.yaml())


def as_text(query: Query) -> str:
    """Return the one text of a question; `parse_query` reads it back."""
    said: list[str] = [query.statistic]
    if query.share is not None:
        said.append(_number(query.share))
    if query.of is not None:
        said += ["of", _quoted(query.of)]
    if query.individual is not None:
        whole = isinstance(query.individual, int)
        said += ["for", str(query.individual) if whole else _quoted(str(query.individual))]
    if query.where:
        said += ["where", " and ".join(map(_condition_text, query.where))]
    if query.by is not None:
        said += ["by", _quoted(query.by)]
    return " ".join(said)


def _condition_text(condition: Condition) -> str:
    said = [_quoted(condition.column)]
    if condition.is_in is not None:
        said += ["is", " or ".join(map(_quoted, condition.is_in))]
    if condition.at_least is not None:
        said += ["from", _number(condition.at_least)]
    if condition.below is not None:
        said += ["below", _number(condition.below)]
    return " ".join(said)


def _quoted(text: str) -> str:
    """Return a name as it can stand in a question: in quotes where it would be read as something else."""
    if text.isprintable() and re.fullmatch(r'[^\s"]+', text) and text not in _RESERVED and not _NUMBER.fullmatch(text):
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _number(number: Fraction) -> str:
    return str(Fraction(number))


def _statistic(words: _Words) -> dict[str, Any]:
    first = words.next(f"one of {', '.join(_STATISTICS)}", lambda word: word.text if _is_one(word) else None)
    found: dict[str, Any] = {"statistic": first}
    if first == "count":
        return found
    if first == "quantile":
        found["share"] = words.number("a share between 0 and 1, such as 1/4")
    words.require("of")
    found["of"] = words.name("a column")
    if first == "value":
        words.require("for")
        found["individual"] = words.next("an individual", _individual)
    return found


def _is_one(word: _Word) -> bool:
    return not word.quoted and word.text in _STATISTICS


def _individual(word: _Word) -> str | int | None:
    if not word.quoted and _WHOLE.fullmatch(word.text):
        return int(word.text)
    return word.text if word.quoted or word.text not in _RESERVED else None


def _conditions(words: _Words) -> list[dict[str, Any]]:
    found = [_condition(words)]
    while words.takes("and"):
        found.append(_condition(words))
    return found


def _condition(words: _Words) -> dict[str, Any]:
    condition: dict[str, Any] = {"column": words.name("a column")}
    if words.takes("is"):
        named = [words.name("a category", numbers=True)]
        while words.takes("or"):
            named.append(words.name("a category", numbers=True))
        return {**condition, "is_in": named}
    if words.takes("from"):
        condition["at_least"] = words.number("a number")
        if words.takes("below"):
            condition["below"] = words.number("a number")
        return condition
    if words.takes("below"):
        return {**condition, "below": words.number("a number")}
    raise words.refused("is, from or below")


class _Words:
    """The words of a text, read from left to right."""

    def __init__(self, text: str, field: str) -> None:
        self._field = field
        if not isinstance(text, str) or len(text) > _LONGEST:
            rule = f"must be a text of at most {_LONGEST:,} characters"
            raise QueryRefused(Fault(field, rule, "Ask a shorter question."))
        self._words = list(self._split(text))
        self._length = len(text.rstrip())
        self._place = 0

    def _split(self, text: str) -> Iterator[_Word]:
        place, end = 0, len(text.rstrip())
        while place < end:
            found = _TOKEN.match(text, place)
            at = place + 1 + len(text[place:]) - len(text[place:].lstrip())
            if found is None:
                raise self._refused(at, "a second quote for each first one")
            place = found.end()
            if found[1] is None:
                yield _Word(found[2], at, False)
                continue
            try:
                yield _Word(json.loads(found[1]), at, True)
            except ValueError:
                raise self._refused(at, "quotes as in JSON") from None

    def takes(self, word: str) -> bool:
        """Go past this word of the language, if it is the next one; return whether it was."""
        if self._place < len(self._words) and self._words[self._place] == _Word(word, self._at, False):
            self._place += 1
            return True
        return False

    def require(self, word: str) -> None:
        if not self.takes(word):
            raise self.refused(f"the word {word}")

    def next(self, what: str, read: Callable[[_Word], T | None]) -> T:
        """Return what the next word means, and go past it."""
        found = read(self._words[self._place]) if self._place < len(self._words) else None
        if found is None:
            raise self.refused(what)
        self._place += 1
        return found

    def name(self, what: str, *, numbers: bool = False) -> str:
        """Return a name. numbers: whether one that looks like a number needs no quotes."""

        def read(word: _Word) -> str | None:
            plain = word.text not in _RESERVED and (numbers or not _NUMBER.fullmatch(word.text))
            return word.text if word.quoted or plain else None

        return self.next(f"{what}, in double quotes if its name is a word of the language or a number", read)

    def number(self, what: str) -> str:
        return self.next(what, lambda word: None if word.quoted or not _NUMBER.fullmatch(word.text) else word.text)

    def require_end(self) -> None:
        if self._place >= len(self._words):
            return
        if "by" in self._plain[: self._place] and self._plain[self._place] == "by":
            rule = f"must have at most one by, at character {self._at}"
            raise QueryRefused(Fault(self._field, rule, "Group by one column; take others as conditions."))
        raise self.refused("where, and, or, by, or the end")

    @property
    def _plain(self) -> list[str]:
        """Return the words that stand without quotes, others as empty texts."""
        return ["" if word.quoted else word.text for word in self._words]

    def refused(self, what: str) -> QueryRefused:
        """Return the refusal of the next word, or of the end of the text."""
        return self._refused(self._at, what)

    @property
    def _at(self) -> int:
        return self._words[self._place].at if self._place < len(self._words) else self._length + 1

    def _refused(self, at: int, what: str) -> QueryRefused:
        return QueryRefused(Fault(self._field, f"needs {what}, at character {at}", _SEE))


def _told(error: ValidationError) -> Sequence[Fault]:
    found: list[Fault] = []
    for each in error.errors(include_url=False, include_input=False):
        place = ".".join(["query", *(str(part) for part in each["loc"] if not str(part).startswith("function-"))])
        found.append(Fault(place, as_rule(each["msg"]), "Correct it; docs/questions.md has every key."))
    return found
