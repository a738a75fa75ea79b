"""One count of the guarantee, and what the checks of every model share.

`Output` is what is checked: the columns before and after, the promise, and what the mechanism told about its work.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.measures.records.comparison import Groups, Settled
from penstock.measures.rows import keys
from penstock.mechanisms.columns import Columns, Declared, named
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.refusal import Refusal

__all__ = ["Check", "Output", "RecheckImpossible", "identifiers_absent", "verdict"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Original and released columns in the order of the source rows, and the promise about them.

    masked, groups, settled: the mechanism's own account, to be compared with the rest; see mechanisms.protected.
    """

    original: Columns
    released: Columns
    declared: Declared
    guarantee: Guarantee
    masked: frozenset[str]
    groups: Groups
    settled: Settled
    records: int

    def keys(self, side: Columns, name: str) -> NDArray[np.int64]:
        return keys(side[name], self.declared[name], name)

    def labels(self, name: str) -> NDArray[np.int64] | None:
        """The group labels of a column, or None where there are none that can be counted."""
        labels = self.groups.get(name)
        if labels is None or labels.dtype.kind not in "iu" or labels.shape != (self.records,):
            return None
        if not 0 <= labels.min() <= labels.max() <= self.records:
            return None
        return labels.astype(np.int64, copy=False)


def identifiers_absent(output: Output) -> Check:
    """Of every model: nothing is released that must not be."""
    allowed = named(output.declared, "quasi_identifier", "confidential", "weight")
    return verdict(
        "identifiers_absent",
        "no identifier and no undeclared column is released",
        "there is none",
        "a column that must not be released is there",
        (name for name in output.released if name not in allowed),
    )


def verdict(name: str, rule: str, good: str, bad: str, broken: Iterable[str]) -> Check:
    """Passed if no column is broken."""
    columns = tuple(broken)
    return Check(name, not columns, rule, f"{bad}: {', '.join(columns)}" if columns else good)
