"""Text files from outside: specs, suites, taxonomies, roles, settings. Whoever sends one is not trusted.

A file is an ordinary one of bounded size: a pipe or a device is refused, and never waited for. Its text is UTF-8
without control characters. It means what a person sees in it: no key twice, where a reader would take the first and a
program the last. Depth, number and length of values are bounded (outside_values), YAML has no tricks (outside_yaml).

Refusals name the line and never quote it: the wrong file may be a confidential one.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.files.outside_values import (
    OutsideWrong,
    finite_number,
    first_unfit,
    require_bounds,
    too_many,
    whole_number,
)

__all__ = ["LARGEST", "NotOrdinary", "OutsideFile", "from_json", "open_ordinary"]

LARGEST = 16 * 2**20


class NotOrdinary(OSError):
    """A path that leads to a folder, a pipe or a device."""


def open_ordinary(path: Path) -> int:
    """Return a descriptor of an ordinary file without ever waiting; raise NotOrdinary for anything else."""
    # Without O_NONBLOCK, opening a pipe waits until somebody writes into it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotOrdinary
    return descriptor


@dataclass(frozen=True, slots=True)
class OutsideFile:
    """One file, and how its faults are reported.

    field: what the refusals are about. got: what they show, if the field does not say it. largest: in bytes.
    """

    path: Path
    field: str
    refusal: type[Refusal]
    got: str = ""
    largest: int = LARGEST

    def content(self) -> bytes:
        """Return the bytes of an ordinary file of bounded size."""
        try:
            descriptor = open_ordinary(self.path)
        except NotOrdinary:
            self._refuse("must be an ordinary file", "Check the path.")
        except OSError as error:
            self._refuse(f"must be a readable file ({error.strerror})", "Check the path.")
        except ValueError:  # a zero byte
            self._refuse("must have a name that files can have", "Check the path.")
        with os.fdopen(descriptor, "rb") as file:
            try:
                content = file.read(self.largest + 1)
            except OSError as error:
                self._refuse(f"must be a readable file ({error.strerror})", "Check the disk.")
        if len(content) > self.largest:
            self._refuse(f"must have at most {self.largest >> 20} MB", "Check that it is the right file.")
        return content

    def text(self) -> str:
        """Return the text, without the byte order mark that some editors put before it."""
        try:
            text = self.content().decode("utf-8-sig")
        except UnicodeDecodeError:
            self._refuse("must be text in UTF-8", "Save it as UTF-8.")
        place = first_unfit(text)
        if place is not None:
            line = text.count("\n", 0, place) + 1
            self._refuse(
                f"line {line}: must not hold control characters", "Remove them, or check that it is the right file."
            )
        return text

    def json(self) -> Any:
        """Return the content of a JSON file."""
        return self._parsed(from_json)

    def yaml(self) -> Any:
        """Return the content of a YAML file."""
        from penstock.records.files.outside_yaml import from_yaml  # loads its library, which most commands do not need

        return self._parsed(from_yaml)

    def _parsed(self, parse: Callable[[str], Any]) -> Any:
        text = self.text()
        try:
            return parse(text)
        except OutsideWrong as wrong:
            self._refuse(wrong.rule, wrong.remedy)

    def _refuse(self, rule: str, remedy: str) -> NoReturn:
        raise self.refusal(Fault(self.field, rule, remedy, self.got)) from None


def from_json(text: str) -> Any:
    """Return the content of a JSON text, or raise OutsideWrong."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise OutsideWrong("must not hold a key twice", "Keep one of them.")
        return dict(pairs)

    def constant(_: str) -> NoReturn:
        raise OutsideWrong("must hold finite numbers only", "Write the number.")

    try:
        read = json.loads(
            text, object_pairs_hook=once, parse_constant=constant, parse_int=whole_number, parse_float=finite_number
        )
    except json.JSONDecodeError as error:
        raise OutsideWrong("must be valid JSON", "Correct the syntax.", error.lineno) from None
    except RecursionError:
        too_many()
    require_bounds(read)
    return read
