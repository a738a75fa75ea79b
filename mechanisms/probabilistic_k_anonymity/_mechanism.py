"""Probabilistic k-anonymity by swapping, and k-anonymity by microaggregation.

    mdav_id     groups by MDAV on the quasi-identifiers; each quasi-identifier becomes its group's centroid
    mdav_swap   the same groups; one permutation of the confidential tuples in each group
    ir_swap     for each confidential column its own groups along the sorted values; one permutation in each

    P(pi) = 1 / g!   for every permutation pi of a group of g >= k records, the identity included     (1)
    P(release | data) = P(release | data with its values permuted inside a group)                       (2)
    P(a record owns a given place of its group | release) = 1 / g <= 1 / k                              (3)

(2) follows from (1), because pi composed with a fixed permutation is again uniform; (3) follows from (2)
by Bayes' rule for a prior that treats the records of the group alike. Permutations without fixed points
would give 1 / (g - 1).

Source: Soria-Comas 2013 (thesis), chapter 3. Departures: ties are broken at random under both swaps, and the
variant of mdav_swap that forms groups for one confidential column from the others is not offered,
because such groups depend on values that other permutations are to hide.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from penstock.mechanisms import phrases
from penstock.mechanisms.columns import Column, Columns, Declared, named
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.microaggregation.centroids import centroid, grouped
from penstock.mechanisms.microaggregation.mdav import mdav, require_group_size
from penstock.mechanisms.microaggregation.ranking import ranked_blocks
from penstock.mechanisms.parallel import in_parallel
from penstock.mechanisms.permutation import permutation, permute_within
from penstock.mechanisms.points import Scaling, formulas, points
from penstock.mechanisms.protected import Protected
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refusal import Fault, SettingRefused
from penstock.mechanisms.sound import is_missing, require_sound

__all__ = [
    "Params",
    "faults",
    "group_sizes",
    "needs_all_records",
    "promise",
    "protect",
    "released_columns",
    "swap_column",
]

GroupSize = Annotated[StrictInt, Field(ge=2)]


class Params(BaseModel):
    """How groups are formed, how large they are, and what happens inside them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mechanism: Literal["probabilistic_k_anonymity"] = Field(
        default="probabilistic_k_anonymity", description="The name of this mechanism."
    )
    method: Literal["mdav_id", "mdav_swap", "ir_swap"] = Field(
        description="mdav_id: records with similar quasi-identifiers get the same quasi-identifiers (k-anonymity). "
        "mdav_swap: they exchange their confidential values, all columns together. "
        "ir_swap: in each confidential column by itself, records with similar values exchange them."
    )
    k: GroupSize = Field(
        description="Smallest group. An intruder links a record to its values with probability at most 1/k."
    )
    k_by_column: dict[str, GroupSize] = Field(
        default={}, description="ir_swap only: larger groups for the confidential columns named here."
    )
    scaling: Scaling = Field(
        default="domain",
        description="How MDAV makes columns comparable. domain: the declared domain becomes [0, 1]. "
        "standard_deviation: each numeric column gets standard deviation 1. none: raw values. "
        "Not used by ir_swap.",
    )


def faults(params: Params, declared: Declared) -> list[Fault]:
    """Return every reason why these settings do not fit these columns, found before any row is read."""
    found: list[Fault] = []
    confidential = named(declared, "confidential")
    if params.method != "ir_swap" and not named(declared, "quasi_identifier"):
        found.append(
            Fault("method", "needs a quasi_identifier to form groups", "Declare one, or use ir_swap.", params.method)
        )
    if params.method != "mdav_id" and not confidential:
        found.append(Fault("method", "needs a confidential column to swap", "Declare one.", params.method))
    for name, k in params.k_by_column.items():
        field = f"k_by_column.{name}"
        if params.method != "ir_swap":
            rule = "must not be given under MDAV, where groups of one column carry no guarantee"
            found.append(Fault(field, rule, "Remove it, or use ir_swap.", str(k)))
        elif name not in confidential:
            found.append(Fault(field, "must name a confidential column", "Correct the name.", str(k)))
        elif k < params.k:
            found.append(Fault(field, f"must be at least k = {params.k}", "Raise it, or lower k.", str(k)))
    for name, column in declared.items():
        if column.role == "confidential" and column.type == "nominal" and params.method == "ir_swap":
            rule = "must have an order, because ir_swap sorts the values"
            found.append(Fault(f"columns.{name}.type", rule, "Declare it ordinal, or use mdav_swap.", str(column.type)))
        if column.outside == "clamp":
            rule = "must be refuse: what is not masked is promised unchanged"
            found.append(Fault(f"columns.{name}.outside", rule, "Widen the domain, or clamp the data first.", "clamp"))
        allowed = _allowed_missing(params.method, column)
        if column.missing not in allowed:
            rule = f"must be {' or '.join(allowed)} for a {column.role} of type {column.type} under {params.method}"
            found.append(Fault(f"columns.{name}.missing", rule, "Change the rule.", column.missing))
    return found


