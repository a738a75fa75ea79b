"""Soria-Comas, PhD thesis, Tables 4.1 to 4.4 and Example 5: the accuracy of noise, beside the printed digits.

The samplers draw this noise on a grid; the tables are about its continuous form. Nothing is promised here.
"""

from __future__ import annotations

from math import sqrt

import pytest

from penstock.mechanisms.noise.accuracy import (
    best_core_for_variance,
    best_core_for_width,
    best_step,
    box_variances,
    grid_staircase_variance,
    laplace_variance,
)
from penstock.reproduction.beside_print import as_printed, printed_tables
from penstock.reproduction.computed import least_variances, least_widths, regions_of_box_noise, regions_of_laplace_noise

TABLES = printed_tables("tables_4_1_to_4_4")
TABLE_4_3, TABLE_4_4, EXAMPLE_5 = TABLES["table_4_3"], TABLES["table_4_4"], TABLES["example_5"]


def rows(name):
    return pytest.mark.parametrize(
        "row", TABLES[name]["rows"], ids=lambda row: str(row.get("epsilon", row.get("level")))
    )


@rows("table_4_1")
def test_table_4_1_least_variance_of_one_answer(row):
    core = best_core_for_variance(1, row["epsilon"])
    [[laplace, variance]] = least_variances([row["epsilon"]])
    assert core == pytest.approx(row["recomputed"]["core"], abs=1e-6)
    assert variance == pytest.approx(row["recomputed"]["staircase"], abs=1e-6)
    assert laplace == pytest.approx(row["recomputed"]["laplace"], abs=1e-6)
    if row["printed"]:
        assert {"laplace": f"{laplace:.2f}", "staircase": f"{variance:.2f}"} == row["printed"]


@rows("table_4_2")
def test_table_4_2_narrowest_interval_of_one_answer(row):
    core = best_core_for_width(1, row["epsilon"], 0.95)
    [[laplace, width]] = least_widths([row["epsilon"]], 0.95)
    assert width == pytest.approx(row["recomputed"]["staircase"], abs=1e-6)
    # The width is flat around its least value, so the place is known less well than the value.
    assert core == pytest.approx(row["recomputed"]["core"], abs=1e-4)
    assert f"{laplace:.2f}" == row["printed"]["laplace"]
    assert as_printed(width, row["printed"]["staircase"], cut_off=True) == row["printed"]["staircase"]
    assert 0.999 * laplace < width < laplace


@rows("table_4_3")
def test_table_4_3_region_of_two_answers_with_laplace_noise(row):
    [[alpha, size]] = regions_of_laplace_noise(TABLE_4_3["scale"], [row["level"]])
    assert alpha == pytest.approx(row["recomputed"]["alpha"], abs=5e-5)
    assert size == pytest.approx(row["recomputed"]["size"], abs=0.05)
    assert f"{alpha:.2f}" == row["printed"]["alpha"]
    assert f"{size:.0f}" == row["corrected"]["size"]
    assert float(row["printed"]["size"]) == pytest.approx(2 * float(row["printed"]["alpha"]) ** 2, abs=1)
    assert float(row["printed"]["size"]) == pytest.approx(size, abs=1.4)


@rows("table_4_4")
def test_table_4_4_region_of_two_answers_with_box_noise(row):
    right, in_print = {**row["printed"], **row["corrected"]}, float(row["printed"]["size"])
    [[half_width, size]] = regions_of_box_noise(TABLE_4_4["half_widths"], 0.1, TABLE_4_4["epsilon"], [row["level"]])
    assert half_width == pytest.approx(row["recomputed"]["half_width"], abs=1e-4)
    assert size == pytest.approx(row["recomputed"]["size"], abs=0.05)
    assert {"half_width": f"{half_width:.2f}", "size": f"{size:.1f}"} == right
    assert size == pytest.approx(in_print, abs=0.8)
    # The printed areas belong to the corrected half-widths, which shows that 6.99 is a slip.
    assert sqrt(in_print / 40) == pytest.approx(float(right["half_width"]), abs=0.005)


def test_only_two_half_widths_of_table_4_4_are_wrong_in_print():
    wrong = {row["printed"]["half_width"] for row in TABLE_4_4["rows"] if "half_width" in row["corrected"]}
    assert wrong == {"6.99", "3.90"}


def test_example_5_variances_of_two_answers():
    variances = box_variances(TABLE_4_4["half_widths"], TABLE_4_4["core"], TABLE_4_4["epsilon"])
    assert variances == pytest.approx(EXAMPLE_5["recomputed"], rel=1e-7)
    assert [f"{variance:.5g}" for variance in variances] == EXAMPLE_5["printed"]


def test_example_5_is_compared_with_laplace_noise_that_costs_the_same():
    each = [laplace_variance(s / (TABLE_4_4["epsilon"] / 2)) for s in TABLE_4_4["half_widths"]]
    assert each == EXAMPLE_5["laplace_with_half_of_epsilon_each"]
    assert laplace_variance(11) == float(EXAMPLE_5["laplace_of_scale_11"])


def test_the_best_step_on_a_grid_of_64():
    grid = TABLES["grid"]
    step = best_step(grid["sensitivity"], grid["epsilon"])
    variance = grid_staircase_variance(grid["sensitivity"], step, grid["epsilon"]) / grid["sensitivity"] ** 2
    assert step == grid["step"]
    assert variance == pytest.approx(grid["variance"], abs=1e-6)
