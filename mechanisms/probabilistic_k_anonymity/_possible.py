"""The values that measures can take under probabilistic k-anonymity.

k is the size of the smallest group; groups have k to 2k - 1 records.

    average_risk            1 / (2k - 1) to 1 / k
    own_value_probability   1 / (2k - 1) to 1        a group of g holds every value at least once in g
    l_diversity             at most 2k - 1           of swapped values, and at most the values that are declared
"""

from __future__ import annotations

from penstock.mechanisms.columns import Declared, named
from penstock.mechanisms.possible import Possible, Undefined, average_risk_of_groups, different_values
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
    if name in ("emd_closeness", "entropy_l_diversity", "l_diversity"):
        return _of_classes(name, params, declared)
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


def _of_classes(name: str, params: Params, declared: Declared) -> Possible | Undefined | None:
    """Return what can be said of the confidential values in a group, or among equal quasi-identifiers."""
    confidential = named(declared, "confidential")
    if not confidential:
        return Undefined("a confidential column")
    if name == "emd_closeness":
        return None
    most = min(different_values(declared[column]) for column in confidential)
    if params.method == "mdav_id":
        return Possible(1, most, "the values that are declared")
    sizes = group_sizes(params, declared) if params.method == "ir_swap" else dict.fromkeys(confidential, params.k)
    k = min(sizes[column] for column in confidential)
    return Possible(1, min(most, 2 * k - 1), "the values that are declared, and the size of groups")
