"""Bands of about equal counts, as the page of statistics says: quantiles first, then a table of the bands they make."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from penstock.flows.release import release
from penstock.flows.spec import load_spec
from tests.support.workplace import Workplace, budget_of, make_private, open_dp_account

SHARES = ("1/5", "2/5", "3/5", "4/5")


def test_quantiles_make_bands_of_equal_counts_and_both_are_charged(workplace: Workplace) -> None:
    """Noise of 1,000 records at epsilon 20 moves a quantile by a few ranks: bands of 200 within a tenth."""
    make_private(workplace)
    survey = workplace.write_survey(1_000)
    columns = workplace.raw["source"]["columns"]
    workplace.raw["protect"] = [
        {
            "mechanism": "statistics",
            "table": "cuts",
            "figures": [{"statistic": "quantile", "of": "income", "share": share} for share in SHARES],
            "model": "dp",
            "epsilon": "20",
            "adjacency": "replace",
        }
    ]
    workplace.raw["budget"]["epsilon"] = "20"
    workplace.raw["gates"] = [{"measure": "privacy_loss", "max": 20}]
    open_dp_account(25)
    first = Path(release(load_spec(workplace.write_spec())).path)
    (cuts,) = pq.read_table(first / "tables/cuts.parquet").to_pylist()
    points = sorted(cuts[f"income_quantile_{share.replace('/', '_')}"] for share in SHARES)
    columns["band"] = {
        "role": "quasi_identifier",
        "type": "ordinal",
        "recode": {"of": "income", "bands": [0, *points, 10_000_000]},
    }
    del columns["income"]
    workplace.raw["protect"] = [
        {
            "mechanism": "table",
            "table": "bands",
            "dimensions": ["band"],
            "count": True,
            "model": "dp",
            "epsilon": "5",
            "adjacency": "replace",
        }
    ]
    workplace.raw |= {
        "name": "bands",
        "budget": {"dataset": "survey", "epsilon": "5", "acknowledges": [first.name]},
        "gates": [{"measure": "expected_error", "max": 100}],
    }
    second = Path(release(load_spec(workplace.write_spec())).path)
    table = pq.read_table(second / "tables/bands.parquet").to_pandas()
    assert len(survey) == 1_000
    assert len(table) == 6
    assert np.abs(table["count"][:5] - 200).max() < 20  # the last row has them all
    assert budget_of()[0] == "25"
