"""YAML from outside, read event by event, so that its size and its tricks are met before anything is built.

Texts, numbers, true, false, null, lists, mappings and aliases mean what they mean to PyYAML; an alias counts like what
it stands for. Refused are tags and merge keys, a key twice or one that is not text, more than one document, and plain
words that YAML does not read as what they look like: 010 is eight, 1:30 is ninety, and 2026-01-01 is not text.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from penstock.records.files.outside_values import OutsideWrong, Tally, finite_number, require_text, whole_number

__all__ = ["from_yaml"]

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same events, several times faster
_RESOLVER: Any = yaml.resolver.Resolver()
_TAG = "tag:yaml.org,2002:"
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9_]*)")
_DECIMAL = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?", re.IGNORECASE)
_QUOTE = "Put it in quotes, or write the decimal number."


class _Open:
    """A list or a mapping that is being read; key: the key whose value comes next."""

    __slots__ = ("content", "key")

    def __init__(self, content: Any) -> None:
        self.content = content
        self.key: str | None = None

    def take(self, value: Any, line: int) -> None:
        if isinstance(self.content, list):
            self.content.append(value)
        elif self.key is not None:
            self.content[self.key] = value
            self.key = None
        elif not isinstance(value, str):
            raise OutsideWrong("must have a text as key", "Put it in quotes.", line)
        elif value in self.content:
            raise OutsideWrong("must not hold a key twice", "Keep one of them.", line)
        else:
            self.key = value


def from_yaml(text: str) -> Any:
    """Return the content of the one document; None for an empty one."""
    try:
        return _read(text)
    except yaml.MarkedYAMLError as error:
        line = None if error.problem_mark is None else error.problem_mark.line + 1
        raise OutsideWrong("must be valid YAML", "Correct the syntax.", line) from None
    except yaml.YAMLError:
        raise OutsideWrong("must be valid YAML", "Correct the syntax.") from None


def _read(text: str) -> Any:
    documents: list[Any] = []
    waiting = [_Open(documents)]
    named: dict[str, Any] = {}
    tally = Tally()
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.CollectionEndEvent):
            waiting.pop()
        if not isinstance(event, yaml.NodeEvent):
            continue
        node: Any = event
        if len(waiting) == 1 and documents:
            raise OutsideWrong("must be one document only", "Remove the others.", line)
        if isinstance(event, yaml.AliasEvent):
            # A copy, which counts as if it were written out: aliases of aliases of aliases grow without end.
            if node.anchor not in named or any(each.content is named[node.anchor] for each in waiting):
                raise OutsideWrong(
                    "must not use an alias (*name) for what is not complete before it", "Write out what is meant.", line
                )
            value = _copied(named[node.anchor], tally, len(waiting), line)
        elif node.tag is not None:
            raise OutsideWrong("must not use tags (!name)", "Remove it, or put the text in quotes.", line)
        elif isinstance(event, yaml.ScalarEvent):
            value = _scalar(event.value, line) if node.implicit[0] else require_text(event.value, line)
        else:
            value = {} if isinstance(event, yaml.MappingStartEvent) else []
        if not isinstance(event, yaml.AliasEvent):
            tally.add(value, len(waiting), line)
        waiting[-1].take(value, line)
        if not isinstance(event, yaml.AliasEvent):
            if node.anchor is not None:
                named[node.anchor] = value
            if not isinstance(event, yaml.ScalarEvent):
                waiting.append(_Open(value))
    return documents[0] if documents else None


def _copied(value: Any, tally: Tally, depth: int, line: int) -> Any:
    """Return a copy, counted while it is made."""
    tally.add(value, depth, line)
    if isinstance(value, list):
        return [_copied(part, tally, depth + 1, line) for part in value]
    if not isinstance(value, dict):
        return value
    copies = {}
    for key, part in value.items():
        tally.add(key, depth + 1, line)
        copies[key] = _copied(part, tally, depth + 1, line)
    return copies


def _scalar(written: str, line: int) -> Any:
    """Return what a word without quotes stands for."""
    kind = _RESOLVER.resolve(yaml.ScalarNode, written, (True, False)).removeprefix(_TAG)
    if kind == "str":
        return require_text(written, line)
    if kind == "null":
        return None
    if kind == "bool":
        return yaml.SafeLoader.bool_values[written.lower()]
    if kind == "int" and _WHOLE.fullmatch(written):
        return whole_number(written.replace("_", ""), line)
    if kind == "float" and _DECIMAL.fullmatch(written):
        return finite_number(written, line)
    if kind == "merge":
        raise OutsideWrong("must not use merge keys (<<)", "Write out what is meant.", line)
    raise OutsideWrong("must not hold a word that YAML would read as something else", _QUOTE, line)
