"""Discrete Laplace noise for every cell of a table, each with its own scale.

    P(N_i = x) = (1 - a_i) / (1 + a_i) * a_i^|x|,   a_i = e^(-1/b_i)        independent between cells          (1)

By scales.py, (2), a table with noise (1) keeps epsilon under the adjacency of its scales; b_i is rounded up where the
samplers need it (mechanisms.noise.scale).

Source: mechanisms.noise.laplace. A table of one scale is drawn as there. Of several scales, each may have only a few
cells, and a draw through OpenDP takes half a millisecond however few values it is for; so they come from our own
compiled sampler, scale after scale from one stream of words.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mechanisms.noise import discrete_laplace, scale_at_least
from mechanisms.noise.words import feed
from mechanisms.randomness import Randomness
from mechanisms.tables.scales import Scales

__all__ = ["cell_noise"]


def cell_noise(scales: Scales, randomness: Randomness) -> NDArray[np.int64]:
    """One draw of (1) for every cell; scale 0 is refused, because the exact total would be released."""
    order = np.argsort(scales.steps, kind="stable")
    distinct, starts = np.unique(scales.steps[order], return_index=True)
    if len(distinct) == 1:
        return discrete_laplace(int(distinct[0]), scales.epsilon, len(order), randomness)
    from mechanisms.noise.kernels import laplace_values

    drawn = np.empty(len(order), np.int64)
    runs = [
        (drawn[start:stop], scale_at_least(int(steps), scales.epsilon))
        for steps, (start, stop) in zip(distinct, pairwise([*starts, len(order)]), strict=True)
    ]
    current = [0, 0]  # the run under way, and how many of its values are done

    def sampler(halves: NDArray[np.uint32], state: NDArray[np.int64]) -> None:
        used = 0
        while current[0] < len(runs):
            run, scale = runs[current[0]]
            within = np.array([current[1], 0], np.int64)
            laplace_values(run, halves[used:], within, scale.numerator, scale.denominator)
            done, halves_used = within.tolist()
            used += halves_used
            state[0] += done - current[1]
            state[1] = used
            current[1] = done
            if done < len(run):
                return
            current[:] = current[0] + 1, 0

    feed(sampler, len(order), randomness)
    noise = np.empty_like(drawn)
    noise[order] = drawn
    return noise
