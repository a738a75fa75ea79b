"""The table of rice farms through the mechanism itself: the secret scale of its noise under every adjacency and option.

Source of data and cells: O'Keefe & Charest 2019, Tables 1 and 2; the scales are corrected.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet

from penstock.mechanisms.columns import Column
from penstock.mechanisms.protected import Protected
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table import Params, protect
from penstock.reproduction.beside_print import printed_tables

TABLES = printed_tables("bootstrap_tables")
STEPS = TABLES["whole_table"]["steps"]
LARGEST = np.array(TABLES["table_1"]["corrected"]["max"]).ravel()
RANGES = np.array(TABLES["table_2"]["printed"]).ravel()
DECLARED = {
    "status": Column(role="quasi_identifier", type="nominal", categories=tuple(TABLES["rows"])),
    "varieties": Column(role="quasi_identifier", type="nominal", categories=tuple(TABLES["columns"])),
    "noutput": Column(role="confidential", type="integer", domain=(0, 50_000)),
}


@pytest.fixture
def farms(data_folder: Path) -> dict[str, np.ndarray]:
    path = data_folder / "ricefarms.parquet"
    if not path.exists():
        pytest.skip("the file of rice farms is not there; set PENSTOCK_DATA to its folder")
    table = parquet.read_table(path, columns=list(DECLARED))
    text = {name: np.array(table[name].to_pylist(), object) for name in ("status", "varieties")}
    return {**text, "noutput": table["noutput"].to_numpy().astype(np.int64)}


def published(farms: dict[str, np.ndarray], adjacency: str, scale: str | None, **chosen: Any) -> Protected:
    params = Params.model_validate(
        {
            "dimensions": ["status", "varieties"],
            "sums": ["noutput"],
            "model": "bdp",
            "epsilon": "2",
            "adjacency": adjacency,
            "scale": scale,
            "empty_cells": "noise",
            "acknowledges": ["bdp"],
            **chosen,
        }
    )
    return protect(farms, DECLARED, params, seeded(1))


def steps(farms: dict[str, np.ndarray], adjacency: str, scale: str, measure: str = "noutput") -> list[int]:
    found: list[int] = published(farms, adjacency, scale).hidden[f"steps 0 {measure}"].tolist()
    return found


@pytest.mark.parametrize(
    ("adjacency", "whole"),
    [("bootstrap_within_cell", 17_528), ("bootstrap_add_remove", 17_610), ("bootstrap_replace", 17_610 + 14_520)],
)
def test_one_scale_is_the_sensitivity_of_the_whole_table(
    farms: dict[str, np.ndarray], adjacency: str, whole: int
) -> None:
    assert whole == STEPS[adjacency]
    assert steps(farms, adjacency, "one") == [whole] * 9


def test_own_scales_follow_the_largest_farm_of_each_cell(farms: dict[str, np.ndarray]) -> None:
    assert steps(farms, "bootstrap_replace", "per_cell") == (2 * LARGEST).tolist()
    assert steps(farms, "bootstrap_add_remove", "per_cell") == LARGEST.tolist()


def test_public_membership_needs_the_ranges_that_are_printed(farms: dict[str, np.ndarray]) -> None:
    assert steps(farms, "bootstrap_within_cell", "public_membership") == RANGES.tolist()


def test_counts_have_the_scale_of_a_contingency_table(farms: dict[str, np.ndarray]) -> None:
    assert steps(farms, "bootstrap_replace", "one", "count") == [2] * 9
    assert steps(farms, "bootstrap_add_remove", "per_cell", "count") == [1] * 9
    within = published(farms, "bootstrap_within_cell", "one")
    assert within.columns["count"][:9].tolist() == np.ravel(TABLES["table_1"]["printed"]["n"]).tolist()


def test_noise_stands_on_the_totals_of_the_paper(farms: dict[str, np.ndarray]) -> None:
    """Noise beyond 40 scales in one of nine cells has a chance of 4e-17, none at all in three of nine 1e-9."""
    protected = published(farms, "bootstrap_within_cell", "public_membership")
    noise = protected.hidden["noised 0 noutput"] - np.ravel(TABLES["table_1"]["printed"]["total"])
    assert (np.abs(noise) < 20 * RANGES).all()
    assert np.count_nonzero(noise) > 6
    assert protected.chosen["measured"][0]["epsilon"] == "2"


def test_an_exact_table_is_that_of_the_paper_but_one_cell_is_too_small_for_three(farms: dict[str, np.ndarray]) -> None:
    settings = {"dimensions": ["status", "varieties"], "sums": ["noutput"], "model": "k_anon"}
    protected = protect(farms, DECLARED, Params.model_validate({**settings, "k": 2}), seeded(1))
    assert protected.columns["count"][:9].tolist() == np.ravel(TABLES["table_1"]["printed"]["n"]).tolist()
    assert protected.columns["noutput_sum"][:9].tolist() == np.ravel(TABLES["table_1"]["printed"]["total"]).tolist()
    assert protected.columns["count"][-1] == len(farms["noutput"])


@pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
def test_differential_privacy_needs_the_public_bound(farms: dict[str, np.ndarray], adjacency: str) -> None:
    private = {"model": "dp", "empty_cells": None, "acknowledges": []}
    protected = published(farms, adjacency, None, **private)
    touched = 2 if adjacency == "replace" else 1
    assert protected.hidden["steps 0 noutput"].tolist() == [touched * 50_000] * 9
    assert protected.hidden["steps 0 count"].tolist() == [touched] * 9
