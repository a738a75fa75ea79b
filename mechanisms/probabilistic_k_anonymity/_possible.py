"""The values that measures can take under probabilistic k-anonymity.

k is the size of the smallest group; groups have k to 2k - 1 records.

    average_risk            1 / (2k - 1) to 1 / k
    own_value_probability   1 / (2k - 1) to 1        a group of g holds every value at least once in g
"""

from __future__ import annotations

from penstock.mechanisms.columns import Declared, named
from penstock.mechanisms.possible import Possible, Undefined, average_risk_of_groups
from penstock.mechanisms.probabilistic_k_anonymity._mechanism import Params, group_sizes

__all__ = ["possible"]

_NUMBERS = ("integer", "continuous")


def possible(name: str, params: Params, declared: Declared, records: int | None) -> Possible | Undefined | None:
    """Return what this measure can come to; None where it is not bounded here."""
    swap = params.method != "mdav_id"
    k = min(group_sizes(params, declared).values()) if params.method == "ir_swap" else params.k
    if name == "average_risk":
        return average_risk_of_groups(k)
    if name == "own_value_probability":
        if not swap:
            return Undefined("values that were permuted inside groups; mdav_id replaces them")
        return Possible(1 / (2 * k - 1), 1, f"groups of {k} to {2 * k - 1} records")
    judged = [declared[column].type for column in named(declared, "confidential" if swap else "quasi_identifier")]
    if name in ("mean_change", "variance_change") and not any(kind in _NUMBERS for kind in judged):
        return Undefined("a numeric column among those that are masked")
    if name == "il1s" and all(kind == "nominal" for kind in judged):
        return Undefined("a numeric or ordinal column among those that are masked")
    everything = [declared[column].type for column in named(declared, "quasi_identifier", "confidential")]
    if name == "correlation_change" and sum(kind != "nominal" for kind in everything) < 2:
        return Undefined("two numeric or ordinal columns")
    return None
