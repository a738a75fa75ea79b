from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from tests.laws.auditor import audit, interval, lower_bound

TRIALS = 200_000
EPSILON = math.log(3)


def randomised_response(answer, epsilon, seed):
    """The true bit with probability e^epsilon / (1 + e^epsilon), else the other."""
    rng = np.random.default_rng(seed)
    honest = math.exp(epsilon) / (1 + math.exp(epsilon))
    return lambda count: np.where(rng.random(count) < honest, answer, 1 - answer)


def says_one(answers):
    return answers == 1


@pytest.mark.parametrize(("successes", "trials"), [(1, 10), (7, 10), (9, 10), (50, 1000), (3, 200_000)])
def test_the_interval_ends_where_the_count_becomes_too_unlikely(successes, trials):
    low, high = interval(successes, trials)
    assert binom.sf(successes - 1, trials, low) == pytest.approx(0.5e-4)
    assert binom.cdf(successes, trials, high) == pytest.approx(0.5e-4)


def test_never_and_always_have_one_sided_intervals():
    low, high = interval(0, 10)
    assert (low, (1 - high) ** 10) == (0.0, pytest.approx(0.5e-4))
    low, high = interval(10, 10)
    assert (low**10, high) == (pytest.approx(0.5e-4), 1.0)


def chance_of_exceeding(epsilon, trials, bound):
    """Summed over every pair of counts, so no chance is left in the test itself."""
    honest = math.exp(epsilon) / (1 + math.exp(epsilon))
    counts = np.arange(trials + 1)
    first, second = binom.pmf(counts, trials, honest), binom.pmf(counts, trials, 1 - honest)
    return sum(
        first[one] * second[two] for one in counts for two in counts if bound(int(one), int(two), trials) > epsilon
    )


@pytest.mark.parametrize("epsilon", [0.1, EPSILON, 3.0])
@pytest.mark.parametrize("confidence", [0.2, 0.01])
def test_the_bound_exceeds_the_truth_no_more_often_than_stated(epsilon, confidence):
    """With 40 trials and a low confidence, so that a bound which is too high would show."""
    exceeded = chance_of_exceeding(epsilon, 40, lambda *counts: lower_bound(*counts, confidence=confidence))
    assert exceeded <= 2 * confidence


def test_that_test_notices_a_bound_without_intervals():
    def by_frequencies(one, two, trials):
        return math.log(one / two) if one and two else 0.0

    assert chance_of_exceeding(EPSILON, 40, by_frequencies) > 0.4


@pytest.mark.parametrize("epsilon", [0.1, EPSILON, 2.0])
def test_an_honest_randomised_response_passes_and_the_bound_is_close(epsilon):
    """False alarm 2e-4 for each epsilon."""
    found = audit(randomised_response(1, epsilon, 1), randomised_response(0, epsilon, 2), says_one, TRIALS)
    assert 0.9 * epsilon - 0.03 < found <= epsilon


def test_twice_the_epsilon_is_noticed():
    found = audit(randomised_response(1, 2 * EPSILON, 1), randomised_response(0, 2 * EPSILON, 2), says_one, TRIALS)
    assert found > 1.9 * EPSILON


def test_both_directions_are_tried():
    found = audit(randomised_response(0, EPSILON, 1), randomised_response(1, EPSILON, 2), says_one, TRIALS)
    assert found > 0.95 * EPSILON


def test_equal_counts_prove_nothing():
    assert lower_bound(500, 500, 1000) == 0.0


def test_an_event_that_never_happens_on_one_side_proves_as_much_as_the_trials_allow():
    assert lower_bound(TRIALS, 0, TRIALS) == pytest.approx(math.log(TRIALS / -math.log(0.5e-4)), abs=1e-3)


def test_delta_is_taken_from_the_more_likely_side():
    """Chances 0.3 and 0.1 need (ln 2, 0.1): the bound with delta = 0.1 is just below ln 2."""
    found = lower_bound(60_000, 20_000, TRIALS, delta=0.1)
    assert math.log(2) - 0.07 < found < math.log(2)
    assert lower_bound(60_000, 20_000, TRIALS, delta=0.25) == 0.0


def test_every_trial_is_drawn_once():
    drawn = []

    def draw(count):
        drawn.append(count)
        return np.ones(count)

    audit(draw, draw, says_one, 50_001)
    assert sum(drawn) == 2 * 50_001
