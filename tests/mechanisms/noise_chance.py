"""What tests of noise share: chi-square tests with a stated false-alarm rate, and sources of words with habits."""

from __future__ import annotations

from math import exp, tanh

import numpy as np
from scipy.stats import chi2

from penstock.mechanisms.randomness import seeded, system

# A correct sampler fails one of these tests with probability 1e-9 over its seeds.
FALSE_ALARM = 1e-9
# Cells expected less often than this are put together, so that chi-square holds in the tails.
RAREST = 25


def assert_law(outcomes, probabilities):
    """The outcomes (a list of hashable values, or an array of integers) follow the law, given as {value: share}.

    Values that are not named are one cell together, with the share that is left.
    """
    found, counts = np.unique(np.asarray(outcomes), axis=0, return_counts=True)
    keys = [tuple(value.tolist()) if value.ndim else value.item() for value in found]
    observed = dict(zip(keys, counts.tolist(), strict=True))
    total = len(outcomes)
    cells = {value: share * total for value, share in probabilities.items() if share * total >= RAREST}
    expected = np.array([*cells.values(), total - sum(cells.values())])
    assert expected[-1] > -1e-6 * total
    seen = np.array([*(observed.get(value, 0) for value in cells)])
    seen = np.append(seen, total - seen.sum())
    if expected[-1] < RAREST:
        smallest = expected[:-1].argmin()
        expected[smallest] += expected[-1]
        seen[smallest] += seen[-1]
        expected, seen = expected[:-1], seen[:-1]
    assert ((seen - expected) ** 2 / expected).sum() < chi2.isf(FALSE_ALARM, len(expected) - 1)


def assert_same_law(first, second):
    """Two samples of integers have one law (chi-square test of homogeneity)."""
    values = np.unique(np.concatenate([first, second]))
    counts = np.array([[(sample == value).sum() for value in values] for sample in (first, second)])
    # Few cells: what is spread over many is seen less clearly.
    frequent = counts.sum(axis=0) >= counts.sum() / 500
    counts = np.column_stack([counts[:, frequent], counts[:, ~frequent].sum(axis=1)])
    counts = counts[:, counts.sum(axis=0) > 0]
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(FALSE_ALARM, counts.shape[1] - 1)


def geometric_law(epsilon):
    return {i: (1 - exp(-epsilon)) * exp(-epsilon * i) for i in range(int(40 / epsilon) + 2)}


def laplace_law(scale):
    """(1 - a) / (1 + a) a^|i| with a = e^(-1/scale)."""
    reach = int(40 * scale) + 2
    return {i: tanh(0.5 / scale) * exp(-abs(i) / scale) for i in range(-reach, reach + 1)}


def staircase_shell(j, d, r):
    return 0 if abs(j) < r else 1 + (abs(j) - r) // d


def staircase_law(d, r, epsilon):
    b = exp(-epsilon)
    reach = r + d * (int(40 / epsilon) + 2)
    core = 1 / (2 * r - 1 + 2 * d * b / (1 - b))
    return {j: core * b ** staircase_shell(j, d, r) for j in range(-reach, reach + 1)}


def box_shell(point, widths, core):
    """The first box that holds the point."""
    return max(max(0, -((z - abs(y)) // d)) for y, d, z in zip(point, widths, core, strict=True))


class LikeTheSystem:
    """The system's words for our own sampler, whatever the number of values."""

    from_system = False

    def words(self, count):
        return system().words(count)


class InPortions:
    """The words of a seed, never more than `most` at a time."""

    from_system = False

    def __init__(self, seed, most):
        self._source = seeded(seed)
        self._most = most

    def words(self, count):
        return self._source.words(min(count, self._most))
