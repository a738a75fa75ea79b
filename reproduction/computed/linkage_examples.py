"""Who can be linked to whom: the worked examples of chapter 3 of the thesis. Reproduction, no guarantee.

    P(person i stands behind released record j) = sum over matchings with (i, j) / sum over all matchings          (1)

where a matching gives each of M released records a person of its own among N, and counts with the product of the
densities with which the masking turns each person into its record. Example 1 is (1) for M = 1, Example 2 for
N = M = 2, Example 3 is (1). Uniform permutations inside groups of k give 1/k inside a group and 0 outside.

Source: Soria-Comas 2013 (thesis), sections 3.1 to 3.3. Departure: section 3.3.1 says that groups drawn at random make
a file probabilistically |T|-anonymous. A uniform permutation leaves a record in its place with probability 1/k, in
whatever group it is, so the record that stands in a person's own place is right with probability 1/k, not 1/|T| (2).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations
from math import prod

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.microaggregation import mdav

__all__ = ["chances_of_linking", "chances_of_staying", "chances_told_by_groups", "shares_told"]


def chances_of_linking(densities: NDArray[np.object_]) -> NDArray[np.object_]:
    """(1): fractions, one row for each person and one column for each released record."""
    people, released = densities.shape
    found = np.full(densities.shape, Fraction(0), dtype=object)
    for matching in permutations(range(people), released):
        density = prod((densities[i, j] for j, i in enumerate(matching)), start=Fraction(1))
        for j, i in enumerate(matching):
            found[i, j] += density
    # Every matching has one person for record 0, so that column holds all of them.
    chances: NDArray[np.object_] = found / sum(found[:, 0])
    return chances


def chances_of_staying(records: int, k: int) -> NDArray[np.object_]:
    """(2) by all ways to draw two groups of k from 2k records and to permute them: where record 0 comes to stand."""
    if records != 2 * k:
        raise ValueError("two groups of k")
    counts = np.zeros(records, dtype=np.int64)
    for group in combinations(range(records), k):
        mates = group if 0 in group else tuple(sorted(set(range(records)) - set(group)))
        for permuted in permutations(mates):
            counts[permuted[mates.index(0)]] += 1
    return np.array([Fraction(int(count), int(counts.sum())) for count in counts], dtype=object)


def chances_told_by_groups(first: NDArray[np.int64], second: NDArray[np.int64], k: int) -> NDArray[np.object_]:
    """Return how sure an intruder may be of the first value of record 0, by every release of the second alone.

    The second attribute is permuted inside groups of k along the first; the intruder knows the second of everyone, sees
    both columns as released, the first permuted inside groups along the second, and counts the files that could give
    them. One entry for each release that can come out.
    """
    files = [np.array(values) for values in permutations(first.tolist())]
    releases = [_releases(values, second, k) for values in files]
    seen = sorted(releases[[values.tolist() for values in files].index(first.tolist())])
    chances = []
    for release in seen:
        weights = [share.get(release, Fraction(0)) for share in releases]
        right = sum(
            (weight for weight, values in zip(weights, files, strict=True) if values[0] == first[0]), Fraction(0)
        )
        chances.append(right / sum(weights))
    return np.array(chances, dtype=object)


def shares_told(quasi_identifiers: NDArray[np.float64], told: NDArray[np.int64], k: int) -> NDArray[np.object_]:
    """Return for each record the larger share of a yes or no in its group of k by MDAV."""
    labels = mdav(quasi_identifiers, k)
    yes, size = np.bincount(labels, weights=told), np.bincount(labels)
    shares = [Fraction(int(max(y, n - y)), int(n)) for y, n in zip(yes, size, strict=True)]
    return np.array([shares[label] for label in labels], dtype=object)


def _releases(first: NDArray[np.int64], second: NDArray[np.int64], k: int) -> dict[tuple[int, ...], Fraction]:
    """Return every release of the two columns, with its probability."""
    found: dict[tuple[int, ...], Fraction] = {}
    ways_first, ways_second = _permuted(first, second, k), _permuted(second, first, k)
    chance = Fraction(1, len(ways_first) * len(ways_second))
    for one in ways_first:
        for other in ways_second:
            found[(*one, *other)] = found.get((*one, *other), Fraction(0)) + chance
    return found


def _permuted(values: NDArray[np.int64], along: NDArray[np.int64], k: int) -> list[tuple[int, ...]]:
    """Return all ways to permute values inside groups of k along another column."""
    order = np.argsort(along, kind="stable")
    ways: list[dict[int, int]] = [{}]
    for start in range(0, len(values), k):
        rows = order[start : start + k].tolist()
        ways = [
            way | dict(zip(rows, values[list(permuted)].tolist(), strict=True))
            for way in ways
            for permuted in permutations(rows)
        ]
    return [tuple(way[row] for row in range(len(values))) for way in ways]
