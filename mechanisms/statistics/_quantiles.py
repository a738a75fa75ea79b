"""Quantiles with differential privacy: the exponential mechanism over all points of the public grid, exactly.

    L(y) = number of records below y,   M(y) = number of records at y or below,   y = 0..R            (1)
    s(y) = max(q L(y) - p n, p n - q M(y), 0),   the share p/q of n records asked for                 (2)
    |s(y) - s'(y)| <= D   for neighbours, at every y                                                  (3)

s / q counts the records by which y misses the rank p n / q: it is 0 on the quantile, and ties cost nothing. By (3) a
draw with probability proportional to e^(-epsilon s(y) / (2 D)) is epsilon-differentially private (_blocks.py):

    replace      D = q: n stays, and L and M change by 1 at most; so do, times q, all three terms of (2)
    add_remove   D = max(p, q - p): a record more adds (0, 0), (0, 1) or (1, 1) to (L, M) and 1 to n, so the first
                 term changes by -p or q - p, the second by p or p - q, the third not at all

and the maximum of three terms changes by no more than the terms do. An empty group has s = 0: every point is as likely.

Source: McSherry & Talwar 2007 for the mechanism; score and proofs are ours.

Settings: public are the grid, the share, epsilon, and under `replace` the size of each group. Promise: epsilon for each
group; a record that may change its group touches two of them. Limits: the time of a draw depends on the data.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refusal import SettingRefused
from penstock.mechanisms.statistics._blocks import Blocks, blocks_between, draw_points
from penstock.mechanisms.statistics._groups import SortedGroups

__all__ = ["LARGEST_DENOMINATOR", "MEDIAN", "Adjacency", "blocks_by_score", "quantile", "score_sensitivity"]

MEDIAN = Fraction(1, 2)
# q times the number of records stays within 64 bits.
LARGEST_DENOMINATOR = 10**6

Adjacency = Literal["replace", "add_remove"]


def quantile(
    groups: SortedGroups, steps: int, share: Fraction, epsilon: Fraction, adjacency: Adjacency, randomness: Randomness
) -> NDArray[np.int64]:
    """Return one draw for each group, on the grid 0..steps; share 1/2 is the median."""
    sensitivity = score_sensitivity(share, adjacency)
    blocks = (blocks_by_score(groups[group], steps, share) for group in range(len(groups)))
    return draw_points(blocks, steps, sensitivity, epsilon, randomness)


def score_sensitivity(share: Fraction, adjacency: Adjacency) -> int:
    """Return D of (3)."""
    p, q = _numerator_and_denominator(share)
    if adjacency == "replace":
        return q
    if adjacency == "add_remove":
        return max(p, q - p)
    raise SettingRefused.at(
        "adjacency", rule="must be replace or add_remove", got=adjacency, remedy="Name what neighbours differ in."
    )


def blocks_by_score(values: NDArray[np.int64], steps: int, share: Fraction) -> Blocks:
    """Return the blocks of one group, whose values are sorted and lie on the grid 0..steps."""
    p, q = _numerator_and_denominator(share)
    target = p * len(values)
    return blocks_between(values, steps, q, above=target, below=target)


def _numerator_and_denominator(share: Fraction) -> tuple[int, int]:
    if not isinstance(share, Fraction) or not 0 < share < 1 or share.denominator > LARGEST_DENOMINATOR:
        raise SettingRefused.at(
            "share",
            rule="must be an exact fraction above 0 and below 1, with a denominator of at most 1,000,000",
            got=share,
            remedy="Write it as Fraction(1, 2).",
        )
    return int(share.numerator), int(share.denominator)
