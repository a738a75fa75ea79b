"""Uniform random permutations, exact: every one of the g! orders has probability 1/g!, the identity included.

    for i = g-1 .. 1:  exchange x_i and x_j,  j uniform on 0..i        (Fisher-Yates; Knuth, TAOCP 2, Algorithm 3.4.2P)

j comes from random words by integers and rejection only (Lemire 2019, "Fast random integer generation
in an interval", Algorithm 5), so no order is favoured, not even by the last bit of a float.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.randomness import Randomness

__all__ = ["permutation", "permute_within"]

# The kernel draws partners from 32-bit halves of words, so a run must be shorter than this.
_LONGEST = 2**32
# Words drawn at a time: one megabyte stays in the cache while it is used up.
_BATCH = 2**17


def permutation(n: int, randomness: Randomness) -> NDArray[np.int64]:
    """Return a uniform permutation of 0..n-1."""
    _check_length(n)
    return permute_within(np.arange(n, dtype=np.int64), np.array([0, n], dtype=np.int64), randomness)


def permute_within(order: NDArray[np.int64], starts: NDArray[np.int64], randomness: Randomness) -> NDArray[np.int64]:
    """Return a copy of `order`, permuted uniformly and independently inside the runs starts[r] .. starts[r+1] - 1.

    `starts` rises from 0 to len(order).
    """
    _check_length(len(order))
    if not (len(starts) and starts[0] == 0 and starts[-1] == len(order) and bool((np.diff(starts) >= 0).all())):
        raise ValueError("starts must rise from 0 to the length of order")
    from penstock.mechanisms.microaggregation.kernels import shuffle_runs

    permuted = np.array(order, dtype=np.int64)
    bounds = np.ascontiguousarray(starts, dtype=np.int64)
    exchanges = int(np.maximum(np.diff(bounds) - 1, 0).sum())
    state = np.array([0, bounds[1] - 1 if len(bounds) > 1 else 0], dtype=np.int64)
    while exchanges:
        words = randomness.words(min((exchanges + 1) // 2, _BATCH))
        exchanges -= shuffle_runs(permuted, bounds, words.view(np.uint32), state)
    return permuted


def _check_length(n: int) -> None:
    if n >= _LONGEST:
        raise ValueError("permutations are drawn for fewer than 2^32 rows")
