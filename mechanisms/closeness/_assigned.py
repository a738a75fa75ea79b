"""Which records of each bucket go to which group, and the tables that are published of it.

    group labels   by MDAV on the quasi-identifiers, each group taking its c_ij records from bucket j (bucketed.py)
    anatomy        the group of every record; beside it, for each group, how many records each bucket has
    permuted       the labels of the buckets, dealt out inside each group by a uniform permutation

MDAV breaks ties by row, and the order of source rows may follow what is confidential: records are shuffled before, and
groups get random numbers afterwards. Neither the groups nor the tables depend on values inside a bucket.

Source: Soria-Comas 2013 (thesis), sections 7.1.2 and 7.2.2; Anatomy: Xiao & Tao 2006.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.closeness._cuts import Buckets
from penstock.mechanisms.closeness.settings import RECORDS
from penstock.mechanisms.columns import Column, Declared
from penstock.mechanisms.microaggregation.bucketed import bucketed_groups
from penstock.mechanisms.microaggregation.centroids import grouped
from penstock.mechanisms.permutation import permutation, permute_within
from penstock.mechanisms.protected import Linked
from penstock.mechanisms.randomness import Randomness

__all__ = [
    "assigned",
    "bucket_columns",
    "bucket_table",
    "dealt_out",
    "group_column",
    "numbered_at_random",
    "value_table",
]


def assigned(
    places: NDArray[np.float64], of_row: NDArray[np.int64], counts: NDArray[np.int64], randomness: Randomness
) -> NDArray[np.int64]:
    """Return the group of every record, 0..G-1 in random order."""
    shuffled = permutation(len(places), randomness)
    labels = np.empty(len(places), np.int64)
    labels[shuffled] = bucketed_groups(places[shuffled], of_row[shuffled], counts)
    return numbered_at_random(labels, randomness)


def numbered_at_random(labels: NDArray[np.int64], randomness: Randomness) -> NDArray[np.int64]:
    """Return the same groups under random numbers: those in order of formation show where a group lies."""
    return permutation(int(labels.max()) + 1, randomness)[labels]


def dealt_out(labels: NDArray[np.int64], of_row: NDArray[np.int64], randomness: Randomness) -> NDArray[np.int64]:
    """Return the buckets of the records of each group in a uniformly random order."""
    order, starts = grouped(labels)
    released = np.empty_like(of_row)
    released[order] = of_row[permute_within(order, starts, randomness)]
    return released


def bucket_columns(buckets: Buckets, declared: Declared) -> dict[str, Column]:
    """Return the declaration of the labels of each column."""
    made = {}
    for name, labels in buckets.labels.items():
        ordered = declared[name].type != "nominal" and len(labels) > 1
        made[name] = Column(role="confidential", type="ordinal" if ordered else "nominal", categories=labels)
    return made


def bucket_table(key: str, labels: NDArray[np.int64], buckets: Buckets, declared: Declared) -> Linked:
    """Return how many records of each bucket every group has, by group, then by bucket."""
    b, groups = len(buckets.sizes), int(labels.max()) + 1
    counts = np.bincount(labels * b + buckets.of_row, minlength=groups * b)
    # In the order of the labels, column by column.
    in_order = np.lexsort([buckets.places[name] for name in reversed(buckets.places)])
    counts = counts.reshape(groups, b)[:, in_order].ravel()
    group, bucket = np.divmod(np.flatnonzero(counts), b)
    names = {name: places[in_order][bucket] for name, places in buckets.places.items()}
    return Linked(
        key,
        {key: group + 1, **names, RECORDS: counts[counts > 0]},
        {
            key: group_column(groups),
            **bucket_columns(buckets, declared),
            RECORDS: Column(role="confidential", type="integer", domain=(0, len(labels))),
        },
    )


def value_table(key: str, labels: NDArray[np.int64], values: Mapping[str, NDArray[Any]], declared: Declared) -> Linked:
    """Return the confidential values of every group, sorted, so that their order reveals nothing."""
    # For zeros the sign decides too, or their order would be that of the source.
    keys = [key for name in reversed(list(values)) for key in (np.signbit(values[name]), values[name])]
    order = np.lexsort([*keys, labels])
    return Linked(
        key,
        {key: labels[order] + 1, **{name: column[order] for name, column in values.items()}},
        {key: group_column(int(labels.max()) + 1), **{name: declared[name] for name in values}},
    )


def group_column(groups: int) -> Column:
    """Return the declaration of a column of group numbers."""
    return Column(role="confidential", type="integer", domain=(1, groups) if groups > 1 else (0, 1))
