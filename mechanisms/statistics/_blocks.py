"""The exponential mechanism over all points of a public grid, for scores that count records, drawn exactly.

    L(y) = number of records below y,   M(y) = number of records at y or below,   y = 0..R            (1)
    s(y) = max(q L(y) - above, below - q M(y), 0)                                                     (2)
    P(y) = e^(-s(y) / T) / sum over y' of e^(-s(y') / T),   T = 2 D / epsilon                         (3)
    |s(y) - s'(y)| <= D   for neighbours, at every y                                                  (4)

(4) makes (3) epsilon-differentially private (McSherry & Talwar 2007, Theorem 6). The caller chooses q and the two
targets, and proves (4): _quantiles.py, _extremes.py.

How (3) is drawn. Between two neighbouring values of the data s is constant. So the grid falls into blocks of N_j points
of one score s_j, at most two for each distinct value and one more, and a block has the weight
w_j = N_j e^(-(s_j - lowest) / T). Blocks are put in the order of their scores and, for U uniform on [0, 1), block j
is taken where

    w_1 + ... + w_(j-1)  <=  U (w_1 + w_2 + ...)  <  w_1 + ... + w_j                                  (5)

which happens with probability w_j / sum w; then one of its points, uniformly. U is read in words of 64 bits and the
weights are known between whole numbers (_decay.py). Where these do not settle (5) for every U that begins with the
words read, another word is read and the precision is raised. So the outcome is that of (5) for the one infinite U:
nothing is rounded, and looking closer changes no outcome. Blocks too unlikely to matter at a precision are not looked
at: they come last in the order, and an upper bound of their weight stands in for them. So blocks need not be listed
beyond a limit that is reached at the third word only, one draw in 2^60 or so; then all of them are made.

Utility. P(s(Y) >= lowest + T (ln(R + 1) + ln(1/gamma))) <= gamma                                    (6)

Source: McSherry & Talwar 2007 for (3) and (6); Smith 2011, "Privacy-preserving statistical estimation with optimal
convergence rates", for the blocks; the sampler is ours. Limits: the time of a draw depends on the data.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import ceil, log

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.noise.scale import require_epsilon
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.statistics._decay import Decay

__all__ = ["Blocks", "blocks_between", "blocks_of_counts", "draw_points", "limit_of", "score_reached"]

_WORD = 64


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks: the points first..first + length - 1 have this score (2); low scores come first.

    limit: blocks with scores up to so much above the lowest are listed, others need not be; `whole` lists all.
    """

    first: NDArray[np.int64]
    length: NDArray[np.int64]
    score: NDArray[np.int64]
    limit: int | None = None
    whole: Callable[[], Blocks] | None = None


def blocks_between(values: NDArray[np.int64], steps: int, q: int, above: int, below: int) -> Blocks:
    """Return the blocks of one group under (2), whose values are sorted and lie on the grid 0..steps."""
    if steps < 0 or (len(values) and not 0 <= values[0] <= values[-1] <= steps):
        raise ValueError("values lie on the grid, from 0 to its last step")
    return blocks_of_counts(*np.unique(values, return_counts=True), steps, q, above, below)


def blocks_of_counts(
    points: NDArray[np.int64],
    counts: NDArray[np.int64],
    steps: int,
    q: int,
    above: int,
    below: int,
    *,
    before: int = 0,
    outer: tuple[int, int] | None = None,
) -> Blocks:
    """Return the same for the points of the grid at which records lie, rising, and how many lie at each.

    before, outer: for some of the points in a row only, the number of records before them, and the points next to them.
    """
    upto = q * (before + np.append(0, np.cumsum(counts)))
    first_edge, last_edge = (-1, steps + 1) if outer is None else outer
    edges = np.concatenate([[first_edge], points, [last_edge]])
    first = np.concatenate([edges[:-1] + 1, points])
    length = np.concatenate([np.diff(edges) - 1, np.ones_like(points)])
    under, upon = np.concatenate([upto, upto[:-1]]), np.concatenate([upto, upto[1:]])  # q L and q M of each block
    score = np.maximum(np.maximum(under - above, below - upon), 0)
    order = np.argsort(score, kind="stable")
    order = order[length[order] > 0]
    return Blocks(first[order], length[order], score[order])


