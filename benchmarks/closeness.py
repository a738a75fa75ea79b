"""Closeness: a million records, epsilon = ln 2 (t = 2, three buckets), groups of ten.

    python -m benchmarks.closeness

Time of the whole mechanism, and of its grouping alone, as a ratio to MDAV with the same k on the same quasi-identifiers
in the same run. Income depends on the quasi-identifiers, as in a survey. Beside it what the grouping is for: the spread
of quasi-identifiers inside groups as a share of all of it, by MDAV, by the mechanism, and by records dealt to the same
groups at random.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.sizes import sized
from penstock.mechanisms import closeness
from penstock.mechanisms.closeness._allotment import allot, group_number
from penstock.mechanisms.closeness._cuts import bucketed
from penstock.mechanisms.columns import Column
from penstock.mechanisms.microaggregation.bucketed import bucketed_groups
from penstock.mechanisms.microaggregation.mdav import mdav
from penstock.mechanisms.permutation import permutation
from penstock.mechanisms.points import points
from penstock.mechanisms.randomness import seeded, system

RECORDS = sized(1_000_000, least=1_000)
K = 10
KEYS = ("age", "schooling", "distance")
DECLARED = {
    "age": Column(role="quasi_identifier", type="continuous", domain=(0, 100)),
    "schooling": Column(role="quasi_identifier", type="continuous", domain=(0, 30)),
    "distance": Column(role="quasi_identifier", type="continuous", domain=(0, 200)),
    "income": Column(role="confidential", type="continuous", domain=(0, 10**7)),
}
PARAMS = closeness.Params(method="buckets", output="anatomy", t=2, k=K)
Result = TypeVar("Result")


def survey() -> dict[str, NDArray[np.float64]]:
    chance = np.random.default_rng(7)
    age = np.clip(chance.gamma(9, 5, RECORDS), 0, 100)
    schooling = np.clip(chance.normal(12, 4, RECORDS), 0, 30)
    distance = np.clip(chance.lognormal(3, 0.8, RECORDS), 0, 200)
    income = np.clip(np.exp(9 + 0.01 * age + 0.06 * schooling + chance.normal(0, 0.6, RECORDS)), 0, 10**7)
    return {"age": age, "schooling": schooling, "distance": distance, "income": income}


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def spread(places: NDArray[np.float64], labels: NDArray[np.integer]) -> float:
    """The sum of squares inside groups over that around the mean of all."""
    sizes = np.bincount(labels)
    inside = 0.0
    for column in places.T:
        means = np.bincount(labels, weights=column) / sizes
        inside += float(((column - means[labels]) ** 2).sum())
    return inside / float(((places - places.mean(axis=0)) ** 2).sum())


def main() -> None:
    columns = survey()
    few = {name: values[:1000] for name, values in columns.items()}
    closeness.protect(few, DECLARED, PARAMS, system())  # compiles, or reads the cache
    places = points(columns, DECLARED, KEYS, "domain")
    mdav(places[:1000], K)

    plain, plain_labels = timed(lambda: mdav(places, K))
    whole, found = timed(lambda: closeness.protect(columns, DECLARED, PARAMS, system()))
    buckets = bucketed(columns, DECLARED, ("income",), 3, K, "domain", seeded(1))
    groups = group_number(buckets.sizes, K, PARAMS.bound) or 1
    counts = allot(buckets.sizes, groups, PARAMS.bound)
    grouping, _ = timed(lambda: bucketed_groups(places, buckets.of_row, counts))

    at_random = np.empty(RECORDS, np.int64)
    for bucket in range(counts.shape[1]):
        rows = np.flatnonzero(buckets.of_row == bucket)
        shuffled = rows[permutation(len(rows), seeded(2))]
        at_random[shuffled] = np.repeat(np.arange(groups), counts[:, bucket])

    print(f"{RECORDS:,} records, 3 quasi-identifiers, t = 2, k = {K}: {groups:,} groups")
    print(f"  MDAV                  {plain:6.2f} s     1.00")
    print(f"  grouping by buckets   {grouping:6.2f} s  {grouping / plain:7.2f}")
    print(f"  the whole mechanism   {whole:6.2f} s  {whole / plain:7.2f}")
    print("  spread of quasi-identifiers inside groups")
    print(f"  MDAV                  {spread(places, plain_labels):9.4f}")
    print(f"  the mechanism         {spread(places, found.groups['income']):9.4f}")
    print(f"  at random             {spread(places, at_random):9.4f}")


if __name__ == "__main__":
    main()
