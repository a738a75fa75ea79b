"""What a measure can come to under given settings, whatever the data are; and gates that nothing can keep.

k is the size of the smallest group, n the number of records where it is known, b the number of buckets.

    average_risk            1 / (2k - 1) to 1 / k    where groups have k to 2k - 1 records; else above 0 to 1 / k
    own_value_probability   1 / (2k - 1) to 1        a group of g holds every value at least once in g
    record_linkage, shares of cells, widths and losses of groups     0 to 1
    correlation_change      0 to 2
    errors and changes      0 and more
    p_percent               0 to 100 (n - 2)
    smallest_frequency      k to n                   fewer are refused by the mechanism
    closeness_ratio         1 to t
    smallest_group          k to n / 2 of buckets    there are at least two groups; k to 2k - 1 of ranked ones
    l_diversity             1 to 2k - 1 of ranked values; 1 to b of buckets, at most c for c categories without order
                            and at most 2v - 1 for v numbers, or categories with one (*)
    privacy_loss            epsilon

(*) Buckets of sorted records are named by their first and last value, and each begins where the one before ended or
later: first + last rises by at least 1 of v places from name to name, from 1 + 1 to v + v. Columns in buckets together
have no such bound here.

A gate outside of these would refuse every release, after it was drawn; and so would a gate on a measure that has no
value, because what it speaks of was not done. Limits: what is possible for some data need not be for these.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from measures.foreseen import foretold
from measures.gates import Gate
from measures.rounding import not_below
from mechanisms import closeness, probabilistic_k_anonymity, table
from mechanisms.buckets.bound import bucket_number
from mechanisms.buckets.settings import group_keys
from mechanisms.columns import Column, Declared, named
from mechanisms.refusal import Fault
from mechanisms.registry import AnyParams
from mechanisms.tables.settings import levels

__all__ = ["Possible", "Undefined", "foreseen_faults", "impossible", "possible"]

_ABOVE_0 = math.ulp(0.0)
_ANY = math.inf
_NUMBERS = ("integer", "continuous")


@dataclass(frozen=True, slots=True)
class Possible:
    """The least and the most that a measure can come to; because: of what, where it is not the measure itself."""

    low: float
    high: float
    because: str = ""


@dataclass(frozen=True, slots=True)
class Undefined:
    """The measure has no value; needs: what it would take."""

    needs: str


_ALWAYS = {
    **dict.fromkeys(("record_linkage", "bucket_width", "narrowest_bucket", "quasi_identifier_loss"), Possible(0, 1)),
    **dict.fromkeys(("largest_share", "two_largest_share"), Possible(_ABOVE_0, 1)),
    "correlation_change": Possible(0, 2),
    "closeness_ratio": Possible(1, _ANY),
    "l_diversity": Possible(1, _ANY),
}


def impossible(
    gates: Mapping[int, Gate], params: AnyParams, declared: Declared, records: int | None = None
) -> Iterator[Fault]:
    """Every gate that no release with these settings, of so many records where they are counted, could keep."""
    for place, gate in gates.items():
        found, name = possible(gate.measure, params, declared, records), gate.measure
        if isinstance(found, Undefined):
            rule = f"needs {found.needs}, so it has no value here"
            yield Fault(f"gates.{place}.measure", rule, "Gate on another measure.", repr(name))
            continue
        because = f", because of {found.because}" if found.because else ""
        if gate.max is not None and gate.max < found.low:
            least = "is always above 0" if found.low == _ABOVE_0 else f"is never below {found.low:.5g}"
            rule = f"{name} {least}{because}; nothing could keep this limit"
            yield Fault(f"gates.{place}.max", rule, "Raise it, or change the settings.", repr(gate.max))
        if gate.min is not None and gate.min > found.high:
            rule = f"{name} is never above {found.high:.5g}{because}; nothing could keep this limit"
            yield Fault(f"gates.{place}.min", rule, "Lower it, or change the settings.", repr(gate.min))


def foreseen_faults(gates: Iterable[Gate], settled: Mapping[str, Any]) -> Iterator[Fault]:
    """Gates on public measures that these facts decide, and which they do not keep."""
    known = foretold(settled)
    for gate in gates:
        if gate.measure in known and not gate.holds(known[gate.measure][1]):
            what, value = known[gate.measure]
            remedy = f"Allow more for {what}, or spend more epsilon."
            if gate.measure == "privacy_loss":
                remedy = "Spend less, or allow more."
            yield Fault(f"gates.{gate.measure}", gate.rule, remedy, f"{value:.4g}")


def possible(name: str, params: AnyParams, declared: Declared, records: int | None = None) -> Possible | Undefined:
    """What this measure can come to; params must fit the declared columns."""
    found: Possible | Undefined | None = None
    if name == "privacy_loss":
        epsilon = getattr(params, "epsilon", None)
        loss = not_below(epsilon) if epsilon is not None else 0.0
        return Possible(loss, loss if epsilon is not None else _ANY, f"epsilon = {epsilon}" if epsilon else "")
    if isinstance(params, probabilistic_k_anonymity.Params):
        found = _of_records(name, params, declared)
    elif isinstance(params, closeness.Params):
        found = _of_groups(name, params, declared, records)
    elif isinstance(params, table.Params):
        found = _of_cells(name, params, records)
    return found or _ALWAYS.get(name, Possible(0, _ANY))


def _of_records(name: str, params: probabilistic_k_anonymity.Params, declared: Declared) -> Possible | Undefined | None:
    swap = params.method != "mdav_id"
    k = params.k
    if params.method == "ir_swap":
        k = min(probabilistic_k_anonymity.group_sizes(params, declared).values())
    if name == "average_risk":
        return _average_risk(k)
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


def _of_cells(name: str, params: table.Params, records: int | None) -> Possible | Undefined | None:
    if name in ("largest_share", "two_largest_share", "p_percent") and not (params.sums or params.means):
        return Undefined("a table of sums or means")
    if name == "margin_error" and len(levels(params)) == 1:
        return Undefined("a table with margins")
    if name == "noise_chance" and params.model == "k_anon":
        return Undefined("a table with noise")
    among = "" if records is None else f"{records:,} records"
    if name == "smallest_frequency":
        least = 1 if params.k is None else params.k
        return Possible(least, records or _ANY, among or f"k = {params.k}")
    if name in ("largest_share", "two_largest_share") and records:
        return Possible(min(1, (1 if name == "largest_share" else 2) / records), 1, among)
    if name == "p_percent" and records:
        return Possible(0, 100 * max(records - 2, 0), among)
    return None


def _of_groups(
    name: str, params: closeness.Params, declared: Declared, records: int | None
) -> Possible | Undefined | None:
    k, ranked = params.k, params.method == "ranked"
    among = "" if records is None else f"{records:,} records"
    if name in ("closeness_ratio", "narrowest_bucket", "bucket_width") and ranked:
        return Undefined("buckets, and method ranked makes none")
    if name == "average_risk":
        return _average_risk(k) if ranked else Possible(_ABOVE_0, 1 / k, f"groups of at least {k}")
    if name == "closeness_ratio":
        return Possible(1, not_below(params.bound), f"t = {params.bound}")
    if name == "smallest_group" and ranked:
        return Possible(k, 2 * k - 1, f"groups of {k} to {2 * k - 1} records")
    if name == "smallest_group":
        return Possible(k, records // 2 if records else _ANY, among or f"k = {k}")
    if name == "l_diversity":
        confidential = named(declared, "confidential")
        if ranked:
            kinds = min(_kinds(declared[column]) for column in confidential)
            because = f"{kinds:g} different values" if kinds < 2 * k else f"groups of {k} to {2 * k - 1} records"
            return Possible(1, min(kinds, 2 * k - 1), because)
        b = bucket_number(params.bound)
        alone = [part[0] for part in group_keys(params, declared) if len(part) == 1]
        most = min([b, *(_names(declared[column]) for column in alone)])
        return Possible(1, most, f"{most:g} buckets")
    return None


def _average_risk(k: int) -> Possible:
    return Possible(1 / (2 * k - 1), 1 / k, f"groups of {k} to {2 * k - 1} records")


def _names(column: Column) -> float:
    """How many buckets a column can have that are named differently."""
    return _kinds(column) if column.type == "nominal" else 2 * _kinds(column) - 1


def _kinds(column: Column) -> float:
    """How many different values a column may have; missing is one where it is allowed."""
    missing = column.missing != "refuse"
    if column.categories is not None:
        return len(column.categories) + missing
    low, high = column.bounds
    return high - low + 1 + missing if column.type == "integer" else _ANY
