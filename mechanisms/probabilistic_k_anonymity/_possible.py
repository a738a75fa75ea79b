"""The values that measures can take under probabilistic k-anonymity.

k is the size of the smallest group; groups have k to m records: m = 2k - 1, or 3k - 2 under v_mdav. Where groups join
until their values differ, m is not bounded.

    average_risk            1 / m to 1 / k
    own_value_probability   1 / m to 1        a group of g holds every value at least once in g
    l_diversity             at most m         of swapped values, and at most the values that are declared
"""

from __future__ import annotations

from penstock.mechanisms.columns import Declared, named
from penstock.mechanisms.possible import ABOVE_0, Possible, Undefined, different_values
from penstock.mechanisms.probabilistic_k_anonymity._settings import Params, group_sizes

__all__ = ["possible"]

_NUMBERS = ("integer", "continuous")


def possible(name: str, params: Params, declared: Declared, records: int | None) -> Possible | Undefined | None:
    """Return what this measure can come to; None where it is not bounded here."""
    swap = params.method != "mdav_id"
    k = min(group_sizes(params, declared).values()) if params.method == "ir_swap" else params.k
    if name == "average_risk" and params.diversity is not None:
        return Possible(ABOVE_0, 1 / k, f"groups of at least {k} records")
    largest = 3 * k - 2 if params.groups == "v_mdav" else 2 * k - 1
    because = f"groups of {k} to {largest} records"
    if name == "average_risk":
        return Possible(1 / largest, 1 / k, because)
    if name == "own_value_probability":
        if not swap:
            return Undefined("values that were permuted inside groups; mdav_id replaces them")
        return Possible(1 / largest, 1, because)
    if name in ("emd_closeness", "entropy_l_diversity", "l_diversity"):
        return _of_classes(name, params, declared, largest)
    judged = [declared[column].type for column in named(declared, "confidential" if swap else "quasi_identifier")]
    if name in ("mean_change", "relative_mean_change", "variance_change") and not any(
        kind in _NUMBERS for kind in judged
    ):
        return Undefined("a numeric column among those that are masked")
    if name == "il1s" and all(kind == "nominal" for kind in judged):
        return Undefined("a numeric or ordinal column among those that are masked")
    everything = [declared[column].type for column in named(declared, "quasi_identifier", "confidential")]
    correlated = name in ("correlation_change", "mean_correlation_change")
    if correlated and sum(kind != "nominal" for kind in everything) < 2:
        return Undefined("two numeric or ordinal columns")
    if name == "mean_correlation_change" and all(
        declared[column].type == "nominal" for column in named(declared, "confidential")
    ):
        return Undefined("a numeric or ordinal confidential column")
    return None


def _of_classes(name: str, params: Params, declared: Declared, largest: int) -> Possible | Undefined | None:
    """Return what can be said of the confidential values in a group, or among equal quasi-identifiers."""
    confidential = named(declared, "confidential")
    if not confidential:
        return Undefined("a confidential column")
    if name == "emd_closeness":
        return None
    most = min(different_values(declared[column]) for column in confidential)
    if params.method == "mdav_id" or params.diversity is not None:
        return Possible(1, most, "the values that are declared")
    return Possible(1, min(most, largest), f"groups of at most {largest} records, and the values that are declared")
