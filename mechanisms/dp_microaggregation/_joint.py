"""Columns of categories that get one draw for a block together, because some combinations of them cannot be.

Columns that combinations link, also through others, are drawn together. Each column l has the score m_l(S, a) and the
scale s_l = 2 D_l / epsilon_l that it has by itself (_attributes, (2)). A candidate of all of them, a = (a_1, .., a_m),
is possible if some possible combination of declared categories is one of those that a stands for: itself, or, where
a_l is a concept of a taxonomy, any below it. With whole numbers c_l >= 1

    M(S, a) = sum of c_l m_l(S, a_l)                                                                              (1)
    s       = the largest c_l s_l                                                                                 (2)
    P(a)    ~ exp(-M(S, a) / s) where a is possible, and 0 elsewhere                                              (3)

Theorem. (a) No block comes back as an impossible combination, whatever the data are. (b) Under `replace` the draws of
all blocks together lose at most the sum of epsilon_l: no more than if the columns were drawn one by one.
Proof. (a) is (3). (b) The candidates, c_l and s depend on no data. If a block's record u is exchanged for v, m_l moves
by at most rho_l(u, v) for every candidate (mechanisms.taxonomy), so the weight of every possible a, and with it their
sum, by a factor of at most exp(sum of c_l rho_l / s), and P(a) by its square. The loss of that block is at most

    sum of 2 c_l rho_l(u, v) / s  <=  sum of 2 rho_l(u, v) / s_l  =  sum of epsilon_l rho_l(u, v) / D_l           (4)

by (2). Along the blocks rho_l adds up to at most D_l (orders, (1)), and so (4) to the sum of epsilon_l. ∎

So what is left out costs nothing: (3) is the law of separate draws, given that they are possible together. That is no
post-processing of such draws, and need not be, because (4) holds for every list of candidates.

Records may have an impossible combination. The promise is about them too, and nothing is refused because of the data.

c_l is proportional to 1 / s_l, rounded down, so that each column spends about its own share and never more.

    expected error of column l    mean over records x and combinations of P(a | block of x) delta(x_l, a_l)^2     (5)

(5) is in floats, for utility; no promise rests on it.

Source: Soria-Comas 2013 (thesis), section 6.3.4, for domains of valid combinations only. Ours: candidates
of all columns together, the scores (1), theorem and proof.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column, Declared
from penstock.mechanisms.combinations import Impossible, faults_of_each, linked, where_impossible
from penstock.mechanisms.dp_microaggregation._attributes import Attribute, Category
from penstock.mechanisms.dp_microaggregation.orders import Blocks
from penstock.mechanisms.noise import choose, scale_at_least
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.taxonomy import Taxonomy, candidates

__all__ = ["MOST_CANDIDATES", "Joint", "Linked", "combination_faults", "linked_columns"]

# Each has a score in every block, and is drawn by comparing it with the best: seconds for ten thousand blocks.
MOST_CANDIDATES = 4096
_FINE = 2**12
_LARGEST_SCORE = 2**62
# Scores that are held at a time.
_PORTION = 2**20

Levels = Sequence[NDArray[np.int64]]


def combination_faults(impossible: Impossible, declared: Declared, names: Sequence[str]) -> Iterator[Fault]:
    """Yield what is wrong with impossible combinations of these columns."""
    faults = list(faults_of_each(impossible, declared, names, alone=_alone))
    yield from faults
    for group in () if faults else linked(impossible, names):
        number = math.prod(len(candidates(declared[name])) for name in group)
        if number > MOST_CANDIDATES:
            most = f"at most {MOST_CANDIDATES:,} combinations, concepts of taxonomies included"
            rule = f"must link columns with {most}, not {', '.join(group)}"
            yield Fault("impossible", rule, "Group their categories, or link fewer columns.", f"{number:,}")
        elif where_impossible(group, impossible, declared).all():
            rule = f"must leave a combination of {', '.join(group)} that is possible"
            yield Fault("impossible", rule, "Remove a combination.")


def _alone(field: str) -> Fault:
    """Return what is said of a combination of one column."""
    rule = "must name at least two columns: a category that cannot occur at all need not be declared"
    return Fault(field, rule, "Name another column, or leave the category out of the declared ones.")


@dataclass(frozen=True, slots=True)
class Linked:
    """Columns that are drawn together: where they are among all, and what is possible, from their declaration alone.

    excluded: the impossible combinations of declared categories, one dimension for each column. possible: for each
    column the code of each possible combination of candidates; candidates: of how many. stated: what was declared
    impossible of these columns.
    """

    names: tuple[str, ...]
    places: tuple[int, ...]
    excluded: NDArray[np.bool_]
    possible: NDArray[np.int64]
    candidates: int
    stated: list[dict[str, list[str | int]]]

    def together(
        self,
        attributes: Sequence[Attribute],
        sensitivities: Sequence[int],
        epsilons: Sequence[Fraction],
        records: int,
    ) -> Joint:
        """Return how these columns are drawn, by (1) to (3)."""
        parts = [attribute for place in self.places if isinstance(attribute := attributes[place], Category)]
        alone = [
            part.scale(sensitivities[place], epsilons[place]) for part, place in zip(parts, self.places, strict=True)
        ]
        largest = records * sum(int(part.scores.max()) for part in parts)
        fine = max(1, min(_FINE, _LARGEST_SCORE // largest))
        weights = [max(1, math.floor(fine * min(alone) / scale)) for scale in alone]
        common = math.gcd(*weights)
        weights = [weight // common for weight in weights]
        wanted = max(weight * scale for weight, scale in zip(weights, alone, strict=True))
        return Joint(self, tuple(parts), tuple(weights), scale_at_least(1, 1 / wanted))

    def are_possible(self, levels: Levels) -> NDArray[np.bool_]:
        """Return which records, as levels of all columns, have a possible combination."""
        return ~self.excluded[tuple(levels[place] for place in self.places)]


@dataclass(frozen=True, slots=True)
class Joint:
    """How linked columns are drawn. weights: c_l. scale: s of (2), never too small."""

    linked: Linked
    parts: tuple[Category, ...]
    weights: tuple[int, ...]
    scale: Fraction

    @property
    def scales(self) -> dict[str, Fraction]:
        """Return the scale of each column: its score is divided by so much in (3)."""
        return {name: self.scale / weight for name, weight in zip(self.linked.names, self.weights, strict=True)}

    def draw(self, levels: Levels, blocks: Blocks, randomness: Randomness) -> dict[str, NDArray[np.int64]]:
        """(3): draw a possible combination for each block, as codes of candidates of each column."""
        counts = self._counts(levels, blocks)
        number, at_a_time = len(blocks.starts) - 1, max(1, _PORTION // self.linked.possible.shape[1])
        drawn = [
            choose(self._scores([each[start : start + at_a_time] for each in counts]), self.scale, randomness)
            for start in range(0, number, at_a_time)
        ]
        chosen = self.linked.possible[:, np.concatenate(drawn)]
        return dict(zip(self.linked.names, chosen, strict=True))

    def expected_errors(self, levels: Levels, blocks: Blocks, weight: float) -> list[float]:
        """Return the root of (5) of each column; each level given stands for `weight` records."""
        counts = self._counts(levels, blocks)
        at_a_time = max(1, _PORTION // self.linked.possible.shape[1])
        squares, records = np.zeros(len(self.parts)), 0
        for start in range(0, len(counts[0]), at_a_time):
            here = [each[start : start + at_a_time] for each in counts]
            totals = weight * self._scores(here)
            chances = np.exp(-(totals - totals.min(axis=1, keepdims=True)) / float(self.scale))
            chances /= chances.sum(axis=1, keepdims=True)
            for place, (part, held, codes) in enumerate(zip(self.parts, here, self.linked.possible, strict=True)):
                apart = held @ (part.scores / part.scores.max()) ** 2
                squares[place] += float((chances * apart[:, codes]).sum())
            records += int(here[0].sum())
        return [float(each) for each in np.sqrt(squares / records)]

    def facts(self) -> dict[str, Any]:
        """Return what is public about these draws beside the facts of each column.

        combinations: how many are possible. declared: how many of the candidates of a column, its first ones, are
        declared categories.
        """
        return {
            "columns": list(self.linked.names),
            "weights": dict(zip(self.linked.names, self.weights, strict=True)),
            "scale": str(self.scale),
            "combinations": self.linked.possible.shape[1],
            "declared": dict(zip(self.linked.names, self.linked.excluded.shape, strict=True)),
            "impossible": self.linked.stated,
        }

    def _counts(self, levels: Levels, blocks: Blocks) -> list[NDArray[np.int64]]:
        return [part.counts(levels[place], blocks) for part, place in zip(self.parts, self.linked.places, strict=True)]

    def _scores(self, counts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """(1) for every block and every possible combination."""
        total: NDArray[np.int64] = np.zeros((len(counts[0]), self.linked.possible.shape[1]), np.int64)
        for part, held, weight, codes in zip(self.parts, counts, self.weights, self.linked.possible, strict=True):
            total += weight * (held @ part.scores)[:, codes]
        return total


def linked_columns(impossible: Impossible, declared: Declared, names: Sequence[str]) -> tuple[Linked, ...]:
    """Return the columns that are drawn together; names: all columns, in their order."""
    return tuple(_linked(impossible, declared, names, group) for group in linked(impossible, names))


def _linked(impossible: Impossible, declared: Declared, names: Sequence[str], group: tuple[str, ...]) -> Linked:
    excluded = where_impossible(group, impossible, declared)
    stated = [
        {
            name: [each for each in declared[name].categories or () if str(each) in combination[name]]
            for name in group
            if name in combination
        }
        for combination in impossible
        if set(combination) <= set(group)
    ]
    found = _stood_for(~excluded, [declared[name] for name in group])
    places = tuple(names.index(name) for name in group)
    return Linked(group, places, excluded, np.array(np.nonzero(found), np.int64), found.size, stated)


def _stood_for(possible: NDArray[np.bool_], columns: Sequence[Column]) -> NDArray[np.bool_]:
    """Return which combinations of candidates are possible, one dimension for each column."""
    for axis, column in enumerate(columns):
        found = np.tensordot(_below(column), possible.astype(np.int64), (1, axis)) > 0
        possible = np.moveaxis(found, 0, axis)
    return possible


def _below(column: Column) -> NDArray[np.int64]:
    """Return for every candidate which declared categories it stands for: 1 for itself, and for each below it."""
    known = [str(category) for category in column.categories or ()]
    if column.taxonomy is None:
        return np.eye(len(known), dtype=np.int64)
    taxonomy = Taxonomy(column.taxonomy)
    above = [taxonomy.ancestors(category) for category in known]
    return np.array([[str(candidate) in each for each in above] for candidate in candidates(column)], np.int64)
