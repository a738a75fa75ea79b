"""Groups of similar records: MDAV by trees against scans and plain NumPy, and groups under counts against MDAV.

    python -m benchmarks.microaggregation

MDAV: 100,000 records in 3, 6 and 10 dimensions, groups of 10, by trees and by scans of all points in turns, as a ratio;
10,000 records in 3 dimensions by the plain NumPy of the tests too. All must give the same labels.

Under counts: 1,000,000 records in 3 dimensions and 3 buckets; each group takes 6 records of one bucket and 2 of each
other. As a ratio to MDAV with groups of 10 on the same points. The points are a mixture of 20 normal distributions.
Times are those of the processor, the best of a few runs, so that other work on the machine counts little.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.sizes import sized
from penstock.mechanisms.microaggregation import bucketed_groups, mdav
from penstock.mechanisms.microaggregation.kernels import mdav_labels
from penstock.mechanisms.microaggregation.mdav import mdav_by_trees
from penstock.tasks.warm_up import compile_kernels
from tests.mechanisms.mdav_by_definition import mdav_by_definition

K = 10
RECORDS, MANY, FEW = sized(100_000, least=300), sized(1_000_000, least=300), sized(10_000, least=300)
DIMENSIONS = (3, 6, 10)
COUNTS = np.array([(6, 2, 2), (2, 6, 2), (2, 2, 6)])


def mixture(records: int, dimensions: int) -> NDArray[np.float64]:
    chance = np.random.default_rng(7)
    centres = 3 * chance.normal(size=(20, dimensions))
    return np.asarray(centres[chance.integers(0, 20, records)] + chance.normal(size=(records, dimensions)))


def in_turns(*ways: Callable[[], NDArray[np.int64]], repeats: int = 3) -> list[float]:
    """Seconds of each way; they take turns, so that a slow minute of the machine hits all of them."""
    seconds: list[list[float]] = [[] for _ in ways]
    for _ in range(repeats):
        for way, taken in zip(ways, seconds, strict=True):
            start = time.process_time()
            way()
            taken.append(time.process_time() - start)
    return [min(taken) for taken in seconds]


def trees_and_scans() -> None:
    for dimensions in DIMENSIONS:
        columns = np.ascontiguousarray(mixture(RECORDS, dimensions).T)
        assert (mdav_by_trees(columns, K) == mdav_labels(columns.copy(), K)).all()
        trees, scans = in_turns(lambda c=columns: mdav_by_trees(c, K), lambda c=columns: mdav_labels(c.copy(), K))  # type: ignore[misc]
        print(
            f"{RECORDS:,} x {dimensions}, k = {K}: trees {trees:.2f} s, scans {scans:.2f} s, {scans / trees:.1f} times"
        )
    points = mixture(FEW, 3)
    assert (mdav(points, K) == mdav_by_definition(points, K)).all()
    ours, plain = in_turns(lambda: mdav(points, K), lambda: mdav_by_definition(points, K))
    print(f"{FEW:,} x 3, k = {K}: mdav {ours:.4f} s, plain NumPy {plain:.2f} s, {plain / ours:.0f} times")


def under_counts() -> None:
    points = mixture(MANY, 3)
    counts = COUNTS[np.arange(MANY // K) % len(COUNTS)]
    bucket = np.random.default_rng(8).permutation(np.repeat(np.arange(3), counts.sum(axis=0)))
    free, bound = in_turns(lambda: mdav(points, K), lambda: bucketed_groups(points, bucket, counts), repeats=2)
    print(f"{MANY:,} x 3, k = {K}: mdav {free:.2f} s, under counts {bound:.2f} s, {bound / free:.2f} times")


def main() -> None:
    compile_kernels()
    trees_and_scans()
    under_counts()


if __name__ == "__main__":
    main()
