"""Totals with noise, clamped to a public interval that no total leaves, so that nothing overflows.

    f + clip(N, -L - f, L - f) = min(max(f + N, -L), L),   L = 2^62 - 1,   |f| <= L                         (1)

The right side is post-processing of f + N, so it keeps what the noise promises; the left side is how 64 bits hold it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["LARGEST_TOTAL", "noisy"]

LARGEST_TOTAL = 2**62 - 1


def noisy(exact: NDArray[np.int64], noise: NDArray[np.int64]) -> NDArray[np.int64]:
    """(1)."""
    return exact + np.clip(noise, -LARGEST_TOTAL - exact, LARGEST_TOTAL - exact)
