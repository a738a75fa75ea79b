"""A good spec for each mechanism, and how tests spoil it."""

from __future__ import annotations

import copy
from typing import Any

GOOD: dict[str, Any] = {
    "name": "income-2026",
    "source": {
        "path": "income.parquet",
        "unit": "row",
        "columns": {
            "person": {"role": "identifier"},
            "age": {"role": "quasi_identifier", "type": "integer", "domain": [0, 120]},
            "region": {"role": "quasi_identifier", "type": "nominal", "categories": ["N", "S"]},
            "income": {"role": "confidential", "type": "continuous", "domain": [0, 500000.5]},
            "weight": {"role": "weight"},
        },
    },
    "validate": {"min_rows": 10},
    "budget": {"dataset": "income", "epsilon": "1/2"},
    "protect": [{"mechanism": "probabilistic_k_anonymity", "method": "ir_swap", "k": 5}],
    "gates": [{"measure": "record_linkage", "max": 0.04}],
    "publish": {"path": "out", "formats": ["parquet", "csv"]},
}

DP: dict[str, Any] = {
    "name": "income-dp",
    "source": {
        "path": "income.parquet",
        "unit": "person",
        "columns": {
            "person": {"role": "identifier"},
            "age": {"role": "quasi_identifier", "type": "integer", "domain": [0, 120]},
            "injury": {
                "role": "confidential",
                "type": "nominal",
                "taxonomy": {"burn": ["any"], "cut": ["any"], "any": []},
            },
            "income": {"role": "confidential", "type": "continuous", "domain": [0, 500000.5]},
        },
    },
    "budget": {"dataset": "income", "epsilon": "1/2"},
    "protect": [
        {
            "mechanism": "dp_microaggregation",
            "epsilon": "1/2",
            "adjacency": "replace",
            "k": "auto",
            "rows_per_unit": 3,
        }
    ],
    "gates": [{"measure": "expected_error", "max": 0.3}],
    "publish": {"path": "out"},
}


TABLE: dict[str, Any] = {
    "name": "losses",
    "source": {
        "path": "income.parquet",
        "unit": "row",
        "columns": {
            "person": {"role": "identifier"},
            "injury": {"role": "quasi_identifier", "type": "nominal", "categories": ["burn", "cut"]},
            "loss": {"role": "confidential", "type": "continuous", "domain": [0, 1000]},
        },
    },
    "budget": {"dataset": "income", "epsilon": "1/2"},
    "protect": [
        {
            "mechanism": "table",
            "dimensions": ["injury"],
            "sums": ["loss"],
            "model": "dp",
            "epsilon": "1/2",
            "adjacency": "replace",
        }
    ],
    "gates": [{"measure": "expected_error", "max": 30}],
    "publish": {"path": "out", "formats": ["parquet", "sdmx"]},
}


def changed(path: str, value: object, good: dict[str, Any] = GOOD) -> dict[str, Any]:
    """A good spec with one place changed; the value ... removes it."""
    spec = copy.deepcopy(good)
    *parents, last = path.split("/")
    place: Any = spec
    for part in parents:
        place = place[int(part) if isinstance(place, list) else part]
    if value is ...:
        del place[last]
    else:
        place[int(last) if isinstance(place, list) else last] = value
    return spec


def make_dp(raw: dict[str, Any], **settings: Any) -> None:
    """Turn the spec of a workplace into one under differential privacy, epsilon 3/2, of a data set of its own."""
    for name in ("savings", "weight"):  # missing values and weights cannot be protected so
        raw["source"]["columns"].pop(name)
    spends = {"mechanism": "dp_microaggregation", "epsilon": "3/2", "adjacency": "replace", "k": "auto"}
    raw["protect"] = [{**spends, **settings}]
    raw["budget"] = {"dataset": "survey", "epsilon": "2"}
    raw["gates"] = [{"measure": "expected_error", "max": 1}]
