"""Errors in chapter 3 of the thesis, each with a case that shows it."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

import numpy as np

from penstock.mechanisms.microaggregation import mdav
from penstock.reproduction.computed import chances_of_staying
from penstock.reproduction.errata.erratum import CounterExample, Erratum, found

__all__ = ["ERRATA"]

_SOURCE = "Thesis, chapter 3"
Values = tuple[int, ...]


def informed_intruder() -> CounterExample:
    """Return the chance that an intruder who knows one attribute finds a value of the other, over all data sets.

    Both attributes are permuted, each inside groups by the other one. The intruder knows the first attribute and sees
    both released columns; every order of the second is equally likely to him beforehand.
    """
    k, known, actual = 3, (1, 2, 3, 4, 5, 6), (1, 2, 6, 3, 4, 5)
    of_second = _groups(known, k)
    released = (actual, (2, 4, 5, 1, 6, 3))
    likely: dict[int, Fraction] = {}
    for candidate in permutations(sorted(actual)):
        chance = _chance(candidate, released[0], of_second) * _chance(known, released[1], _groups(candidate, k))
        likely[candidate[2]] = likely.get(candidate[2], Fraction(0)) + chance
    posterior = likely[actual[2]] / sum(likely.values())
    return found(
        "known (1, 2, 3, 4, 5, 6), hidden (1, 2, 6, 3, 4, 5), k = 3; released (2, 4, 5, 1, 6, 3) and the hidden column "
        "as it is: the hidden value of the third record",
        posterior > Fraction(1, k),
        promised_chance=Fraction(1, k),
        chance=posterior,
    )


def ties() -> CounterExample:
    """Return the largest chance of finding whose value is 2, with ties broken by place, and at random."""
    values, k = (1, 1, 1, 2), 2

    def largest(orders: tuple[Values, ...]) -> Fraction:
        """Return the largest posterior of any holder of the 2, over all releases; beforehand each is equally likely."""
        seen: dict[Values, dict[int, Fraction]] = {}
        for holder in range(4):
            data = tuple(2 if place == holder else 1 for place in range(4))
            for order in orders:
                ranked = sorted(range(4), key=lambda place: (data[place], order[place]))
                blocks = (ranked[:k], ranked[k:])
                for swapped in product(permutations(blocks[0]), permutations(blocks[1])):
                    out = list(data)
                    for block, drawn in zip(blocks, swapped, strict=True):
                        for place, origin in zip(block, drawn, strict=True):
                            out[place] = data[origin]
                    chances = seen.setdefault(tuple(out), {})
                    chances[holder] = chances.get(holder, Fraction(0)) + Fraction(1, len(orders))
        return max(max(chances.values()) / sum(chances.values()) for chances in seen.values())

    by_place, at_random = largest(((0, 1, 2, 3),)), largest(tuple(permutations(range(4))))
    return found(
        f"values {values}, k = {k}, permuted inside blocks of the sorted column: whose value was the 2",
        by_place > Fraction(1, k) >= at_random,
        promised_chance=Fraction(1, k),
        ties_by_place=by_place,
        ties_at_random=at_random,
    )


def _groups(values: Values, k: int) -> tuple[frozenset[int], ...]:
    labels = mdav(np.array(values, dtype=float)[:, np.newaxis], k)
    return tuple(frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels))


def _chance(values: Values, released: Values, groups: tuple[frozenset[int], ...]) -> Fraction:
    """Return the probability that values permuted inside groups come out like this."""
    chance = Fraction(1)
    for group in groups:
        members = sorted(group)
        orders = list(permutations([values[place] for place in members]))
        chance *= Fraction(orders.count(tuple(released[place] for place in members)), len(orders))
    return chance


def random_groups() -> CounterExample:
    """Return where a record comes to stand when groups are drawn at random, by all ways to draw and to permute them."""
    records, k = 4, 2
    chance = chances_of_staying(records, k)[0]
    return found(
        "four records, k = 2, by all groups and permutations: a record stands in its own place with this probability",
        chance == Fraction(1, k) > Fraction(1, records),
        promised_chance=Fraction(1, records),
        chance=chance,
    )


ERRATA = (
    Erratum(
        name="thesis-random-groups",
        source=_SOURCE,
        place="section 3.3.1",
        printed="random groups make the file probabilistically |T|-anonymous, as any two records may be swapped",
        right="a permutation inside any group of k leaves a record in its place with probability 1/k",
        counter_example=random_groups,
    ),
    Erratum(
        name="thesis-informed",
        source=_SOURCE,
        place="section 3.3.2",
        printed="permuting each attribute inside groups by all others protects against whoever knows all but one",
        right="the groups depend on the attribute that is hidden, and who was swapped with whom shows it",
        counter_example=informed_intruder,
    ),
    Erratum(
        name="thesis-ties",
        source=_SOURCE,
        place="section 3.3.3",
        printed="records are sorted by one attribute and permuted inside blocks of k; nothing is said of ties",
        right="ties must be broken at random, or their order tells who has the value next to them",
        counter_example=ties,
    ),
)
