"""What a measure can come to under given settings, whatever the data are.

Each mechanism says it for the measures that it bounds (`Mechanism.possible`); `penstock.measures.possible` has what
holds for every mechanism, and finds the gates that no release could pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.mechanisms.columns import Column

__all__ = ["ABOVE_0", "ANY", "Possible", "Undefined", "average_risk_of_groups", "different_values"]

ABOVE_0 = math.ulp(0.0)
ANY = math.inf


@dataclass(frozen=True, slots=True)
class Possible:
    """The least and the most that a measure can come to; because: the reason, where it is not the measure itself."""

    low: float
    high: float
    because: str = ""


@dataclass(frozen=True, slots=True)
class Undefined:
    """A measure that has no value; needs: what it would take."""

    needs: str


def average_risk_of_groups(k: int) -> Possible:
    """Return the average risk where every group has k to 2k - 1 records."""
    return Possible(1 / (2 * k - 1), 1 / k, f"groups of {k} to {2 * k - 1} records")


def different_values(column: Column) -> float:
    """Return how many different values a column may have; missing is one where it is allowed."""
    missing = column.missing != "refuse"
    if column.categories is not None:
        return len(column.categories) + missing
    low, high = column.bounds
    return high - low + 1 + missing if column.type == "integer" else ANY
