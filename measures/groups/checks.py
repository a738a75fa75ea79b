"""The checks of groups with buckets, all counted again from the records.

What is checked against what is derived from the declared roles and the promise (_promise.py); the mechanism's
own account, the group and the bucket of each record, is compared with what is published and with the values.

    group_sizes                 every group has at least k records, numbers 1, 2, ... are the published ones under
                                anatomy, and columns that belong together have one partition
    closeness                   1/t <= (c_ij / k_i) / (n_j / N) <= t for every group i and bucket j, and t <= e^epsilon
    values_in_buckets           every value lies inside the published label of its bucket
    bucket_table                the tables beside the records hold c_ij for every group and bucket, and nothing else
    after_known                 what is stated for someone who knows buckets of other members is (3) of _counts.py
    permutation_within_groups   in every group, released buckets = true buckets as multisets, columns of a part together
    values_by_group             the table of values holds the original tuples of every group as a multiset, in order
    unchanged_columns           every quasi-identifier and weight is released value by value, missing values included
    confidential_absent         no identifier, no undeclared column, and no confidential column but behind labels

Verdicts name columns and tables, never values or counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.measures.checks import Check, verdict
from penstock.measures.groups._counts import counts_of, largest_after, largest_ratio, numbered
from penstock.measures.groups._labels import Categories, Interval, Label, read_labels
from penstock.measures.groups._promise import Part, Promise, at_most_exponential, read_promise
from penstock.measures.groups._tables import bucket_table, key_column, labelled, values_by_group
from penstock.measures.groups.output import BucketOutput
from penstock.measures.rows import keys
from penstock.measures.sorted_groups import grouping
from penstock.mechanisms.columns import Columns, Declared, named

__all__ = ["bucket_checks"]

Integers = NDArray[np.int64]
# What is stated ends here, also where larger numbers of known members have a factor.
_MOST_KNOWN = 20


def bucket_checks(output: BucketOutput) -> tuple[Check, ...]:
    """Run every check of the method and the form of the output."""
    promise = read_promise(output)
    checks = tuple(check(output, promise) for check in _CHECKS[promise.method, promise.output])
    # Promises from before it was stated do not name it.
    return (*checks, _after_known(output, promise)) if "after_known" in output.guarantee.audit else checks


def _group_sizes(output: BucketOutput, promise: Promise) -> Check:
    rule = f"every group of every confidential column has at least k = {promise.k} records"
    if set(output.groups) != set(promise.columns):
        return Check("group_sizes", False, rule, "the groups are not those of the confidential columns")
    return verdict(
        "group_sizes",
        rule,
        "every group is large enough",
        "a group is missing, too small or another than the published one, or columns are divided otherwise",
        (name for part in promise.parts for name in part.columns if not _divided(output, promise, part, name)),
    )


def _divided(output: BucketOutput, promise: Promise, part: Part, name: str) -> bool:
    """Return whether a column's groups are large enough, those of its part, and those that are published."""
    group, first = output.group_of(name), output.group_of(part.columns[0])
    if group is None or first is None or not np.array_equal(group, first):
        return False
    sizes = np.bincount(group)
    if not bool((sizes >= promise.k).all()):
        return False
    if not promise.anatomy:
        return True
    published = output.released.get(part.key)
    if published is None or published.dtype.kind not in "iu" or not np.array_equal(published, group + 1):
        return False
    return output.declared.get(part.key) == key_column(len(sizes))


def _closeness(output: BucketOutput, promise: Promise) -> Check:
    rule = f"in every group every bucket has its share of all records up to a factor of t = {promise.t}"
    stated = {"t": str(promise.t), "buckets": promise.buckets}
    if {name: fact for name, fact in output.chosen.items() if name != "after_known"} != stated:
        return Check("closeness", False, rule, "the public facts are others than the promised ones")
    if promise.t is None or (promise.epsilon is not None and not at_most_exponential(promise.t, promise.epsilon)):
        return Check("closeness", False, rule, "t is above the exponential of epsilon")
    return verdict(
        "closeness",
        rule,
        "every share is near enough",
        "a share is too far off, a bucket is absent from a group, or there are more buckets than stated",
        (name for part in promise.parts if not _close(output, promise, part) for name in part.columns),
    )


