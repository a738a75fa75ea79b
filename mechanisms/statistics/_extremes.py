"""Largest and smallest values with differential privacy: the exponential mechanism over all points of the public grid.

    k-th largest     s(y) = max(#(> y) - (k - 1), k - #(>= y), 0)                                    (1)
    k-th smallest    s(y) = max(#(< y) - (k - 1), k - #(<= y), 0)                                    (2)
    |s(y) - s'(y)| <= 1   for neighbours, at every y                                                 (3)

y is the k-th largest value exactly if fewer than k records lie above it and at least k lie at it or above; s counts the
records by which y misses that, so it is 0 on the k-th largest value and there alone. A draw with probability
proportional to e^(-epsilon s(y) / 2) is epsilon-differentially private by (3) (_blocks.py).

Proof of (3). k is fixed. Adding a record changes #(> y) and #(>= y) by 0 or 1, removing one by 0 or -1, and replacing
one by -1, 0 or 1, because it leaves each set once at most and enters it once at most. So all three terms change by 1 at
most, and so does their maximum. (2) is (1) with the grid turned round.

With n records, L(y) of them below y and M(y) at y or below, (1) is max(L(y) - (n - k), n - k + 1 - M(y), 0) and (2) is
max(L(y) - (k - 1), k - M(y), 0): the score of rank r, r = n - k + 1 and r = k, in the form of _blocks.py.

An empty group has s = k everywhere: every point is as likely. Limits: above the maximum s = 1 only, so unless epsilon
exceeds about 2 ln(points above it), the answer lies anywhere above. That is not the mechanism's fault: one more record
may lie there, and must not show. A quantile near 1 rests on more records and is far more exact.

Source: McSherry & Talwar 2007 for the mechanism; score and proof are ours.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.statistics._blocks import Blocks, blocks_between, draw_points
from penstock.mechanisms.statistics._groups import SortedGroups

__all__ = ["SCORE_SENSITIVITY", "blocks_at_rank", "kth_largest", "kth_smallest"]

# (3), whether records are added, removed or replaced.
SCORE_SENSITIVITY = 1


def kth_largest(
    groups: SortedGroups, steps: int, k: int, epsilon: Fraction, randomness: Randomness
) -> NDArray[np.int64]:
    """Return one draw for each group, on the grid 0..steps; k = 1 is the maximum."""
    return _at_ranks(groups, steps, groups.sizes - k + 1, epsilon, randomness)


def kth_smallest(
    groups: SortedGroups, steps: int, k: int, epsilon: Fraction, randomness: Randomness
) -> NDArray[np.int64]:
    """Return one draw for each group, on the grid 0..steps; k = 1 is the minimum."""
    return _at_ranks(groups, steps, np.full(len(groups), k), epsilon, randomness)


def blocks_at_rank(values: NDArray[np.int64], steps: int, rank: int) -> Blocks:
    """Return the blocks of one group; a rank below 1 or above n is that of a value that does not exist."""
    return blocks_between(values, steps, 1, above=rank - 1, below=rank)


def _at_ranks(
    groups: SortedGroups, steps: int, ranks: NDArray[np.int64], epsilon: Fraction, randomness: Randomness
) -> NDArray[np.int64]:
    blocks = (blocks_at_rank(groups[group], steps, rank) for group, rank in enumerate(ranks.tolist()))
    return draw_points(blocks, steps, SCORE_SENSITIVITY, epsilon, randomness)