def draw_points(
    blocks: Iterable[Blocks], steps: int, sensitivity: int, epsilon: Fraction, randomness: Randomness
) -> NDArray[np.int64]:
    """Return one draw of (3) for each group, on the grid 0..steps; sensitivity: D of (4)."""
    weights = _Weights(2 * sensitivity / require_epsilon(epsilon))
    return np.array([_draw(group, weights, randomness, steps + 1) for group in blocks], dtype=np.int64)


def score_reached(steps: int, sensitivity: int, epsilon: Fraction, gamma: float) -> float:
    """Return T (ln(R + 1) + ln(1/gamma)) of (6)."""
    return 2 * sensitivity / float(epsilon) * (log(steps + 1) - log(gamma))


class _Weights:
    """e^(-v / T) to the precision that a given number of words of U calls for; shared by all groups."""

    def __init__(self, scale: Fraction) -> None:
        self._scale = scale
        self._decays: list[Decay] = []

    def to(self, words: int) -> tuple[Decay, int]:
        """Return the weights, and the score beyond which blocks are left out: at e^-64 of the best weight per word."""
        while len(self._decays) < words:
            # Two words more than U has, so that roundings seldom leave (5) open.
            self._decays.append(Decay(1 / self._scale, _WORD * (len(self._decays) + 3)))
        return self._decays[words - 1], ceil(self._scale * _WORD * words)


def limit_of(sensitivity: int, epsilon: Fraction) -> int:
    """Return up to which score above the lowest blocks must be listed for all draws of at most two words."""
    return ceil(2 * sensitivity / require_epsilon(epsilon) * _WORD * 2)


def _draw(blocks: Blocks, weights: _Weights, randomness: Randomness, points: int) -> int:
    first, length = _choose(blocks, weights, randomness, points)
    return first + _below(length, randomness)


def _choose(blocks: Blocks, weights: _Weights, randomness: Randomness, points: int) -> tuple[int, int]:
    """Return first point and length of the block of (5)."""
    u = words = 0
    while True:
        u = u << _WORD | int(randomness.words(1)[0])
        words += 1
        decay, reach = weights.to(words)
        if blocks.limit is not None and blocks.whole is not None and reach > blocks.limit:
            blocks = blocks.whole()
        excess = blocks.score - blocks.score[0]
        if blocks.limit is None:  # all are listed; else those that are not have a score beyond the limit
            reach = min(reach, int(excess[-1]))
        near = int(np.searchsorted(excess, reach, side="right"))
        lengths, bounds = blocks.length[:near].tolist(), [decay.at(v) for v in excess[:near].tolist()]
        at_least = list(accumulate(n * low for n, (low, _) in zip(lengths, bounds, strict=True)))
        at_most = list(accumulate(n * high for n, (_, high) in zip(lengths, bounds, strict=True)))
        beyond = (points - sum(lengths)) * decay.at(reach)[1]
        # U lies between u and u + 1, both divided by 2^(64 words).
        block = bisect_left(at_least, -(-(u + 1) * (at_most[-1] + beyond) >> _WORD * words))
        if block < near and (block == 0 or u * at_least[-1] >= at_most[block - 1] << _WORD * words):
            return int(blocks.first[block]), lengths[block]


def _below(bound: int, randomness: Randomness) -> int:
    """Draw uniformly on 0..bound-1, from the lowest bits of a word; draw again where they are too large."""
    mask = (1 << (bound - 1).bit_length()) - 1
    while True:
        value = int(randomness.words(1)[0]) & mask
        if value < bound:
            return value