def _close(output: BucketOutput, promise: Promise, part: Part) -> bool:
    group, columns = output.group_of(part.columns[0]), _buckets(output, promise, part)
    if group is None or columns is None or promise.t is None or promise.buckets is None:
        return False
    number, parts = numbered(columns)
    for name, codes in zip(part.columns, parts, strict=True):
        published = promise.published(output, part, name)
        if published is None or len(set(codes.tolist())) < len(published.categories or ()):
            return False  # a label that no record has is absent from every group
    ratio = largest_ratio(counts_of(group, number))
    return ratio is not None and ratio <= promise.t and int(number.max()) < promise.buckets


def _after_known(output: BucketOutput, promise: Promise) -> Check:
    stated = output.chosen.get("after_known")
    found = [_counted_after(output, promise, part) for part in promise.parts]
    is_right = isinstance(stated, list) and stated == found
    return verdict(
        "after_known",
        "what is stated for someone who knows the buckets of other members follows from the counts",
        "it does",
        "a factor is another, or is not stated",
        () if is_right else promise.columns,
    )


def _counted_after(output: BucketOutput, promise: Promise, part: Part) -> dict[str, Any] | None:
    """Return what must be stated about a part, or None where its records cannot be counted."""
    group, columns = output.group_of(part.columns[0]), _buckets(output, promise, part)
    counts = None if group is None or columns is None else counts_of(group, numbered(columns)[0])
    if counts is None:
        return None
    factors = [largest_after(counts, known) for known in range(_MOST_KNOWN)]
    bounded = [str(factor) for factor in factors if factor is not None]
    return {"columns": list(part.columns), "factors": bounded, "unbounded_from": int(counts.min())}


def _buckets(output: BucketOutput, promise: Promise, part: Part) -> list[Integers] | None:
    """Return the bucket of every record in each column of a part."""
    found = [output.bucket_of(name, promise.published(output, part, name)) for name in part.columns]
    known = [codes for codes in found if codes is not None]
    return known if len(known) == len(found) else None


def _values_in_buckets(output: BucketOutput, promise: Promise) -> Check:
    return verdict(
        "values_in_buckets",
        "every value lies inside the published label of its bucket, and labels rise where values do",
        "every one does",
        "a value lies outside its label, or a label cannot be read or stands in the wrong place",
        (name for part in promise.parts for name in part.columns if not _inside(output, promise, part, name)),
    )


