"""One call in the text of an R script, read and not evaluated.

Values are texts in quotes, numbers, TRUE, FALSE, NULL, and c(...) and list(...) of these. Everything else counts as
computed: only R could say what it is. So does a text with escapes other than those of quotes and backslashes.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, NoReturn

from penstock.tasks.importers.imported_column import RolesRefused

__all__ = ["Argument", "Computed", "Value", "arguments_of"]

Value = str | float | bool | None | list["Value"]


class Computed(ValueError):
    """The value of an argument is an expression."""


class _Token(NamedTuple):
    kind: str  # text, escape (a text that only R can read), name, number or mark
    content: str
    line: int


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call, by name or by place."""

    name: str | None
    tokens: tuple[_Token, ...]

    def value(self) -> Value:
        """Return the literal value, or raise Computed."""
        rest = deque(self.tokens)
        value = _value(rest)
        if rest:
            raise Computed
        return value


_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
      | [rR](?P<raw_quote>["'])(?P<dashes>-*)(?P<bracket>[(\[{])
      | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | `(?P<backtick>[^`]+)`
      | (?P<number>(?:\d|\.\d)[\w.]*)
      | (?P<name>(?:[^\W\d_]|\.)[\w.]*)
      | (?P<mark><<-|<-|->|\|>|==|<=|>=|!=|:::?|%[^%\n]*%|[^"'`])""",
    re.VERBOSE | re.DOTALL,
)
_DEEPEST = 20
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def arguments_of(function: str, text: str) -> list[Argument]:
    """Return the arguments of the one call of the function. Refusals name the line and quote nothing."""
    tokens = list(_tokens(text))
    starts = [
        place
        for place, (token, after) in enumerate(pairwise(tokens))
        if token.kind == "name" and token.content == function and _is(after, "(")
    ]
    if not starts:
        _refuse(f"must call {function}(...)", "Save the call that describes the problem as a script.")
    if len(starts) > 1:
        lines = ", ".join(str(tokens[start].line) for start in starts)
        _refuse(f"must call {function}(...) once; it is called in lines {lines}", "Keep the call that counts.")
    return [_argument(part) for part in _parts(tokens, starts[0] + 1)]


def _tokens(text: str) -> Iterator[_Token]:
    place, line = 0, 1
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            _refuse(f"line {line}: must close its quote", "Correct the script.")
        begin, place = place, found.end()
        kind = found.lastgroup
        if kind == "bracket":
            end = _CLOSING[found["bracket"]] + found["dashes"] + found["raw_quote"]
            close = text.find(end, place)
            if close < 0:
                _refuse(f"line {line}: must close its quote", "Correct the script.")
            yield _Token("text", text[place:close], line)
            place = close + len(end)
        elif kind == "text":
            inside = found["text"][1:-1]
            readable = not re.search(r"\\[^\\\"'`]", inside.replace("\\\\", ""))
            yield _Token("text" if readable else "escape", re.sub(r"\\(.)", r"\1", inside), line)
        elif kind == "backtick":
            yield _Token("name", found["backtick"], line)
        elif kind in ("number", "name", "mark"):
            yield _Token(kind, found[0], line)
        line += text.count("\n", begin, place)


def _parts(tokens: Sequence[_Token], opening: int) -> list[tuple[_Token, ...]]:
    """Return what lies between the commas, up to the bracket that closes the one at `opening`."""
    waiting: list[str] = []
    parts: list[list[_Token]] = [[]]
    for token in tokens[opening:]:
        if token.kind == "mark" and token.content in _CLOSING:
            waiting.append(_CLOSING[token.content])
            if len(waiting) == 1:
                continue
        elif token.kind == "mark" and token.content in _CLOSING.values():
            if token.content != waiting.pop():
                _refuse(f"line {token.line}: must have brackets that match", "Correct the script.")
            if not waiting:
                return [] if parts == [[]] else [tuple(part) for part in parts]
        elif _is(token, ",") and len(waiting) == 1:
            parts.append([])
            continue
        parts[-1].append(token)
    return _refuse(f"line {tokens[opening].line}: must close its bracket", "Correct the script.")


def _argument(tokens: tuple[_Token, ...]) -> Argument:
    if len(tokens) > 1 and tokens[0].kind in ("name", "text") and _is(tokens[1], "="):
        return Argument(tokens[0].content, tokens[2:])
    return Argument(None, tokens)


def _value(tokens: deque[_Token], depth: int = 0) -> Value:
    """Take the value that the tokens begin with from them, and return it."""
    if not tokens or depth > _DEEPEST:
        raise Computed
    first = tokens.popleft()
    if first.kind == "text":
        return first.content
    if first.kind == "number":
        try:
            return float(first.content.removesuffix("L"))
        except ValueError:
            raise Computed from None
    constants: dict[str, Value] = {"NULL": None, "TRUE": True, "FALSE": False}
    if first.kind == "name" and first.content in constants:
        return constants[first.content]
    if first.kind != "name" or first.content not in ("c", "list") or not _next_is(tokens, "("):
        raise Computed
    items: list[Value] = []
    tokens.popleft()
    while not _next_is(tokens, ")"):
        item = _value(tokens, depth + 1)
        if first.content == "list" or not (isinstance(item, list) or item is None):
            items.append(item)
        else:  # in R, c(c("a"), NULL, "b") is one vector of two
            items += item or []
        if _next_is(tokens, ","):
            tokens.popleft()
            if _next_is(tokens, ")"):  # nothing follows the comma
                raise Computed
        elif not _next_is(tokens, ")"):
            raise Computed
    tokens.popleft()
    return items


def _next_is(tokens: deque[_Token], mark: str) -> bool:
    return bool(tokens) and _is(tokens[0], mark)


def _is(token: _Token, mark: str) -> bool:
    return token.kind == "mark" and token.content == mark


def _refuse(rule: str, remedy: str) -> NoReturn:
    raise RolesRefused.at("--roles", rule=rule, remedy=remedy)
