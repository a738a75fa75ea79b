"""Which records lie outside of what all others could make: whoever is one of them can claim to be like nobody else.

    v_r of a record r is outside    r is alone in its cell, or v_r < min v_s, or v_r > max v_s                      (1)

over all other records s of its cell. A bootstrap model compares data sets made of the actual records only. Take r away,
and no such data set has a value as far out as v_r in that cell; it is r alone that keeps the comparison, and the size
of the noise, where they are. Values that two records have are not outside.

Source: O'Keefe & Charest 2019, section 3.2: a person can claim the values of others in the data, and no other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["alone", "outside"]

Integers = NDArray[np.int64]
Places = NDArray[np.bool_]


def outside(values: Integers, places: Integers, order: Integers | None = None) -> Places:
    """Return (1) of every record; places: the cell of each, below 0 for none; order: by place, then value, if known."""
    found = np.zeros(len(values), np.bool_)
    order = np.lexsort((values, places)) if order is None else order
    order = order[places[order] >= 0]
    if not len(order):
        return found
    value, place = values[order], places[order]
    starts = np.append(True, place[1:] != place[:-1])
    ends = np.append(starts[1:], True)
    rises = np.append(value[1:] > value[:-1], True)  # of an end it is not looked at
    lowest = starts & (ends | rises)
    highest = ends & (starts | np.append(True, rises[:-1]))
    found[order] = lowest | highest
    return found


def alone(places: Integers, cells: int) -> Places:
    """Return which records are the only one of their cell."""
    counts = np.bincount(places[places >= 0], minlength=cells)
    found = places >= 0
    found[found] = counts[places[found]] == 1
    return found
