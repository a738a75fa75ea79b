"""Taxonomies of categories: how far two categories are apart, and how far one record can move a block's choice.

A taxonomy is a directed graph without cycles, {child: [parents]}; a concept may have several parents, and one, the
root, has none. phi(x) is the set of all concepts above x, x included.

    delta(x, y) = log2(1 + (|phi(x) u phi(y)| - |phi(x) n phi(y)|) / |phi(x) u phi(y)|)    in [0, 1]       (1)
    m(x)        = sum over y in the domain of delta(x, y)                                                   (2)
    bottom      = the x of largest m(x);   top = the x of largest delta(x, bottom)                          (3)

    score(x, a) = round(2^16 delta(x, a))                                                                   (4)
                  2^16 if x and a differ, for nominal categories without a taxonomy
                  |rank(x) - rank(a)| round(2^16 / (C - 1)), for C ordinal categories
    rho(x, y)   = max over candidates a of |score(x, a) - score(y, a)|                                      (5)

Scores are integers and a public function of the declared column: no float decides, and (5) counts the rounding of (4).
An ordinal step is rounded once, so that rho adds up along a line.

The exponential mechanism draws P(a) = w(a) / Z, w(a) = exp(-eps score_sum(a) / (2 S)), Z = sum of w. One record that
changes from x to y moves every score_sum(a) by at most rho(x, y), so w(a) and Z each change by a factor of at most
exp(eps rho(x, y) / (2 S)), and P(a) by at most exp(eps rho(x, y) / S). So the loss of one block is at most
eps rho(out, in) / S, and eps where S = max rho, the diameter.

Source: Soria-Comas 2013 (thesis), (6.1)-(6.3), (6.5), (6.6). Departures: the thesis takes delta(bottom, top) for the
sensitivity, which can be smaller than the diameter; sums and ties in (2) and (3) are those of the scores (4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from graphlib import CycleError, TopologicalSorter
from math import log2
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.refusal import Fault, SettingRefused

if TYPE_CHECKING:
    from penstock.mechanisms.columns import Column

__all__ = [
    "GRID",
    "MOST_ANCESTORS",
    "Taxonomy",
    "boundaries",
    "candidates",
    "generalisations",
    "marginality",
    "reach",
    "score_table",
]

GRID = 2**16
# The size of all phi together: 15 levels above 65,536 leaves. In a chain it grows with the square of its length.
MOST_ANCESTORS = 1_000_000


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """Concepts and what is above them.

    concepts: leaves first, then the others, both in depth-first order from the root: children in the order of
    the mapping, each concept where it is first met. So the code of a leaf is its code among all concepts.
    """

    parents: Mapping[str, Sequence[str]] = field(hash=False)
    concepts: tuple[str, ...] = field(init=False, repr=False)
    leaves: tuple[str, ...] = field(init=False, repr=False)
    _above: Mapping[str, frozenset[str]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        SettingRefused.raise_for(self.faults(self.parents))
        parents = {concept: tuple(above) for concept, above in self.parents.items()}
        inner = {parent for above in parents.values() for parent in above}
        met = _depth_first(parents)
        leaves = tuple(concept for concept in met if concept not in inner)
        above = _ancestors(parents)
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "leaves", leaves)
        object.__setattr__(self, "concepts", (*leaves, *(concept for concept in met if concept in inner)))
        object.__setattr__(self, "_above", above)

    @staticmethod
    def faults(parents: Mapping[str, Sequence[str]]) -> list[Fault]:
        """Return every reason why this is no taxonomy."""
        return _faults_of_names(parents) or _faults_of_graph(parents) or _faults_of_size(parents)

    def ancestors(self, concept: str) -> frozenset[str]:
        """Return phi: all that is above the concept, itself included."""
        return self._above[concept]

    def distance(self, one: str, other: str) -> float:
        """(1)."""
        first, second = self._above[one], self._above[other]
        return log2(1 + len(first ^ second) / len(first | second))

    def scores(self, rows: Sequence[str], columns: Sequence[str]) -> NDArray[np.int64]:
        """(4) for each concept in `rows` and each in `columns`."""
        above_rows, above_columns = self._membership(rows), self._membership(columns)
        # Counts far below 2^53, so floats hold them exactly.
        common = (above_rows @ above_columns.T).astype(np.int64)
        sizes = above_rows.sum(axis=1)[:, None] + above_columns.sum(axis=1)
        union = sizes.astype(np.int64) - common
        base = 2 * len(self.concepts) + 1
        pairs, place = np.unique((union - common) * base + union, return_inverse=True)
        found = np.array([_on_grid(*divmod(pair, base)) for pair in pairs.tolist()], np.int64)
        return found[place].reshape(union.shape)

    def _membership(self, concepts: Sequence[str]) -> NDArray[np.float64]:
        """Return one row for each concept: 1 for each concept of the taxonomy that is above it."""
        code = {concept: code for code, concept in enumerate(self.concepts)}
        above = np.zeros((len(concepts), len(code)))
        for row, concept in enumerate(concepts):
            above[row, [code[ancestor] for ancestor in self._above[concept]]] = 1
        return above


def candidates(column: Column) -> tuple[str | int, ...]:
    """Return what may come out: the declared categories, then every other concept of the taxonomy.

    So the code of a category is also its code as a candidate.
    """
    taxonomy = _taxonomy(column)
    known = _categories(column)
    return known if taxonomy is None else (*known, *(each for each in taxonomy.concepts if each not in set(known)))


def score_table(column: Column) -> NDArray[np.int64]:
    """(4): one row for each declared category, one column for each of `candidates`."""
    categories = _categories(column)
    taxonomy = _taxonomy(column)
    if taxonomy is not None:
        labels = [str(label) for label in candidates(column)]
        return taxonomy.scores(labels[: len(categories)], labels)
    ranks = np.arange(len(categories))
    apart: NDArray[np.int64] = np.abs(ranks[:, None] - ranks)
    if column.type == "nominal":
        return GRID * np.minimum(apart, 1)
    last = len(categories) - 1
    return apart * ((2 * GRID + last) // (2 * last))


def generalisations(column: Column) -> NDArray[np.bool_]:
    """Return one row for each declared category and one column for each of `candidates`: whether it is in phi."""
    taxonomy = _taxonomy(column)
    if taxonomy is None:
        raise ValueError("only a column with a taxonomy has concepts above its categories")
    place = {str(label): code for code, label in enumerate(candidates(column))}
    above = np.zeros((len(_categories(column)), len(place)), np.bool_)
    for row, label in enumerate(_categories(column)):
        above[row, [place[concept] for concept in taxonomy.ancestors(str(label))]] = True
    return above


def reach(scores: NDArray[np.int64]) -> NDArray[np.int64]:
    """(5) for every pair of rows of a score table; its maximum is the diameter."""
    return np.stack([np.abs(scores - row).max(axis=1) for row in scores])


def marginality(column: Column) -> NDArray[np.int64]:
    """(2) of every declared category among all of them, in units of 2^-16."""
    total: NDArray[np.int64] = _between_categories(column).sum(axis=1)
    return total


def boundaries(column: Column) -> tuple[int, int]:
    """(3) over the declared categories, as codes; the first of equals."""
    apart = _between_categories(column)
    bottom = int(apart.sum(axis=1).argmax())
    return bottom, int(apart[bottom].argmax())


def _between_categories(column: Column) -> NDArray[np.int64]:
    return score_table(column)[:, : len(_categories(column))]


def _categories(column: Column) -> tuple[str | int, ...]:
    if column.categories is None:
        raise ValueError("only a column with categories has distances between them")
    return column.categories


def _taxonomy(column: Column) -> Taxonomy | None:
    """Return the taxonomy sorted by name: a stored spec keeps no order of keys, and candidates must not need one."""
    return None if column.taxonomy is None else Taxonomy(dict(sorted(column.taxonomy.items())))


def _on_grid(apart: int, union: int) -> int:
    """round(2^16 log2(1 + apart / union)) in decimals, which are the same on every machine.

    There is no half to round: the logarithm of a fraction between 1 and 2 is irrational, 1 and 2 excepted.
    """
    with localcontext() as context:
        context.prec = 50
        return round(GRID * (Decimal(union + apart) / union).ln() / Decimal(2).ln())


def _ancestors(parents: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    """Return phi of every concept; of the first ones only, where all together are too many."""
    above: dict[str, frozenset[str]] = {}
    total = 0
    for concept in TopologicalSorter(parents).static_order():
        found = frozenset([concept]).union(*(above[parent] for parent in parents[concept]))
        total += len(found)
        if total > MOST_ANCESTORS:
            break
        above[concept] = found
    return above


def _depth_first(parents: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    children: dict[str, list[str]] = {concept: [] for concept in parents}
    waiting: list[str] = []
    for concept, above in parents.items():
        for parent in above:
            children[parent].append(concept)
        if not above:
            waiting.append(concept)
    met: dict[str, None] = {}
    while waiting:
        concept = waiting.pop()
        if concept not in met:
            met[concept] = None
            waiting += reversed(children[concept])
    return tuple(met)


def _faults_of_names(parents: Mapping[str, Sequence[str]]) -> list[Fault]:
    faults: list[Fault] = []
    for concept, above in parents.items():
        if not _is_name(concept):
            faults.append(
                Fault("taxonomy", "must name concepts by text that is not empty", "Name the concept.", repr(concept))
            )
        if not isinstance(above, list | tuple):
            faults.append(
                Fault("taxonomy", "must give parents as a list", "Write a list; the root has [].", repr(concept))
            )
        elif not all(_is_name(parent) for parent in above):
            rule = "must name parents by text that is not empty"
            faults.append(Fault("taxonomy", rule, "Name every parent.", repr(concept)))
    return faults


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(name.strip())


def _faults_of_graph(parents: Mapping[str, Sequence[str]]) -> list[Fault]:
    faults: list[Fault] = []
    for concept, above in parents.items():
        if concept in above:
            faults.append(
                Fault("taxonomy", "must not make a concept its own parent", "Remove it there.", repr(concept))
            )
        if len(set(above)) < len(above):
            faults.append(Fault("taxonomy", "must not list a parent twice", "Remove the repetition.", repr(concept)))
    inner = dict.fromkeys(parent for concept, above in parents.items() for parent in above if parent != concept)
    for parent in inner:
        if parent not in parents:
            rule = "must have every parent as a concept"
            faults.append(Fault("taxonomy", rule, "Add it with its own parents; the root has [].", repr(parent)))
    roots = sum(not above for above in parents.values())
    if roots != 1:
        rule = "must have exactly one concept, the root, without parents"
        faults.append(Fault("taxonomy", rule, "Put one concept above all others.", f"{roots} without parents"))
    try:
        TopologicalSorter({concept: set(above) - {concept} for concept, above in parents.items()}).prepare()
    except CycleError as error:
        faults.append(
            Fault("taxonomy", "must not put a concept above itself", "Break the circle.", repr(error.args[1]))
        )
    leaves = sum(concept not in inner for concept in parents)
    if leaves < 2:
        faults.append(
            Fault("taxonomy", "must have at least two leaves", "List every possible category.", f"{leaves} leaves")
        )
    return faults


def _faults_of_size(parents: Mapping[str, Sequence[str]]) -> list[Fault]:
    """Return faults of size; count first as if no two parents shared anything above, quickly and never too low."""
    most: dict[str, int] = {}
    for concept in TopologicalSorter(parents).static_order():
        most[concept] = min(MOST_ANCESTORS + 1, 1 + sum(most[parent] for parent in parents[concept]))
    if sum(most.values()) <= MOST_ANCESTORS or len(_ancestors(parents)) == len(parents):
        return []
    rule = f"must have at most {MOST_ANCESTORS:,} concepts above others in all"
    return [Fault("taxonomy", rule, "Leave out levels.", f"{len(parents):,} concepts")]
