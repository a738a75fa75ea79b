"""Errors planted in the product, each of a kind that was made somewhere: neighbours laid side by side show them.

Each is told by the name of the draw, or of what is released, that gives it away. Without the error every pair passes.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from penstock.mechanisms import dp_microaggregation, refinement, statistics, table
from penstock.mechanisms.columns import Column
from penstock.mechanisms.dp_microaggregation import _attributes, _mechanism, orders
from penstock.mechanisms.refinement import _mechanism as refining
from penstock.mechanisms.refinement import refine
from penstock.mechanisms.statistics import _individual, _private, _quantiles
from penstock.mechanisms.statistics import _mechanism as summing
from penstock.mechanisms.table import _chosen, draws, sensitivity
from penstock.mechanisms.table import _mechanism as counting
from tests.laws.replay.frozen import DrewElsewhere, NoiseAstray
from tests.laws.replay.side_by_side import CostsMore, OtherDraws, TellsMore, prove

DECLARED = {
    "area": Column(role="quasi_identifier", type="nominal", categories=("north", "south")),
    "x": Column(role="confidential", type="integer", domain=(0, 8)),
    "y": Column(role="confidential", type="integer", domain=(0, 8)),
}
AREAS = np.array(["north", "north", "south", "south", "south", "north"], object)
VALUES = np.array([0, 3, 8, 1, 5, 6])
FIRST = {"area": AREAS, "x": VALUES, "y": VALUES[::-1].copy()}
EPSILON = Fraction(1)


def changed(**places):
    """FIRST with another record in place of the first one."""
    found = {name: values.copy() for name, values in FIRST.items()}
    for name, value in places.items():
        found[name][0] = value
    return found


ELSEWHERE = changed(area="south", x=8, y=0)
WITHOUT = {name: values[1:] for name, values in FIRST.items()}
SPENT = {"epsilon": "1", "adjacency": "replace"}


def of(mechanism, **settings):
    params = mechanism.Params.model_validate(settings)
    assert mechanism.faults(params, DECLARED) == []
    return mechanism, params


BY_AREA = of(table, dimensions=["area"], sums=["x"], noise="laplace", margins="none", model="dp", **SPENT)
IN_A_BOX = of(table, dimensions=["area"], sums=["x"], noise="box", margins="none", model="dp", **SPENT)
BOOTSTRAP = of(
    table,
    dimensions=["area"],
    sums=["x"],
    count=False,
    model="bdp",
    scale="one",
    empty_cells="noise",
    acknowledges=["bdp"],
    epsilon="1",
    adjacency="bootstrap_replace",
)
MEDIAN = of(statistics, figures=[{"statistic": "median", "of": "x"}], model="dp", **SPENT)
SUM = of(statistics, figures=[{"statistic": "sum", "of": "x"}], model="dp", **SPENT)
MEAN = of(statistics, figures=[{"statistic": "mean", "of": "x"}], model="dp", epsilon="1", adjacency="add_remove")
ACTUAL = of(
    statistics,
    figures=[{"statistic": "median", "of": "x"}],
    model="idp",
    epsilon="1",
    adjacency="from_D",
    acknowledges=["idp"],
)
BLOCKS = of(dp_microaggregation, k=2, order="corner", **SPENT)
REFINED = of(refinement, priors={name: {"kind": "uniform"} for name in DECLARED}, **SPENT)


def laid(made, other=ELSEWHERE, *, scale_of_first=False, first=FIRST, patch, epsilon=EPSILON):
    mechanism, params = made

    def run(columns, source):
        protected = mechanism.protect(columns, DECLARED, params, source)
        released = {**protected.columns, "chosen": str(protected.chosen)}
        if mechanism is dp_microaggregation:
            names = [name for name in released if name in DECLARED]
            rows = zip(*(released.pop(name).tolist() for name in names), strict=True)
            released["rows"] = np.array(sorted(map(repr, rows)))
        return released

    return prove(run, first, other, epsilon, patch, scale_of_first=scale_of_first)


@pytest.mark.parametrize("made", [BY_AREA, IN_A_BOX, MEDIAN, SUM, BLOCKS, REFINED])
def test_without_an_error_these_pass(made, monkeypatch):
    assert laid(made, patch=monkeypatch).epsilon <= 1
    assert laid(MEAN, WITHOUT, patch=monkeypatch).epsilon <= 1
    assert laid(ACTUAL, scale_of_first=True, patch=monkeypatch).epsilon <= 1
    assert laid(BOOTSTRAP, changed(area="south", x=8), scale_of_first=True, patch=monkeypatch).epsilon <= 1


def wrapped(patch, owner, name, made):
    """Put `made`, which takes the original first, in its place."""
    original = getattr(owner, name)
    patch.setattr(owner, name, lambda *given, **named: made(original, *given, **named))


def test_a_replaced_record_that_counts_in_one_cell_only(monkeypatch):
    wrapped(monkeypatch, _chosen, "touched", lambda original, params: 1)
    with pytest.raises(CostsMore, match="discrete_laplace"):
        laid(BY_AREA, patch=monkeypatch)


def test_box_noise_calibrated_by_twice_the_sensitivity_for_two_cells(monkeypatch):
    def doubled(original, self, cells, randomness):
        wide = tuple(2 * width for width in self.half_widths)
        return original(replace(self, half_widths=wide, epsilon=2 * self.epsilon), cells, randomness)

    wrapped(monkeypatch, draws.Noise, "draw", doubled)
    with pytest.raises(CostsMore, match="box"):
        laid(IN_A_BOX, patch=monkeypatch)


def test_half_of_the_sensitivity_of_a_sum(monkeypatch):
    wrapped(monkeypatch, _private, "noise_of", lambda original, kind, widths, e: original(kind, (widths[0] // 2,), e))
    with pytest.raises(CostsMore, match="of 1"):
        laid(SUM, patch=monkeypatch)


def test_half_of_the_sensitivity_of_a_score(monkeypatch):
    wrapped(monkeypatch, _quantiles, "score_sensitivity", lambda original, share, adjacency: 1)
    with pytest.raises(CostsMore, match="draw_points"):
        laid(MEDIAN, changed(x=8), patch=monkeypatch, epsilon=Fraction(1, 2))


def corner_chain(patch):
    """Neighbours of which every block of two loses a record for one far away; area is no column of the release."""
    patch.setitem(DECLARED, "area", Column(role="identifier"))
    chain = np.array([(0, 0), (1, 1), (0, 3), (0, 4), (4, 2), (5, 2), (1, 6), (2, 7)])
    moved = np.array([*chain[1:], (8, 8)])
    return tuple({"area": np.arange(8), "x": each[:, 0], "y": each[:, 1]} for each in (chain, moved))


def test_blocks_along_a_corner_with_the_sensitivity_of_one_column(monkeypatch):
    monkeypatch.setattr(orders.Corner, "sensitivities", lambda self, axes, blocks: tuple(axis.widest for axis in axes))
    first, second = corner_chain(monkeypatch)
    with pytest.raises(CostsMore, match="discrete_laplace"):
        laid(BLOCKS, second, first=first, patch=monkeypatch)


def test_epsilon_for_every_column_of_a_block(monkeypatch):
    def undivided(original, *given):
        return replace(original(*given), epsilons=(EPSILON,) * 2)

    first, second = corner_chain(monkeypatch)
    fair = laid(BLOCKS, second, first=first, patch=monkeypatch).epsilon
    wrapped(monkeypatch, _mechanism, "_settle", undivided)
    with pytest.raises(CostsMore):
        laid(BLOCKS, second, first=first, patch=monkeypatch, epsilon=Fraction(fair))


def test_factors_of_refinement_that_are_squared(monkeypatch):
    original = refine.by_value
    monkeypatch.setitem(refining._FACTORS, "replace", (lambda e: original(2 * e), refine.moved_by_value))
    with pytest.raises(CostsMore, match="refined"):
        laid(REFINED, patch=monkeypatch)


def test_the_size_of_noise_from_each_data_set_itself(monkeypatch):
    with pytest.raises(OtherDraws, match="law of draw 0"):
        laid(ACTUAL, changed(x=4), patch=monkeypatch)


def test_ranges_inside_cells_where_records_may_change_theirs(monkeypatch):
    def widest(original, cells, measure, adjacency):
        return original(cells, measure, "bootstrap_within_cell")

    for module in (sensitivity, table.scales):
        if hasattr(module, "magnitude_table_sensitivity"):
            wrapped(monkeypatch, module, "magnitude_table_sensitivity", widest)
    first = {"area": AREAS, "x": np.array([7, 8, 6, 7, 8, 7]), "y": VALUES}
    other = {**first, "area": np.array(["south", *AREAS[1:]], object)}
    with pytest.raises(CostsMore, match="cell_noise"):
        laid(BOOTSTRAP, other, first=first, scale_of_first=True, patch=monkeypatch)


def test_noise_that_is_cut_off_at_the_largest_total_of_the_data(monkeypatch):
    def cut_off(exact, noise):
        return exact + np.clip(noise, -exact, exact.max() + 100 - exact)

    monkeypatch.setattr(counting, "noisy_total", cut_off)
    with pytest.raises(OtherDraws, match="bound that depends on the data"):
        laid(BY_AREA, patch=monkeypatch)


def test_noise_that_is_halved_on_its_way(monkeypatch):
    wrapped(monkeypatch, counting, "noisy_total", lambda original, exact, noise: original(exact, noise // 2))
    with pytest.raises(NoiseAstray):
        laid(BY_AREA, patch=monkeypatch)


def test_one_noise_for_two_cells(monkeypatch):
    def twice(original, exact, noise):
        return original(exact, np.full_like(noise, noise[0]))

    wrapped(monkeypatch, counting, "noisy_total", twice)
    with pytest.raises(NoiseAstray, match="two totals"):
        laid(BY_AREA, patch=monkeypatch)


def test_noise_that_is_drawn_and_not_added(monkeypatch):
    monkeypatch.setattr(counting, "noisy_total", lambda exact, noise: exact)
    with pytest.raises(NoiseAstray, match="met no total"):
        laid(BY_AREA, patch=monkeypatch)


def test_empty_cells_without_noise(monkeypatch):
    def unless_empty(original, exact, noise):
        return np.where(exact == 0, 0, original(exact, np.where(exact == 0, 0, noise)))

    wrapped(monkeypatch, counting, "noisy_total", unless_empty)
    only = {**FIRST, "area": np.array(["north"] * 6, object)}
    with pytest.raises((NoiseAstray, CostsMore)):
        laid(BY_AREA, {**only, "area": np.array(["south", *["north"] * 5], object)}, first=only, patch=monkeypatch)


def test_a_draw_more_where_the_data_are_large(monkeypatch):
    def again(original, self, levels, blocks, sensitivity, epsilon, randomness):
        if levels.max() == 8:
            original(self, levels, blocks, sensitivity, epsilon, randomness)
        return original(self, levels, blocks, sensitivity, epsilon, randomness)

    wrapped(monkeypatch, _attributes.Number, "draw", again)
    small = {**FIRST, "x": np.minimum(VALUES, 7), "y": np.minimum(VALUES, 7)}
    with pytest.raises((OtherDraws, NoiseAstray)):
        laid(BLOCKS, {**small, "x": np.array([8, *small["x"][1:]])}, first=small, patch=monkeypatch)


def test_chance_of_its_own(monkeypatch):
    def with_words(original, groups, declared, params, randomness):
        randomness.words(1)
        return original(groups, declared, params, randomness)

    wrapped(monkeypatch, summing, "_private", with_words)
    with pytest.raises(DrewElsewhere):
        laid(MEDIAN, patch=monkeypatch)


def test_the_number_of_records_beside_the_figures(monkeypatch):
    def told(original, columns, declared, params, randomness):
        found = original(columns, declared, params, randomness)
        return replace(found, chosen={**found.chosen, "records": len(columns["x"])})

    wrapped(monkeypatch, statistics, "protect", told)
    with pytest.raises(TellsMore, match="chosen"):
        laid(MEAN, WITHOUT, patch=monkeypatch)


def test_figures_that_are_cut_off_at_the_truth(monkeypatch):
    """Post-processing that looks at the data, as in the clamped count of the first paper on idp."""

    def clamped(original, exact, name, epsilon, randomness):
        found = original(exact, name, epsilon, randomness)
        truth = exact.in_units(exact.values)
        return np.maximum(truth - 1, np.minimum(found, truth + 1))

    wrapped(monkeypatch, summing, "released", clamped)
    assert _individual.released is not summing.released
    with pytest.raises(TellsMore, match="x_median"):
        laid(ACTUAL, changed(x=8), scale_of_first=True, patch=monkeypatch)