def _allowed_missing(method: str, column: Column) -> tuple[str, ...]:
    """Return the allowed rules for missing values, which cannot be ranked or averaged but are values elsewhere."""
    if column.role not in ("quasi_identifier", "confidential"):
        return ("refuse",)
    if column.type == "nominal" or (column.role == "confidential") == (method != "ir_swap"):
        return ("refuse", "category")
    return ("refuse", "own_group") if column.role == "confidential" else ("refuse",)


def needs_all_records(params: Params) -> str | None:
    """Return why these settings need all records together; None where one column at a time is enough."""
    if params.method == "ir_swap":
        return None
    return f"{params.method} forms groups of whole records, which needs all of them together"


def group_sizes(params: Params, declared: Declared) -> dict[str, int]:
    """Return the smallest group of each confidential column under ir_swap."""
    return {name: params.k_by_column.get(name, params.k) for name in named(declared, "confidential")}


_PLACES = (
    "An intruder who knows {known} exactly, and to whom the records of a group are interchangeable beforehand, "
    "is right about which record of a group a published {thing} belongs to with probability exactly 1/g, "
    "where g is the size of the group, and so at most 1/k."
)
_STATEMENT = {
    "mdav_id": "Every record shares all its published quasi-identifiers (and its weight, if there is one) with at "
    "least k - 1 other records, so they single out no group of fewer than k records.",
    "mdav_swap": "Inside every group of at least k records with similar quasi-identifiers, the confidential values of "
    "whole records are dealt out by a permutation drawn uniformly from all permutations, the identity included. The "
    "release has the same distribution for all sources that differ by such a permutation. "
    + _PLACES.format(known="the quasi-identifiers of all records", thing="confidential tuple"),
    "ir_swap": "Each confidential column is sorted and cut into groups of at least k records; inside every group its "
    "values are dealt out by a permutation drawn uniformly from all permutations, the identity included, independently "
    "for every group and column. Where no equal values lie on both sides of a group's border, the release has the same "
    "distribution for all sources that differ by a permutation of the column inside its groups. "
    + _PLACES.format(known="all other columns", thing="value")
    + " Equal values are divided among adjoining groups at random; the bound 1/k then holds for an intruder to whom "
    "the records of all groups that share the value are interchangeable.",
}
_SWAP_ASSUMES = "before the release, the intruder holds the records of a group interchangeable"
_ASSUMPTIONS = {
    "mdav_id": ("the declared quasi-identifiers are all that outsiders know about a record",),
    "mdav_swap": (_SWAP_ASSUMES, "no confidential value of another record is known"),
    "ir_swap": (_SWAP_ASSUMES, "no value of the same column is known for another record"),
}
_SWAP_LIMITS = (
    "protection once confidential values of other records in the group are known",
    "protection of a value that other columns predict",
    "a difference between equal values: a value that c of g records of a group hold is a record's own with "
    "probability c/g, up to 1",
    phrases.TAKES_PART,
)
_LIMITS = {
    "mdav_id": (
        phrases.VALUES_DIFFER,
        phrases.VALUES_KNOWN,
        "anything after a second release of the same records",
    ),
    "mdav_swap": (*_SWAP_LIMITS, "hiding the group: its confidential values are published with its quasi-identifiers"),
    "ir_swap": (*_SWAP_LIMITS, "hiding the group: the range of a record's true value is visible in the column"),
}
# For mdav_swap with several confidential columns.
_TUPLE_ASSUMES = "no confidential value of the record itself is known"
_TUPLE_LIMIT = (
    "hiding the other confidential values of a person from somebody who knows one of them: the confidential values of "
    "a record move together, so a value that one record holds leads to all the others"
)
_OWN_GROUP_LIMIT = "hiding whether a value is missing in {}: that is published unchanged"


