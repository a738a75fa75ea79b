"""How the tests hold chance still: every outcome once, or many outcomes against a stated false-alarm rate."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
from scipy.stats import chi2

FALSE_ALARM = 1e-9


def assert_uniform(outcomes, possible):
    """Chi-square against equal shares; a correct generator fails it with probability 1e-9 over its seeds."""
    found, counts = np.unique(outcomes, return_counts=True)
    expected = len(outcomes) / possible
    assert len(found) <= possible
    statistic = ((counts - expected) ** 2).sum() / expected + (possible - len(found)) * expected
    assert statistic < chi2.isf(FALSE_ALARM, possible - 1)


class Scripted:
    """Words that make a shuffle choose given partners: choice v of s is the middle of the v-th of s equal parts."""

    from_system = False

    def __init__(self, choices):
        self._halves = [((2 * chosen + 1) << 31) // size for size, chosen in choices]

    def words(self, count):
        if not self._halves:
            raise IndexError("the script is used up")
        taken, self._halves = self._halves[: 2 * count], self._halves[2 * count :]
        return np.array(taken + [0] * (2 * count - len(taken)), dtype=np.uint32).view(np.uint64)

    def streams(self, count):
        return [self] * count


def every_shuffle(sizes, before=()):
    """One source of words for each of the equally likely ways to shuffle runs of these sizes, in turn.

    before: choices (size, chosen) of draws that come first and stay the same.
    """
    draws = [size for run in sizes for size in range(run, 1, -1)]
    for chosen in product(*(range(size) for size in draws)):
        yield Scripted([*before, *zip(draws, chosen, strict=True)])


def posterior(worlds, releases_of):
    """P(world | release) for equally likely worlds; `releases_of(world)` lists equally likely releases."""
    joint = {}
    for world in worlds:
        releases = list(releases_of(world))
        for release in releases:
            shares = joint.setdefault(release, {})
            shares[world] = shares.get(world, Fraction(0)) + Fraction(1, len(releases))
    return {
        release: {world: share / sum(shares.values()) for world, share in shares.items()}
        for release, shares in joint.items()
    }
