"""The guarantee counted again on the output.

Nothing here knows how a mechanism works, and no code is shared with one: each check takes the original
and the released columns, the promise, and the groups, and counts. What the promise says must be masked
is derived from the declared roles; the mechanism's own account of it is only compared with that.

    group_sizes                 |g| >= k for every group of every masked column
    permutation_within_groups   in every group, released values = original values as multisets; under
                                mdav_swap the whole confidential tuple, in one partition for all columns
    k_anonymity_of_keys         every combination of released quasi-identifiers and weight occurs >= k times
    unchanged_columns           every other column is released value by value, missing values included
    identifiers_absent          no identifier, and no undeclared column, is released

A check that the guarantee names and that cannot be run is a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measures.comparison import Groups
from measures.groups import grouping
from measures.rows import identical, is_missing, keys
from mechanisms.columns import Columns, Declared, Role, named
from mechanisms.guarantee import Guarantee
from mechanisms.parallel import in_parallel
from mechanisms.refusal import Refusal

__all__ = ["Check", "RecheckImpossible", "recheck"]


class RecheckImpossible(Refusal):
    """The guarantee cannot be re-checked on this output, so it is not released."""

    code = "recheck-impossible"
    kind = "gate"


@dataclass(frozen=True, slots=True)
class Check:
    """One count of the guarantee. `found` names columns, never values or counts; it stays confidential."""

    name: str
    passed: bool
    rule: str
    found: str

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "passed": self.passed, "rule": self.rule, "found": self.found}


@dataclass(frozen=True, slots=True)
class _Output:
    original: Columns
    released: Columns
    declared: Declared
    groups: Groups
    masked: frozenset[str]
    promised: tuple[str, ...]
    method: str
    k: dict[str, int]
    records: int

    def keys(self, side: Columns, name: str) -> NDArray[np.int64]:
        return keys(side[name], self.declared[name], name)

    def comparable(self, name: str) -> bool:
        """Whether the column is on both sides, and numbers are stored alike."""
        if name not in self.original or name not in self.released:
            return False
        kinds = {side[name].dtype.kind == "f" for side in (self.original, self.released)}
        return len(kinds) == 1 or not self.declared[name].numeric

    def labels(self, name: str) -> NDArray[np.int64] | None:
        """The group labels of a column, or None where there are none that can be counted."""
        labels = self.groups.get(name)
        if labels is None or labels.dtype.kind not in "iu" or labels.shape != (self.records,):
            return None
        if not 0 <= labels.min() <= labels.max() <= self.records:
            return None
        return labels.astype(np.int64, copy=False)


# Which columns each method promises to mask, and which checks its model needs.
_MASKS: dict[str, tuple[Role, ...]] = {
    "mdav_id": ("quasi_identifier", "weight"),
    "mdav_swap": ("confidential",),
    "ir_swap": ("confidential",),
}
_METHODS: dict[str, tuple[str, ...]] = {"k_anon": ("mdav_id",), "prob_k": ("mdav_swap", "ir_swap")}


def recheck(
    original: Columns,
    released: Columns,
    declared: Declared,
    guarantee: Guarantee,
    masked: Sequence[str],
    groups: Groups,
) -> tuple[Check, ...]:
    """Run every check of the guarantee's model; refuse if the guarantee names one that was not run."""
    output = _output(original, released, declared, guarantee, masked, groups)
    checks = tuple(check(output) for check in _CHECKS[guarantee.model])
    not_run = sorted(set(guarantee.audit) - {check.name for check in checks})
    if not_run:
        raise RecheckImpossible.at(
            "guarantee.audit",
            rule="every check that the guarantee names must be run",
            got=not_run,
            remedy="Add the check, or correct the guarantee.",
        )
    return checks


def _output(
    original: Columns,
    released: Columns,
    declared: Declared,
    guarantee: Guarantee,
    masked: Sequence[str],
    groups: Groups,
) -> _Output:
    if guarantee.model not in _CHECKS:
        raise RecheckImpossible.at(
            "guarantee.model",
            rule=f"only {', '.join(_CHECKS)} can be re-checked",
            got=guarantee.model,
            remedy="Add checks for this model.",
        )
    method = guarantee.parameters.get("method")
    if method not in _METHODS[guarantee.model]:
        raise RecheckImpossible.at(
            "guarantee.parameters.method",
            rule=f"one of {', '.join(_METHODS[guarantee.model])}",
            got=method,
            remedy="Correct the guarantee.",
        )
    promised = named(declared, *_MASKS[method])
    if not promised:
        raise RecheckImpossible.at(
            "columns", rule="the promise must be about a column", got=method, remedy="Declare a column to mask."
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
                rule="a whole number of at least 2",
                got=size,
                remedy="Correct the guarantee.",
            )
    lengths = {len(values) for side in (original, released) for values in side.values()}
    if len(lengths) != 1 or lengths == {0}:
        raise RecheckImpossible.at(
            "columns", rule="original and released records are aligned row by row", remedy="Align them."
        )
    return _Output(original, released, declared, groups, frozenset(masked), promised, method, k, lengths.pop())