def _inside(output: BucketOutput, promise: Promise, part: Part, name: str) -> bool:
    column, published = output.source[name], promise.published(output, part, name)
    bucket = output.bucket_of(name, published)
    if published is None or bucket is None or name not in output.original:
        return False
    labels = read_labels(published.categories or (), column)
    known = [label for label in labels if label is not None]
    if len(known) < len(labels) or not (column.type == "nominal" or _rise(known)):
        return False
    if column.numeric:
        return _numbers_inside(output.original[name], bucket, known)
    codes = column.codes(output.original[name], name) + 1  # 0 where missing, which is in no bucket
    found = np.unique(codes * len(known) + bucket, return_counts=True)[0]
    members = [label.codes if isinstance(label, Categories) else frozenset() for label in known]
    return all(pair // len(known) - 1 in members[pair % len(known)] for pair in found.tolist())


def _rise(labels: list[Label]) -> bool:
    places = [label.place for label in labels]
    return places == sorted(places)


def _numbers_inside(values: NDArray[Any], bucket: Integers, labels: list[Label]) -> bool:
    if values.dtype.kind not in "iuf" or not bool(np.isfinite(values).all()):
        return False
    lowest, highest = np.full(len(labels), values.max()), np.full(len(labels), values.min())
    np.minimum.at(lowest, bucket, values)
    np.maximum.at(highest, bucket, values)
    ends = zip(labels, lowest.tolist(), highest.tolist(), np.bincount(bucket, minlength=len(labels)), strict=True)
    return all(
        isinstance(label, Interval) and (not records or (label.holds(low) and label.holds(high)))
        for label, low, high, records in ends
    )


def _permutation_within_groups(output: BucketOutput, promise: Promise) -> Check:
    return verdict(
        "permutation_within_groups",
        "in every group the released buckets are the true ones in another order, columns that belong together together",
        "every group holds its own buckets",
        "buckets left or entered a group, or columns were torn apart",
        (name for part in promise.parts if not _permuted(output, promise, part) for name in part.columns),
    )


def _permuted(output: BucketOutput, promise: Promise, part: Part) -> bool:
    group, true = output.group_of(part.columns[0]), _buckets(output, promise, part)
    if group is None or true is None:
        return False
    both = []
    for name, codes in zip(part.columns, true, strict=True):
        released, published = output.released.get(name), output.declared.get(name)
        if released is None or not labelled(released, published, output.source[name]):
            return False
        both.append(np.concatenate([codes, released.astype(np.int64, copy=False)]))
    number, groups = numbered(both)[0], grouping(group)
    return np.array_equal(groups.sorted(number[: output.records]), groups.sorted(number[output.records :]))


def _unchanged_columns(output: BucketOutput, promise: Promise) -> Check:
    def changed(name: str) -> bool:
        if name not in output.original or name not in output.released:
            return True
        column, sides = output.source[name], (output.original[name], output.released[name])
        if output.declared.get(name) != column or (column.numeric and len({side.dtype.kind for side in sides}) > 1):
            return True
        before, after = (keys(side, column, name) for side in sides)
        return not np.array_equal(before, after)

    return verdict(
        "unchanged_columns",
        "every quasi-identifier and weight is released as it is",
        "every such column is equal, missing values included",
        "a column that must not change was changed or left out",
        filter(changed, named(output.source, "quasi_identifier", "weight")),
    )


def _confidential_absent(output: BucketOutput, promise: Promise) -> Check:
    return verdict(
        "confidential_absent",
        "no identifier, no undeclared column, and no confidential value but as the promise publishes it is released",
        "there is none",
        "a column or a table that must not be released is there",
        dict.fromkeys(_unfit(output, promise)),
    )


def _unfit(output: BucketOutput, promise: Promise) -> Iterator[str]:
    """Yield what is released and must not be, in the file of records and in every table beside it."""
    keys_or_labels = {part.key for part in promise.parts} if promise.anatomy else set(promise.columns)
    allowed = keys_or_labels | set(named(output.source, "quasi_identifier", "weight"))
    shown: list[tuple[Columns, Declared, set[str]]] = [(output.released, output.declared, allowed)]
    tables = {part.table: part for part in promise.parts} if promise.anatomy else {}
    for table, linked in output.linked.items():
        if table in tables:
            part = tables[table]
            shown.append((linked.columns, linked.declared, {part.key, *part.columns, "records"}))
        else:
            yield table
    for columns, declared, allowed in shown:
        yield from (name for name in {**columns, **declared} if name not in allowed or name not in declared)
        if promise.method == "buckets":
            held = (name for name in promise.columns if name in columns)
            yield from (n for n in held if not labelled(columns[n], declared.get(n), output.source[n]))


_Checks = tuple[Callable[[BucketOutput, Promise], Check], ...]
_SHOWN: _Checks = (_unchanged_columns, _confidential_absent)
_CHECKS: dict[tuple[str, str], _Checks] = {
    ("buckets", "anatomy"): (_group_sizes, _closeness, _values_in_buckets, bucket_table, *_SHOWN),
    ("buckets", "permuted"): (_group_sizes, _closeness, _values_in_buckets, _permutation_within_groups, *_SHOWN),
    ("ranked", "anatomy"): (_group_sizes, values_by_group, *_SHOWN),
}
