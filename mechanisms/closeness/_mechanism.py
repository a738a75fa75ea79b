"""exp(epsilon)-closeness by buckets, and groups of similar confidential values published as Anatomy.

    buckets   p_ij / q_j in [1/t, t],  t <= e^epsilon                                                            (1)
              p_ij the share of bucket j of the confidential values in group i, q_j its share among all records
    ranked    groups of k records along the sorted confidential values, the larger group in the middle           (2)

For an intruder who takes q for everyone's distribution beforehand and holds the members of a group interchangeable,
p_ij is what they believe afterwards of a member of group i; so (1) bounds what they learn about each bucket. It is not
differential privacy: the release is a function of the data. How much more is learnt with each other member's bucket
that is known is counted (_informed.py), and published with the output.

Why buckets: of raw values, each occurs in few groups, and where it does not occur the ratio is infinite. Why several
records of every bucket in every group: as (1) demands, and it can always be met by fewer and larger groups. How many
groups there are is found by exact arithmetic (_allotment.py); the assignment of records keeps quasi-identifiers
of a group alike (_assigned.py), which is where the utility comes from.

Source: Soria-Comas 2013 (thesis), chapter 7: (1) Definition 15 and Proposition 10; (2) Algorithm 7.1. Departures: t
need not be a whole number; the counts solve a transportation problem; equal values at a border are split at random; the
chapter's claim of epsilon-differential privacy is stated as what it is, a bound on posterior over prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.closeness._allotment import allot, group_number
from penstock.mechanisms.closeness._assigned import (
    assigned,
    bucket_columns,
    bucket_table,
    dealt_out,
    group_column,
    numbered_at_random,
    value_table,
)
from penstock.mechanisms.closeness._cuts import Buckets, bucket_sizes, bucketed, numbers_of
from penstock.mechanisms.closeness._informed import after_known
from penstock.mechanisms.closeness._nearest import infeasible
from penstock.mechanisms.closeness._promise import close_promise, ranked_promise
from penstock.mechanisms.closeness.bound import bucket_number
from penstock.mechanisms.closeness.settings import KEY, Params, faults, group_keys
from penstock.mechanisms.columns import Column, Columns, Declared, named
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.microaggregation.mdav import mdav, require_group_size
from penstock.mechanisms.microaggregation.ranking import ranked_blocks
from penstock.mechanisms.permutation import permutation
from penstock.mechanisms.points import formulas, points
from penstock.mechanisms.protected import Linked, Protected
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refusal import SettingRefused
from penstock.mechanisms.sound import require_sound

__all__ = ["Params", "chosen_facts", "faults", "promise", "protect", "released_columns"]


def promise(params: Params, declared: Declared) -> Guarantee:
    """Return what a release with these settings promises, in the terms of (1) or (2), and what it does not."""
    SettingRefused.raise_for(faults(params, declared))
    confidential = named(declared, "confidential")
    compared = named(declared, "quasi_identifier") if params.method == "buckets" else ()
    if params.several == "joint" or (params.method == "ranked" and not _sortable(declared)):
        compared = (*compared, *confidential)
    parameters: dict[str, Any] = {
        "mechanism": params.mechanism,
        "method": params.method,
        "output": params.output,
        "k": params.k,
        "scaling": formulas(declared, compared, params.scaling) if compared else "not used",
    }
    if params.method == "ranked":
        return ranked_promise({**parameters, "ties": "broken at random"}, confidential)
    t = params.bound
    parameters |= {
        "t": str(t),
        "epsilon": None if params.epsilon is None else str(params.epsilon),
        "buckets": bucket_number(t),
        "several": params.several,
        "ties": "split at random",
    }
    return close_promise(parameters, confidential, t=t, epsilon=params.epsilon)


def released_columns(params: Params, declared: Declared) -> dict[str, Column]:
    """Return what is known of the output beforehand: the columns that are released unchanged."""
    return {name: declared[name] for name in named(declared, "quasi_identifier", "weight")}


def chosen_facts(params: Params, declared: Declared, records: int) -> dict[str, Any]:
    """Return the exact bound and the number of buckets that it leads to."""
    return {} if params.method == "ranked" else {"t": str(params.bound), "buckets": bucket_number(params.bound)}


def protect(columns: Columns, declared: Declared, params: Params, randomness: Randomness) -> Protected:
    """Return the output under `promise(params, declared)`, aligned with the source rows; identifiers are left out."""
    guarantee = promise(params, declared)
    records = require_sound(columns, declared)
    require_group_size(params.k, records, "k")
    if params.method == "ranked":
        return _ranked(columns, declared, params, guarantee, randomness)
    places = points(columns, declared, named(declared, "quasi_identifier"), params.scaling)
    groups: dict[str, NDArray[np.integer[Any]]] = {}
    hidden: dict[str, NDArray[np.int64]] = {}
    made: dict[str, Column] = {}
    released: dict[str, NDArray[Any]] = {}
    linked: dict[str, Linked] = {}
    informed: list[dict[str, Any]] = []
    for number, (part, key) in enumerate(group_keys(params, declared).items(), start=1):
        buckets = bucketed(columns, declared, part, bucket_number(params.bound), params.k, params.scaling, randomness)
        counts = _counts(columns, declared, params, part, buckets)
        informed.append(after_known(part, counts))
        labels = assigned(places, buckets.of_row, counts, randomness)
        groups |= dict.fromkeys(part, labels)
        hidden |= {f"bucket {name}": buckets.places[name][buckets.of_row] for name in part}
        if params.output == "anatomy":
            released[key], made[key] = labels + 1, group_column(len(counts))
            table = "buckets" if params.several != "each" else f"buckets_{number}"
            linked[table] = bucket_table(key, labels, buckets, declared)
        else:
            dealt = dealt_out(labels, buckets.of_row, randomness)
            released |= {name: buckets.places[name][dealt] for name in part}
            made |= bucket_columns(buckets, declared)
    unchanged = named(declared, "quasi_identifier", "weight")
    in_place = [name for name in declared if name in released or name in unchanged]
    return Protected(
        {
            name: columns[name] if name in unchanged else released[name]
            for name in dict.fromkeys([*in_place, *released])
        },
        guarantee,
        masked=named(declared, "confidential"),
        groups={name: groups[name] for name in named(declared, "confidential")},
        chosen={**chosen_facts(params, declared, records), "after_known": informed},
        hidden=hidden,
        made=made,
        linked=linked,
    )


def _counts(
    columns: Columns, declared: Declared, params: Params, part: Sequence[str], buckets: Buckets
) -> NDArray[np.int64]:
    """Return how many records of each bucket every group gets, for as many groups as possible."""
    t, sizes = params.bound, buckets.sizes
    groups = group_number(sizes, params.k, t)
    if groups is not None:
        return allot(sizes, groups, t)

    by_category = len(part) == 1 and declared[part[0]].type == "nominal"
    raise infeasible(
        lambda b: bucket_sizes(columns, declared, part, b, params.k),
        params.k,
        name=", ".join(part),
        epsilon=params.epsilon,
        t=t,
        steps=10 if by_category else 100,
    )


def _ranked(
    columns: Columns, declared: Declared, params: Params, guarantee: Guarantee, randomness: Randomness
) -> Protected:
    """Group by Algorithm 7.1; several columns, or categories without an order, by MDAV on the confidential columns."""
    confidential = named(declared, "confidential")
    values = {name: numbers_of(columns[name], declared[name], name) for name in confidential}
    records = len(values[confidential[0]])
    labels = np.empty(records, np.int64)
    if _sortable(declared):
        order, starts = ranked_blocks(values[confidential[0]], params.k, randomness)
        labels[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    else:
        shuffled = permutation(records, randomness)
        labels[shuffled] = mdav(points(columns, declared, confidential, params.scaling)[shuffled], params.k)
    labels = numbered_at_random(labels, randomness)
    unchanged = {name: columns[name] for name in named(declared, "quasi_identifier", "weight")}
    return Protected(
        {**unchanged, KEY: labels + 1},
        guarantee,
        masked=confidential,
        groups=dict.fromkeys(confidential, labels),
        made={KEY: group_column(int(labels.max()) + 1)},
        linked={"values": value_table(KEY, labels, values, declared)},
    )


def _sortable(declared: Declared) -> bool:
    confidential = named(declared, "confidential")
    return len(confidential) == 1 and declared[confidential[0]].type != "nominal"
