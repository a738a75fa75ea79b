"""Global sensitivities against their definition: the largest local one over all data sets of a small domain."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from penstock.mechanisms.refusal import SettingRefused, TooFewRecords
from penstock.mechanisms.statistics import _local as local
from penstock.mechanisms.statistics import _worst_case as worst_case
from penstock.mechanisms.statistics._groups import SortedGroups

LOW, HIGH = -1, 3
BOTH = {"low": LOW, "high": HIGH}


def everything(records):
    """Every data set of so many records, each a group."""
    data_sets = np.array(list(combinations_with_replacement(range(LOW, HIGH + 1), records)))
    return SortedGroups(data_sets.ravel(), np.arange(0, data_sets.size + 1, records))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_no_data_set_exceeds_the_global_sensitivity_and_one_reaches_it(n):
    groups = everything(n)
    assert max(local.median_in_half_steps(groups, **BOTH)) == worst_case.median_in_half_steps(n, LOW, HIGH)
    for k in range(1, n + 1):
        assert max(local.order_statistic(groups, k, **BOTH)) == worst_case.order_statistic(LOW, HIGH)
    assert max(local.count(groups)) == worst_case.count()
    assert max(local.sum_of_values(groups, **BOTH)) == worst_case.sum_of_values(LOW, HIGH)
    assert max(local.mean(groups, **BOTH)) == worst_case.mean(n, LOW, HIGH)
    assert max(local.population_variance(groups, **BOTH)) == worst_case.population_variance(n, LOW, HIGH)
    assert max(local.sample_variance(groups, **BOTH)) == worst_case.sample_variance(n, LOW, HIGH)


def test_the_formulas_in_figures():
    assert worst_case.median_in_half_steps(1, 0, 10) == worst_case.median_in_half_steps(7, 0, 10) == 20
    assert worst_case.median_in_half_steps(6, 0, 10) == 10
    assert worst_case.mean(4, 0, 10) == Fraction(5, 2)
    assert worst_case.population_variance(5, 0, 10) == 16
    assert worst_case.sample_variance(5, 0, 10) == 20


@pytest.mark.parametrize("bounds", [(3, 3), (4, 3)])
def test_bounds_out_of_order_are_refused(bounds):
    with pytest.raises(SettingRefused, match="must have a lower bound below the upper one"):
        worst_case.order_statistic(*bounds)


@pytest.mark.parametrize(
    ("statistic", "records", "least"),
    [
        (worst_case.median_in_half_steps, 0, 1),
        (worst_case.mean, 0, 1),
        (worst_case.population_variance, 1, 2),
        (worst_case.sample_variance, 1, 2),
    ],
)
def test_too_few_records_are_refused(statistic, records, least):
    with pytest.raises(TooFewRecords, match=f"at least {least}"):
        statistic(records, 0, 10)
