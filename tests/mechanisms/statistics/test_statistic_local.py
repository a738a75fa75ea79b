"""Local sensitivities against their definition: every record replaced by every value of a small domain."""

from __future__ import annotations

from fractions import Fraction
from statistics import mean, median, pvariance, variance

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.refusal import SettingRefused, TooFewRecords
from penstock.mechanisms.statistics import _local as local
from penstock.mechanisms.statistics._groups import SortedGroups

LOW, HIGH = 0, 7
BOTH = {"low": LOW, "high": HIGH}
GROUP = st.lists(st.integers(LOW, HIGH), min_size=2, max_size=6)
GROUPS = st.lists(GROUP, min_size=1, max_size=4)


def exact(statistic):
    return lambda values: Fraction(statistic([Fraction(value) for value in values]))


def smallest(k):
    return lambda values: sorted(values)[k - 1]


def by_definition(statistic, values, replacements):
    """max |f(D) - f(D')| over all D' that differ from D in one record."""
    here = statistic(values)
    return max(
        abs(statistic([*values[:i], y, *values[i + 1 :]]) - here)
        for i in range(len(values))
        for y in replacements(values, i)
    )


def whole_domain(_values, _i):
    return range(LOW, HIGH + 1)


def far_beyond(_values, _i):
    return range(LOW - 9, HIGH + 10)


def with_mean_of_the_others(values, i):
    """The variance is least at a replacement that need not be on the grid."""
    others = values[:i] + values[i + 1 :]
    return [*range(LOW, HIGH + 1), Fraction(sum(others), len(others))]


def grouped(lists):
    starts = np.append(0, np.cumsum([len(values) for values in lists]))
    return SortedGroups(np.array([x for values in lists for x in sorted(values)], dtype=np.int64), starts)


BOUNDED = {
    "median": (lambda groups: local.median_in_half_steps(groups, **BOTH), lambda x: 2 * exact(median)(x)),
    "maximum": (lambda groups: local.maximum(groups, high=HIGH), max),
    "second maximum": (lambda groups: local.second_maximum(groups, low=LOW), lambda x: sorted(x)[-2]),
    "minimum": (lambda groups: local.minimum(groups, low=LOW), min),
    "smallest": (lambda groups: local.order_statistic(groups, 1, **BOTH), smallest(1)),
    "second smallest": (lambda groups: local.order_statistic(groups, 2, **BOTH), smallest(2)),
    "sum": (lambda groups: local.sum_of_values(groups, **BOTH), sum),
    "mean": (lambda groups: local.mean(groups, **BOTH), exact(mean)),
}
VARIANCES = {
    "population": (local.population_variance, exact(pvariance)),
    "sample": (local.sample_variance, exact(variance)),
}


@pytest.mark.parametrize("name", BOUNDED)
@given(lists=GROUPS)
def test_the_formula_is_the_definition_for_every_group(name, lists):
    sensitivity, statistic = BOUNDED[name]
    assert list(sensitivity(grouped(lists))) == [by_definition(statistic, values, whole_domain) for values in lists]


@pytest.mark.parametrize("name", VARIANCES)
@given(lists=GROUPS)
def test_the_variance_moves_as_far_as_the_formula_says_and_on_the_grid_no_farther(name, lists):
    sensitivity, statistic = VARIANCES[name]
    found = sensitivity(grouped(lists), **BOTH)
    assert found == [by_definition(statistic, values, with_mean_of_the_others) for values in lists]
    assert all(
        by_definition(statistic, values, whole_domain) <= each for values, each in zip(lists, found, strict=True)
    )


@given(st.lists(st.lists(st.integers(LOW, HIGH), min_size=3, max_size=6), min_size=1, max_size=4))
def test_statistics_inside_need_no_bounds_however_wide_the_domain(lists):
    groups = grouped(lists)
    inside = [
        (local.median_in_half_steps(groups), lambda x: 2 * exact(median)(x)),
        (local.second_maximum(groups), lambda x: sorted(x)[-2]),
        (local.order_statistic(groups, 2), smallest(2)),
    ]
    for found, statistic in inside:
        assert found.tolist() == [by_definition(statistic, values, far_beyond) for values in lists]


@given(st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=6), min_size=1, max_size=4))
def test_a_count_moves_by_one_in_every_group(lists):
    assert local.count(grouped(lists)).tolist() == [1] * len(lists)


def test_the_definition_notices_the_odd_formula_on_an_even_number_of_records():
    values = [1, 2, 4, 7, 7, 9]
    at_lower_middle = local.order_statistic(grouped([values]), 3, low=0, high=10)
    assert Fraction(int(at_lower_middle[0])) != by_definition(exact(median), values, lambda _x, _i: range(11))


def test_reference_values_of_six_records():
    """Recomputed independently for x = (1, 2, 4, 7, 7, 9) between 0 and 10; a snapshot of no output of ours."""
    groups, bounds = grouped([[1, 2, 4, 7, 7, 9]]), {"low": 0, "high": 10}
    assert local.median_in_half_steps(groups).tolist() == [5]
    assert local.maximum(groups, high=10).tolist() == [2]
    assert local.second_maximum(groups).tolist() == [2]
    assert local.minimum(groups, low=0).tolist() == [1]
    assert local.sum_of_values(groups, **bounds).tolist() == [9]
    assert local.mean(groups, **bounds) == [Fraction(3, 2)]
    assert float(local.population_variance(groups, **bounds)[0]) == pytest.approx(3.555556, abs=1e-6)
    assert float(local.sample_variance(groups, **bounds)[0]) == pytest.approx(4.266667, abs=1e-6)


