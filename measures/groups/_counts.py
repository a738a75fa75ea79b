"""Records counted by group and bucket, in whole numbers.

    c_ij records of group i in bucket j,   k_i = sum_j c_ij,   n_j = sum_i c_ij,   N records                      (1)
    ratio = max over i, j of  max(c_ij N / (k_i n_j), k_i n_j / (c_ij N)),   infinite where a c_ij is 0           (2)

c_ij N / (k_i n_j) is the share of a bucket in a group over its share of all records. N is at most 10^8 or so: all
that is computed with arrays then fits into 64 bits, and what does not is computed with the integers of Python.

    after(r) = max over i, j of  max(min(c_ij, k_i - r) N / ((k_i - r) n_j), (k_i - r) n_j / ((c_ij - r) N))     (3)

is what (2) becomes for someone who knows the buckets of r other members of a group, where each known member was the
worst to know: infinite where r >= c_ij, because bucket j may then be used up. after(0) is (2).

Source: Soria-Comas 2013 (thesis), chapter 7; (3) is ours (docs/mechanisms/closeness.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = ["counts_of", "largest_after", "largest_ratio", "numbered"]

Integers = NDArray[np.int64]


def numbered(columns: Sequence[Integers]) -> tuple[Integers, tuple[Integers, ...]]:
    """Return for every record the number of its tuple in the lexicographic list of those that occur, and the list."""
    number = np.zeros_like(columns[0])
    for codes in columns:
        number = np.unique(number * (int(codes.max()) + 1) + codes, return_inverse=True)[1]
    holder = np.empty(int(number.max()) + 1, np.int64)
    holder[number] = np.arange(len(number))  # any one of the records that have it
    return number, tuple(codes[holder] for codes in columns)


def counts_of(group: Integers, bucket: Integers) -> Integers | None:
    """Return c_ij of (1), a row for each group; None where there are too few records for every c_ij to be above 0."""
    groups, buckets = int(group.max()) + 1, int(bucket.max()) + 1
    if groups * buckets > len(group):
        return None
    return np.bincount(group * buckets + bucket, minlength=groups * buckets).reshape(groups, buckets)


def largest_ratio(counts: Integers | None) -> Fraction | None:
    """(2) exactly, or None where it is infinite. Equal triples k_i, n_j, c_ij are looked at only once."""
    if counts is None or not bool(counts.all()):
        return None
    records = int(counts.sum())
    sizes, size = np.unique(counts.sum(axis=1), return_inverse=True)
    totals, total = np.unique(counts.sum(axis=0), return_inverse=True)
    base = int(counts.max()) + 1
    triples = (size[:, None] * len(totals) + total) * base + counts
    above, below = 1, 1
    for triple in np.unique(triples.ravel(), return_counts=True)[0].tolist():
        pair, count = divmod(triple, base)
        share, whole = count * records, int(sizes[pair // len(totals)]) * int(totals[pair % len(totals)])
        if max(share, whole) * below > above * min(share, whole):
            above, below = max(share, whole), min(share, whole)
    return Fraction(above, below)


def largest_after(counts: Integers | None, known: int) -> Fraction | None:
    """(3) exactly, or None where it is infinite; of the cells of equal k_i and n_j only the extreme ones are looked at.

    For these both quotients are largest where c_ij is largest or smallest.
    """
    if counts is None or bool((counts <= known).any()):
        return None
    records, sizes, totals = int(counts.sum()), counts.sum(axis=1), counts.sum(axis=0)
    most = Fraction(0)
    for size in np.unique(sizes).tolist():
        rows, left = counts[sizes == size], size - known
        for total, low, high in zip(totals.tolist(), rows.min(axis=0).tolist(), rows.max(axis=0).tolist(), strict=True):
            above = Fraction(min(high, left), left) / Fraction(total, records)
            below = Fraction(total, records) / Fraction(low - known, left)
            most = max(most, above, below)
    return most
