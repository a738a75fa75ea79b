"""One count of the guarantee, and what the checks of every model share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penstock.mechanisms.columns import Columns, Declared, named
from penstock.mechanisms.refusal import Refusal

__all__ = ["Check", "RecheckImpossible", "identifiers_absent", "verdict"]


class RecheckImpossible(Refusal):
    """The guarantee cannot be re-checked on this output, so it is not released."""

    code = "recheck-impossible"
    kind = "gate"
    remedy = "Report this defect; nothing was published."


@dataclass(frozen=True, slots=True)
class Check:
    """One count of the guarantee. `found` names columns, never values or counts; it stays confidential."""

    name: str
    passed: bool
    rule: str
    found: str

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "passed": self.passed, "rule": self.rule, "found": self.found}


def identifiers_absent(declared: Declared, released: Columns) -> Check:
    """Check, for every model, that nothing is released that must not be."""
    allowed = named(declared, "quasi_identifier", "confidential", "weight")
    return verdict(
        "identifiers_absent",
        "no identifier and no undeclared column is released",
        "there is none",
        "a column that must not be released is there",
        (name for name in released if name not in allowed),
    )


def verdict(name: str, rule: str, good: str, bad: str, broken: Iterable[str]) -> Check:
    """Return a check that has passed if no column is broken."""
    columns = tuple(broken)
    return Check(name, not columns, rule, f"{bad}: {', '.join(columns)}" if columns else good)
