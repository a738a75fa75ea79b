"""Soria-Comas, PhD thesis, Table 6.1, the columns of epsilon: noise on groups against standard MDAV.

Groups and tolerances as in Table 6.2. Linkage factors are compared as the linkages that they stand for.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from penstock.reproduction.beside_print import half_a_unit, printed_tables
from penstock.reproduction.thesis_6 import linkages_agree
from tests.reproduction.record_wise_runs import centroids, expected_error, linkage, needs_census, squared_error

MDAV = {row["k"]: row["recomputed"] for row in printed_tables("table_6_1")["rows"]}
TABLE = json.loads(Path(__file__).with_name("table_6_1_with_noise.json").read_text(encoding="utf-8"))
pytestmark = needs_census

every_row = pytest.mark.parametrize("row", TABLE["rows"], ids=lambda row: f"k={row['k']}, epsilon={row['epsilon']}")
# Trailing zeros are dropped in print: three decimals.
HALF_A_UNIT = 0.0005


def numbers(row):
    """As printed, but for what is misprinted."""
    return {**row["printed"], **row.get("corrected", {})}


@every_row
def test_noise_worsens_the_error_by_the_printed_factor(row):
    k, printed = row["k"], float(numbers(row)["sse_factor"])
    factor = np.sqrt(squared_error(centroids(k, "MDAV")) / expected_error(k, float(row["epsilon"])))
    assert factor == pytest.approx(printed, abs=0.03 * printed + HALF_A_UNIT)


@every_row
def test_noise_lowers_the_linkage_as_printed(row):
    printed = MDAV[row["k"]]["record_linkage"] / float(row["printed"]["linkage_factor"])
    assert linkages_agree(printed, linkage(row["k"], float(row["epsilon"])))


@every_row
def test_the_printed_scores_are_products_although_defined_as_ratios(row):
    sse, linked, score = (float(numbers(row)[name]) for name in ("sse_factor", "linkage_factor", "score"))
    linked_half, score_half = half_a_unit(row["printed"]["linkage_factor"]), half_a_unit(row["printed"]["score"])
    assert (sse - HALF_A_UNIT) * (linked - linked_half) <= score + score_half
    assert score - score_half <= (sse + HALF_A_UNIT) * (linked + linked_half)
