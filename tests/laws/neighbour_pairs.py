"""Neighbours on which chapter 6 of the thesis breaks its promise, each with an event fixed in advance.

A case is a pair of data sets that differ in one record, an event, and the sampler that the thesis describes. A
corrected mechanism is audited on the same pair and event by passing its own sampler to `Case.audited`.

Outcomes are released rows in the units of the data, an array (trials, records, attributes). Some events ask
for rows by their place: OWN_ROW takes them in source order, SMALLEST_ROWS and RANKED_ROWS in any order, the
others block by block. Clamping rows to the unit cube changes no event but that of RANKED_ROWS, which compares
rows exactly.

Source: Soria-Comas 2013 (thesis), Algorithm 6.2 and section 6.4.1, for the calibrations; pairs and events are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.laws.auditor import audit

TRIALS = 200_000

Sampler = Callable[["Case", np.ndarray, int, np.random.Generator], np.ndarray]


@dataclass(frozen=True, eq=False)
class Case:
    """exact: the loss of the wrong sampler on this pair. measured: about what an audit of 200,000 trials proves."""

    first: np.ndarray
    second: np.ndarray
    k: int
    epsilon: float
    event: Callable[[np.ndarray], np.ndarray]
    wrong: Sampler
    exact: float
    measured: float

    def audited(self, sampler: Sampler, seed: int = 1) -> float:
        """The privacy loss that the outcomes of a sampler prove."""
        chance = np.random.default_rng(seed).spawn(2)
        return audit(
            lambda count: sampler(self, self.first, count, chance[0]),
            lambda count: sampler(self, self.second, count, chance[1]),
            self.event,
            TRIALS,
        )


def block_means(data, order, k):
    """One row a block along the order; the pairs below divide by k."""
    return data[order].reshape(-1, k, data.shape[1]).mean(axis=1)


def _rising(data):
    return np.argsort(data[:, 0], kind="stable")


def noise_on_every_record(case, data, trials, rng):
    """Laplace(1 / (k epsilon)) on every record's group mean; rows in source order."""
    rows = np.empty((trials, *data.shape))
    rows[:, _rising(data)] = noise_on_every_record_by_block(case, data, trials, rng)
    return rows


def noise_on_every_record_by_block(case, data, trials, rng):
    """The same rows block by block, without their source order."""
    rows = np.repeat(block_means(data, _rising(data), case.k), case.k, axis=0)
    return rows + rng.laplace(scale=1 / (case.k * case.epsilon), size=(trials, *data.shape))


def noise_on_every_record_shuffled(case, data, trials, rng):
    """The same rows of one column in random order."""
    return rng.permuted(noise_on_every_record_by_block(case, data, trials, rng), axis=1)


def _released_blocks(means, scale, k, trials, rng):
    """One draw a block and attribute, every block written k times."""
    return np.repeat(means + rng.laplace(scale=scale, size=(trials, *means.shape)), k, axis=1)


def _zeros_and_ones(k, attributes):
    """k records of ones and k of zeros, of which the last becomes ones.

    Equal records go by row, so the first of the ones fills the gap, and the record that changed joins the others.
    """
    first = np.repeat([1.0, 0.0], k)[:, np.newaxis] * np.ones(attributes)
    second = first.copy()
    second[-1] = 1.0
    return first, second


_K, _EPSILON = 5, 0.5
_ONE_COLUMN = _zeros_and_ones(_K, 1)

OWN_ROW = Case(
    *_ONE_COLUMN,
    k=_K,
    epsilon=_EPSILON,
    event=lambda rows: rows[:, -1, 0] <= 0,
    wrong=noise_on_every_record,
    exact=_K * _EPSILON,
    measured=2.45,
)

LOWER_BLOCK = Case(
    *_ONE_COLUMN,
    k=_K,
    epsilon=_EPSILON,
    event=lambda rows: (rows[:, :_K, 0] <= 0).all(axis=1),
    wrong=noise_on_every_record_by_block,
    exact=_K * _EPSILON,
    measured=2.30,
)

# The rows of the ones blur the event, so less is proven although the loss is the same.
SMALLEST_ROWS = Case(
    *_ONE_COLUMN,
    k=_K,
    epsilon=_EPSILON,
    event=lambda rows: (rows[:, :, 0] <= 0).sum(axis=1) >= _K,
    wrong=noise_on_every_record_shuffled,
    exact=_K * _EPSILON,
    measured=1.75,
)


