"""Tables with our bootstrap scales on the pairs and events that catch the published ones: at most epsilon is proven.

Chance: a bound above the true loss has probability at most 2e-4 a case; the seeds are fixed.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table.cells import build_cells
from penstock.mechanisms.table.noise import cell_noise
from penstock.mechanisms.table.scales import (
    Scales,
    bootstrap_contingency_scales,
    every_cell_its_own_scale,
    one_scale_for_all,
    public_membership_scales,
)
from tests.laws.test_wrong_calibrations_of_the_sources import CONTINGENCY_TABLE, MAGNITUDE_TABLE

ONE = Fraction(1)


def table(*cells):
    """A table of the values that are in each cell."""
    codes = np.repeat(np.arange(len(cells)), [len(values) for values in cells])
    return build_cells({"d": codes}, (len(cells),), {"v": np.concatenate(cells).astype(np.int64)})


def outcomes(answers, scales):
    """Releases of two answers, many at a time: the scales are repeated, not the noise."""

    def draw(rng, trials):
        many = Scales(scales.adjacency, scales.epsilon, np.tile(scales.steps, trials))
        return np.array(answers) + cell_noise(many, seeded(int(rng.integers(2**32)))).reshape(trials, -1)

    return draw


def audited(case, first, second, scales):
    return replace(case, first=outcomes(first, scales), second=outcomes(second, scales)).audited()


def loss(first, second, scales):
    """The exact loss of a pair, by the probabilities of the noise."""
    return sum(abs(a - b) / scales.of(cell) for cell, (a, b) in enumerate(zip(first, second, strict=True)))


COUNTED = table(np.ones(10), np.ones(5))
COUNTS = ((10, 5), (9, 6))
RIGHT_FOR_COUNTS = {
    "bootstrap": bootstrap_contingency_scales(COUNTED, "bootstrap_replace", ONE),
}
# The two largest farms of two cells; a small one in each makes the range inside the first the published scale.
FARMS = table([17_610, 82], [14_520, 184])
TOTALS = ((17_610, 0), (0, 14_520))
RIGHT_FOR_TOTALS = {
    "one scale": one_scale_for_all(FARMS, "v", "bootstrap_replace", ONE),
    "own scales": every_cell_its_own_scale(FARMS, "v", "bootstrap_replace", ONE),
}


@pytest.mark.parametrize("name", RIGHT_FOR_COUNTS)
def test_a_replaced_record_costs_epsilon_in_a_table_of_counts(name):
    scales = RIGHT_FOR_COUNTS[name]
    assert loss(*COUNTS, scales) == 1
    assert audited(CONTINGENCY_TABLE, *COUNTS, scales) <= CONTINGENCY_TABLE.promised


@pytest.mark.parametrize("name", RIGHT_FOR_TOTALS)
def test_a_replaced_record_costs_at_most_epsilon_in_a_table_of_totals(name):
    scales = RIGHT_FOR_TOTALS[name]
    assert loss(*TOTALS, scales) <= 1
    assert audited(MAGNITUDE_TABLE, *TOTALS, scales) <= MAGNITUDE_TABLE.promised


def test_the_audit_comes_close_to_what_is_lost():
    """So it would notice much more than epsilon."""
    assert audited(CONTINGENCY_TABLE, *COUNTS, RIGHT_FOR_COUNTS["bootstrap"]) > 0.9
    assert audited(MAGNITUDE_TABLE, *TOTALS, RIGHT_FOR_TOTALS["one scale"]) > 0.9


def test_scales_of_another_adjacency_are_caught_where_a_record_changes_its_cell():
    """Ours for added and removed records, and for who stays in a cell: right where they belong, too small here."""
    for case, pair, scales in (
        (CONTINGENCY_TABLE, COUNTS, bootstrap_contingency_scales(COUNTED, "bootstrap_add_remove", ONE)),
        (MAGNITUDE_TABLE, TOTALS, one_scale_for_all(FARMS, "v", "bootstrap_add_remove", ONE)),
        (MAGNITUDE_TABLE, TOTALS, one_scale_for_all(FARMS, "v", "bootstrap_within_cell", ONE)),
        (MAGNITUDE_TABLE, TOTALS, public_membership_scales(FARMS, "v", ONE)),
    ):
        assert case.promised < audited(case, *pair, scales) <= loss(*pair, scales)


def test_the_published_scale_of_the_farms_is_the_one_within_cells():
    assert one_scale_for_all(FARMS, "v", "bootstrap_within_cell", ONE).of(0) == 17_528
    assert float(loss(*TOTALS, one_scale_for_all(FARMS, "v", "bootstrap_within_cell", ONE))) == MAGNITUDE_TABLE.exact
