"""What tables can have, all at once: levels of a taxonomy, impossible combinations, weights with sampling errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.records.home import Home
from penstock.tasks.verification.bundle import verify_bundle
from tests.flows.test_impossible_combinations import keep_possible
from tests.support.workplace import COMBINATIONS, Workplace, make_table, make_units, open_dp_account

TAXONOMY = {
    "all": [],
    "up": ["all"],
    "down": ["all"],
    "North": ["up"],
    "East": ["up"],
    "South": ["down"],
    "West": ["down"],
}


def make_everything(workplace: Workplace, **settings: Any) -> None:
    make_table(workplace, means=[], levels={"region": ["half"]}, **settings)
    columns = workplace.raw["source"]["columns"]
    columns["weight"] = {"role": "weight", "domain": [0, 120], "outside": "clamp"}
    columns["region"] = {key: value for key, value in columns["region"].items() if key != "categories"}
    columns["region"]["taxonomy"] = TAXONOMY
    keep_possible(workplace)


def released(workplace: Workplace) -> Any:
    bundle = Path(release(load_spec(workplace.write_spec())).path)
    assert all(
        finding.checked for finding in verify_bundle(bundle, Home.open().public_key_path) if finding.name == "records"
    )
    return pq.read_table(bundle / "tables/incomes.parquet").to_pandas()


@pytest.mark.parametrize("margins", [{}, {"margins": "measured", "margin_share": "1/2"}])
def test_a_private_table_has_levels_impossible_cells_and_sampling_errors(workplace: Workplace, margins: Any) -> None:
    weight = {"column": "weight", "sampling_error": True}
    make_everything(workplace, impossible=COMBINATIONS, weight=weight, **margins)
    open_dp_account(4)
    cells = released(workplace)
    zero = cells[(cells["region"] == "South") & (cells["education"] == "master")]
    assert zero.drop(columns=["region", "education"]).to_numpy().ravel().tolist() == [0.0] * 8
    assert len(cells[cells["region"].isin(["up", "down"])]) == 2 * (1 + cells["education"].nunique() - 1)


def test_an_exact_table_has_levels_impossible_cells_contributors_and_errors_by_strata(workplace: Workplace) -> None:
    weight = {"column": "weight", "strata": "education"}
    exact = {"model": "k_anon", "epsilon": None, "adjacency": None, "k": 2}
    make_everything(workplace, impossible=COMBINATIONS, weight=weight, **exact)
    workplace.raw["source"]["columns"]["weight"]["domain"] = [1, 200]
    make_units(workplace, 1)
    del workplace.raw["protect"][0]["rows_per_unit"]
    keep_possible(workplace)
    cells = released(workplace)
    assert (cells["contributors"] <= cells["records"]).all()
    zero = cells[(cells["region"] == "East") & (cells["education"] == "primary")]
    assert (zero["weighted_count"] == 0).all()
    assert (zero["weighted_count_sampling_error"] == 0).all()