def _corner_chain(blocks):
    """Pairs of records along rising distance from the origin; block minima alternate between two corners.

    Each block is a minimum near (1, 0) or (0, 1) and a record halfway between them. The first minimum leaves
    and becomes a record beyond all others, so every block loses its minimum and gains that of the next.
    """
    radius = 1 - 1e-9 * np.arange(2 * blocks + 1)[::-1]
    directions = np.tile([(1.0, 0.0), (0.5**0.5, 0.5**0.5), (0.0, 1.0), (0.5**0.5, 0.5**0.5)], (blocks, 1))
    chain = radius[:, np.newaxis] * directions[: 2 * blocks + 1]
    return chain[:-1], np.vstack([chain[-1:], chain[1:-1]])


def corner_means(data, k):
    return block_means(data, np.argsort((data**2).sum(axis=1)), k)


def one_step_for_all_blocks(case, data, trials, rng):
    """epsilon is split over the attributes, but the scale knows one block instead of all n / k."""
    attributes = data.shape[1]
    return _released_blocks(corner_means(data, case.k), attributes / (case.k * case.epsilon), case.k, trials, rng)


_BLOCKS = 10
_CHAIN = _corner_chain(_BLOCKS)
_CHAIN_MEANS = tuple(corner_means(data, 2) for data in _CHAIN)


def _likelier_on_the_first(rows):
    """Whether the log likelihood ratio of Laplace noise reaches 0.4 of its largest value, 1/2 for each of 20 means."""
    blocks = rows[:, ::2]
    ratio = np.abs(blocks - _CHAIN_MEANS[1]) - np.abs(blocks - _CHAIN_MEANS[0])
    return ratio.sum(axis=(1, 2)) >= 0.4 * _BLOCKS


CORNER_CHAIN = Case(
    *_CHAIN,
    k=2,
    epsilon=0.1,
    event=_likelier_on_the_first,
    wrong=one_step_for_all_blocks,
    exact=_BLOCKS * 0.1,
    measured=0.41,
)


def epsilon_for_every_attribute(case, data, trials, rng):
    """Laplace(1 / (k epsilon)) on every attribute of a block, as if each had an epsilon of its own."""
    return _released_blocks(block_means(data, _rising(data), case.k), 1 / (case.k * case.epsilon), case.k, trials, rng)


EVERY_ATTRIBUTE = Case(
    *_zeros_and_ones(_K, 4),
    k=_K,
    epsilon=_EPSILON,
    event=lambda rows: (rows[:, 0] <= 0).all(axis=1),
    wrong=epsilon_for_every_attribute,
    exact=4 * _EPSILON,
    measured=1.87,
)


def ranked_rows(case, data, trials, rng):
    """Every attribute ranked by itself, with noise for its share of epsilon; rows keep their values together."""
    attributes = data.shape[1]
    released = np.empty((trials, *data.shape))
    for place in range(attributes):
        column = data[:, [place]]
        means, scale = block_means(column, _rising(column), case.k), attributes / (case.k * case.epsilon)
        released[:, _rising(column), place] = _released_blocks(means, scale, case.k, trials, rng)[:, :, 0]
    return released


def distinct_rows(rows):
    """How many different rows each outcome has."""
    same = (rows[:, :, np.newaxis] == rows[:, np.newaxis]).all(axis=3)
    return (~np.tril(same, -1).any(axis=2)).sum(axis=1)


_RANKED = np.array([(0.0, 0.0), (0.1, 0.1), (0.8, 0.8), (0.9, 0.9)])

RANKED_ROWS = Case(
    first=_RANKED,
    second=np.vstack([[(0.0, 1.0)], _RANKED[1:]]),
    k=2,
    epsilon=1.0,
    event=lambda rows: distinct_rows(rows) == 2,
    wrong=ranked_rows,
    exact=math.inf,
    measured=9.8,
)

CASES = {
    "own row at most 0": OWN_ROW,
    "all rows of the lower block at most 0": LOWER_BLOCK,
    "k smallest of the shuffled rows at most 0": SMALLEST_ROWS,
    "alternating corner chain": CORNER_CHAIN,
    "epsilon for every attribute": EVERY_ATTRIBUTE,
    "rows of individual ranking": RANKED_ROWS,
}
