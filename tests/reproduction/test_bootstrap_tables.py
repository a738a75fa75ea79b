"""O'Keefe & Charest, Bootstrap Differential Privacy, Tables 1 to 4, and the scales that their table of farms needs.

A reproduction: the ranges of Table 2 are no sensitivities where a record may change its cell.
"""

from __future__ import annotations

import inspect
from fractions import Fraction
from typing import get_origin, get_type_hints

import numpy as np
import pytest

from penstock.mechanisms.table.cells import build_cells
from penstock.mechanisms.table.scales import every_cell_its_own_scale, one_scale_for_all, public_membership_scales
from penstock.mechanisms.table.sensitivity import cell_total_sensitivity, magnitude_table_sensitivity, total_sensitivity
from penstock.reproduction.beside_print import printed_tables
from penstock.reproduction.bootstrap import read_farms
from penstock.reproduction.computed import bootstrap_tables
from penstock.reproduction.computed.bootstrap_tables import (
    printed_scales,
    printed_sensitivities,
    ratios_of_accuracy,
    shares_of_totals,
)

TABLES = printed_tables("bootstrap_tables")
STEPS = TABLES["whole_table"]["steps"]
ONE = Fraction(1)


@pytest.fixture
def farms(data_folder):
    path = data_folder / "ricefarms.parquet"
    if not path.exists():
        pytest.skip("the file of rice farms is not there; set PENSTOCK_DATA to its folder")
    return read_farms(path)


def square(figures, digits=None):
    rows = np.reshape(figures, (3, 3)).tolist()
    return rows if digits is None else [[f"{figure:.{digits}f}" for figure in row] for row in rows]


def test_table_1_counts_totals_and_extremes(farms):
    output, printed = farms.measures["output"], TABLES["table_1"]["printed"]
    assert square(farms.counts) == printed["n"]
    assert square(output.sums) == square(output.sizes) == printed["total"]
    assert square(output.smallest) == printed["min"]
    assert square(output.largest) == square(output.largest_size) == TABLES["table_1"]["corrected"]["max"]


def test_only_one_entry_of_table_1_is_wrong_in_print():
    printed, corrected = (np.array(TABLES["table_1"][kind]["max"]) for kind in ("printed", "corrected"))
    assert np.argwhere(printed != corrected).tolist() == [[0, 0]]
    assert (printed[0, 0], corrected[0, 0]) == (900, 9000)
    assert (corrected - TABLES["table_1"]["printed"]["min"]).tolist() == TABLES["table_2"]["printed"]


def test_table_2_ranges_inside_cells(farms):
    assert square(printed_sensitivities(farms, "output")) == TABLES["table_2"]["printed"]


def test_table_3_ranges_over_totals(farms):
    shares = shares_of_totals(farms, "output")
    assert square(shares, 2) == TABLES["table_3"]["printed"]
    assert square(shares, 3) == TABLES["table_3"]["recomputed"]


def test_table_4_ratios_of_accuracy(farms):
    ratios = ratios_of_accuracy(farms, "output")
    assert square(ratios, 3) == TABLES["table_4"]["printed"]
    assert square(ratios, 4) == TABLES["table_4"]["recomputed"]


@pytest.mark.parametrize("adjacency", STEPS)
def test_a_whole_table_needs_a_scale_for_its_adjacency(farms, adjacency):
    assert magnitude_table_sensitivity(farms, "output", adjacency) == STEPS[adjacency]
    assert set(one_scale_for_all(farms, "output", adjacency, ONE).steps.tolist()) == {STEPS[adjacency]}


def test_the_printed_scales_are_ours_within_cells_alone(farms):
    printed = printed_scales(farms, "output", "i", 1.0)
    assert printed.tolist() == [STEPS["bootstrap_within_cell"]] * 9
    assert (
        public_membership_scales(farms, "output", ONE).steps.tolist() == printed_sensitivities(farms, "output").tolist()
    )
    loss = STEPS["bootstrap_replace"] / printed[0]
    assert f"{loss:.4f}" == TABLES["whole_table"]["loss_of_the_printed_scale"]


def test_a_scale_for_every_cell_beats_the_printed_split_of_epsilon(farms):
    """2 M_i against 9 V_i: less than a third of the printed noise in all cells but one, and it keeps epsilon."""
    ours = every_cell_its_own_scale(farms, "output", "bootstrap_replace", ONE)
    assert ours.steps.tolist() == (2 * farms.measures["output"].largest).tolist()
    share = ours.steps / printed_scales(farms, "output", "ii", 1.0)
    # In the cell of two farms the range is less than half of the larger one.
    assert [place for place, part in enumerate(share) if part > 1 / 3] == [7]


def test_one_cell_total_needs_its_largest_value_where_farms_change_cells(farms):
    assert cell_total_sensitivity(farms, "output", 7, "bootstrap_replace") == 705
    assert cell_total_sensitivity(farms, "output", 7, "bootstrap_within_cell") == 305
    assert total_sensitivity(farms, "output", "bootstrap_replace") == 17_610 - 42


def test_the_printed_split_of_epsilon_adds_no_noise_to_a_cell_of_one_record():
    alone = build_cells({"d": np.array([0, 1, 1])}, (2,), {"output": np.array([5, 1, 3])})
    assert printed_scales(alone, "output", "ii", 1.0).tolist() == [0.0, 4.0]


@pytest.mark.parametrize("name", bootstrap_tables.__all__)
def test_every_function_of_the_reproduction_returns_a_bare_array(name):
    function = getattr(bootstrap_tables, name)
    assert inspect.isfunction(function)
    assert get_origin(get_type_hints(function)["return"]) is np.ndarray
