"""The values that measures can take for groups that are close to the whole.

k is the size of the smallest group, n the number of records where it is known, b the number of buckets.

    average_risk            above 0 to 1 / k;        1 / (2k - 1) to 1 / k of ranked groups
    closeness_ratio         1 to t
    smallest_group          k to n / 2 of buckets    there are at least two groups; k to 2k - 1 of ranked ones
    l_diversity             1 to 2k - 1 of ranked values; 1 to b of buckets, at most c for c categories without order
                            and at most 2v - 1 for v numbers, or categories with one (*)

(*) Buckets of sorted records are named by their first and last value, and each begins where the one before ended or
later: first + last rises by at least 1 of v places from name to name, from 1 + 1 to v + v. Columns in buckets together
have no such bound here.
"""

from __future__ import annotations

from penstock.mechanisms.closeness.bound import bucket_number
from penstock.mechanisms.closeness.settings import Params, group_keys
from penstock.mechanisms.columns import Column, Declared, named
from penstock.mechanisms.numbers.rounding import not_below
from penstock.mechanisms.possible import ABOVE_0, ANY, Possible, Undefined, average_risk_of_groups, different_values

__all__ = ["possible"]


def possible(name: str, params: Params, declared: Declared, records: int | None) -> Possible | Undefined | None:
    """Return what this measure can come to; None where it is not bounded here."""
    k, ranked = params.k, params.method == "ranked"
    among = "" if records is None else f"{records:,} records"
    if name in ("closeness_after", "closeness_ratio", "narrowest_bucket", "bucket_width") and ranked:
        return Undefined("buckets, and method ranked makes none")
    if name == "average_risk":
        return average_risk_of_groups(k) if ranked else Possible(ABOVE_0, 1 / k, f"groups of at least {k}")
    if name == "closeness_ratio":
        return Possible(1, not_below(params.bound), f"t = {params.bound}")
    if name == "smallest_group" and ranked:
        return Possible(k, 2 * k - 1, f"groups of {k} to {2 * k - 1} records")
    if name == "smallest_group":
        return Possible(k, records // 2 if records else ANY, among or f"k = {k}")
    if name == "l_diversity":
        return _l_diversity(params, declared)
    return None


def _l_diversity(params: Params, declared: Declared) -> Possible:
    k = params.k
    if params.method == "ranked":
        kinds = min(different_values(declared[column]) for column in named(declared, "confidential"))
        because = f"{kinds:g} different values" if kinds < 2 * k else f"groups of {k} to {2 * k - 1} records"
        return Possible(1, min(kinds, 2 * k - 1), because)
    alone = [part[0] for part in group_keys(params, declared) if len(part) == 1]
    most = min([bucket_number(params.bound), *(_names(declared[column]) for column in alone)])
    return Possible(1, most, f"{most:g} buckets")


def _names(column: Column) -> float:
    """Return how many buckets a column can have that are named differently."""
    return different_values(column) if column.type == "nominal" else 2 * different_values(column) - 1
