"""Probabilistic k-anonymity by swapping, and k-anonymity by microaggregation.

    mdav_id     groups by MDAV on the quasi-identifiers; each quasi-identifier becomes its group's centroid
                (how groups are formed, and what stands for one: _groups.py)
    mdav_swap   the same groups; one permutation of the confidential tuples in each group
    ir_swap     for each confidential column its own groups along the sorted values; one permutation in each

    P(pi) = 1 / g!   for every permutation pi of a group of g >= k records, the identity included     (1)
    P(release | data) = P(release | data with its values permuted inside a group)                       (2)
    P(a record owns a given place of its group | release) = 1 / g <= 1 / k                              (3)

(2) follows from (1), because pi composed with a fixed permutation is again uniform; (3) follows from (2)
by Bayes' rule for a prior that treats the records of the group alike. Permutations without fixed points
would give 1 / (g - 1). Groups must stay the same under such a permutation, and they do: those of mdav_swap depend on
quasi-identifiers alone, those of ir_swap on the sorted values.

Diversity under mdav_swap. B: the groups made of quasi-identifiers. Which of them join depends on B and on which values
each holds, not on who holds them (microaggregation/diverse.py); C: what they become. A permutation inside the groups of
B leaves what each holds, so C stays; and it is one inside the groups of C, so by (1) the release has the distribution
that it had. So (2) holds for permutations inside B, and a value of a group of g in B is each of its records' own with
equal probability, (3). Groups that look at who holds which value have no such B, and give more away
(tests/laws/test_groups_and_values.py).

Source: Soria-Comas 2013 (thesis), chapter 3. Departures: ties are broken at random under both swaps, and the
variant of mdav_swap that forms groups for one confidential column from the others is not offered: such groups
depend on values that other permutations are to hide, side by side and in sequence (the same tests).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms import phrases
from penstock.mechanisms.columns import Column, Columns, Declared, named
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.microaggregation.centroids import grouped
from penstock.mechanisms.microaggregation.mdav import require_group_size
from penstock.mechanisms.microaggregation.ranking import ranked_blocks
from penstock.mechanisms.parallel import in_parallel
from penstock.mechanisms.permutation import permute_within
from penstock.mechanisms.probabilistic_k_anonymity._groups import (
    distances,
    partition,
    partition_in_random_order,
    representative,
)
from penstock.mechanisms.probabilistic_k_anonymity._settings import Params, by_taxonomy, faults, group_sizes
from penstock.mechanisms.protected import Protected
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refusal import SettingRefused
from penstock.mechanisms.sample import in_words
from penstock.mechanisms.sound import is_missing, require_sound
from penstock.mechanisms.taxonomy import candidates

__all__ = ["needs_all_records", "promise", "protect", "released_columns", "swap_column"]


def needs_all_records(params: Params) -> str | None:
    """Return why these settings need all records together; None where one column at a time is enough."""
    if params.method == "ir_swap":
        return None
    return f"{params.method} forms groups of whole records, which needs all of them together"


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
_DIVERSE = {
    "mdav_id": "{statement} Records that share them have at least {least} different values of each of: {names}.",
    "mdav_swap": "{statement} Groups with fewer than {least} different values of one of {names} join the nearest one "
    "before values are dealt out. Which ones join depends on the values that a group holds and not on whose they are, "
    "so all this is said of the groups before they join, and whoever guesses is right at most as often.",
}
_ONLY_DIFFERENT = (
    "that the different values of a group are far apart or equally frequent: what most of its records hold is nearly "
    "disclosed"
)
_SAMPLED = (
    " The file holds a random sample of the records, {sample}, drawn after that and without looking at them; so all "
    "this holds of it too. Checks and measures are about all records."
)
_SWAP_AUDIT = ("group_sizes", "permutation_within_groups", "unchanged_columns")
_ALIKE_AUDIT = ("group_sizes", "k_anonymity_of_keys", "unchanged_columns")
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
    apart = [name for name, column in declared.items() if column.missing == "own_group"]
    tuples = params.method == "mdav_swap" and len(named(declared, "confidential")) > 1
    parameters: dict[str, Any] = {
        "method": params.method,
        "k": params.k,
        "k_by_column": group_sizes(params, declared) if ranked else {},
        "scaling": "not used" if ranked else distances(params, declared),
        "ties": "broken at random" if swap else "broken by lowest source row",
        **({"groups": params.groups, "gain": str(params.gain)} if params.groups == "v_mdav" else {}),
        **({} if params.diversity is None else {"diversity": params.diversity}),
        **({} if params.sample is None else {"sample": str(params.sample)}),
    }
    statement, limits = _STATEMENT[params.method], _LIMITS[params.method]
    if params.diversity is not None:
        names = ", ".join(named(declared, "confidential"))
        statement = _DIVERSE[params.method].format(statement=statement, least=params.diversity, names=names)
        limits = tuple(_ONLY_DIFFERENT if limit == phrases.VALUES_DIFFER else limit for limit in limits)
    if params.sample is not None:
        statement += _SAMPLED.format(sample=in_words(params.sample))
    return Guarantee(
        model="prob_k" if swap else "k_anon",
        parameters=parameters,
        adjacency="permutation of the confidential values inside a group"
        if swap
        else "none: not a statement about neighbouring data sets",
        unit="row",
        statement=statement,
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
            *limits,
            *((_TUPLE_LIMIT,) if tuples else ()),
            *((_OWN_GROUP_LIMIT.format(", ".join(apart)),) if apart else ()),
        ),
        postprocessing="any",
        composes_with="nothing: a second release of the same records has no composition theorem",
        audit=(
            *(_SWAP_AUDIT if swap else _ALIKE_AUDIT),
            *(() if params.diversity is None else ("values_differ_in_groups",)),
        ),
    )


def released_columns(params: Params, declared: Declared) -> dict[str, Column]:
    """Return the columns of the output: all but identifiers. A centroid by taxonomy may be any of its concepts."""
    semantic = by_taxonomy(params, declared) if params.method == "mdav_id" else ()
    return {
        name: column.model_copy(update={"categories": candidates(column)}) if name in semantic else column
        for name, column in declared.items()
        if column.role != "identifier"
    }


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
        if params.method == "mdav_swap":
            labels = partition_in_random_order(columns, declared, params, randomness)
            order, starts = grouped(labels)
            source = permute_within(order, starts, randomness)
            for name in named(declared, "confidential"):
                released[name] = np.empty_like(columns[name])
                released[name][order] = columns[name][source]
                groups[name] = labels
        else:
            labels, semantic = partition(columns, declared, params), by_taxonomy(params, declared)
            for name in named(declared, "quasi_identifier", "weight"):
                values, column = columns[name], declared[name]
                released[name] = representative(values, column, name, labels, semantic=name in semantic)
                groups[name] = labels
    return Protected(released, guarantee, masked=tuple(groups), groups=groups)


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