def promise(params: Params, declared: Declared) -> Guarantee:
    """Return what a release with these settings promises, in the terms of (1) to (3), and what it does not."""
    SettingRefused.raise_for(faults(params, declared))
    swap = params.method != "mdav_id"
    ranked = params.method == "ir_swap"
    keys = named(declared, "quasi_identifier")
    apart = [name for name, column in declared.items() if column.missing == "own_group"]
    tuples = params.method == "mdav_swap" and len(named(declared, "confidential")) > 1
    parameters: dict[str, Any] = {
        "method": params.method,
        "k": params.k,
        "k_by_column": group_sizes(params, declared) if ranked else {},
        "scaling": "not used" if ranked else formulas(declared, keys, params.scaling),
        "ties": "broken at random" if swap else "broken by lowest source row",
    }
    return Guarantee(
        model="prob_k" if swap else "k_anon",
        parameters=parameters,
        adjacency="permutation of the confidential values inside a group"
        if swap
        else "none: not a statement about neighbouring data sets",
        unit="row",
        statement=_STATEMENT[params.method],
        public=("number of records", "method", "k", "declared domains and categories", "scaling"),
        secret=("random words", "permutations", "group labels", "original row order")
        if swap
        else ("source quasi-identifiers", "original row order"),
        assumptions=(
            *_ASSUMPTIONS[params.method],
            *((_TUPLE_ASSUMES,) if tuples else ()),
            "one record describes one individual",
        ),
        not_promised=(
            *_LIMITS[params.method],
            *((_TUPLE_LIMIT,) if tuples else ()),
            *((_OWN_GROUP_LIMIT.format(", ".join(apart)),) if apart else ()),
        ),
        postprocessing="any",
        composes_with="nothing: a second release of the same records has no composition theorem",
        audit=("group_sizes", "permutation_within_groups", "unchanged_columns")
        if swap
        else ("group_sizes", "k_anonymity_of_keys", "unchanged_columns"),
    )


def released_columns(params: Params, declared: Declared) -> dict[str, Column]:
    """Return the columns of the output: all but identifiers, as they were declared."""
    return {name: column for name, column in declared.items() if column.role != "identifier"}


def protect(columns: Columns, declared: Declared, params: Params, randomness: Randomness) -> Protected:
    """Return the columns under `promise(params, declared)`, aligned with the source rows; identifiers are left out."""
    guarantee = promise(params, declared)
    records = require_sound(columns, declared)
    released = {name: columns[name] for name, column in declared.items() if column.role != "identifier"}
    groups: dict[str, NDArray[np.integer[Any]]] = {}
    if params.method == "ir_swap":
        sizes = group_sizes(params, declared)

        def swap(name: str, own: Randomness) -> tuple[NDArray[Any], NDArray[np.integer[Any]]]:
            return swap_column(columns[name], declared[name], name, sizes[name], own)

        swapped = in_parallel(swap, sizes, randomness.streams(len(sizes)))
        for name, (values, labels) in zip(sizes, swapped, strict=True):
            released[name], groups[name] = values, labels
    else:
        require_group_size(params.k, records, "k")
        places = points(columns, declared, named(declared, "quasi_identifier"), params.scaling)
        if params.method == "mdav_swap":
            labels = _mdav_in_random_order(places, params.k, randomness)
            order, starts = grouped(labels)
            source = permute_within(order, starts, randomness)
            for name in named(declared, "confidential"):
                released[name] = np.empty_like(columns[name])
                released[name][order] = columns[name][source]
                groups[name] = labels
        else:
            labels = mdav(places, params.k)
            for name in named(declared, "quasi_identifier", "weight"):
                released[name] = centroid(columns[name], declared[name], name, labels)
                groups[name] = labels
    return Protected(released, guarantee, masked=tuple(groups), groups=groups)


def _mdav_in_random_order(places: NDArray[np.float64], k: int, randomness: Randomness) -> NDArray[np.int64]:
    """Run MDAV on shuffled records: it breaks ties by row, and the source's order may follow confidential values."""
    shuffled = permutation(len(places), randomness)
    labels = np.empty(len(places), np.int64)
    labels[shuffled] = mdav(places[shuffled], k)
    return labels


def swap_column(
    values: NDArray[Any], column: Column, name: str, k: int, randomness: Randomness
) -> tuple[NDArray[Any], NDArray[np.integer[Any]]]:
    """Swap one column by ir_swap; return it and its groups. Missing values stay in place as the last group."""
    keys = values if column.numeric else column.codes(values, name)
    missing = is_missing(values, column, name)
    present = np.flatnonzero(~missing) if missing.any() else None
    ranked = keys if present is None else keys[present]
    require_group_size(k, len(ranked), name)
    ranks, starts = ranked_blocks(ranked, k, randomness)
    order = ranks if present is None else present[ranks]
    swapped = values.copy() if present is not None else np.empty_like(values)
    swapped[order] = values.take(permute_within(order, starts, randomness))
    small = np.int32 if len(values) < 2**31 else np.int64
    labels: NDArray[np.integer[Any]] = np.full(len(values), len(starts) - 1, small)
    labels[order] = np.repeat(np.arange(len(starts) - 1, dtype=small), np.diff(starts))
    return swapped, labels
