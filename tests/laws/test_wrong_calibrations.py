"""The calibrations of chapter 6 of the thesis lose more than the epsilon they name, and the auditor shows it.

Chance: a proven bound exceeds the true loss with probability at most 2e-4; the seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from penstock.mechanisms.randomness import seeded
from penstock.reproduction.computed import add_noise, corner_groups, group_means
from tests.laws.auditor import lower_bound
from tests.laws.neighbour_pairs import CASES, EVERY_ATTRIBUTE, LOWER_BLOCK, OWN_ROW, RANKED_ROWS, SMALLEST_ROWS, TRIALS

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@every_case
def test_the_pair_differs_in_one_record(case):
    assert case.first.shape == case.second.shape
    assert (case.first != case.second).any(axis=1).sum() == 1
    assert ((case.first >= 0) & (case.first <= 1) & (case.second >= 0) & (case.second <= 1)).all()


@every_case
def test_the_wrong_calibration_is_caught(case):
    found = case.audited(case.wrong)
    assert case.epsilon < found <= case.exact
    assert found == pytest.approx(case.measured, abs=0.12)


@every_case
def test_noise_that_ignores_the_data_passes(case):
    def from_the_first(same, data, trials, rng):
        return same.wrong(same, same.first, trials, rng)

    assert case.audited(from_the_first) <= case.epsilon


@pytest.mark.parametrize("case", [case for case in CASES.values() if case is not RANKED_ROWS])
def test_clamping_changes_no_event(case):
    rows = case.wrong(case, case.first, 2000, np.random.default_rng(3))
    assert (case.event(rows) == case.event(np.clip(rows, 0, 1))).all()


def chances_by_hand():
    """P(event) on both neighbours: a mean m is drawn at most 0 with probability exp(-m k epsilon) / 2."""
    k, epsilon = OWN_ROW.k, OWN_ROW.epsilon
    at_zero, at_step, at_one = 0.5, 0.5 * np.exp(-epsilon), 0.5 * np.exp(-k * epsilon)

    def at_least_k(lower):
        counts = np.arange(k + 1)
        return (binom.pmf(counts, k, lower) * binom.sf(k - counts - 1, k, at_one)).sum()

    yield OWN_ROW, at_zero, at_one
    yield LOWER_BLOCK, at_zero**k, at_step**k
    yield SMALLEST_ROWS, at_least_k(at_zero), at_least_k(at_step)
    yield EVERY_ATTRIBUTE, at_zero**4, at_step**4


def test_what_is_measured_follows_from_the_chances_by_hand():
    for case, first, second in chances_by_hand():
        expected = lower_bound(round(TRIALS * first), round(TRIALS * second), TRIALS)
        assert expected == pytest.approx(case.measured, abs=0.04)


def as_the_product_reproduces_it(case, data, trials, rng):
    centroids = group_means(data, corner_groups(data, np.ones(1), case.k))
    stacked = np.tile(centroids, (trials, 1))
    source = seeded(int(rng.integers(2**32)))
    return add_noise(stacked, np.ones(1), case.k, case.epsilon, source).reshape(trials, *data.shape)


def test_the_reproduction_is_as_wrong_as_its_source_even_with_public_bounds():
    found = OWN_ROW.audited(as_the_product_reproduces_it)
    assert found == pytest.approx(OWN_ROW.measured, abs=0.12)


@pytest.mark.parametrize("k", [2, 5, 9])
def test_in_source_order_the_loss_is_3k_minus_2_epsilon(k):
    """The largest log likelihood ratio of independent Laplace noise: the L1 distance in units of the scale."""
    first = np.repeat([1.0, 0.0], k)[:, np.newaxis]
    second = first.copy()
    second[-1] = 1.0
    centroids = [group_means(data, corner_groups(data, np.ones(1), k)) for data in (first, second)]
    assert k * np.abs(centroids[0] - centroids[1]).sum() == pytest.approx(3 * k - 2)
