"""The tables beside the records, counted again: how often each bucket is in each group, or the values of each group.

    buckets   group, a label for each column, records        one row for every group and bucket that occurs
    values    group, a value for each column                 one row for every record

Rows stand in the order of the groups, then of the labels or values: an order that reveals nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.measures.checks import Check, verdict
from penstock.measures.groups._counts import numbered
from penstock.measures.groups._labels import read_labels
from penstock.measures.groups._promise import Part, Promise
from penstock.measures.groups.output import BucketOutput
from penstock.measures.rows import keys
from penstock.mechanisms.columns import Column

__all__ = ["bucket_table", "key_column", "labelled", "values_by_group"]

Integers = NDArray[np.int64]


def key_column(groups: int) -> Column:
    """Return the declaration of published group numbers, from 1; a domain has two ends, so one group is in [0, 1]."""
    return Column(role="confidential", type="integer", domain=(1, groups) if groups > 1 else (0, 1))


def labelled(values: NDArray[Any], published: Column | None, column: Column) -> bool:
    """Return whether a column is released as labels of buckets of the declared one, and as nothing else.

    Labels of values that have an order have one too, if there are two of them.
    """
    if published is None or published.categories is None:
        return False
    kind = "ordinal" if column.type != "nominal" and len(published.categories) > 1 else "nominal"
    plain = published.type == kind and published == Column(
        role="confidential", type=published.type, categories=published.categories
    )
    if not plain:
        return False
    if None in read_labels(published.categories, column):
        return False
    return _are_whole(values) and bool(((values >= 0) & (values < len(published.categories))).all())


def bucket_table(output: BucketOutput, promise: Promise) -> Check:
    """Check the tables against the groups and buckets of the records; a table that is not promised must not exist."""
    return verdict(
        "bucket_table",
        "the tables beside the records hold how often each bucket is in each group, in order, and nothing else",
        "they do",
        "a table is missing, holds other counts or more than that, or is in another order",
        _wrong_tables(output, promise, {part.table: _counted(output, promise, part) for part in promise.parts}),
    )


def _wrong_tables(output: BucketOutput, promise: Promise, right: Mapping[str, bool]) -> list[str]:
    wrong = [name for part in promise.parts if not right[part.table] for name in part.columns]
    return wrong + [table for table in output.linked if table not in right]


def _counted(output: BucketOutput, promise: Promise, part: Part) -> bool:
    linked, group = output.linked.get(part.table), output.group_of(part.columns[0])
    published = {name: promise.published(output, part, name) for name in part.columns}
    found = [output.bucket_of(name, column) for name, column in published.items()]
    codes = [each for each in found if each is not None]
    if linked is None or group is None or len(codes) < len(found):
        return False
    number, buckets = numbered(codes)
    cells, records = np.unique(group * len(buckets[0]) + number, return_counts=True)
    place, bucket = np.divmod(cells, len(buckets[0]))
    expected = {
        part.key: place + 1,
        **{name: each[bucket] for name, each in zip(part.columns, buckets, strict=True)},
        "records": records,
    }
    count = Column(role="confidential", type="integer", domain=(0, output.records))
    declared = {part.key: key_column(int(group.max()) + 1), **published, "records": count}
    return (
        linked.key == part.key
        and list(linked.columns) == list(expected)
        and dict(linked.declared) == declared
        and all(
            _are_whole(linked.columns[name]) and np.array_equal(linked.columns[name], values)
            for name, values in expected.items()
        )
    )


def values_by_group(output: BucketOutput, promise: Promise) -> Check:
    """Check the table against the original values; a table that is not promised must not exist."""
    return verdict(
        "values_by_group",
        "the table beside the records holds the confidential values of every group together, in order, nothing else",
        "it does",
        "the table is missing, holds other values or more than that, or is in another order",
        _wrong_tables(output, promise, {part.table: _held(output, part) for part in promise.parts}),
    )


def _held(output: BucketOutput, part: Part) -> bool:
    linked, group = output.linked.get(part.table), output.group_of(part.columns[0])
    names = (part.key, *part.columns)
    if linked is None or group is None or linked.key != part.key or tuple(linked.columns) != names:
        return False
    source = {name: output.source[name] for name in part.columns}
    if dict(linked.declared) != {part.key: key_column(int(group.max()) + 1), **source}:
        return False
    original = {
        part.key: group + 1,
        **{name: output.original[name] for name in part.columns if name in output.original},
    }
    for name in names:
        if name not in original or len(linked.columns[name]) != output.records:
            return False
        if original[name].dtype.kind != linked.columns[name].dtype.kind and linked.declared[name].numeric:
            return False
    before, after = (
        [keys(side[name], linked.declared[name], name) for name in names] for side in (original, linked.columns)
    )
    if not all(np.array_equal(one, other) for one, other in zip(_arranged(before), _arranged(after), strict=True)):
        return False
    return _in_order([_comparable(linked.columns[name], linked.declared[name], name) for name in names])


def _arranged(columns: list[Integers]) -> list[Integers]:
    """Return the same records in an order that depends on their values only."""
    order = np.lexsort(columns[::-1])
    return [column[order] for column in columns]


def _comparable(values: NDArray[Any], column: Column, name: str) -> NDArray[Any]:
    """Return values that compare as they are sorted: a missing number comes last."""
    if not column.numeric:
        return column.codes(values, name)
    return np.where(np.isnan(values), np.inf, values) if values.dtype.kind == "f" else values


def _in_order(columns: list[NDArray[Any]]) -> bool:
    """Return whether records rise, compared by the first column in which neighbours differ."""
    undecided = np.ones(len(columns[0]) - 1, np.bool_)
    for column in columns:
        if bool((undecided & (column[1:] < column[:-1])).any()):
            return False
        undecided &= column[1:] == column[:-1]
    return True


def _are_whole(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "iu"
