"""Bands of about equal counts: cut points by noisy blocks against cut points by quantiles, at the same epsilon.

    make bench

blocks      sorted values in J blocks of equal size, a noisy sum each (dp_microaggregation, natural order: all together
            spend epsilon once), means made monotone; a cut point midway between the means on both sides of it
quantiles   the b - 1 quantiles of `statistics`, epsilon / (b - 1) each, sorted

The error is the mean over bands of |records - n / b| / (n / b), over runs; b = 5, and the best of J = 5, 10, 20 and 50.
The table is in docs/mechanisms/statistics.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from benchmarks.sizes import sized
from penstock.mechanisms.noise import discrete_laplace
from penstock.mechanisms.randomness import Randomness, seeded
from penstock.mechanisms.statistics._groups import SortedGroups
from penstock.mechanisms.statistics._quantiles import quantile

RUNS = sized(200, least=1)
STEPS, BANDS = 100_000, 5
SIZES = (1_000, 10_000)
EPSILONS = (Fraction(1, 10), Fraction(1))

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
SPREAD: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "uniform": lambda chance, n: chance.random(n) * STEPS,
    "exponential, mean 1/20": lambda chance, n: chance.exponential(STEPS / 20, n),
    "log-normal, median 1/50": lambda chance, n: chance.lognormal(np.log(STEPS / 50), 1, n),
}


def by_blocks(values: Ints, blocks: int, epsilon: Fraction, randomness: Randomness) -> Floats:
    """Return cut points between monotone noisy means; values are sorted."""
    starts = np.append(np.arange(blocks) * (len(values) // blocks), len(values))
    noisy = np.add.reduceat(values, starts[:-1]) + discrete_laplace(STEPS, epsilon, blocks, randomness)
    means = rising(np.clip(noisy / np.diff(starts), 0, STEPS))
    ends = np.arange(1, BANDS) * blocks // BANDS
    return (means[ends - 1] + means[ends]) / 2


def rising(values: Floats) -> Floats:
    """Return the nearest list that never falls (least squares, pool adjacent violators)."""
    pooled: list[tuple[float, int]] = []
    for value in values.tolist():
        pooled.append((value, 1))
        while len(pooled) > 1 and pooled[-2][0] > pooled[-1][0]:
            (one, n), (other, m) = pooled.pop(), pooled.pop()
            pooled.append(((one * n + other * m) / (n + m), n + m))
    return np.repeat([value for value, _ in pooled], [number for _, number in pooled])


def by_quantiles(values: Ints, epsilon: Fraction, randomness: Randomness) -> Floats:
    groups = SortedGroups(values, np.array([0, len(values)]))
    shares = (Fraction(place, BANDS) for place in range(1, BANDS))
    each = epsilon / (BANDS - 1)
    return np.sort([quantile(groups, STEPS, share, each, "replace", randomness)[0] for share in shares])


def error(values: Ints, cuts: Floats) -> float:
    counts = np.diff(np.concatenate([[0], np.searchsorted(values, cuts, "right"), [len(values)]]))
    return float(np.abs(counts * BANDS / len(values) - 1).mean())


def main() -> None:
    print(f"{'spread':25}{'records':>9}{'epsilon':>9}{'blocks':>9}{'J':>4}{'quantiles':>11}")
    for name, draw in SPREAD.items():
        for n in SIZES:
            for epsilon in EPSILONS:
                chance, randomness = np.random.default_rng(7), seeded(1)
                found: dict[int, list[float]] = {}
                for _ in range(RUNS):
                    values = np.sort(np.minimum(draw(chance, n), STEPS).astype(np.int64))
                    for blocks in (5, 10, 20, 50):
                        cuts = by_blocks(values, blocks, epsilon, randomness)
                        found.setdefault(blocks, []).append(error(values, cuts))
                    found.setdefault(0, []).append(error(values, by_quantiles(values, epsilon, randomness)))
                means = {blocks: float(np.mean(errors)) for blocks, errors in found.items()}
                best = min((5, 10, 20, 50), key=means.__getitem__)
                print(
                    f"{name:25}{n:>9,}{float(epsilon):>9.3g}{means[best]:>9.1%}{best:>4}{means[0]:>11.1%}", flush=True
                )


if __name__ == "__main__":
    main()
