"""A workplace with a release of several outputs: three tables that spend epsilon, and records that do not."""

from __future__ import annotations

from typing import Any

from tests.support.workplace import Workplace, make_table

__all__ = ["TABLES", "add_records", "make_exact", "make_several"]

TABLES = ("by_region", "by_education", "incomes")
_DP = {"mechanism": "table", "model": "dp", "adjacency": "replace"}


def make_several(workplace: Workplace, **settings: Any) -> None:
    """Switch the workplace to three tables under differential privacy that spend 1 together."""
    make_table(workplace)
    workplace.raw["protect"] = [
        {"table": "by_region", "dimensions": ["region"], "epsilon": "1/4", **_DP, **settings},
        {"table": "by_education", "dimensions": ["education"], "epsilon": "1/4", **_DP, **settings},
        {"table": "incomes", "dimensions": ["region"], "means": ["income"], "epsilon": "1/2", **_DP, **settings},
    ]
    workplace.raw["budget"] = {"dataset": "survey", "epsilon": "1"}
    workplace.raw["publish"] = {"path": "published", "formats": ["parquet", "csv"]}


def add_records(workplace: Workplace, **settings: Any) -> None:
    """Add the ages of the records, masked in groups; they may be left out, because no epsilon is spent on them."""
    columns = workplace.raw["source"]["columns"]
    columns["age"] = {"role": "quasi_identifier", "type": "integer", "domain": [16, 100]}
    workplace.raw["protect"].append(
        {
            "name": "people",
            "mechanism": "probabilistic_k_anonymity",
            "method": "mdav_id",
            "k": 5,
            "columns": ["age"],
            "gates": [{"measure": "average_risk", "max": 0.2}],
            "on_refusal": "leave_out",
            **settings,
        }
    )
    workplace.raw["budget"]["acknowledges"] = ["people"]


def make_exact(workplace: Workplace, **settings: Any) -> None:
    """Switch the workplace to two exact tables that share no column; `settings` are those of the second."""
    make_table(workplace, model="k_anon", k=2, epsilon=None, adjacency=None, sums=(), means=())
    exact = {"mechanism": "table", "model": "k_anon", "k": 2}
    workplace.raw["protect"] = [
        {"table": "regions", "dimensions": ["region"], **exact},
        {"table": "educations", "dimensions": ["education"], **exact, **settings},
    ]
    workplace.raw["budget"] = {"acknowledges": ["regions", "educations"]}
    workplace.raw["publish"] = {"path": "published", "formats": ["parquet"]}
