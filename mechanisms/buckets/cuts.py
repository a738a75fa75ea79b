"""Which bucket every record is in.

    numeric, ordinal    records sorted by value, cut at [i N / b], [x] = floor(x + 1/2); equal values in random order
    nominal             with a taxonomy: b runs of categories in its depth-first order with the least sum of squared
                        sizes, of equals those that cut between categories with the fewest common concepts;
                        without: categories by falling size, each to the bucket that is smallest by then
    several columns     clusters of [i N / b] - [(i - 1) N / b] records by MDAV on the columns

Sizes are equal but for rounding, except where categories are: a category stays in one bucket, so nominal buckets are as
equal as that allows, and there may be fewer of them. Buckets with the same label are one bucket; that keeps every
bound, because (a + c) / (b + d) lies between a / b and c / d.

Source: Soria-Comas 2013 (thesis), section 7.2.1; nominal and several columns are ours (its section 8.3 leaves them
open; microaggregation for several columns is suggested in 7.1.1).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechanisms.buckets.allotment import cut_points
from mechanisms.buckets.labels import Label, label_of
from mechanisms.columns import Column, Columns, Declared
from mechanisms.microaggregation.bucketed import bucketed_groups
from mechanisms.microaggregation.points import Scaling, points
from mechanisms.microaggregation.ranking import ranked_blocks
from mechanisms.permutation import permutation
from mechanisms.randomness import Randomness
from mechanisms.taxonomy import Taxonomy

__all__ = ["Buckets", "bucket_sizes", "bucketed", "category_runs", "numbers_of"]


@dataclass(frozen=True, slots=True)
class Buckets:
    """The bucket of every row, 0..b-1, and for each column its labels and the place of each bucket's among them."""

    of_row: NDArray[np.int64]
    labels: dict[str, tuple[str, ...]]
    places: dict[str, NDArray[np.int64]]

    @property
    def sizes(self) -> list[int]:
        return [int(size) for size in np.bincount(self.of_row)]


def bucketed(
    columns: Columns, declared: Declared, names: Sequence[str], b: int, k: int, scaling: Scaling, randomness: Randomness
) -> Buckets:
    """At most b buckets of the named columns together, with labels that k records stand behind."""
    values = {name: numbers_of(columns[name], declared[name], name) for name in names}
    records = len(values[names[0]])
    if len(names) > 1:
        of_row = _clusters(points(columns, declared, names, scaling), b, randomness)
    elif declared[names[0]].type == "nominal":
        of_row = category_runs(declared[names[0]], values[names[0]], b)
    else:
        order, _ = ranked_blocks(values[names[0]], records, randomness)
        of_row = np.empty(records, np.int64)
        of_row[order] = np.repeat(np.arange(b), np.diff(cut_points(records, b)))
    of_row = np.unique(of_row, return_inverse=True)[1]
    return _named(values, declared, of_row, k)


def bucket_sizes(columns: Columns, declared: Declared, names: Sequence[str], b: int) -> list[int]:
    """How many records so many buckets would have, if no two had the same label."""
    column = declared[names[0]]
    if len(names) > 1 or column.type != "nominal":
        sizes = np.diff(cut_points(len(columns[names[0]]), b))
    else:
        sizes = np.bincount(category_runs(column, column.codes(columns[names[0]], names[0]), b))
    return [int(size) for size in sizes if size]


def category_runs(column: Column, codes: NDArray[np.int64], b: int) -> NDArray[np.int64]:
    """The bucket of every row by its category."""
    sizes = np.bincount(codes, minlength=len(column.categories or ()))
    if column.taxonomy is None:
        return _balanced(sizes, b)[codes]
    categories = [str(category) for category in column.categories or ()]
    taxonomy = Taxonomy(dict(sorted(column.taxonomy.items())))
    place = {concept: place for place, concept in enumerate(taxonomy.concepts)}
    order = np.array(sorted(range(len(categories)), key=lambda code: place[categories[code]]))
    above = [taxonomy.ancestors(categories[code]) for code in order]
    common = np.array([0, *(len(x & y) for x, y in itertools.pairwise(above))])
    bucket = np.empty(len(categories), np.int64)
    bucket[order] = _runs(sizes[order], common, b)
    return bucket[codes]


def numbers_of(values: NDArray[Any], column: Column, name: str) -> NDArray[Any]:
    """Numbers as they are, categories as codes."""
    return values if column.numeric else column.codes(values, name)


def _clusters(places: NDArray[np.float64], b: int, randomness: Randomness) -> NDArray[np.int64]:
    """MDAV with given sizes, on shuffled records because it breaks ties by row."""
    shuffled = permutation(len(places), randomness)
    of_row = np.empty(len(places), np.int64)
    sizes = np.diff(cut_points(len(places), min(b, len(places))))[:, None]
    of_row[shuffled] = bucketed_groups(places[shuffled], np.zeros(len(places), np.int64), sizes)
    return of_row


def _balanced(sizes: NDArray[np.int64], b: int) -> NDArray[np.int64]:
    """Longest processing time first: each category to the bucket that is smallest by then."""
    filled = [0] * b
    bucket = np.empty(len(sizes), np.int64)
    for category in np.argsort(-sizes, kind="stable").tolist():
        smallest = filled.index(min(filled))
        bucket[category] = smallest
        filled[smallest] += int(sizes[category])
    return bucket


def _runs(sizes: NDArray[np.int64], common: NDArray[np.int64], b: int) -> NDArray[np.int64]:
    """The best b runs (fewer if fewer categories occur), by dynamic programming over the last cut.

    common: what a cut before each category parts, in concepts; it decides between equal sizes only.
    """
    m, total = len(sizes), int(sizes.sum())
    ends = np.append(0, np.cumsum(sizes)) / total
    apart = 1e-9 * common / (1 + common.max())
    run = np.maximum(ends[None, :] - ends[:, None], 0.0)  # run[i, j]: share of the categories i..j-1
    cost = np.where(run > 0, run**2, np.inf)
    b = min(b, int(np.count_nonzero(sizes)))
    best = cost[0]
    cuts: list[NDArray[np.int64]] = []
    for _ in range(b - 1):
        through = best[:m, None] + apart[:, None] + cost[:m]
        cuts.append(through.argmin(axis=0))
        best = through.min(axis=0)
    bucket = np.zeros(m, np.int64)
    end = m
    for number, cut in zip(range(b - 1, 0, -1), reversed(cuts), strict=True):
        start = int(cut[end])
        bucket[start:end] = number
        end = start
    return bucket


def _named(values: dict[str, NDArray[Any]], declared: Declared, of_row: NDArray[np.int64], k: int) -> Buckets:
    """Buckets with their labels, those with the same labels put together."""
    order = np.argsort(of_row.astype(np.int16), kind="stable")  # a radix sort
    starts = np.append(0, np.cumsum(np.bincount(of_row)))
    found: list[list[Label]] = []
    for name, numbers in values.items():
        ranked = np.sort(numbers)
        members = [numbers[order[start:stop]] for start, stop in itertools.pairwise(starts)]
        found.append([label_of(declared[name], ranked, each, k) for each in members])
    of_bucket = list(zip(*found, strict=True))
    different = list(dict.fromkeys(of_bucket))
    merged = np.array([different.index(each) for each in of_bucket])
    labels: dict[str, tuple[str, ...]] = {}
    places: dict[str, NDArray[np.int64]] = {}
    for column, name in enumerate(values):
        listed = sorted({each[column] for each in different})
        labels[name] = tuple(label.text for label in listed)
        places[name] = np.array([listed.index(each[column]) for each in different], np.int64)
    return Buckets(merged[of_row], labels, places)
