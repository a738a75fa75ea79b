"""The checks of probabilistic k-anonymity and of k-anonymity.

What the promise says must be masked is derived from the declared roles; the mechanism's own account of it is only
compared with that.

    group_sizes                 |g| >= k for every group of every masked column
    permutation_within_groups   in every group, released values = original values as multisets; under
                                mdav_swap the whole confidential tuple, in one partition for all columns
    k_anonymity_of_keys         every combination of released quasi-identifiers and weight occurs >= k times
    values_differ_in_groups     every such combination, under mdav_swap every group, has >= diversity different values
                                of each confidential column, where the promise says so; missing is no value
    unchanged_columns           every other column is released value by value, missing values included
    identifiers_absent          no identifier, and no undeclared column, is released
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.measures.checks import Check, RecheckImpossible, identifiers_absent, verdict
from penstock.measures.records.output import RecordOutput
from penstock.measures.rows import identical, is_missing
from penstock.measures.sorted_groups import grouping
from penstock.mechanisms.columns import Role, named
from penstock.mechanisms.models import Model
from penstock.mechanisms.parallel import in_parallel

__all__ = ["METHODS", "column_verdicts", "group_checks", "joined_checks"]

# The columns that each method promises to mask, and the methods of each model that is checked here.
_MASKS: dict[str, tuple[Role, ...]] = {
    "mdav_id": ("quasi_identifier", "weight"),
    "mdav_swap": ("confidential",),
    "ir_swap": ("confidential",),
}
METHODS: dict[Model, tuple[str, ...]] = {"k_anon": ("mdav_id",), "prob_k": ("mdav_swap", "ir_swap")}


@dataclass(frozen=True, slots=True)
class _Grouped:
    """An output, and what its promise is about."""

    output: RecordOutput
    promised: tuple[str, ...]
    method: str
    k: dict[str, int]

    def comparable(self, name: str) -> bool:
        """Return whether the column is on both sides, and numbers are stored alike."""
        original, released = self.output.original, self.output.released
        if name not in original or name not in released:
            return False
        kinds = {side[name].dtype.kind == "f" for side in (original, released)}
        return len(kinds) == 1 or not self.output.declared[name].numeric


def group_checks(output: RecordOutput) -> tuple[Check, ...]:
    """Run every check of prob_k or of k_anon."""
    grouped = _grouped(output)
    diverse = (_values_differ_in_groups,) if "diversity" in output.guarantee.parameters else ()
    return (
        *(check(grouped) for check in (*_CHECKS[output.guarantee.model], *diverse)),
        identifiers_absent(output.declared, output.released),
    )


def column_verdicts(output: RecordOutput, name: str) -> dict[str, bool]:
    """Run the checks of one column under ir_swap, whose columns have nothing to do with each other.

    output: with this column alone, but every declared one.
    """
    grouped = _grouped(output)
    _require_ranked(grouped)
    if name not in grouped.promised:
        return {"unchanged_columns": not _changed(grouped, name)}
    return {
        "group_sizes": _groups_large_enough(grouped, name),
        "permutation_within_groups": _permuted(grouped, (name,)),
    }


def joined_checks(output: RecordOutput, found: Mapping[str, Mapping[str, bool]]) -> tuple[Check, ...]:
    """Return every check of ir_swap from the verdicts of its columns; a column without its verdict has failed.

    output: without values; `released` has the columns of the file.
    """
    grouped = _grouped(output)
    _require_ranked(grouped)

    def failed(check: str, names: Iterable[str]) -> list[str]:
        return [name for name in names if not found.get(name, {}).get(check, False)]

    return (
        _sizes_verdict(grouped, failed("group_sizes", grouped.promised)),
        _permutation_verdict(failed("permutation_within_groups", grouped.promised)),
        _unchanged_verdict(failed("unchanged_columns", _not_masked(grouped))),
        identifiers_absent(output.declared, output.released),
    )


def _require_ranked(grouped: _Grouped) -> None:
    if grouped.method != "ir_swap":
        raise RecheckImpossible.at(
            "guarantee.parameters.method",
            rule="must be ir_swap for columns to be checked one by one",
            got=grouped.method,
            remedy="Check them together.",
        )


def _grouped(output: RecordOutput) -> _Grouped:
    guarantee = output.guarantee
    method = guarantee.parameters.get("method")
    if method not in METHODS[guarantee.model]:
        raise RecheckImpossible.at(
            "guarantee.parameters.method",
            rule=f"must be one of {', '.join(METHODS[guarantee.model])}",
            got=method,
            remedy="Correct the guarantee.",
        )
    promised = named(output.declared, *_MASKS[method])
    if not promised:
        raise RecheckImpossible.at(
            "columns", rule="must include one that the promise is about", got=method, remedy="Declare a column to mask."
        )
    if method == "ir_swap":
        by_column = guarantee.parameters.get("k_by_column", {})
        k = {name: by_column.get(name) for name in promised}
    else:
        k = dict.fromkeys(promised, guarantee.parameters.get("k"))
    for name, size in k.items():
        if type(size) is not int or size < 2:
            raise RecheckImpossible.at(
                f"guarantee.parameters.k of {name}",
                rule="must be a whole number of at least 2",
                got=size,
                remedy="Correct the guarantee.",
            )
    return _Grouped(output, promised, method, k)


def _group_sizes(grouped: _Grouped) -> Check:
    return _sizes_verdict(grouped, (name for name in grouped.promised if not _groups_large_enough(grouped, name)))


def _sizes_verdict(grouped: _Grouped, broken: Iterable[str]) -> Check:
    sizes = sorted(set(grouped.k.values()))
    rule = f"every group of every masked column has at least k = {', '.join(map(str, sizes))} records"
    if grouped.output.masked != set(grouped.promised):
        return Check("group_sizes", False, rule, "the masked columns are not those that the promise is about")
    return verdict(
        "group_sizes",
        rule,
        "every group is large enough",
        "a group is missing, too small, or mixes missing and present values",
        broken,
    )


def _groups_large_enough(grouped: _Grouped, name: str) -> bool:
    labels = grouped.output.labels(name)
    if labels is None or name not in grouped.output.original or name not in grouped.output.released:
        return False
    column = grouped.output.declared[name]
    if grouped.method == "ir_swap" and column.missing == "own_group":
        missing = is_missing(grouped.output.original[name], column, name)
        if missing.any():
            if not np.array_equal(missing, is_missing(grouped.output.released[name], column, name)):
                return False
            own = labels[missing][0]
            if not np.array_equal(labels == own, missing):
                return False
            labels = labels[~missing]
    sizes = np.bincount(labels)
    return bool((sizes[sizes > 0] >= grouped.k[name]).all())


def _permutation_within_groups(grouped: _Grouped) -> Check:
    if grouped.method == "ir_swap":
        permuted = in_parallel(lambda column: _permuted(grouped, (column,)), grouped.promised)
        return _permutation_verdict(c for c, kept in zip(grouped.promised, permuted, strict=True) if not kept)
    # Equal tuples have equal parts: the joint comparison covers every single column.
    broken = () if _permuted(grouped, grouped.promised) else grouped.promised
    return _permutation_verdict(broken, ", each record's confidential values together")


def _permutation_verdict(broken: Iterable[str], together: str = "") -> Check:
    return verdict(
        "permutation_within_groups",
        f"in every group the released values are the original values in another order{together}",
        "every group holds its own values",
        "values left or entered a group, or a record was torn apart",
        broken,
    )


def _permuted(grouped: _Grouped, names: tuple[str, ...]) -> bool:
    """Return whether these columns share one partition and hold the original tuples in every group of it."""
    partitions = [grouped.output.labels(name) for name in names]
    labels = partitions[0]
    if labels is None or not all(map(grouped.comparable, names)):
        return False
    if not all(other is not None and np.array_equal(labels, other) for other in partitions):
        return False
    groups = grouping(labels)
    before, after = _tuple_keys(grouped, names)
    return np.array_equal(groups.sorted(before), groups.sorted(after))


def _tuple_keys(grouped: _Grouped, names: tuple[str, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return one key for each original and each released record, equal only where all these columns are equal."""
    sides = (grouped.output.original, grouped.output.released)
    if len(names) == 1:
        before, after = (grouped.output.keys(side, names[0]) for side in sides)
        return before, after
    order, starts = identical([np.concatenate([grouped.output.keys(side, name) for side in sides]) for name in names])
    both = np.empty(len(order), np.int64)
    both[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return both[: grouped.output.records], both[grouped.output.records :]


def _k_anonymity_of_keys(grouped: _Grouped) -> Check:
    """Check k-anonymity on the released columns alone, as an intruder would count it."""
    k = max(grouped.k.values())
    rule = f"every released combination of {', '.join(grouped.promised)} occurs at least {k} times"
    if any(name not in grouped.output.released for name in grouped.promised):
        return Check("k_anonymity_of_keys", False, rule, "a key column is not released")
    _, starts = identical([grouped.output.keys(grouped.output.released, name) for name in grouped.promised])
    passed = bool((np.diff(starts) >= k).all())
    return Check(
        "k_anonymity_of_keys",
        passed,
        rule,
        "every combination occurs often enough" if passed else "a combination occurs too seldom",
    )


def _values_differ_in_groups(grouped: _Grouped) -> Check:
    """Count different values on the released columns alone, as an intruder would."""
    least, output = grouped.output.guarantee.parameters["diversity"], grouped.output
    if type(least) is not int or least < 2:
        raise RecheckImpossible.at(
            "guarantee.parameters.diversity",
            rule="must be a whole number of at least 2",
            got=least,
            remedy="Correct the guarantee.",
        )
    names = named(output.declared, "confidential")
    return verdict(
        "values_differ_in_groups",
        f"every group has at least {least} different values of {', '.join(names)}",
        "every group has enough of them",
        "a group has too few of them",
        [name for name in names if _fewest_values(grouped, name) < least],
    )


def _fewest_values(grouped: _Grouped, name: str) -> int:
    """Return the least number of different values of a column in any group; 0 where that cannot be counted."""
    output = grouped.output
    if any(each not in output.released for each in (name, *grouped.promised)):
        return 0
    if grouped.method == "mdav_swap":
        combination = output.labels(name)
        if combination is None:
            return 0
        combination = np.unique(combination, return_inverse=True)[1]
    else:
        order, starts = identical([output.keys(output.released, key) for key in grouped.promised])
        combination = np.empty(len(order), np.int64)
        combination[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    groups = int(combination.max()) + 1
    present = ~is_missing(output.released[name], output.declared[name], name)
    stored = output.released[name]
    if stored.dtype.kind == "f":
        stored = stored + 0.0  # -0 and 0 are one value
    values, combination = output.keys({name: stored}, name)[present], combination[present]
    along = np.lexsort((values, combination))
    values, combination = values[along], combination[along]
    another = np.ones(len(along), np.bool_)
    another[1:] = (values[1:] != values[:-1]) | (combination[1:] != combination[:-1])
    return int(np.bincount(combination[another], minlength=groups).min())


def _unchanged_columns(grouped: _Grouped) -> Check:
    return _unchanged_verdict(name for name in _not_masked(grouped) if _changed(grouped, name))


def _not_masked(grouped: _Grouped) -> list[str]:
    declared = named(grouped.output.declared, "quasi_identifier", "confidential", "weight")
    return [name for name in declared if name not in grouped.promised]


def _changed(grouped: _Grouped, name: str) -> bool:
    output = grouped.output
    return not grouped.comparable(name) or not np.array_equal(
        output.keys(output.original, name), output.keys(output.released, name)
    )


def _unchanged_verdict(broken: Iterable[str]) -> Check:
    return verdict(
        "unchanged_columns",
        "every column that is not masked is released as it is",
        "every such column is equal, missing values included",
        "a column that must not change was changed or left out",
        broken,
    )


_CHECKS: dict[Model, tuple[Callable[[_Grouped], Check], ...]] = {
    "prob_k": (_group_sizes, _permutation_within_groups, _unchanged_columns),
    "k_anon": (_k_anonymity_of_keys, _group_sizes, _unchanged_columns),
}
