"""The worked examples of chapter 7 of the thesis: generalisation, Anatomy, buckets and closeness. No guarantee.

    closeness of counts c_ij = max over groups i, buckets j of r_ij and 1 / r_ij,   r_ij = c_ij N / (c_i. c_.j)   (1)
    masses of t + 1 buckets in a group:   t / (t + 1) of its own one,   1 / (t (t + 1)) of each other one         (2)
    the recipe for counts:   ceil(k_i p_j / t) of every other bucket, the rest of its own one                     (3)

Source: Soria-Comas 2013 (thesis), Definition 15, section 7.2.1, Table 7.6 and section 7.2.2. Why (3) is no release: it
looks at no bucket's total, so with 17 records and t = 2 a bucket is used up by the others and (1) is 51/25; and (2)
reaches t, which Definition 15 wants to be missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.closeness import Params, protect
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import Randomness

__all__ = [
    "closeness_of",
    "counts_by_the_recipe",
    "counts_of_a_release",
    "masses_of_a_range",
    "masses_of_buckets",
    "minimal_generalisations",
    "rounded_sizes",
]

Counts = NDArray[np.int64]
Fractions = NDArray[np.object_]


def closeness_of(counts: NDArray[np.int64] | NDArray[np.object_]) -> Fractions:
    """(1), the ratio r_ij or its inverse for each group and bucket; a bucket that a group lacks is refused."""
    exact = np.array([[Fraction(cell) for cell in row] for row in counts.tolist()], dtype=object)
    if (exact == 0).any():
        raise ValueError("a bucket that a group lacks makes closeness infinite")
    ratios = exact * exact.sum() / np.outer(exact.sum(axis=1), exact.sum(axis=0))
    further: Fractions = np.maximum(ratios, 1 / ratios)
    return further


def masses_of_buckets(t: Fraction) -> Fractions:
    """(2), a row for each group; t is whole."""
    buckets = int(t) + 1
    masses = np.full((buckets, buckets), 1 / (t * (t + 1)), dtype=object)
    masses[np.diag_indices(buckets)] = t / (t + 1)
    return masses


def masses_of_a_range(t: Fraction, buckets: int) -> Fractions:
    """Return the masses of equal buckets where the density is t in a middle range and 1 / t elsewhere."""
    width = (1 - 1 / t) / (t - 1 / t)
    low, high = (1 - width) / 2, (1 + width) / 2
    cuts = [Fraction(place, buckets) for place in range(buckets + 1)]
    inside = [max(Fraction(0), min(b, high) - max(a, low)) for a, b in pairwise(cuts)]
    return np.array([share * t + (Fraction(1, buckets) - share) / t for share in inside], dtype=object)


def rounded_sizes(records: int, parts: int) -> Counts:
    """Return the sizes between the cuts floor(i records / parts + 1/2)."""
    cuts = [floor(Fraction(place * records, parts) + Fraction(1, 2)) for place in range(parts + 1)]
    return np.array([upper - lower for lower, upper in pairwise(cuts)], dtype=np.int64)


def counts_by_the_recipe(records: int, t: Fraction) -> Counts:
    """(3) for as many groups as buckets, all of rounded sizes."""
    sizes = rounded_sizes(records, int(t) + 1)
    counts = np.array([[ceil(Fraction(int(i * j), records) / t) for j in sizes] for i in sizes], dtype=np.int64)
    counts[np.diag_indices(len(sizes))] += sizes - counts.sum(axis=1)
    return counts


def counts_of_a_release(records: int, t: Fraction, k: int, randomness: Randomness) -> Counts:
    """Return how many records of each bucket every group of a release of closeness has."""
    rows = np.arange(records, dtype=np.float64)
    declared = {
        "known": Column(role="quasi_identifier", type="continuous", domain=(0, records)),
        "value": Column(role="confidential", type="continuous", domain=(0, records)),
    }
    params = Params(method="buckets", output="anatomy", t=t, k=k)
    table = protect({"known": rows, "value": rows}, declared, params, randomness).linked["buckets"].columns
    counts = np.zeros((int(table["group"].max()), int(table["value"].max()) + 1), dtype=np.int64)
    counts[table["group"] - 1, table["value"]] = table["records"]
    return counts


def minimal_generalisations(hierarchies: Sequence[Sequence[Sequence[str]]], k: int) -> Counts:
    """Return the lowest levels at which one record in each combination of values is k-anonymous, one row each."""
    levels = list(product(*(range(len(hierarchy)) for hierarchy in hierarchies)))
    kept = [level for level in levels if _smallest_class(hierarchies, level) >= k]
    lowest = [level for level in kept if not any(other != level and _below(other, level) for other in kept)]
    return np.array(lowest, dtype=np.int64)


def _smallest_class(hierarchies: Sequence[Sequence[Sequence[str]]], levels: Sequence[int]) -> int:
    combined = list(product(*(hierarchy[level] for hierarchy, level in zip(hierarchies, levels, strict=True))))
    return min(combined.count(found) for found in combined)


def _below(one: Sequence[int], other: Sequence[int]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))