@given(st.lists(st.integers(0, 40), min_size=2, max_size=40), st.integers(-5, 5))
def test_six_records_settle_the_variance_of_many(values, shift):
    """Every record tried in turn, with the bounds and the mean of the others as replacements."""
    moved = [value + shift for value in values]

    def ends_and_mean(x, i):
        return [shift, 40 + shift, Fraction(sum(x) - x[i], len(x) - 1)]

    found = local.population_variance(grouped([moved]), low=shift, high=40 + shift)
    assert found == [by_definition(exact(pvariance), moved, ends_and_mean)]


def test_large_values_do_not_overflow():
    far = 2**61
    groups = SortedGroups(np.array([1 - far, far - 1, far - 1]), np.array([0, 3]))
    assert local.median_in_half_steps(groups).tolist() == [4 * far - 4]
    assert local.sum_of_values(groups, low=-far, high=far).tolist() == [2 * far - 1]


def test_ties_release_the_exact_answer_and_are_named():
    lists = [[3, 3, 3], [3, 3, 4], [1, 2, 2]]
    assert local.without_noise(local.median_in_half_steps(grouped(lists))).tolist() == [True, False, False]
    assert local.without_noise([Fraction(0), Fraction(1, 3)]).tolist() == [True, False]


def test_no_groups_have_no_sensitivities():
    none = SortedGroups(np.empty(0, np.int64), np.zeros(1, np.int64))
    assert local.median_in_half_steps(none).tolist() == local.sum_of_values(none, **BOTH).tolist() == []
    assert local.population_variance(none, **BOTH) == local.without_noise([]).tolist() == []


MISSING_BOUNDS = {
    "maximum": lambda groups: local.maximum(groups, high=None),
    "minimum": lambda groups: local.minimum(groups, low=None),
    "smallest": lambda groups: local.order_statistic(groups, 1, high=HIGH),
    "largest": lambda groups: local.order_statistic(groups, 2, low=LOW),
    "median of two": local.median_in_half_steps,
    "second maximum of two": local.second_maximum,
    "sum": lambda groups: local.sum_of_values(groups, low=LOW, high=None),
    "mean": lambda groups: local.mean(groups, low=None, high=HIGH),
    "variance": lambda groups: local.sample_variance(groups, low=None, high=None),
}


@pytest.mark.parametrize("name", MISSING_BOUNDS)
def test_a_missing_bound_is_refused_where_it_is_needed(name):
    with pytest.raises(SettingRefused, match=r"^(low|high) refused: needs a declared bound of the column, on whic"):
        MISSING_BOUNDS[name](grouped([[2, 5]]))


@pytest.mark.parametrize("bounds", [{"low": 3, "high": 7}, {"low": 0, "high": 4}, {"low": -(2**62), "high": 7}])
def test_values_outside_the_bounds_are_clamped_first(bounds):
    with pytest.raises(ValueError, match="clamped first"):
        local.sum_of_values(grouped([[2, 5]]), **bounds)


TOO_FEW = {
    "third of two": (lambda groups: local.order_statistic(groups, 3, **BOTH), 3),
    "order statistic of one": (lambda groups: local.order_statistic(groups, 1, **BOTH), 2),
    "median of one": (lambda groups: local.median_in_half_steps(groups, **BOTH), 2),
    "maximum of one": (lambda groups: local.maximum(groups, high=HIGH), 2),
    "second maximum of one": (lambda groups: local.second_maximum(groups, low=LOW), 2),
    "minimum of one": (lambda groups: local.minimum(groups, low=LOW), 2),
    "sum of none": (lambda groups: local.sum_of_values(groups, **BOTH), 1),
    "variance of one": (lambda groups: local.population_variance(groups, **BOTH), 2),
}


@pytest.mark.parametrize("name", TOO_FEW)
def test_too_few_records_in_one_group_are_refused(name):
    sensitivity, least = TOO_FEW[name]
    with pytest.raises(TooFewRecords, match=f"at least {least} record") as refusal:
        sensitivity(grouped([[2, 5, 6], [4] * (least - 1)]))
    assert refusal.value.faults[0].got == ""


@pytest.mark.parametrize("k", [0, -1, True, 1.0])
def test_a_rank_is_a_whole_number_from_one_on(k):
    with pytest.raises(SettingRefused, match="k refused: must be a whole number from 1 on"):
        local.order_statistic(grouped([[2, 5]]), k)


def test_a_sum_that_might_overflow_is_not_taken():
    with pytest.raises(ValueError, match="too fine"):
        local.population_variance(grouped([[2, 5, 5, 5]]), low=-(2**61), high=2**61)


@given(GROUPS)
def test_every_group_may_have_a_rank_of_its_own(lists):
    ranks = np.array([1 + place % len(values) for place, values in enumerate(lists)])
    found = local.order_statistics(grouped(lists), ranks, **BOTH)
    assert found.tolist() == [
        by_definition(smallest(rank), values, whole_domain) for values, rank in zip(lists, ranks.tolist(), strict=True)
    ]


@pytest.mark.parametrize("rank", [0, 3])
def test_a_rank_of_its_own_lies_inside_the_group(rank):
    with pytest.raises(ValueError, match="ranks go from 1 to the size of the group"):
        local.order_statistics(grouped([[2, 5]]), np.array([rank]), **BOTH)


def test_ranks_of_their_own_need_two_records():
    with pytest.raises(TooFewRecords, match="at least 2 records"):
        local.order_statistics(grouped([[2]]), np.array([1]), **BOTH)
