"""Distance-based record linkage: who can be found again by looking for the nearest original."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from penstock.measures.asked import NOTHING, Asked
from penstock.measures.measurement import Measurement, MeasureUndefined
from penstock.measures.records.comparison import Comparison
from penstock.measures.records.distances import Places, complete_in, places, with_taxonomy
from penstock.measures.rows import identical
from penstock.mechanisms.parallel import in_parallel

__all__ = ["record_linkage"]

_LEAF = 8
_SHARES = 64


def record_linkage(pair: Comparison, asked: Asked = NOTHING) -> Measurement:
    """Return the share of records that are linked to their own original by smallest distance.

        RL = (1/n) sum_j Pr(x'_j),   Pr(x'_j) = 1/|G_j| if x_j is in G_j, else 0

    G_j is the set of original records at minimum distance from the released record x'_j. Source:
    Soria-Comas, PhD thesis, section 6.4.2, there in percent, here a share between 0 and 1.

    Distance: Euclidean on values scaled by the declared domain, (x - low) / (high - low); ordinal
    code / (C - 1); two different nominal categories are 1 apart, or as far as their taxonomy says, (6.6) of the thesis.
    Where a judged column has a taxonomy, both attackers are tried and the better one counts: a concept that stands
    for a leaf is nearer to it than other leaves are, so it links where 0 and 1 see no difference. With
    `scaling: taxonomy` only the one who uses it. Ties are exact: equal points have bit-equal distances.

    Attacker: holds every original record with all judged columns and takes the nearest one. Limits:
    an attacker who knows how the data were masked, or weighs columns differently, may do better; the
    unmasked columns, if judged, help the attacker, and which columns are judged decides the value. What follows from a
    part of the columns: see informed_linkage.

    Method: no nearest neighbour is searched. Record j counts exactly when no original is strictly
    nearer than its own, so a k-d tree is asked only whether there is one inside a known radius.
    Identical originals and identical pairs are taken together first: cost follows distinct records.
    """
    complete = complete_in(pair, pair.names)
    n = int(np.count_nonzero(complete))
    if n == 0:
        raise MeasureUndefined.at(
            "record_linkage", rule="needs a complete record", remedy="Judge fewer columns, or remove the gate."
        )
    has_taxonomy = bool(with_taxonomy(pair))
    if asked.scaling is None:
        shares = {"categories equal or different": _share(places(pair, pair.names, complete, by_taxonomy=False))}
    else:
        shares = {}
    if has_taxonomy:
        shares["categories by taxonomy"] = _share(places(pair, pair.names, complete, by_taxonomy=True))
    return Measurement(
        name="record_linkage",
        value=max(shares.values()),
        direction="lower_is_safer",
        n=n,
        columns=pair.names,
        attacker="holds every original record with all judged columns, takes the nearest",
        missing="records with a missing value on either side are left out, also as candidates",
        beside=shares if has_taxonomy else {},
    )


def _share(found: Places) -> float:
    """Return the share of records of which no original is nearer than their own, those at the same distance shared."""
    from penstock.measures.kernels import build_tree, count_nearest

    original, released, numeric = found.original, found.released, found.numeric
    n = len(original)
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
        nearest: NDArray[np.int64] = count_nearest(
            distinct, copies, borders, boxes, numeric, found.squares, released, rows[pairs], own[pairs]
        )
        return nearest

    counts = np.concatenate(in_parallel(search, np.array_split(near_together, _SHARES)))
    linked = counts > 0
    return math.fsum((times[near_together][linked] / counts[linked]).tolist()) / n


def _bits(places: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    return [np.ascontiguousarray(column).view(np.int64) for column in places.T]
