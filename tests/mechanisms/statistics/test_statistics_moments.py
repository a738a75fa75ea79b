"""Means and variances from noisy counts and sums: how far one record moves them, what comes out, how far it strays."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import sqrt

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.noise.totals import LARGEST_TOTAL, noisy
from penstock.mechanisms.numbers.grid import grid_of
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.statistics._groups import SortedGroups
from penstock.mechanisms.statistics._moments import moments_of, totals_in_units
from penstock.mechanisms.table.draws import Noise

DOMAINS = [(0, 1), (0, 2), (-3, 4), (5, 12)]


def integer_grid(domain, finest=None):
    return grid_of(Column(role="confidential", type="integer", domain=domain), "x", finest=finest)


def contributions(grid):
    """What a record at each point of the grid adds to count, sum and squares."""
    middle = grid.steps // 2
    centre = (grid.steps - middle) ** 2 // 2
    return [(1, x - middle, (x - middle) ** 2 - centre) for x in range(grid.steps + 1)]


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("squared", [False, True])
def test_half_widths_cover_every_record_that_comes_or_goes_and_no_more(domain, squared):
    grid = integer_grid(domain)
    found = moments_of(grid, Fraction(1), squared=squared, size_public=False).noise.half_widths
    each = [record[: len(found)] for record in contributions(grid)]
    assert found == tuple(max(abs(record[place]) for record in each) for place in range(2 + squared))


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("squared", [False, True])
def test_half_widths_cover_every_replacement_where_the_size_is_public_and_no_more(domain, squared):
    grid = integer_grid(domain)
    found = moments_of(grid, Fraction(1), squared=squared, size_public=True).noise.half_widths
    moved = [
        [abs(a - b) for a, b in zip(one, other, strict=True)][1 : 2 + squared]
        for one, other in product(contributions(grid), repeat=2)
    ]
    assert found == tuple(max(column) for column in zip(*moved, strict=True))


def without_noise(monkeypatch, value=0):
    monkeypatch.setattr(Noise, "draw", lambda self, cells, _: np.full((cells, len(self.half_widths)), value))


def groups_of(*lists):
    starts = np.append(0, np.cumsum([len(values) for values in lists]))
    return SortedGroups(np.array([x for values in lists for x in sorted(values)], np.int64), starts)


@pytest.mark.parametrize("size_public", [False, True])
def test_without_noise_mean_and_variance_are_those_of_the_records(size_public, monkeypatch):
    without_noise(monkeypatch)
    grid = integer_grid((-3, 4))
    lists = ([0, 3, 7], [2, 2], [7])
    for squared, wanted in ((False, np.mean), (True, np.var)):
        question = moments_of(grid, Fraction(1), squared=squared, size_public=size_public)
        values, _ = question.draw(groups_of(*lists), seeded(1))
        assert values == pytest.approx([wanted(np.array(x) - 3) for x in lists])


def test_a_group_without_records_counts_as_one_and_lies_in_the_middle(monkeypatch):
    without_noise(monkeypatch)
    question = moments_of(integer_grid((-3, 4)), Fraction(1), squared=False, size_public=False)
    values, errors = question.draw(groups_of([]), seeded(1))
    assert values.tolist() == [0.0]
    assert np.isnan(errors).all()


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("noise", [2**63 - 1, -(2**63 - 1), 10**6])
def test_the_largest_noise_there_is_ends_at_a_bound(noise, squared, monkeypatch):
    without_noise(monkeypatch, noise)
    question = moments_of(integer_grid((-3, 4)), Fraction(1), squared=squared, size_public=False)
    values, errors = question.draw(groups_of([1, 2], [7, 7]), seeded(1))
    low, high = (0, 49 / 4) if squared else (-3, 4)
    assert ((values >= low) & (values <= high)).all()
    assert (np.isfinite(errors) | np.isnan(errors)).all()


def test_noisy_totals_stay_in_a_public_interval():
    exact = np.array([LARGEST_TOTAL, -LARGEST_TOTAL, 5])
    assert noisy(exact, np.full(3, 2**63 - 1)).tolist() == [LARGEST_TOTAL] * 3
    assert noisy(exact, np.full(3, -(2**63 - 1))).tolist() == [-LARGEST_TOTAL] * 3
    assert noisy(exact, np.full(3, -7)).tolist() == [LARGEST_TOTAL - 7, -LARGEST_TOTAL, -2]


def test_totals_are_whole_numbers_exactly_where_a_step_is_one():
    assert totals_in_units(np.array([3]), None).dtype == np.int64
    assert totals_in_units(np.array([3]), integer_grid((0, 9))).dtype == np.int64
    wide = integer_grid((0, 2**40))
    assert totals_in_units(np.array([3]), wide).tolist() == [3 * float(wide.eta)]
    continuous = grid_of(Column(role="confidential", type="continuous", domain=(0, 1)), "x")
    assert totals_in_units(np.array([2**19]), continuous).tolist() == [0.5]


RUNS = 4_000


def strayed(squared, size_public, epsilon=Fraction(1)):
    """Root mean square error over many groups of the same records, and the mean of the stated standard errors."""
    values = np.sort(np.random.default_rng(5).integers(10, 60, 200))
    grid = integer_grid((0, 100))
    groups = SortedGroups(np.tile(values, RUNS), 200 * np.arange(RUNS + 1))
    found, stated = moments_of(grid, epsilon, squared=squared, size_public=size_public).draw(groups, seeded(8))
    exact = np.var(values) if squared else np.mean(values)
    return sqrt(np.mean((found - exact) ** 2)), float(stated.mean())


def assert_close(found, stated):
    """Within 8 %: the error of a root mean square of 4,000 noises, of kurtosis below 9, is 2.3 % at most.

    The delta method leaves out a per cent at this size; false alarm below 1e-2, and the seeds are fixed.
    """
    assert abs(found / stated - 1) < 0.08


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("size_public", [False, True])
def test_the_stated_standard_error_is_the_measured_one(squared, size_public):
    assert_close(*strayed(squared, size_public))


def test_the_test_of_the_standard_error_notices_another_epsilon():
    found, _ = strayed(False, False, Fraction(4, 5))
    _, stated = strayed(False, False)
    with pytest.raises(AssertionError):
        assert_close(found, stated)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("size_public", [False, True])
def test_no_stated_error_exceeds_the_worst_one(squared, size_public):
    """For groups so large that noise hardly moves what the error is made from."""
    question = moments_of(integer_grid((0, 40)), Fraction(2), squared=squared, size_public=size_public)
    n = 10_000
    for values in ([0] * n, [40] * n, [0] * (n // 2) + [40] * (n // 2), [20] * n):
        _, errors = question.draw(groups_of(values), seeded(1))
        assert errors[0] * n <= question.worst_error() * 1.01


def test_no_error_is_stated_where_the_count_is_lost_in_its_noise():
    question = moments_of(integer_grid((0, 40)), Fraction(1, 10), squared=False, size_public=False)
    _, errors = question.draw(groups_of([3, 4], [3] * 100_000), seeded(1))
    assert np.isnan(errors).tolist() == [True, False]
