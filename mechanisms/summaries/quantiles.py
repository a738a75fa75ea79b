"""Quantiles with differential privacy: the exponential mechanism over all points of the public grid, exactly.

    L(y) = number of records below y,   M(y) = number of records at y or below,   y = 0..R            (1)
    s(y) = max(q L(y) - p n, p n - q M(y), 0),   the share p/q of n records asked for                 (2)
    P(y) = e^(-s(y) / T) / sum over y' of e^(-s(y') / T),   T = 2 D / epsilon                         (3)
    |s(y) - s'(y)| <= D   for neighbours, at every y                                                  (4)

s / q counts the records by which y misses the rank p n / q: it is 0 on the quantile, and ties cost nothing. (4) makes
(3) epsilon-differentially private (McSherry & Talwar 2007, Theorem 6):

    replace      D = q: n stays, and L and M change by 1 at most; so do, times q, all three terms of (2)
    add_remove   D = max(p, q - p): a record more adds (0, 0), (0, 1) or (1, 1) to (L, M) and 1 to n, so the first
                 term changes by -p or q - p, the second by p or p - q, the third not at all

and the maximum of three terms changes by no more than the terms do. An empty group has s = 0: every point is as likely.

How (3) is drawn. Between two neighbouring values of the data s is constant. So the grid falls into blocks of N_j points
of one score s_j, at most two for each distinct value and one more, and a block has the weight
w_j = N_j e^(-(s_j - lowest) / T). Blocks are put in the order of their scores and, for U uniform on [0, 1), block j
is taken where

    w_1 + ... + w_(j-1)  <=  U (w_1 + w_2 + ...)  <  w_1 + ... + w_j                                  (5)

which happens with probability w_j / sum w; then one of its points, uniformly. U is read in words of 64 bits and the
weights are known between whole numbers (decay.py). Where these do not settle (5) for every U that begins with the words
read, another word is read and the precision is raised. So the outcome is that of (5) for the one infinite U: nothing
is rounded, and looking closer changes no outcome. Blocks too unlikely to matter at a precision are not looked at: they
come last in the order, and an upper bound of their weight stands in for them.

Source: McSherry & Talwar 2007 for (3); Smith 2011, "Privacy-preserving statistical estimation with optimal convergence
rates", for the blocks; score, proofs and sampler are ours.

Settings: public are the grid, the share, epsilon, and under `replace` the size of each group. Promise: epsilon for each
group; a record that may change its group touches two of them. Limits: the time of a draw depends on the data.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import ceil
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mechanisms.noise.scale import require_epsilon
from mechanisms.randomness import Randomness
from mechanisms.refusal import SettingRefused
from mechanisms.summaries.decay import Decay
from mechanisms.summaries.groups import SortedGroups

__all__ = ["MEDIAN", "Blocks", "blocks_by_score", "quantile", "score_sensitivity"]

MEDIAN = Fraction(1, 2)
# q times the number of records stays within 64 bits.
_LARGEST_DENOMINATOR = 10**6
_WORD = 64

Adjacency = Literal["replace", "add_remove"]


@dataclass(frozen=True, slots=True)
class Blocks:
    """The points first..first + length - 1 have this score (2); low scores come first."""

    first: NDArray[np.int64]
    length: NDArray[np.int64]
    score: NDArray[np.int64]


def quantile(
    groups: SortedGroups, steps: int, share: Fraction, epsilon: Fraction, adjacency: Adjacency, randomness: Randomness
) -> NDArray[np.int64]:
    """One draw of (3) for each group, on the grid 0..steps; share 1/2 is the median."""
    scale = 2 * score_sensitivity(share, adjacency) / require_epsilon(epsilon)
    weights = _Weights(scale)
    return np.array(
        [
            _draw(blocks_by_score(groups[group], steps, share), weights, randomness, steps + 1)
            for group in range(len(groups))
        ],
        dtype=np.int64,
    )


def score_sensitivity(share: Fraction, adjacency: Adjacency) -> int:
    """D of (4)."""
    p, q = _numerator_and_denominator(share)
    if adjacency == "replace":
        return q
    if adjacency == "add_remove":
        return max(p, q - p)
    raise SettingRefused.at(
        "adjacency", rule="replace or add_remove", got=adjacency, remedy="Name what neighbours differ in."
    )


def blocks_by_score(values: NDArray[np.int64], steps: int, share: Fraction) -> Blocks:
    """The blocks of one group, whose values are sorted and lie on the grid 0..steps."""
    if steps < 0 or (len(values) and not 0 <= values[0] <= values[-1] <= steps):
        raise ValueError("values lie on the grid, from 0 to its last step")
    p, q = _numerator_and_denominator(share)
    points, counts = np.unique(values, return_counts=True)
    upto = q * np.append(0, np.cumsum(counts))
    target = p * len(values)
    edges = np.concatenate([[-1], points, [steps + 1]])
    first = np.concatenate([edges[:-1] + 1, points])
    length = np.concatenate([np.diff(edges) - 1, np.ones_like(points)])
    on_points = np.maximum(np.maximum(upto[:-1] - target, target - upto[1:]), 0)
    score = np.concatenate([np.abs(upto - target), on_points])
    order = np.argsort(score, kind="stable")
    order = order[length[order] > 0]
    return Blocks(first[order], length[order], score[order])


def _numerator_and_denominator(share: Fraction) -> tuple[int, int]:
    if not isinstance(share, Fraction) or not 0 < share < 1 or share.denominator > _LARGEST_DENOMINATOR:
        raise SettingRefused.at(
            "share",
            rule="an exact fraction above 0 and below 1, with a denominator of at most 1,000,000",
            got=share,
            remedy="Write it as Fraction(1, 2).",
        )
    return int(share.numerator), int(share.denominator)


class _Weights:
    """e^(-v / T) to the precision that so many words of U call for; shared by all groups."""

    def __init__(self, scale: Fraction) -> None:
        self._scale = scale
        self._decays: list[Decay] = []

    def to(self, words: int) -> tuple[Decay, int]:
        """And the score beyond which blocks are not looked at, with e^-64 of the weight of the best for each word."""
        while len(self._decays) < words:
            # Two words more than U has, so that roundings seldom leave (5) open.
            self._decays.append(Decay(1 / self._scale, _WORD * (len(self._decays) + 3)))
        return self._decays[words - 1], ceil(self._scale * _WORD * words)


def _draw(blocks: Blocks, weights: _Weights, randomness: Randomness, points: int) -> int:
    block = _choose(blocks, weights, randomness, points)
    return int(blocks.first[block]) + _below(int(blocks.length[block]), randomness)


def _choose(blocks: Blocks, weights: _Weights, randomness: Randomness, points: int) -> int:
    """The block of (5)."""
    excess = blocks.score - blocks.score[0]
    u = words = 0
    while True:
        u = u << _WORD | int(randomness.words(1)[0])
        words += 1
        decay, reach = weights.to(words)
        reach = min(reach, int(excess[-1]))
        near = int(np.searchsorted(excess, reach, side="right"))
        lengths, bounds = blocks.length[:near].tolist(), [decay.at(v) for v in excess[:near].tolist()]
        at_least = list(accumulate(n * low for n, (low, _) in zip(lengths, bounds, strict=True)))
        at_most = list(accumulate(n * high for n, (_, high) in zip(lengths, bounds, strict=True)))
        beyond = (points - sum(lengths)) * decay.at(reach)[1]
        # U lies between u and u + 1, both divided by 2^(64 words).
        block = bisect_left(at_least, -(-(u + 1) * (at_most[-1] + beyond) >> _WORD * words))
        if block < near and (block == 0 or u * at_least[-1] >= at_most[block - 1] << _WORD * words):
            return block


def _below(bound: int, randomness: Randomness) -> int:
    """Uniform on 0..bound-1, from the lowest bits of a word; drawn again where they are too large."""
    mask = (1 << (bound - 1).bit_length()) - 1
    while True:
        value = int(randomness.words(1)[0]) & mask
        if value < bound:
            return value
