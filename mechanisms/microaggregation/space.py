"""Records in a space with taxonomies: numbers as coordinates, categories by their semantic distance.

    d(x, y)^2 = sum over coordinates of (x_i - y_i)^2 + sum over taxonomies of (score(x_j, y_j) / D_j)^2            (1)
    D_j       = the largest score between two declared categories                                                    (2)
    centre    = the mean of each coordinate, and for each taxonomy the concept
                argmin over a in T(S) of the sum over x in S of score(x, a)                                          (3)
                T(S) = all that is above a value of S, itself included; ties by declared order, then that of concepts

score(x, a) = round(2^16 delta(x, a)) is that of penstock.mechanisms.taxonomy: (3) is decided by integers. A missing
value that counts as a category lies at distance 1 from all others, and nothing is above it.

Source: Soria-Comas 2013 (thesis), (6.4), (6.6), (6.7). Departures: D_j is the diameter, because delta between the
thesis' boundaries can be smaller than it. T(S) holds all concepts above a common one, too, but none of them is nearer
to any value of S: the more phi(a) lacks of what all of S share, the farther a is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.microaggregation.centroids import grouped
from penstock.mechanisms.microaggregation.mdav import require_group_size, running_sum
from penstock.mechanisms.taxonomy import generalisations, score_table

__all__ = ["MOST_PAIRS", "Concepts", "Space", "central_concepts", "concepts_of", "mdav_in_space", "plane", "v_mdav"]

# Categories times concepts: tables of a quarter of a gigabyte.
MOST_PAIRS = 2**24


@dataclass(frozen=True, slots=True)
class Concepts:
    """One taxonomy as tables with a row for each concept and a column for each category.

    scores: how far apart. squared: (scores / D)^2. above: whether the concept is above the category.
    own: the concept that is the category itself.
    """

    scores: NDArray[np.int64]
    squared: NDArray[np.float64]
    above: NDArray[np.bool_]
    own: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Space:
    """Records: a row of `coordinates` and a row of `codes`, one for each of `concepts`; either may have no column."""

    coordinates: NDArray[np.float64]
    codes: NDArray[np.int64]
    concepts: tuple[Concepts, ...]

    @property
    def records(self) -> int:
        return len(self.codes)

    @property
    def columns(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return coordinates and codes with a row for each column."""
        return np.ascontiguousarray(self.coordinates.T), np.ascontiguousarray(self.codes.T)

    def taken(self, rows: NDArray[np.int64]) -> Space:
        """Return these records in this order."""
        return Space(self.coordinates[rows], self.codes[rows], self.concepts)

    def squared_distances(self, to: tuple[NDArray[np.float64], Sequence[int]]) -> NDArray[np.float64]:
        """Return (1) from every record to a place, added up in the order of (1)."""
        coordinates, concepts = to
        total = np.zeros(self.records)
        for values, place in zip(self.coordinates.T, coordinates, strict=True):
            total += (values - place) ** 2
        for codes, own, tables in zip(self.codes.T, concepts, self.concepts, strict=True):
            total += tables.squared[own, codes]
        return total

    def centre(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], Sequence[int]]:
        """Return (3) of these records."""
        labels = np.zeros(len(rows), np.int64)
        found = [
            int(central_concepts(codes[rows], tables, labels)[0])
            for codes, tables in zip(self.codes.T, self.concepts, strict=True)
        ]
        return np.cumsum(self.coordinates[rows], axis=0)[-1] / len(rows), found


def plane(points: NDArray[np.float64]) -> Space:
    """Return points as records of a space without taxonomies."""
    return Space(points, np.empty((len(points), 0), np.int64), ())


def concepts_of(column: Column) -> Concepts:
    """Return the tables of a nominal column with a taxonomy; missing, where it is a category, is the last of both."""
    scores, above = score_table(column).T, generalisations(column).T
    categories = scores.shape[1]
    own = np.arange(categories)
    largest = int(scores[:categories].max())
    if column.missing == "category":
        largest = max(largest, 1)
        apart = np.full((len(scores) + 1, categories + 1), largest, np.int64)
        apart[:-1, :-1], apart[-1, -1] = scores, 0
        over = np.zeros(apart.shape, np.bool_)
        over[:-1, :-1], over[-1, -1] = above, True
        scores, above, own = apart, over, np.append(own, len(scores))
    squared = (scores / max(largest, 1)) ** 2
    return Concepts(np.ascontiguousarray(scores), squared, np.ascontiguousarray(above), own)


