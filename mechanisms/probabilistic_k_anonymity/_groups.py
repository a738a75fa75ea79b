"""Groups of records with similar quasi-identifiers, and what stands for a group.

    scaling taxonomy    squared Euclidean distance of penstock.mechanisms.points, where the categories of a taxonomy are
                        as far apart as there (penstock.mechanisms.microaggregation.space)

Concepts may come out that are no declared category: how many records agree in what stands for a group does not depend
on what that is, and a concept above many values of a group can be nearer to all of them together than any one of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column, Columns, Declared, named
from penstock.mechanisms.microaggregation.centroids import centroid
from penstock.mechanisms.microaggregation.diverse import with_different_values
from penstock.mechanisms.microaggregation.mdav import mdav
from penstock.mechanisms.microaggregation.space import (
    Space,
    central_concepts,
    concepts_of,
    mdav_in_space,
    plane,
    v_mdav,
)
from penstock.mechanisms.permutation import permutation
from penstock.mechanisms.points import formulas, points
from penstock.mechanisms.probabilistic_k_anonymity._settings import Params, by_taxonomy
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.sound import is_missing
from penstock.mechanisms.taxonomy import candidates

__all__ = ["distances", "partition", "partition_in_random_order", "representative"]

_SEMANTIC = (
    "log2(1 + u / v) / D: of the v concepts above either of two categories, u are not above both; "
    "D is the largest log2(1 + u / v) of two declared categories"
)


def distances(params: Params, declared: Declared) -> dict[str, str]:
    """Return how each quasi-identifier is compared, in words for the reader of a promise."""
    keys = named(declared, "quasi_identifier")
    if params.scaling != "taxonomy":
        return formulas(declared, keys, params.scaling)
    return {**formulas(declared, keys, "domain"), **dict.fromkeys(by_taxonomy(params, declared), _SEMANTIC)}


def partition(columns: Columns, declared: Declared, params: Params) -> NDArray[np.int64]:
    """Return the group of every record; ties go to the lowest row."""
    space = _space(columns, declared, params)
    return _grouped(space, params, _confidential(columns, declared, params))


def partition_in_random_order(
    columns: Columns, declared: Declared, params: Params, randomness: Randomness
) -> NDArray[np.int64]:
    """Group shuffled records: ties go by row, and the source's order may follow confidential values."""
    space = _space(columns, declared, params)
    shuffled = permutation(space.records, randomness)
    confidential = {name: codes[shuffled] for name, codes in _confidential(columns, declared, params).items()}
    labels = np.empty(space.records, np.int64)
    labels[shuffled] = _grouped(space.taken(shuffled), params, confidential)
    return labels


def representative(
    values: NDArray[Any], column: Column, name: str, labels: NDArray[np.int64], *, semantic: bool
) -> NDArray[Any]:
    """Replace every value by that of its group; semantic: by the concept nearest to all of its group's values."""
    if not semantic:
        return centroid(values, column, name, labels)
    tables, codes = concepts_of(column), _categories(values, column, name)
    found = central_concepts(codes, tables, labels)[labels]
    known = candidates(column)
    if values.dtype.kind not in "iu":
        return np.take(np.array([*known, None], dtype=object), found)
    found[found == len(known)] = -1
    return found.astype(values.dtype if len(known) <= np.iinfo(values.dtype).max else np.int64)


def _grouped(space: Space, params: Params, confidential: Mapping[str, NDArray[np.int64]]) -> NDArray[np.int64]:
    if params.groups == "v_mdav":
        labels = v_mdav(space, params.k, params.gain or Fraction(0))
    else:
        labels = mdav_in_space(space, params.k) if space.concepts else mdav(space.coordinates, params.k)
    if params.diversity is None:
        return labels
    return with_different_values(labels, space, confidential, params.diversity)


def _confidential(columns: Columns, declared: Declared, params: Params) -> dict[str, NDArray[np.int64]]:
    """Return the values that must differ, as numbers; none where no diversity is asked for."""
    names = () if params.diversity is None else named(declared, "confidential")
    return {name: _numbered(columns[name], declared[name], name) for name in names}


def _space(columns: Columns, declared: Declared, params: Params) -> Space:
    keys = named(declared, "quasi_identifier")
    if params.scaling != "taxonomy":
        return plane(points(columns, declared, keys, params.scaling))
    semantic = by_taxonomy(params, declared)
    others = [name for name in keys if name not in semantic]
    codes = np.column_stack([_categories(columns[name], declared[name], name) for name in semantic])
    places = points(columns, declared, others, "domain") if others else np.empty((len(codes), 0))
    return Space(places, codes, tuple(concepts_of(declared[name]) for name in semantic))


def _categories(values: NDArray[Any], column: Column, name: str) -> NDArray[np.int64]:
    """Return codes of categories; missing, where it counts as one, comes after the declared ones."""
    codes = column.codes(values, name)
    return np.where(codes < 0, len(column.categories or ()), codes)


def _numbered(values: NDArray[Any], column: Column, name: str) -> NDArray[np.int64]:
    """Return a number for each different value, -1 where it is missing."""
    if not column.numeric:
        return column.codes(values, name)
    numbers: NDArray[np.int64] = np.unique(values, return_inverse=True)[1]
    return np.where(is_missing(values, column, name), -1, numbers)
