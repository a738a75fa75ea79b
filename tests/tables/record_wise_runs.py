"""What the tables of chapter 6 share: the Census file, its groups, and ten seeded runs of the record-wise noise.

A reproduction: the domain is taken from the data as in the source, so nothing is promised here.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from measures import measure
from mechanisms.columns import Column
from mechanisms.microaggregation import mdav
from mechanisms.randomness import seeded
from mechanisms.reproduction import (
    add_noise,
    corner_groups,
    expected_squared_error,
    group_means,
    observed_bounds,
)

DATA = Path(os.environ.get("PENSTOCK_DATA", Path(__file__).parents[3] / "shared" / "data"))
CENSUS = DATA / "census_casc.parquet"
NAMES = ("FICA", "FEDTAX", "INTVAL", "POTHVAL")
EPSILONS = (0.01, 0.1, 1.0, 10.0)
# The source averages ten runs; so do we, because what is compared must have the same noise.
RUNS = 10
GROUPINGS = {"corners in turn": corner_groups, "MDAV": lambda values, upper, k: mdav(values / upper, k)}

needs_census = pytest.mark.skipif(
    not CENSUS.exists(), reason="the Census file is not there; set PENSTOCK_DATA to its folder"
)


def table(name):
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))


@cache
def census():
    """The four attributes, one a column."""
    read = parquet.read_table(CENSUS, columns=list(NAMES))
    values = np.column_stack([read[name].to_numpy().astype(np.float64) for name in NAMES])
    values.flags.writeable = False
    return values


@cache
def centroids(k, grouping="corners in turn"):
    """The microaggregated file; with k = 1 the file itself."""
    values = census()
    return values if k == 1 else group_means(values, GROUPINGS[grouping](values, observed_bounds(values), k))


@cache
def runs(k, epsilon, grouping="corners in turn"):
    """Ten masked files; every k and epsilon has a seed of its own."""
    source = seeded(round(1000 * epsilon) * 100 + k)
    masked = centroids(k, grouping)
    return [add_noise(masked, observed_bounds(census()), k, epsilon, source) for _ in range(RUNS)]


def expected_error(k, epsilon, grouping="corners in turn"):
    """The expected SSE, by its closed form."""
    values = census()
    return expected_squared_error(values, centroids(k, grouping), observed_bounds(values), k, epsilon).sum()


def squared_error(masked):
    return ((masked - census()) ** 2).sum()


@cache
def linkage(k, epsilon, grouping="corners in turn"):
    """Mean percentage of record linkages over the ten runs."""
    upper = observed_bounds(census())
    declared = {
        name: Column(role="quasi_identifier", type="continuous", domain=(0.0, float(bound)))
        for name, bound in zip(NAMES, upper, strict=True)
    }
    linked = measure("record_linkage")
    original = dict(zip(NAMES, census().T, strict=True))
    shares = [
        linked(original, dict(zip(NAMES, masked.T, strict=True)), declared).value
        for masked in runs(k, epsilon, grouping)
    ]
    return 100 * float(np.mean(shares))


def agree_as_counts(percent, other):
    """Whether two percentages, each over ten runs of 1080 records, can come from one rate of linkage.

    Linkages are rare, so their number in ten runs is nearly a Poisson count, and the difference of two such
    counts has the variance of their sum. Four standard deviations: false alarm below 1e-4 each.
    """
    counts = np.array([percent, other]) / 100 * RUNS * 1080
    return abs(counts[0] - counts[1]) <= 4 * np.sqrt(counts.sum())


def half_a_unit(text):
    """Half a unit of the last printed digit."""
    return 0.5 * 10.0 ** -len(text.partition(".")[2])
