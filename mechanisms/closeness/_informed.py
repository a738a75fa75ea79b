"""What someone learns who knows the buckets of some members of a group, besides all that is published.

Group i has k_i records, c_ij of them in bucket j, which has n_j of all N. Someone who knows the buckets of r members,
r_j of them in bucket j, and holds the others interchangeable, believes of each other member

    p(j | known) = (c_ij - r_j) / (k_i - r),   sum of r_j = r,   r_j <= c_ij                                    (1)

    up_ij(r)   = min(c_ij, k_i - r) / (k_i - r)  N / n_j        as many of the r as can be known in other buckets
    down_ij(r) = (k_i - r) / (c_ij - r)  n_j / N                all r known in this one; no bound where r >= c_ij
    F(r)       = max over i and j of up_ij(r) and down_ij(r)                                                      (2)

Theorem. For an intruder who believes q_j = n_j / N of everyone beforehand, holds the members of a group interchangeable
and knows the buckets of at most r others, posterior over prior lies in [1 / F(r), F(r)], and one of the bounds is
reached for some r members of some group. F(0) is the closeness ratio, F never falls, and it has no bound from
r = min c_ij on: then a bucket may be excluded with certainty.
Proof. Given the table, all ways to deal a group's buckets to its members have the same prior probability, the product
of q_j over the table; so members that are not known are a uniformly random arrangement of what is left, which is (1).
r_j is at most min(r, c_ij) and at least max(0, r - (k_i - c_ij)); at the ends (1) is as in (2), and both occur. Members
of other groups tell nothing, as the table is fixed. As r grows, min(c, k - r) / (k - r) and (k - r) / (c - r) do not
fall, because c <= k. ∎

Where groups are secret (`permuted`), which members share a group is known to nobody: beliefs are then averages of (1)
over what may be, with s <= r known members in the group of the one in question, and stay within F(r). They reach it
where the quasi-identifiers give groups away. The counts are no secret there: they follow from the sizes of buckets, k
and t, which are published (_allotment.py), and so does F.

Source: Soria-Comas 2013 (thesis), section 7.3.2, which names this intruder and the two ends, nobody and all but one
known; (1), (2), theorem and proof are ours. Departure: hidden groups are not said to protect as if k were N, because
quasi-identifiers may give groups away.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_KNOWN", "after_known"]

# So many known members are listed; whoever needs more has the counts, or the measure.
MOST_KNOWN = 20

_Cells = list[tuple[int, int, int]]


def after_known(columns: Sequence[str], counts: NDArray[np.int64]) -> dict[str, Any]:
    """Return F of (2) for 0, 1, .. known members as public data, as far as it has a bound.

    unbounded_from: from how many known members on a bucket may be excluded with certainty.
    """
    first = int(counts.min())
    cells = _cells(counts)
    factors = [str(_factor(cells, int(counts.sum()), known)) for known in range(min(first, MOST_KNOWN))]
    return {"columns": list(columns), "factors": factors, "unbounded_from": first}


def _cells(counts: NDArray[np.int64]) -> _Cells:
    """Return k_i, n_j, c_ij of every cell, equal ones once."""
    sizes, size = np.unique(counts.sum(axis=1), return_inverse=True)
    totals, b, base = counts.sum(axis=0).tolist(), counts.shape[1], int(counts.max()) + 1
    keys = np.unique((size[:, None] * b + np.arange(b)) * base + counts).tolist()
    return [(int(sizes[key // base // b]), totals[key // base % b], key % base) for key in keys]


def _factor(cells: _Cells, records: int, known: int) -> Fraction:
    """(2), exactly, for fewer known members than any cell has."""
    most = Fraction(1)
    for size, total, count in cells:
        left = size - known
        up = Fraction(min(count, left) * records, left * total)
        down = Fraction(left * total, (count - known) * records)
        most = max(most, up, down)
    return most
