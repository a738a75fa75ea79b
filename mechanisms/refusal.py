"""Refusals: what is refused, by which rule, and what to do; never a value of the data.

One grammar for all of them: `FIELD refused: RULE, got VALUE. REMEDY`

RULE says what must hold of the field, and begins with "must", "needs" or "cannot"; where the field is a file, "line 3:"
may come before it. VALUE is the value of that field, never of another setting and never from the data; it is left out
where it would not help. REMEDY is an action, in a sentence of its own. A test checks this for the whole product.

Every refusal is a class with a stable `code`, which docs/refusals.md explains. Its `kind` says what callers should do
next; the command line maps kinds to exit codes. A refusal lists every fault found, not only the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

__all__ = [
    "ColumnDuplicated",
    "ColumnMissing",
    "ColumnTypeWrong",
    "Fault",
    "Kind",
    "NotComposable",
    "Refusal",
    "ScaleZero",
    "SeedRefused",
    "SettingRefused",
    "SpecRefused",
    "TableEmpty",
    "TooFewRecords",
    "ValueMissing",
    "ValueOutsideDomain",
    "as_rule",
]

Kind = Literal["spec", "data", "gate", "budget", "approval", "integrity", "failure"]

_ABSENT = object()
_SHOULD = re.compile(r"^\w+(?: \w+)? should ")
_PLAIN = {"Field required": "must be given", "Extra inputs are not permitted": "must be a known key"}
_FOUND = re.compile(r" after validation, not \S+$")  # the value is shown separately


@dataclass(frozen=True, slots=True)
class Fault:
    """One reason for a refusal. `got` is the text of the setting; it is empty where the reason lies in the data."""

    field: str
    rule: str
    remedy: str
    got: str = ""

    def of_output(self, name: str | None) -> Self:
        """Return the same fault, its field named as that of one of several outputs; they have names."""
        return self if name is None else replace(self, field=f"{name}.{self.field}")

    def __str__(self) -> str:
        got = f", got {self.got}" if self.got else ""
        return f"{self.field} refused: {self.rule}{got}. {self.remedy}"


class Refusal(Exception):
    """Something was refused, with all its faults. `args` are the faults, so it survives pickling."""

    code: ClassVar[str] = "refused"
    kind: ClassVar[Kind] = "failure"
    remedy: ClassVar[str] = "Do what each fault says."  # in general, for docs/refusals.md; each fault has its own

    def __init__(self, *faults: Fault) -> None:
        super().__init__(*faults)
        self.faults: tuple[Fault, ...] = faults

    @classmethod
    def at(cls, field: str, *, rule: str, remedy: str, got: object = _ABSENT) -> Self:
        """Make a refusal with one fault."""
        return cls(Fault(field, rule, remedy, "" if got is _ABSENT else repr(got)))

    @classmethod
    def raise_for(cls, faults: Iterable[Fault]) -> None:
        """Raise if there is any fault."""
        found = tuple(faults)
        if found:
            raise cls(*found)

    def of_output(self, name: str | None) -> Self:
        """Return the same refusal, its faults named as those of one of several outputs."""
        return type(self)(*(fault.of_output(name) for fault in self.faults))

    def __str__(self) -> str:
        return "\n".join(str(fault) for fault in self.faults)


def as_rule(message: str) -> str:
    """Return a message of another library as a rule: "Input should be a list" becomes "must be a list"."""
    if message.startswith("must "):
        return message
    if message in _PLAIN:
        return _PLAIN[message]
    rule, found = _SHOULD.subn("must ", _FOUND.sub("", message))
    return rule if found else f"must be valid: {message[:1].lower()}{message[1:]}"


class SpecRefused(Refusal):
    """The spec is not one that Penstock can run."""

    code = "spec-refused"
    kind = "spec"
    remedy = "Correct the named keys of the spec; `penstock schema` and docs/spec.md describe them."


class SettingRefused(Refusal):
    """A mechanism's settings do not fit the declared columns, or carry no guarantee."""

    code = "setting-refused"
    kind = "spec"
    remedy = "Correct the named settings of the mechanism, or the declared columns."


class NotComposable(Refusal):
    """Two promises about the same records have no composition theorem."""

    code = "not-composable"
    kind = "spec"
    remedy = "Use one adjacency for all outputs under a model, or release them by themselves."


class SeedRefused(Refusal):
    """A release was asked to draw from a seeded generator."""

    code = "seed-refused"
    kind = "spec"
    remedy = "Let the release draw from the operating system; seeds are for tests."


class ColumnMissing(Refusal):
    """A declared column does not exist in the source."""

    code = "column-missing"
    kind = "data"
    remedy = "Correct the name in the spec, or add the column to the source."


class ColumnDuplicated(Refusal):
    """A declared column exists more than once in the source."""

    code = "column-duplicated"
    kind = "data"
    remedy = "Remove or rename one of the two columns in the source."


class ColumnTypeWrong(Refusal):
    """A column is not stored as its declared type."""

    code = "column-type-wrong"
    kind = "data"
    remedy = "Declare the type that is stored, or convert the column."


class TableEmpty(Refusal):
    """The source has no records."""

    code = "table-empty"
    kind = "data"
    remedy = "Check the path of the source and the files in it."


class TooFewRecords(Refusal):
    """There are fewer records than the setting needs."""

    code = "too-few-records"
    kind = "data"
    remedy = "Add records, merge categories or groups, or lower the named setting."


class ScaleZero(Refusal):
    """Noise of scale 0 would release an exact answer, because no single record could change it."""

    code = "scale-zero"
    kind = "data"
    remedy = "Merge groups, choose another figure or scale, or use differential privacy."


class ValueMissing(Refusal):
    """A column declared complete has missing or non-finite values."""

    code = "value-missing"
    kind = "data"
    remedy = "Complete the data, or declare another rule for missing values."


class ValueOutsideDomain(Refusal):
    """A column has values outside its declared domain or categories."""

    code = "value-outside-domain"
    kind = "data"
    remedy = "Correct the declared domain or categories, or the data."
