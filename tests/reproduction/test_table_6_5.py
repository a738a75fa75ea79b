"""Soria-Comas, PhD thesis, Table 6.5, without noise: what MDAV and insensitive groups do to means and variances.

The sequence of corners is not stated; the one that gives every printed number is not one that keeps the stated rule.
"""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from penstock.reproduction import thesis_6
from penstock.reproduction.beside_print import as_printed, printed_tables
from penstock.reproduction.computed import (
    corner_groups,
    counted_corners,
    group_means,
    groups_around,
    mdav_means,
    observed_bounds,
)
from tests.support.public_data import DATA

TABLE = printed_tables("table_6_5")
NAMES = TABLE["columns"]
FASTEST_FIRST = [NAMES.index(name) for name in TABLE["corners"]["fastest_first"]]
needs_census = pytest.mark.skipif(
    not thesis_6.CENSUS.is_in(DATA), reason="the Census file is not there; set PENSTOCK_DATA to its folder"
)


@pytest.fixture(scope="module")
def census():
    return thesis_6.CENSUS.read(DATA)


def changes_agree(values, means_of, column):
    """Whether every printed number of a column is what these means give."""
    means = {k: means_of(k) for k in (2, 5, 15, 30)} | {1: values}
    return [
        as_printed(change(values, means[row["k"]], row), row["printed"][column]) == row["printed"][column]
        for row in TABLE["rows"]
    ]


def change(values, masked, row):
    """|theta' - theta| / |theta| of one statistic and attribute."""
    column = NAMES.index(row["column"])
    statistic = {"mean": np.mean, "variance": np.var}[row["statistic"]]
    return abs(float(statistic(masked[:, column]) / statistic(values[:, column]) - 1))


@needs_census
def test_mdav_changes_every_statistic_as_printed(census):
    assert all(changes_agree(census.values, lambda k: mdav_means(census.values, k), "mdav"))


@needs_census
def test_insensitive_groups_change_every_statistic_as_printed(census):
    agreeing = changes_agree(census.values, lambda k: thesis_6.insensitive(census, k), "insensitive_mdav")
    assert len(agreeing) == 40
    assert all(agreeing)


@needs_census
@pytest.mark.parametrize(
    ("fastest_first", "upper"),
    [(FASTEST_FIRST, 1.5), ([0, 1, 2, 3], 1.0), (FASTEST_FIRST[::-1], 1.0)],
    ids=["corners of the stated domain", "attributes in their order", "slowest first"],
)
def test_another_sequence_or_corner_does_not(census, fastest_first, upper):
    points, corners = census.values / census.values.max(axis=0), counted_corners(fastest_first) * upper

    def means(k):
        return group_means(census.values, groups_around(points, corners, k))

    assert changes_agree(census.values, means, "insensitive_mdav").count(False) > 10


@needs_census
def test_no_sequence_of_corners_that_keeps_the_rule_gives_the_printed_insensitive_column(census):
    """Permuting and reflecting the attributes turns the one sequence into all 384 that keep the rule."""
    rows = [row for row in TABLE["rows"] if row["statistic"] == "variance" and row["k"] == 30]
    printed = [float(row["printed"]["insensitive_mdav"]) for row in rows]
    values, upper = census.values, observed_bounds(census.values)
    misses = []
    for reflected in product((False, True), repeat=4):
        for order in permutations(range(4)):
            turned = np.where(reflected, upper - values, values)[:, order]
            masked = group_means(values, corner_groups(turned, upper[list(order)], 30))
            misses.append(max(abs(change(values, masked, row) - text) for row, text in zip(rows, printed, strict=True)))
    assert len(misses) == 384
    assert min(misses) > 0.015


def test_corners_are_counted_through_each_followed_by_its_opposite():
    corners = counted_corners([0, 2, 3, 1])
    assert len(np.unique(corners, axis=0)) == len(corners) == 16
    assert np.array_equal(corners[::2], 1 - corners[1::2])
    assert corners[:8:2].tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [1, 0, 1, 0]]
    assert not corners[::2, 1].any()


@pytest.mark.parametrize(("n", "k"), [(40, 3), (41, 5), (7, 7), (12, 1)])
def test_groups_around_corners_are_those_of_the_definition(n, k):
    points, corners = np.random.default_rng(n).integers(0, 4, (n, 2)) / 3, counted_corners([0, 1])
    left, expected, turn = list(range(n)), np.zeros(n, int), 0
    while len(left) >= 2 * k:
        corner = corners[turn % 4]
        left.sort(key=lambda row: (float(((points[row] - corner) ** 2).sum()), points[row].tolist(), row))
        expected[left[:k]] = turn
        left, turn = left[k:], turn + 1
    expected[left] = turn
    assert groups_around(points, corners, k).tolist() == expected.tolist()
