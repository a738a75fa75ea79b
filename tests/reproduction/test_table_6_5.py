"""Soria-Comas, PhD thesis, Table 6.5: how much means and variances change.

MDAV: to the printed digits. With noise: as means of ten runs. Insensitive MDAV: not reproducible, see the JSON file.
"""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from penstock.reproduction.beside_print import as_printed, half_a_unit, printed_tables
from penstock.reproduction.computed import corner_groups, group_means, observed_bounds
from tests.reproduction.record_wise_runs import EPSILONS, NAMES, census, centroids, needs_census, runs

TABLE = printed_tables("table_6_5")
pytestmark = needs_census

every_row = pytest.mark.parametrize(
    "row", TABLE["rows"], ids=lambda row: f"{row['statistic']} of {row['column']}, k={row['k']}"
)


def change(masked, row):
    """(theta' - theta) / theta of one statistic and attribute."""
    column = NAMES.index(row["column"])
    statistic = {"mean": np.mean, "variance": np.var}[row["statistic"]]
    return float(statistic(masked[:, column]) / statistic(census()[:, column]) - 1)


@every_row
def test_mdav_changes_the_statistic_as_printed(row):
    printed = row["printed"]["mdav"]
    change_of_mdav = abs(change(centroids(row["k"], "MDAV"), row))
    assert as_printed(change_of_mdav, printed) == printed


def noise_agrees(row, epsilon, printed, grouping="corners in turn"):
    """Whether the mean change of ten runs agrees with the printed one, also a mean of ten runs.

    Their difference has sqrt(2/10) of the standard deviation of a run, estimated here from ten runs; five of
    them are allowed: false alarm 7e-4 (t, 9 degrees). The source's groups are not ours; what that does without
    noise is seen in the printed insensitive column and allowed as well.
    """
    changes = np.array([change(masked, row) for masked in runs(row["k"], epsilon, grouping)])
    chance = 5 * changes.std(ddof=1) * np.sqrt(2 / len(changes))
    groups = abs(abs(change(centroids(row["k"]), row)) - float(row["printed"]["insensitive_mdav"]))
    return abs(abs(changes.mean()) - float(printed)) <= chance + groups + half_a_unit(printed)


@every_row
def test_noise_changes_the_statistic_as_printed(row):
    """160 cells, and so a false alarm of 0.1 over all seeds; the seeds are fixed."""
    for epsilon, printed in zip(EPSILONS, row["printed"]["with_noise"], strict=True):
        assert noise_agrees(row, epsilon, printed)


def test_noise_on_groups_by_mdav_does_not():
    for row in TABLE["rows"]:
        if row["statistic"] == "variance" and row["column"] in ("FICA", "FEDTAX") and row["k"] >= 15:
            assert not noise_agrees(row, 10.0, row["printed"]["with_noise"][-1], "MDAV")


def test_no_sequence_of_corners_that_keeps_the_rule_gives_the_printed_insensitive_column():
    """Permuting and reflecting the attributes turns the one sequence into all 384 that keep the rule."""
    rows = [row for row in TABLE["rows"] if row["statistic"] == "variance" and row["k"] == 30]
    printed = [float(row["printed"]["insensitive_mdav"]) for row in rows]
    values, upper = census(), observed_bounds(census())
    misses = []
    for reflected in product((False, True), repeat=4):
        for order in permutations(range(4)):
            turned = np.where(reflected, upper - values, values)[:, order]
            masked = group_means(values, corner_groups(turned, upper[list(order)], 30))
            misses.append(max(abs(abs(change(masked, row)) - value) for row, value in zip(rows, printed, strict=True)))
    assert len(misses) == 384
    assert min(misses) > 0.015
    assert misses[0] < 0.05  # ours
