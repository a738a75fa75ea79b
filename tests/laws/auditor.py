"""An auditor of epsilon: what the outcomes on two neighbours prove about the privacy loss, from below.

    p in [low, high]   with probability at least 1 - confidence                     (Clopper & Pearson 1934)
    epsilon >= ln((p_1,low - delta) / p_2,high),  and the same with 1 and 2 exchanged                    (1)

p_1 and p_2 are the chances of one event, fixed in advance, on the two neighbours. A mechanism that keeps
epsilon exceeds it in (1) with probability at most 2 * confidence, because two intervals must hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import beta

# Outcomes are drawn in portions, so that memory stays small.
_PORTION = 20_000

Draw = Callable[[int], Any]
Event = Callable[[Any], np.ndarray]


@cache
def interval(successes: int, trials: int, confidence: float = 1e-4) -> tuple[float, float]:
    """The exact two-sided interval of Clopper and Pearson: each side is missed with probability confidence / 2."""
    low = float(beta.ppf(confidence / 2, successes, trials - successes + 1)) if successes else 0.0
    high = float(beta.isf(confidence / 2, successes + 1, trials - successes)) if successes < trials else 1.0
    return low, high


def lower_bound(successes_1: int, successes_2: int, trials: int, delta: float = 0.0, confidence: float = 1e-4) -> float:
    """(1), the better of both directions; 0 where nothing is proven."""
    low_1, high_1 = interval(successes_1, trials, confidence)
    low_2, high_2 = interval(successes_2, trials, confidence)
    return max(
        math.log((low - delta) / high) if low - delta > high else 0.0
        for low, high in ((low_1, high_2), (low_2, high_1))
    )


def audit(draw_on_first: Draw, draw_on_second: Draw, event: Event, trials: int, delta: float = 0.0) -> float:
    """Draw `trials` outcomes on each neighbour and return (1).

    draw_on_first(count), draw_on_second(count): `count` independent outcomes, one along the first axis.
    event(outcomes): for each of them whether the event happened.
    """

    def successes(draw: Draw) -> int:
        portions = [min(_PORTION, trials - start) for start in range(0, trials, _PORTION)]
        return sum(int(np.count_nonzero(event(draw(count)))) for count in portions)

    return lower_bound(successes(draw_on_first), successes(draw_on_second), trials, delta)
