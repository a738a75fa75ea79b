"""Sensitivities and scales against all adjacent data sets made of the records of small ones."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.refusal import SettingRefused
from penstock.mechanisms.table.cells import build_cells
from penstock.mechanisms.table.scales import (
    bootstrap_contingency_scales,
    every_cell_its_own_scale,
    one_scale_for_all,
    public_membership_scales,
)
from penstock.mechanisms.table.sensitivity import (
    cell_total_sensitivity,
    contingency_table_sensitivity,
    count_sensitivity,
    magnitude_table_sensitivity,
    total_sensitivity,
)

ADJACENCIES = ("bootstrap_replace", "bootstrap_add_remove", "bootstrap_within_cell")
CELLS = 3
EPSILON = Fraction(2, 3)

# A record is its cell and its value.
DATA_SETS = st.lists(st.tuples(st.integers(0, CELLS - 1), st.integers(-4, 4)), min_size=1, max_size=4)


def cells_of(records, cells=CELLS):
    codes, values = np.array(records, np.int64).reshape(-1, 2).T
    return build_cells({"d": codes.copy()}, (cells,), {"v": values.copy()})


def adjacent_pairs(data, adjacency, possible=None):
    """All pairs of data sets, made of the records of `data` or of all possible ones, that differ by one change."""
    possible = sorted(set(data if possible is None else possible))
    for rest in combinations_with_replacement(possible, len(data) - 1):
        if adjacency.endswith("add_remove"):
            for added in possible:
                yield rest, (*rest, added)
                for more in possible:
                    yield (*rest, more), (*rest, more, added)
        else:
            for old, new in product(possible, repeat=2):
                if not adjacency.endswith("within_cell") or old[0] == new[0]:
                    yield (*rest, old), (*rest, new)


def counts(data):
    return [sum(cell == place for cell, _ in data) for place in range(CELLS)]


def totals(data):
    return [sum(value for cell, value in data if cell == place) for place in range(CELLS)]


def moves(output, data, adjacency, possible=None):
    """How far each change moves each cell."""
    return [
        [abs(first - second) for first, second in zip(output(a), output(b), strict=True)]
        for a, b in adjacent_pairs(data, adjacency, possible)
    ]


def largest_loss(moved, scales):
    """The largest sum of moves over scales; a cell of scale 0 must not move."""
    assert all(not move for row in moved for move, step in zip(row, scales.steps, strict=True) if not step)
    return max(
        (
            sum((Fraction(move) / scales.of(place) for place, move in enumerate(row) if move), Fraction(0))
            for row in moved
        ),
        default=Fraction(0),
    )


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@given(data=DATA_SETS)
def test_sensitivities_of_counts_are_the_largest_moves(adjacency, data):
    cells, moved = cells_of(data), moves(counts, data, adjacency)
    assert contingency_table_sensitivity(cells, adjacency) == max(map(sum, moved))
    for cell in range(CELLS):
        assert count_sensitivity(cells, cell, adjacency) == max(row[cell] for row in moved)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@given(data=DATA_SETS)
def test_sensitivities_of_totals_are_the_largest_moves(adjacency, data):
    cells, moved = cells_of(data), moves(totals, data, adjacency)
    assert magnitude_table_sensitivity(cells, "v", adjacency) == max(map(sum, moved))
    for cell in range(CELLS):
        assert cell_total_sensitivity(cells, "v", cell, adjacency) == max(row[cell] for row in moved)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@given(data=DATA_SETS)
def test_the_sensitivity_of_one_total_is_the_largest_move_of_it(adjacency, data):
    largest = max(abs(sum(totals(a)) - sum(totals(b))) for a, b in adjacent_pairs(data, adjacency))
    found = total_sensitivity(cells_of(data), "v", adjacency)
    if adjacency == "bootstrap_within_cell":
        assert found >= largest
        data = [(0, value) for _, value in data]
        largest = max(abs(sum(totals(a)) - sum(totals(b))) for a, b in adjacent_pairs(data, adjacency))
    assert found == largest


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@given(data=DATA_SETS)
def test_one_scale_for_all_spends_epsilon_and_no_more(adjacency, data):
    cells = cells_of(data)
    for scales, output in (
        (one_scale_for_all(cells, "v", adjacency, EPSILON), totals),
        (bootstrap_contingency_scales(cells, adjacency, EPSILON), counts),
    ):
        assert scales.adjacency == adjacency
        assert largest_loss(moves(output, data, adjacency), scales) in ({EPSILON} if scales.steps.any() else {0})


@pytest.mark.parametrize("adjacency", ADJACENCIES[:2])
@given(data=DATA_SETS)
def test_every_cell_its_own_scale_keeps_epsilon(adjacency, data):
    scales = every_cell_its_own_scale(cells_of(data), "v", adjacency, EPSILON)
    loss = largest_loss(moves(totals, data, adjacency), scales)
    assert scales.adjacency == adjacency
    assert loss <= EPSILON
    if np.count_nonzero(scales.steps) > 1:
        assert loss == EPSILON


@given(DATA_SETS)
def test_public_membership_keeps_epsilon_for_who_stays_in_a_cell(data):
    scales = public_membership_scales(cells_of(data), "v", EPSILON)
    assert scales.adjacency == "bootstrap_within_cell"
    loss = largest_loss(moves(totals, data, scales.adjacency), scales)
    assert loss in ({EPSILON} if scales.steps.any() else {0})


def test_the_loss_notices_the_ranges_of_cells_where_records_change_cells():
    """The published pairing, made by hand: V_i with a replaced record."""
    data = [(0, 1), (0, 4), (1, 1), (1, 3)]
    inside = public_membership_scales(cells_of(data), "v", EPSILON)
    assert largest_loss(moves(totals, data, "bootstrap_replace"), inside) == EPSILON * (Fraction(4, 3) + Fraction(3, 2))


def test_empty_cells_of_the_data_never_move_and_single_cells_hold_no_range():
    cells = cells_of([(0, 5), (2, -7)])
    assert every_cell_its_own_scale(cells, "v", "bootstrap_replace", Fraction(1)).steps.tolist() == [10, 0, 14]
    assert public_membership_scales(cells, "v", Fraction(1)).steps.tolist() == [0, 0, 0]
    assert magnitude_table_sensitivity(cells, "v", "bootstrap_replace") == 12


def test_no_records_have_no_sensitivity():
    cells = cells_of([])
    for adjacency in ADJACENCIES:
        assert contingency_table_sensitivity(cells, adjacency) == total_sensitivity(cells, "v", adjacency) == 0
        assert (
            magnitude_table_sensitivity(cells, "v", adjacency) == cell_total_sensitivity(cells, "v", 0, adjacency) == 0
        )


def test_the_largest_values_do_not_overflow():
    largest = 2**62 - 1
    cells = cells_of([(0, largest), (1, -largest)])
    assert magnitude_table_sensitivity(cells, "v", "bootstrap_replace") == 2 * largest
    assert total_sensitivity(cells, "v", "bootstrap_replace") == 2 * largest
    assert every_cell_its_own_scale(cells, "v", "bootstrap_replace", EPSILON).of(1) == 2 * largest / EPSILON


WITH_ANY_ADJACENCY = {
    "count": lambda adjacency: count_sensitivity(cells_of([(0, 1)]), 0, adjacency),
    "contingency": lambda adjacency: contingency_table_sensitivity(cells_of([(0, 1)]), adjacency),
    "total": lambda adjacency: total_sensitivity(cells_of([(0, 1)]), "v", adjacency),
    "cell total": lambda adjacency: cell_total_sensitivity(cells_of([(0, 1)]), "v", 0, adjacency),
    "magnitude table": lambda adjacency: magnitude_table_sensitivity(cells_of([(0, 1)]), "v", adjacency),
    "one scale": lambda adjacency: one_scale_for_all(cells_of([(0, 1)]), "v", adjacency, EPSILON),
    "own scales": lambda adjacency: every_cell_its_own_scale(cells_of([(0, 1)]), "v", adjacency, EPSILON),
    "bootstrap counts": lambda adjacency: bootstrap_contingency_scales(cells_of([(0, 1)]), adjacency, EPSILON),
}


@pytest.mark.parametrize("name", WITH_ANY_ADJACENCY)
@pytest.mark.parametrize("adjacency", ["replace_within_cell", "from_D", ""])
def test_an_adjacency_without_a_proven_constant_is_refused(name, adjacency):
    with pytest.raises(SettingRefused, match="adjacency refused: must be one of bootstrap"):
        WITH_ANY_ADJACENCY[name](adjacency)


def test_scales_of_one_data_set_know_no_adjacency_of_differential_privacy():
    for name in ("one scale", "own scales", "bootstrap counts"):
        with pytest.raises(SettingRefused, match="got 'replace'"):
            WITH_ANY_ADJACENCY[name]("replace")


def test_own_scales_are_refused_where_membership_is_public():
    with pytest.raises(SettingRefused, match="one of bootstrap_replace, bootstrap_add_remove, got"):
        WITH_ANY_ADJACENCY["own scales"]("bootstrap_within_cell")


def test_an_epsilon_that_is_not_exact_is_refused():
    cells = cells_of([(0, 1)])
    for scales in (
        lambda: one_scale_for_all(cells, "v", "bootstrap_replace", 0.5),
        lambda: every_cell_its_own_scale(cells, "v", "bootstrap_replace", 0.5),
        lambda: public_membership_scales(cells, "v", 0.5),
        lambda: bootstrap_contingency_scales(cells, "bootstrap_replace", 0.5),
    ):
        with pytest.raises(SettingRefused, match="epsilon refused: must be an exact fraction above 0"):
            scales()
