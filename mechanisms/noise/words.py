"""How a compiled sampler is fed: it works on a buffer of words and stops when the buffer runs dry.

The attempt under way is then repeated with the same words, followed by new ones. To drop it instead would bias the
noise, because large values take more words than small ones. So the values depend on the stream of words alone, not
on the sizes in which it was delivered. A rejected attempt is finished; its words are gone for good.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.randomness import Randomness

__all__ = ["feed"]

# Words drawn at a time: one megabyte stays in the cache while it is used up.
_BATCH = 2**17
# The words that a value takes on average; a wrong guess costs time only.
_WORDS_A_VALUE = 5

# sampler(halves, state): draws from 32-bit halves of words; state = (values done, halves used up by finished attempts).
Sampler = Callable[[NDArray[np.uint32], NDArray[np.int64]], Any]


def feed(sampler: Sampler, values: int, randomness: Randomness) -> None:
    """Call the sampler with ever more words until all values are done."""
    halves = np.empty(0, np.uint32)
    state = np.zeros(2, np.int64)
    while (left := values - int(state[0])) > 0:
        fresh = randomness.words(min(_BATCH, _WORDS_A_VALUE * left + 64))
        halves = np.concatenate([halves[state[1] :], fresh.view(np.uint32)])
        sampler(halves, state)
