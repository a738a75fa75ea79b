"""The private median on the pair of worlds that catches individual differential privacy: the auditor finds no fault.

(0, 0, 0) against (0, 0, 1): the local sensitivity is 0 in the first world and 1 in the second, so noise of that scale
tells them apart for certain (test_wrong_calibrations_of_the_sources.py). Chance: a bound above the true loss has
probability at most 2e-4 a case; the seeds are fixed.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.statistics import _local as local
from penstock.mechanisms.statistics._groups import SortedGroups
from penstock.mechanisms.statistics._quantiles import MEDIAN, quantile
from tests.laws.auditor import lower_bound

TRIALS = 8_000
FIRST, SECOND = (0, 0, 0), (0, 0, 1)
EVENTS = {"the exact median": lambda released: released == 0, "any other": lambda released: released > 0}


def proven(epsilon, steps, adjacency="replace", pair=(FIRST, SECOND)):
    """What each event proves, from the same outcomes."""
    outcomes = []
    for seed, values in enumerate(pair):
        groups = SortedGroups(np.tile(np.array(values), TRIALS), len(values) * np.arange(TRIALS + 1))
        outcomes.append(quantile(groups, steps, MEDIAN, epsilon, adjacency, seeded(seed)))
    return {
        name: lower_bound(*(int(np.count_nonzero(event(released))) for released in outcomes), TRIALS)
        for name, event in EVENTS.items()
    }


def test_the_two_worlds_differ_in_whether_there_is_noise_at_all():
    worlds = SortedGroups(np.array([*FIRST, *SECOND]), np.array([0, 3, 6]))
    assert local.without_noise(local.median_in_half_steps(worlds)).tolist() == [True, False]


@pytest.mark.parametrize("steps", [1, 9])
def test_the_private_median_passes_between_two_actual_worlds(steps):
    assert max(proven(Fraction(1), steps).values()) <= 1


@pytest.mark.slow
def test_the_private_median_passes_where_a_record_is_added():
    assert max(proven(Fraction(1), 1, "add_remove", ((0, 0), SECOND)).values()) <= 1


def test_the_audit_notices_eight_times_epsilon():
    """This pair loses less than half of epsilon; test_statistic_quantiles.py goes through all small ones."""
    assert proven(Fraction(8), 1)["any other"] > 1
