"""Loss and risk of a release beside those of another: by what factor each is better, and the balance of both.

    SSE_f = sqrt(SSE_0) / sqrt(SSE),   RL_f = RL_0 / RL,   Score = SSE_f / RL_f                                    (1)

0 stands for the release that is compared with. A score above 1 says that the error shrank by a larger factor than
the linkages did. Source: Soria-Comas 2013 (thesis), section 6.4.2. Its text says ratio, which is (1); the scores that
its tables 6.1 to 6.4 print are the products SSE_f RL_f. With RL_f a larger factor is less risk, so (1) falls as risk
falls: read both factors, not the score alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.measures.measurement import Measurement, MeasureUndefined

__all__ = ["Balance", "balance"]


@dataclass(frozen=True, slots=True)
class Balance:
    """(1). error_factor: SSE_f; linkage_factor: RL_f."""

    error_factor: float
    linkage_factor: float

    @property
    def score(self) -> float:
        return self.error_factor / self.linkage_factor


def balance(before: tuple[Measurement, Measurement], after: tuple[Measurement, Measurement]) -> Balance:
    """Return (1) from `sse` and `record_linkage` of two releases of the same columns and records."""
    for which, pair in (("before", before), ("after", after)):
        if [each.name for each in pair] != ["sse", "record_linkage"]:
            raise MeasureUndefined.at(
                which, rule="must be the measurements sse and record_linkage", remedy="Take both of each release."
            )
        if not all(each.value > 0 and math.isfinite(each.value) for each in pair):
            raise MeasureUndefined.at(
                which, rule="must have an error and a linkage above 0", remedy="Without them no factor has a meaning."
            )
    if {frozenset(each.columns) for each in (*before, *after)} != {frozenset(before[0].columns)}:
        raise MeasureUndefined.at("after", rule="must be about the same columns as before", remedy="Judge the same.")
    return Balance(
        math.sqrt(before[0].value) / math.sqrt(after[0].value),
        before[1].value / after[1].value,
    )
