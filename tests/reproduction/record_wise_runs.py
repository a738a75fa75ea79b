"""What the tables of chapter 6 share: the Census file, its groups, and ten seeded runs of the record-wise noise.

A reproduction: the domain is taken from the data as in the source, so nothing is promised here.
"""

from __future__ import annotations

from functools import cache

import pytest

from penstock.reproduction.beside_print import printed_tables
from penstock.reproduction.computed import corner_means, expected_squared_error, mdav_means, observed_bounds
from penstock.reproduction.thesis_6 import percent_linked, read_census, ten_runs
from tests.support.public_data import DATA

CENSUS = DATA / "census_casc.parquet"
NAMES = tuple(printed_tables("table_6_1")["columns"])
EPSILONS = (0.01, 0.1, 1.0, 10.0)
GROUPINGS = {"corners in turn": corner_means, "MDAV": mdav_means}

needs_census = pytest.mark.skipif(
    not CENSUS.exists(), reason="the Census file is not there; set PENSTOCK_DATA to its folder"
)


@cache
def census():
    """The four attributes, one a column."""
    values = read_census(CENSUS)
    values.flags.writeable = False
    return values


@cache
def centroids(k, grouping="corners in turn"):
    """The microaggregated file; with k = 1 the file itself."""
    return census() if k == 1 else GROUPINGS[grouping](census(), k)


@cache
def runs(k, epsilon, grouping="corners in turn"):
    """Ten masked files."""
    return ten_runs(centroids(k, grouping), observed_bounds(census()), k, epsilon)


def expected_error(k, epsilon, grouping="corners in turn"):
    """The expected SSE, by its closed form."""
    values = census()
    return expected_squared_error(values, centroids(k, grouping), observed_bounds(values), k, epsilon).sum()


def squared_error(masked):
    return ((masked - census()) ** 2).sum()


@cache
def linkage(k, epsilon, grouping="corners in turn"):
    """Mean percentage of record linkages over the ten runs."""
    return percent_linked(census(), runs(k, epsilon, grouping))
