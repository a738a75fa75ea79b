"""Which bucket every record is in.

    numeric, ordinal    records sorted by value, cut at [i N / b], [x] = floor(x + 1/2); equal values in random order
    nominal             with a taxonomy: b runs of categories in its depth-first order with the least sum of squared
                        sizes, of equals those that cut between categories with the fewest common concepts;
                        without: categories by falling size, each to the bucket that is smallest by then
    several columns     clusters of [i N / b] - [(i - 1) N / b] records by MDAV on the columns

Sizes are equal but for rounding, except where categories are: a category stays in one bucket, so nominal buckets are as
equal as that allows, and there are fewer of them where one would have fewer than k records. Buckets with the same label
are one bucket; that keeps every bound, because (a + c) / (b + d) lies between a / b and c / d.

Source: Soria-Comas 2013 (thesis), section 7.2.1; nominal and several columns are ours (its section 8.3 leaves them
open; microaggregation for several columns is suggested in 7.1.1).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.closeness._allotment import cut_points
from penstock.mechanisms.closeness._labels import Label, category_label, concept_names, interval_label, range_label
from penstock.mechanisms.columns import Column, Columns, Declared
from penstock.mechanisms.microaggregation.bucketed import bucketed_groups
from penstock.mechanisms.microaggregation.ranking import ranked_blocks
from penstock.mechanisms.permutation import permutation
from penstock.mechanisms.points import Scaling, points
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.taxonomy import Taxonomy

__all__ = ["Buckets", "bucket_sizes", "bucketed", "category_buckets", "numbers_of"]


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
    """Return at most b buckets of the named columns together, with labels that k records stand behind."""
    values = {name: numbers_of(columns[name], declared[name], name) for name in names}
    records = len(values[names[0]])
    name, column = names[0], declared[names[0]]
    if len(names) > 1:
        return _named(values, declared, _clusters(points(columns, declared, names, scaling), b, randomness), k)
    if column.type == "nominal":
        of_category = category_buckets(column, values[name], b, k)
        concepts = concept_names(column)
        found = [category_label(column, np.flatnonzero(of_category == each), concepts) for each in range(b)]
        return _merged({name: found}, of_category[values[name]])
    order, _ = ranked_blocks(values[name], records, randomness)
    of_row = np.empty(records, np.int64)
    of_row[order] = np.repeat(np.arange(b), np.diff(cut_points(records, b)))
    return _named(values, declared, of_row, k)


def bucket_sizes(columns: Columns, declared: Declared, names: Sequence[str], b: int, k: int) -> list[int]:
    """Return how many records each of b buckets would have, if no two had the same label."""
    column = declared[names[0]]
    if len(names) > 1 or column.type != "nominal":
        sizes = np.diff(cut_points(len(columns[names[0]]), b))
    else:
        codes = column.codes(columns[names[0]], names[0])
        sizes = np.bincount(category_buckets(column, codes, b, k)[codes])
    return [int(size) for size in sizes if size]


def category_buckets(column: Column, codes: NDArray[np.int64], b: int, k: int) -> NDArray[np.int64]:
    """Return the bucket of every declared category: as many buckets, up to b, as leave each with at least k records."""
    sizes = np.bincount(codes, minlength=len(column.categories or ()))
    divide = _by_taxonomy(column, sizes) if column.taxonomy is not None else lambda number: _balanced(sizes, number)
    for number in range(min(b, int(np.count_nonzero(sizes))), 1, -1):
        bucket = divide(number)
        if np.bincount(bucket, weights=sizes).min() >= k:
            return bucket
    return np.zeros(len(sizes), np.int64)


def _by_taxonomy(column: Column, sizes: NDArray[np.int64]) -> Callable[[int], NDArray[np.int64]]:
    """Return a function that divides the categories into a given number of runs along the taxonomy."""
    categories = [str(category) for category in column.categories or ()]
    taxonomy = Taxonomy(dict(sorted((column.taxonomy or {}).items())))
    place = {concept: place for place, concept in enumerate(taxonomy.concepts)}
    order = np.array(sorted(range(len(categories)), key=lambda code: place[categories[code]]))
    above = [taxonomy.ancestors(categories[code]) for code in order]
    common = np.array([0, *(len(x & y) for x, y in itertools.pairwise(above))])
    cuts = _best_cuts(sizes[order], common)

    def divide(number: int) -> NDArray[np.int64]:
        bucket = np.empty(len(categories), np.int64)
        bucket[order] = cuts(number)
        return bucket

    return divide


def numbers_of(values: NDArray[Any], column: Column, name: str) -> NDArray[Any]:
    """Return numbers as they are, categories as codes."""
    return values if column.numeric else column.codes(values, name)


def _clusters(places: NDArray[np.float64], b: int, randomness: Randomness) -> NDArray[np.int64]:
    """Cluster by MDAV with given sizes, on shuffled records because it breaks ties by row."""
    shuffled = permutation(len(places), randomness)
    of_row = np.empty(len(places), np.int64)
    sizes = np.diff(cut_points(len(places), min(b, len(places))))
    in_turn = sizes[permutation(len(sizes), randomness)]  # else the first, farthest cluster would have a known size
    of_row[shuffled] = bucketed_groups(places[shuffled], np.zeros(len(places), np.int64), in_turn[:, None])
    return of_row


def _balanced(sizes: NDArray[np.int64], b: int) -> NDArray[np.int64]:
    """Assign categories by falling size (longest processing time first), each to the bucket smallest by then."""
    filled = [0] * b
    bucket = np.empty(len(sizes), np.int64)
    for category in np.argsort(-sizes, kind="stable").tolist():
        smallest = filled.index(min(filled))
        bucket[category] = smallest
        filled[smallest] += int(sizes[category])
    return bucket


def _best_cuts(sizes: NDArray[np.int64], common: NDArray[np.int64]) -> Callable[[int], NDArray[np.int64]]:
    """Return a function that finds the best runs, given their number, by dynamic programming in whole numbers.

    common: how many concepts a cut before each category parts; it decides between equal sums of squares only.
    """
    m = len(sizes)
    weight = (m + 1) * (int(common.max()) + 1)  # more concepts than all cuts together part
    ends = [0, *itertools.accumulate(sizes.tolist())]
    exact = np.int64 if 2 * ends[-1] ** 2 * weight < 2**62 else object  # Python's integers have no limit
    none = 2 * ends[-1] ** 2 * weight
    run = np.maximum(
        np.subtract.outer(np.array(ends, exact), np.array(ends, exact)).T, 0
    )  # run[i, j]: categories i..j-1
    cost = np.where(run > 0, run * run * weight, none)
    best, cuts = [cost[0]], [np.zeros(m + 1, np.int64)]

    def divide(number: int) -> NDArray[np.int64]:
        while len(best) < number:
            through = best[-1][:m, None] + common[:, None] + cost[:m]
            cuts.append(through.argmin(axis=0))
            best.append(np.minimum(through.min(axis=0), none))
        bucket = np.zeros(m, np.int64)
        end = m
        for place in range(number - 1, 0, -1):
            start = int(cuts[place][end])
            bucket[start:end] = place
            end = start
        return bucket

    return divide


def _named(values: Mapping[str, NDArray[Any]], declared: Declared, of_row: NDArray[np.int64], k: int) -> Buckets:
    """Return buckets with labels of their members."""
    of_row = np.unique(of_row, return_inverse=True)[1]
    order = np.argsort(of_row.astype(np.int16), kind="stable")  # a radix sort
    starts = np.append(0, np.cumsum(np.bincount(of_row)))
    found: dict[str, list[Label]] = {}
    for name, numbers in values.items():
        column = declared[name]
        members = [numbers[order[start:stop]] for start, stop in itertools.pairwise(starts)]
        if column.numeric:
            ranked = np.sort(numbers)
            found[name] = [interval_label(column, ranked, each, k) for each in members]
            continue
        sizes = np.bincount(numbers, minlength=len(column.categories or ()))
        if column.type == "ordinal":
            found[name] = [range_label(column, sizes, each, k) for each in members]
        else:
            concepts, rare = concept_names(column), np.flatnonzero(sizes < k)
            found[name] = [category_label(column, {*each.tolist(), *rare.tolist()}, concepts) for each in members]
    return _merged(found, of_row)


def _merged(found: Mapping[str, list[Label]], of_row: NDArray[np.int64]) -> Buckets:
    """Merge buckets with the same labels and number them by label: the order of formation reveals values."""
    of_bucket = list(zip(*found.values(), strict=True))
    different = sorted({of_bucket[bucket] for bucket in np.unique(of_row)})
    number = {each: place for place, each in enumerate(different)}
    merged = np.array([number.get(each, -1) for each in of_bucket])  # -1 for buckets without a record
    labels: dict[str, tuple[str, ...]] = {}
    places: dict[str, NDArray[np.int64]] = {}
    for column, name in enumerate(found):
        listed = sorted({each[column] for each in different})
        labels[name] = tuple(label.text for label in listed)
        places[name] = np.array([listed.index(each[column]) for each in different], np.int64)
    return Buckets(merged[of_row], labels, places)