def central_concepts(codes: NDArray[np.int64], tables: Concepts, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (3) for every group 0..J-1 of records: the number of its concept."""
    order, starts = grouped(labels)
    found = np.empty(len(starts) - 1, np.int64)
    for group, (start, stop) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        held, counts = np.unique(codes[order[start:stop]], return_counts=True)
        total = tables.scores[:, held] @ counts
        candidates = np.flatnonzero(tables.above[:, held].any(axis=1))
        found[group] = candidates[total[candidates].argmin()]
    return found


def mdav_in_space(space: Space, k: int) -> NDArray[np.int64]:
    """Return the groups of MDAV (mdav.py) by (1), around (3): labels 0..J-1 in the order in which they are formed.

    Work is proportional to n u / k for u records that differ. The sums of coordinates run as in `mdav`, those of (3)
    are integers.
    """
    require_group_size(k, space.records, "points")
    from penstock.mechanisms.microaggregation._space_kernels import mdav_in_space_labels

    members, starts = _alike(space)
    one = space.taken(members[starts[:-1]])
    laid = _laid_out(space.concepts)
    labels: NDArray[np.int64] = mdav_in_space_labels(
        *one.columns,
        running_sum(space.coordinates.T),
        members,
        starts,
        laid.squared,
        laid.scores,
        laid.above,
        laid.first,
        laid.width,
        laid.offset,
        laid.own,
        laid.own_at,
        k,
    )
    return labels


def v_mdav(space: Space, k: int, gain: Fraction) -> NDArray[np.int64]:
    """Return groups of variable size: labels 0..J-1 in the order in which they are formed.

        while k records or more have no group:
            e = the one of them farthest from the centre of all records; a group of it and the k-1 nearest to it
            while the group has fewer than 2k-1 records:
                x = the record without a group that is nearest to a record of the group, at distance d_in
                d_out = the distance from x to the nearest other record without a group
                x joins if d_in < gain * d_out; else the group is closed
        each of the rest joins the group of the record nearest to it among those that had one

    So a group has k to 3k - 2 records. Work is proportional to n^2. Ties go to the lowest row.

    Source: Solanas & Martinez-Balleste 2006, "V-MDAV: a multivariate microaggregation with variable group size".
    What it leaves open is fixed here: which group is closest to one of the rest.
    """
    require_group_size(k, space.records, "points")
    from penstock.mechanisms.microaggregation._space_kernels import variable_labels

    laid = _laid_out(space.concepts)
    from_centre = space.squared_distances(space.centre(np.arange(space.records)))
    labels: NDArray[np.int64] = variable_labels(
        *space.columns,
        from_centre,
        laid.squared,
        laid.first,
        laid.width,
        laid.own,
        laid.own_at,
        k,
        float(gain * gain),
    )
    return labels


@dataclass(frozen=True, slots=True)
class _Laid:
    """Tables one behind the other, as the compiled loops read them."""

    squared: NDArray[np.float64]
    scores: NDArray[np.int64]
    above: NDArray[np.uint8]
    first: NDArray[np.int64]
    width: NDArray[np.int64]
    offset: NDArray[np.int64]
    own: NDArray[np.int64]
    own_at: NDArray[np.int64]


def _laid_out(concepts: Sequence[Concepts]) -> _Laid:
    def behind(arrays: Sequence[NDArray[Any]], kind: Any) -> NDArray[Any]:
        return np.concatenate([np.empty(0, kind), *(array.ravel().astype(kind) for array in arrays)])

    def begins(sizes: Sequence[int]) -> NDArray[np.int64]:
        return np.append(0, np.cumsum(np.array(sizes, np.int64)))

    return _Laid(
        squared=behind([tables.squared for tables in concepts], np.float64),
        scores=behind([tables.scores for tables in concepts], np.int64),
        above=behind([tables.above for tables in concepts], np.uint8),
        first=begins([tables.scores.size for tables in concepts]),
        width=np.array([tables.scores.shape[1] for tables in concepts], np.int64),
        offset=begins([len(tables.scores) for tables in concepts]),
        own=behind([tables.own for tables in concepts], np.int64),
        own_at=begins([len(tables.own) for tables in concepts]),
    )


def _alike(space: Space) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows so that equal records lie side by side, each by rising row, and where each one starts (and ends)."""
    columns = [*space.coordinates.T, *space.codes.T]
    order = np.lexsort(columns)
    differs = np.zeros(len(order), np.bool_)
    differs[:1] = True
    for values in columns:
        differs[1:] |= values[order[1:]] != values[order[:-1]]
    return order, np.append(np.flatnonzero(differs), len(order))
