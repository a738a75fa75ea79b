"""At most so many records of each unit, chosen uniformly at random.

    put the records in uniform random order; of each unit keep the first c                     (1)

Every set of min(c, r) of a unit's r records is equally likely, independently for every unit. A unit that is replaced
changes nothing in what is kept of the others, so with c records at most a promise about one record, at loss epsilon / c
each, is a promise about the unit at loss epsilon (group privacy: Dwork & Roth 2014, Theorem 2.2).

Limits: a unit with more records than c is represented by fewer of them, which no estimate from the release can undo.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.microaggregation.ranking import stable_order
from penstock.mechanisms.permutation import permutation
from penstock.mechanisms.randomness import Randomness

__all__ = ["bounded"]


def bounded(units: NDArray[np.int64], most: int, randomness: Randomness) -> NDArray[np.int64]:
    """Return the rows that are kept by (1), rising; `units` says whose record each row is."""
    if most < 1:
        raise ValueError("at least one record of each unit is kept")
    shuffled = permutation(len(units), randomness)
    by_unit = shuffled[stable_order(units[shuffled])]
    along = units[by_unit]
    # A record is among the first `most` of its unit exactly if the record `most` places before it is another unit's.
    kept = np.ones(len(units), np.bool_)
    kept[most:] = along[most:] != along[:-most]
    return np.sort(by_unit[kept])
