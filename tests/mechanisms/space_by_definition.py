"""Groups of records with taxonomies straight from their definitions, record by record: the second opinion."""

from __future__ import annotations

import math
from functools import cache


class Described:
    """Records as numbers and concepts; taxonomies as {child: [parents]} and the declared categories."""

    def __init__(self, numbers, categories, taxonomies, declared):
        self.numbers, self.categories = numbers, categories
        self.taxonomies, self.declared = taxonomies, declared
        self.score, self.diameter = cache(self._score), cache(self._diameter)
        self.candidates = cache(self._candidates)

    def above(self, which, concept):
        if concept is None:
            return {None}
        found = {concept}
        for parent in self.taxonomies[which][concept]:
            found |= self.above(which, parent)
        return found

    def _score(self, which, one, other):
        if (one is None) != (other is None):
            return self.diameter(which)
        first, second = self.above(which, one), self.above(which, other)
        return round(2**16 * math.log2(1 + len(first ^ second) / len(first | second)))

    def _diameter(self, which):
        known = self.declared[which]
        return max([1, *(self.score(which, x, y) for x in known for y in known)])

    def _candidates(self, which):
        """Declared categories, then the other concepts, leaves first, depth first by name; missing last."""
        known = list(self.declared[which])
        tree = dict(sorted(self.taxonomies[which].items()))
        inner = {parent for parents in tree.values() for parent in parents}
        met = []

        def visit(concept):
            if concept not in met:
                met.append(concept)
                for child in (child for child, parents in tree.items() if concept in parents):
                    visit(child)

        visit(next(concept for concept, parents in tree.items() if not parents))
        others = [c for c in met if c not in inner] + [c for c in met if c in inner]
        return [*known, *(c for c in others if c not in known), None]

    def central(self, which, rows):
        held = [self.categories[row][which] for row in rows]
        over = set().union(*(self.above(which, value) for value in held))
        return min(
            (candidate for candidate in self.candidates(which) if candidate in over),
            key=lambda candidate: sum(self.score(which, value, candidate) for value in held),
        )

    def row(self, row):
        return self.numbers[row], self.categories[row]

    def squared(self, row, place):
        numbers, concepts = place
        total = 0.0
        for x, y in zip(self.numbers[row], numbers, strict=True):
            total += (x - y) ** 2
        for which, concept in enumerate(concepts):
            score = self.score(which, self.categories[row][which], concept)
            total += (score / self.diameter(which)) ** 2
        return total

    def centre(self, rows, total):
        """`total`: the sums of numbers as they run."""
        concepts = tuple(self.central(which, rows) for which in range(len(self.taxonomies)))
        return tuple(x / len(rows) for x in total), concepts


def total_of(records, rows):
    total = [0.0] * len(records.numbers[0])
    for row in rows:
        total = [x + y for x, y in zip(total, records.numbers[row], strict=True)]
    return total


def farthest(records, left, place):
    return min(left, key=lambda row: (-records.squared(row, place), row))


def nearest(records, left, place, count):
    return sorted(left, key=lambda row: (records.squared(row, place), row))[:count]


def mdav_in_space_by_definition(records, k):
    left = list(range(len(records.categories)))
    labels, total, label = {}, total_of(records, left), 0

    def cluster(seed):
        nonlocal left, total, label
        others = [row for row in left if row != seed]
        members = sorted([seed, *nearest(records, others, records.row(seed), k - 1)])
        for row in members:
            total = [x - y for x, y in zip(total, records.numbers[row], strict=True)]
            labels[row] = label
        left = [row for row in left if row not in members]
        label += 1

    while len(left) >= 3 * k:
        first = farthest(records, left, records.centre(left, total))
        cluster(first)
        cluster(farthest(records, left, records.row(first)))
    if len(left) >= 2 * k:
        cluster(farthest(records, left, records.centre(left, total)))
    labels.update(dict.fromkeys(left, label))
    return [labels[row] for row in sorted(labels)]


def v_mdav_by_definition(records, k, gain):
    every = list(range(len(records.categories)))
    left, labels, label = list(every), {}, 0
    centre = records.centre(every, total_of(records, every))
    while len(left) >= k:
        seed = farthest(records, left, centre)
        left.remove(seed)
        group = [seed, *nearest(records, left, records.row(seed), k - 1)]
        left = [row for row in left if row not in group]
        while len(group) < 2 * k - 1 and left:
            inside = {row: min(records.squared(row, records.row(member)) for member in group) for row in left}
            best = min(left, key=lambda row: (inside[row], row))
            outside = min((records.squared(best, records.row(row)) for row in left if row != best), default=math.inf)
            if gain == 0 or not inside[best] < float(gain * gain) * outside:
                break
            group.append(best)
            left.remove(best)
        labels.update(dict.fromkeys(group, label))
        label += 1
    grouped = sorted(labels)
    for row in left:
        near = min(grouped, key=lambda other: (records.squared(other, records.row(row)), other))
        labels[row] = labels[near]
    return [labels[row] for row in every]
