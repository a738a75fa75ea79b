"""What a released file tells about the confidential values of somebody who is known to be in a class of records.

Classes are those of `classes`: the group in which a column was permuted, otherwise the records of equal released
quasi-identifiers. The value is that of the worst column; by_column tells them apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.measures.asked import NOTHING, Asked
from penstock.measures.measurement import Direction, Measurement
from penstock.measures.records._earth_mover import farthest
from penstock.measures.records.classes import Classes, classes_of, codes_of
from penstock.measures.records.comparison import Comparison
from penstock.measures.sorted_groups import grouping
from penstock.mechanisms.columns import Declared, named
from penstock.mechanisms.numbers.rounding import not_below
from penstock.mechanisms.refusal import Fault

__all__ = [
    "emd_closeness",
    "entropy_l_diversity",
    "l_diversity",
    "needs_confidential",
    "needs_tree",
    "value_probability",
]

Integers = NDArray[np.int64]

_TREE = "must be given only where a confidential column has a taxonomy"
_ONE_PARENT = "must be given only where no concept above a confidential column has two parents"
_MISSING = "missing is a value; records without one under own_group are left out of their column"


def l_diversity(pair: Comparison) -> Measurement:
    """Return the fewest different confidential values in a class of records.

        min over confidential columns and classes of |{v : c_v > 0}|,   c_v records of the class have the value v

    Attacker: knows all quasi-identifiers of a record, or its group where values were permuted, and so its class.
    Source: Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam 2007, distinct l-diversity. Limits: different is not
    far apart, and one value may have nearly the whole class; see own_value_probability and emd_closeness.
    """
    parts, fewest = {}, pair.records
    for found in classes_of(pair, "l_diversity"):
        _, released = codes_of(pair, found)
        groups = grouping(found.labels)
        blocks = groups.matrices(groups.sorted(released))
        parts[found.name] = float(min(1 + int((each[:, 1:] != each[:, :-1]).sum(axis=1).min()) for each in blocks))
        fewest = min(fewest, found.records)
    return _measured("l_diversity", "higher_is_safer", parts, fewest, "and excludes values")


def entropy_l_diversity(pair: Comparison) -> Measurement:
    """Return the fewest confidential values in a class, each counted by how often it occurs.

        min over confidential columns and classes of exp(H),   H = - sum_v (c_v / g) ln(c_v / g),   g in the class

    It is the number of values if all are equally frequent, and less otherwise. Rounded down. Attacker: as of
    l_diversity, who guesses the frequent values. Source: Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam 2007,
    entropy l-diversity: H >= ln l. Limits: different is not far apart.
    """
    parts, fewest = {}, pair.records
    for found in classes_of(pair, "entropy_l_diversity"):
        _, released = codes_of(pair, found)
        groups = grouping(found.labels)
        parts[found.name] = min(map(_least_effective, groups.matrices(groups.sorted(released))))
        fewest = min(fewest, found.records)
    return _measured("entropy_l_diversity", "higher_is_safer", parts, fewest, "and guesses frequent values")


def emd_closeness(pair: Comparison, asked: Asked = NOTHING) -> Measurement:
    """Return how far the confidential values of a class are from those of all records, by the earth mover's distance.

        max over confidential columns and classes of EMD(P, Q),   P in the class, Q among all records, EMD in [0, 1]

    The least work to turn P into Q, where moving a share by a distance is their product. Distances on the ground:

        numbers, ordinal   |i - j| / (m - 1) between the i-th and the j-th of the m values that occur
        nominal            1 between different categories
        with `scaling: taxonomy`, a nominal column whose taxonomy is a tree: height of the lowest concept above both,
        over the height of the root

    Exact in whole numbers and rounded up. Attacker: knows the class of a record, and the shares in the whole file,
    which are released. Source: Li, Li & Venkatasubramanian 2007, t-closeness; Soria-Comas 2013 (thesis), chapter 2.
    Limits: numbers are compared by rank, so the widths between them do not count; a class with the shares of the
    whole tells nothing by this measure, however few records it has.
    """
    parts, fewest = {}, pair.records
    for found in classes_of(pair, "emd_closeness"):
        _, released = codes_of(pair, found)
        distance = farthest(pair.declared[found.name], found, released, pair, by_taxonomy=asked.scaling == "taxonomy")
        parts[found.name] = not_below(distance)
        fewest = min(fewest, found.records)
    return _measured("emd_closeness", "lower_is_safer", parts, fewest, "and the shares in the whole file")


def needs_tree(asked: Asked, declared: Declared) -> Iterator[Fault]:
    """Yield a fault where distances by taxonomy are asked for, and no confidential column has one that is a tree."""
    taxonomies = [declared[name].taxonomy for name in named(declared, "confidential")]
    above = [parents for taxonomy in taxonomies if taxonomy is not None for parents in taxonomy.values()]
    if asked.scaling == "taxonomy" and not above:
        yield Fault("scaling", _TREE, "Declare its taxonomy, or remove this.", asked.scaling)
    elif asked.scaling == "taxonomy" and any(len(parents) > 1 for parents in above):
        remedy = "Remove this: then different categories are 1 apart, which is never less."
        yield Fault("scaling", _ONE_PARENT, remedy, asked.scaling)


def needs_confidential(asked: Asked, declared: Declared) -> Iterator[Fault]:
    """Yield a fault where confidential columns are asked about and there is none."""
    if asked.of == "confidential" and not named(declared, "confidential"):
        rule = "must be given only where there is a confidential column"
        yield Fault("of", rule, "Remove the gate, or declare one.", asked.of)


def value_probability(pair: Comparison) -> Measurement:
    """Return how well a confidential value is guessed from the class: see anonymity.own_value_probability."""
    parts, means, guesses, fewest = {}, {}, {}, pair.records
    for found in classes_of(pair, "own_value_probability"):
        largest, means[found.name], guesses[found.name] = _chances(found, *codes_of(pair, found))
        parts[found.name], fewest = not_below(largest), min(fewest, found.records)
    worst = max(parts, key=lambda name: (parts[name], means[name]))
    return Measurement(
        name="own_value_probability",
        value=parts[worst],
        direction="lower_is_safer",
        n=fewest,
        columns=tuple(parts),
        by_column=parts,
        attacker="knows the released quasi-identifiers of the record, or its group, and guesses a value of that class",
        missing=_MISSING,
        beside={"mean over records": means[worst], "guessing without the release": guesses[worst]},
    )


def _chances(found: Classes, original: Integers, released: Integers) -> tuple[Fraction, float, float]:
    """Return the largest and the mean share of a record's own value in its class, and the share of the most frequent
    value of all."""
    values = int(max(original.max(), released.max())) + 1
    pairs, times = np.unique(found.labels * values + released, return_counts=True)
    own = found.labels * values + original
    place = np.minimum(np.searchsorted(pairs, own), len(pairs) - 1)
    hits = np.where(pairs[place] == own, times[place], 0)
    sizes = np.bincount(found.labels)[found.labels]
    shares = hits / sizes
    best = int(shares.argmax())
    return (
        Fraction(int(hits[best]), int(sizes[best])),
        math.fsum(shares.tolist()) / len(shares),
        int(np.bincount(original).max()) / len(original),
    )


def _least_effective(block: Integers) -> float:
    """Return exp(H) of the worst row of a sorted block, rounded down; whole where all values are equally frequent."""
    rows, size = block.shape
    begins = np.ones(block.shape, np.bool_)
    np.not_equal(block[:, 1:], block[:, :-1], out=begins[:, 1:])
    places = np.flatnonzero(begins)
    runs, row = np.diff(places, append=block.size), places // size
    entropies = np.bincount(row, weights=runs * (math.log(size) - np.log(runs)), minlength=rows) / size
    kinds = np.bincount(row, minlength=rows)
    longest = np.maximum.reduceat(runs, np.flatnonzero(np.diff(row, prepend=-1)))
    return float(np.where(longest * kinds == size, kinds, np.exp(entropies) * (1 - 1e-12)).min())


def _measured(name: str, direction: Direction, parts: dict[str, float], n: int, knows: str) -> Measurement:
    worst = min if direction == "higher_is_safer" else max
    return Measurement(
        name=name,
        value=worst(parts.values()),
        direction=direction,
        n=n,
        columns=tuple(parts),
        by_column=parts,
        attacker=f"knows the released quasi-identifiers of the record, or its group, {knows}",
        missing=_MISSING,
    )
