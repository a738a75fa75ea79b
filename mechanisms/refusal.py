"""How the house says no: field, rule, value of the setting, remedy; never a value of the data.

Every refusal is a class with a stable `code`. Its `kind` tells callers what to do next; the
command line maps kinds to exit codes. A refusal lists every fault found, not only the first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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
]

Kind = Literal["spec", "data", "gate", "budget", "approval", "integrity", "failure"]

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Fault:
    """One reason. `got` is the text of a setting; it is empty where the reason lies in the data."""

    field: str
    rule: str
    remedy: str
    got: str = ""

    def __str__(self) -> str:
        got = f", got {self.got}" if self.got else ""
        return f"{self.field} refused: {self.rule}{got}. {self.remedy}"


class Refusal(Exception):
    """Something was refused, with all its faults. `args` are the faults, so it survives pickling."""

    code: ClassVar[str] = "refused"
    kind: ClassVar[Kind] = "failure"

    def __init__(self, *faults: Fault) -> None:
        super().__init__(*faults)
        self.faults: tuple[Fault, ...] = faults

    @classmethod
    def at(cls, field: str, *, rule: str, remedy: str, got: object = _ABSENT) -> Self:
        """A refusal with one fault."""
        return cls(Fault(field, rule, remedy, "" if got is _ABSENT else repr(got)))

    @classmethod
    def raise_for(cls, faults: Iterable[Fault]) -> None:
        """Raise if there is any fault."""
        found = tuple(faults)
        if found:
            raise cls(*found)

    def __str__(self) -> str:
        return "\n".join(str(fault) for fault in self.faults)


class SpecRefused(Refusal):
    """The spec is not one that Penstock can run."""

    code = "spec-refused"
    kind = "spec"


class SettingRefused(Refusal):
    """A mechanism's settings do not fit the declared columns, or carry no guarantee."""

    code = "setting-refused"
    kind = "spec"


class NotComposable(Refusal):
    """Two promises about the same records have no composition theorem."""

    code = "not-composable"
    kind = "spec"


class SeedRefused(Refusal):
    """A release was asked to draw from a seeded generator."""

    code = "seed-refused"
    kind = "spec"


class ColumnMissing(Refusal):
    """A declared column does not exist in the source."""

    code = "column-missing"
    kind = "data"


class ColumnDuplicated(Refusal):
    """A declared column exists more than once in the source."""

    code = "column-duplicated"
    kind = "data"


class ColumnTypeWrong(Refusal):
    """A column is not stored as its declared type."""

    code = "column-type-wrong"
    kind = "data"


class TableEmpty(Refusal):
    """The source has no records."""

    code = "table-empty"
    kind = "data"


class TooFewRecords(Refusal):
    """There are fewer records than the setting needs."""

    code = "too-few-records"
    kind = "data"


class ScaleZero(Refusal):
    """Noise of scale 0 would release an exact answer, because no record that counts could change it."""

    code = "scale-zero"
    kind = "data"


class ValueMissing(Refusal):
    """A column declared complete has missing or non-finite values."""

    code = "value-missing"
    kind = "data"


class ValueOutsideDomain(Refusal):
    """A column has values outside its declared domain or categories."""

    code = "value-outside-domain"
    kind = "data"
