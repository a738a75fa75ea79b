"""Individual differential privacy, Tables 1 and 2: intervals of medians and errors of counts, beside the printed.

Reproduction: the second row of Table 2 clamps to the true count and protects nobody.
"""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import pytest

from penstock.mechanisms.noise import discrete_laplace
from penstock.mechanisms.randomness import seeded
from penstock.reproduction.beside_print import as_printed, printed_tables
from penstock.reproduction.computed import clamped_count_error, errors_of_counts, intervals_of_medians

TABLES = printed_tables("individual_tables")
TABLE_1, TABLE_2 = TABLES["table_1"], TABLES["table_2"]


def number(written):
    return log(2) if written == "ln 2" else float(written)


@pytest.mark.parametrize("row", TABLE_1["rows"], ids=lambda row: f"gamma {row['gamma']}")
def test_table_1_intervals_of_medians(row):
    [[individual, printed, tight]] = intervals_of_medians(TABLE_1["epsilon"], TABLE_1["level"], [row["gamma"]])
    assert individual == pytest.approx(TABLE_1["individual"]["recomputed"], abs=5e-6)
    assert f"{individual:.0f}" == TABLE_1["individual"]["printed"]
    assert printed == pytest.approx(row["recomputed"], abs=5e-5)
    assert tight == pytest.approx(row["tight"], abs=5e-4)
    assert as_printed(printed, row["printed"]) == row.get("corrected", row["printed"])
    # 101.65 is printed as 101.7, so the source rounds outwards there or starts from the tabled 12.71 x 8.
    assert float(row["printed"]) == pytest.approx(printed, abs=0.051)


@pytest.mark.parametrize("row", TABLE_2["rows"], ids=lambda row: f"epsilon {row['epsilon']}")
def test_table_2_errors_of_counts(row):
    [errors] = errors_of_counts([number(row["epsilon"])])
    assert errors == pytest.approx(row["recomputed"], abs=5e-7)
    for error, printed in zip(errors, row["printed"].values(), strict=True):
        assert as_printed(error, printed, cut_off=True) == printed


def test_table_2_is_cut_off_and_not_rounded():
    rounded = [f"{errors_of_counts([2.0])[0][column]:.2f}" for column in (0, 1)]
    assert rounded == ["0.28", "0.24"]


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_table_2_is_what_discrete_laplace_noise_gives(epsilon):
    """Six standard errors of 200,000 draws: false alarm 2e-9 a mean."""
    size = np.abs(discrete_laplace(1, epsilon, 200_000, seeded(4)))
    for draws, expected in zip((size, np.minimum(size, 1)), errors_of_counts([float(epsilon)])[0], strict=True):
        assert abs(draws.mean() - expected) < 6 * draws.std() / np.sqrt(len(draws))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_a_clamped_count_gives_the_true_count_away(epsilon):
    """All errors lie within 1, so the extremes of a few answers differ by 2 and the count is between them."""
    law = clamped_count_error(epsilon)
    assert law.sum() == pytest.approx(1)
    assert law[0] == law[2] > 0
