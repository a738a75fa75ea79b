"""People with declared columns, and expectations of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from penstock.mechanisms.columns import Column
from penstock.tasks.validation.expectations import validate

DECLARED = {
    "person": Column(role="identifier"),
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S"), missing="category"),
    "grade": Column(role="quasi_identifier", type="ordinal", categories=(1, 2, 3)),
    "income": Column(role="confidential", type="continuous", domain=(0, 1000.5), missing="own_group"),
    "weight": Column(role="weight"),
}
PEOPLE = pd.DataFrame(
    {
        "age": [10, 12, 30, 40, 40],
        "grade": [1, 1, 2, 3, 3],
        "income": [5.0, np.nan, 50.0, 60.0, 60.0],
        "region": pd.Series(["N", "NN", None, "S", "S"], dtype="str"),
        "weight": [1.0, 2.0, 3.0, 4.0, 4.0],
    }
)
CHILD = {"type": "comparison", "column": {"name": "age"}, "operator": "<", "parameter": 16}


def expectation(kind: str, **kwargs: Any) -> dict[str, Any]:
    return {"type": f"expect_{kind}", "kwargs": kwargs}


def found(frame: pd.DataFrame, *expectations: dict[str, Any]) -> list[tuple[bool, int | None]]:
    return [(result.success, result.unexpected) for result in validate(frame, expectations)]
