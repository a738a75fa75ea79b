"""Distance-based record linkage: who can be found again by looking for the nearest original."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from penstock.measures.measurement import Measurement, MeasureUndefined
from penstock.measures.records.comparison import Comparison
from penstock.measures.rows import identical, numbers
from penstock.mechanisms.columns import Columns, Declared
from penstock.mechanisms.parallel import in_parallel
from penstock.mechanisms.points import points

__all__ = ["record_linkage"]

_LEAF = 8
_SHARES = 64


def record_linkage(pair: Comparison) -> Measurement:
    """Return the share of records that are linked to their own original by smallest distance.

        RL = (1/n) sum_j Pr(x'_j),   Pr(x'_j) = 1/|G_j| if x_j is in G_j, else 0

    G_j is the set of original records at minimum distance from the released record x'_j. Source:
    Soria-Comas, PhD thesis, section 6.4.2, there in percent, here a share between 0 and 1.

    Distance: Euclidean on values scaled by the declared domain, (x - low) / (high - low); ordinal
    code / (C - 1); two different nominal categories are 1 apart. Ties are exact: equal points have
    bit-equal distances.

    Attacker: holds every original record with all judged columns and takes the nearest one. Limits:
    an attacker who knows how the data were masked, or weighs columns differently, may do better; the
    unmasked columns, if judged, help the attacker, and which columns are judged decides the value.

    Method: no nearest neighbour is searched. Record j counts exactly when no original is strictly
    nearer than its own, so a k-d tree is asked only whether there is one inside a known radius.
    Identical originals and identical pairs are taken together first: cost follows distinct records.
    """
    from penstock.measures.kernels import build_tree, count_nearest

    complete = np.ones(pair.records, np.bool_)
    for name in pair.names:
        for side in (pair.original, pair.released):
            complete &= ~np.isnan(numbers(side[name], pair.declared[name], name))
    n = int(np.count_nonzero(complete))
    if n == 0:
        raise MeasureUndefined.at(
            "record_linkage", rule="needs a complete record", remedy="Judge fewer columns, or remove the gate."
        )
    original, numeric = _places(pair.original, pair.declared, pair.names, complete)
    released, _ = _places(pair.released, pair.declared, pair.names, complete)

    order, starts = identical(_bits(original))
    copies = np.diff(starts)
    distinct = np.ascontiguousarray(original[order[starts[:-1]]])
    which = np.empty(n, np.int64)
    which[order] = np.repeat(np.arange(len(copies)), copies)
    order, starts = identical([which, *_bits(released)])
    rows, times = order[starts[:-1]], np.diff(starts)

    depth = max(0, math.ceil(math.log2(len(distinct) / _LEAF)))
    came_from, borders, boxes = build_tree(distinct, numeric, depth)
    place = np.empty_like(came_from)
    place[came_from] = np.arange(len(place))
    own = place[which[rows]]
    near_together = np.argsort(own)  # neighbours in the tree are asked after one another, from the cache
    copies = copies[came_from]

    def search(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = count_nearest(
            distinct, copies, borders, boxes, numeric, released, rows[pairs], own[pairs]
        )
        return found

    counts = np.concatenate(in_parallel(search, np.array_split(near_together, _SHARES)))
    linked = counts > 0
    value = math.fsum((times[near_together][linked] / counts[linked]).tolist()) / n
    return Measurement(
        name="record_linkage",
        value=value,
        direction="lower_is_safer",
        n=n,
        columns=pair.names,
        attacker="holds every original record with all judged columns, takes the nearest",
        missing="records with a missing value on either side are left out, also as candidates",
    )


def _places(
    columns: Columns, declared: Declared, names: tuple[str, ...], complete: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], int]:
    """Return the scaled points of the complete records, and how many of their axes are numeric.

    Nominal columns stay one axis of codes, last: the search treats them as 0 or 1, which is their
    distance as scaled indicators without one axis per category.
    """
    kept = {name: columns[name] if complete.all() else columns[name][complete] for name in names}
    ordered = tuple(name for name in names if declared[name].type != "nominal")
    nominal = [numbers(kept[name], declared[name], name) for name in names if declared[name].type == "nominal"]
    scaled = [points(kept, declared, ordered, "domain")] if ordered else []
    places = np.column_stack([*scaled, *nominal]) if nominal else scaled[0]
    places += 0.0  # one zero, so that equal points have equal bits
    return np.ascontiguousarray(places), places.shape[1] - len(nominal)


def _bits(places: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    return [np.ascontiguousarray(column).view(np.int64) for column in places.T]