def _group_sizes(output: _Output) -> Check:
    sizes = sorted(set(output.k.values()))
    rule = f"every group of every masked column has at least k = {', '.join(map(str, sizes))} records"
    if output.masked != set(output.promised):
        return Check("group_sizes", False, rule, "the masked columns are not those that the promise is about")
    return _verdict(
        "group_sizes",
        rule,
        "every group is large enough",
        "a group is missing, too small, or mixes missing and present values",
        (name for name in output.promised if not _groups_large_enough(output, name)),
    )


def _groups_large_enough(output: _Output, name: str) -> bool:
    labels = output.labels(name)
    if labels is None or name not in output.original or name not in output.released:
        return False
    column = output.declared[name]
    if output.method == "ir_swap" and column.missing == "own_group":
        missing = is_missing(output.original[name], column, name)
        if missing.any():
            if not np.array_equal(missing, is_missing(output.released[name], column, name)):
                return False
            own = labels[missing][0]
            if not np.array_equal(labels == own, missing):
                return False
            labels = labels[~missing]
    sizes = np.bincount(labels)
    return bool((sizes[sizes > 0] >= output.k[name]).all())


def _permutation_within_groups(output: _Output) -> Check:
    rule = "in every group the released values are the original values in another order"
    name = "permutation_within_groups"
    good, bad = "every group holds its own values", "values left or entered a group, or a record was torn apart"
    if output.method == "ir_swap":
        permuted = in_parallel(lambda column: _permuted(output, (column,)), output.promised)
        return _verdict(
            name, rule, good, bad, (c for c, kept in zip(output.promised, permuted, strict=True) if not kept)
        )
    # Equal tuples have equal parts: the joint comparison covers every single column.
    broken = () if _permuted(output, output.promised) else output.promised
    return _verdict(name, f"{rule}, each record's confidential values together", good, bad, broken)


def _permuted(output: _Output, names: tuple[str, ...]) -> bool:
    """Whether these columns share one partition and hold the original tuples in every group of it."""
    partitions = [output.labels(name) for name in names]
    labels = partitions[0]
    if labels is None or not all(map(output.comparable, names)):
        return False
    if not all(other is not None and np.array_equal(labels, other) for other in partitions):
        return False
    groups = grouping(labels)
    before, after = _tuple_keys(output, names)
    return np.array_equal(groups.sorted(before), groups.sorted(after))


def _tuple_keys(output: _Output, names: tuple[str, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One key for each original and each released record, equal only where all these columns are equal."""
    sides = (output.original, output.released)
    if len(names) == 1:
        before, after = (output.keys(side, names[0]) for side in sides)
        return before, after
    order, starts = identical([np.concatenate([output.keys(side, name) for side in sides]) for name in names])
    both = np.empty(len(order), np.int64)
    both[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return both[: output.records], both[output.records :]


def _k_anonymity_of_keys(output: _Output) -> Check:
    """Counted on the released columns alone, as an intruder would."""
    k = max(output.k.values())
    rule = f"every released combination of {', '.join(output.promised)} occurs at least {k} times"
    if any(name not in output.released for name in output.promised):
        return Check("k_anonymity_of_keys", False, rule, "a key column is not released")
    _, starts = identical([output.keys(output.released, name) for name in output.promised])
    passed = bool((np.diff(starts) >= k).all())
    return Check(
        "k_anonymity_of_keys",
        passed,
        rule,
        "every combination occurs often enough" if passed else "a combination occurs too seldom",
    )


def _unchanged_columns(output: _Output) -> Check:
    others = [
        name
        for name in named(output.declared, "quasi_identifier", "confidential", "weight")
        if name not in output.promised
    ]

    def changed(name: str) -> bool:
        return not output.comparable(name) or not np.array_equal(
            output.keys(output.original, name), output.keys(output.released, name)
        )

    return _verdict(
        "unchanged_columns",
        "every column that is not masked is released as it is",
        "every such column is equal, missing values included",
        "a column that must not change was changed or left out",
        filter(changed, others),
    )


def _identifiers_absent(output: _Output) -> Check:
    allowed = named(output.declared, "quasi_identifier", "confidential", "weight")
    return _verdict(
        "identifiers_absent",
        "no identifier and no undeclared column is released",
        "there is none",
        "a column that must not be released is there",
        (name for name in output.released if name not in allowed),
    )


def _verdict(name: str, rule: str, good: str, bad: str, broken: Iterable[str]) -> Check:
    columns = tuple(broken)
    return Check(name, not columns, rule, f"{bad}: {', '.join(columns)}" if columns else good)


_CHECKS: dict[str, tuple[Callable[[_Output], Check], ...]] = {
    "prob_k": (_group_sizes, _permutation_within_groups, _unchanged_columns, _identifiers_absent),
    "k_anon": (_k_anonymity_of_keys, _group_sizes, _unchanged_columns, _identifiers_absent),
}
