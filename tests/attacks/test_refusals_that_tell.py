"""Noise that follows the data may have no size at all; then the release is refused, and the refusal tells why.

Two worlds differ in one value. In one of them every value of a cell is equal, and the release is refused; in the
other it appears. That cannot be helped without differential privacy, so the promise must not hide it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.mechanisms.refusal import ScaleZero
from tests.support.private_release import begun
from tests.support.workplace import Workplace, make_table

TABLE = {
    "model": "bdp",
    "adjacency": "bootstrap_within_cell",
    "scale": "public_membership",
    "empty_cells": "zero",
    "acknowledges": ["bdp"],
    "margins": "none",
    "means": [],
    "dimensions": ["region"],
}
STATISTICS = {
    "mechanism": "statistics",
    "groups": ["region"],
    "figures": [{"statistic": "median", "of": "income"}],
    "model": "idp",
    "epsilon": "1",
    "adjacency": "from_D_within_cell",
    "acknowledges": ["idp"],
}


def world(workplace: Workplace, spread: float) -> None:
    """Everybody in the North has the same income, but for the spread of one record or of all of them."""
    survey = workplace.write_survey(400)
    north = np.array(survey["region"]) == "North"
    apart = spread * np.arange(len(north))
    income = np.where(north, 30_000 + apart, survey["income"].to_numpy())
    pq.write_table(survey.set_column(survey.column_names.index("income"), "income", pa.array(income)), workplace.source)


def use_statistics(workplace: Workplace) -> None:
    make_table(workplace)
    workplace.raw["protect"] = [STATISTICS]


def use_table(workplace: Workplace) -> None:
    make_table(workplace, **TABLE)


@pytest.mark.parametrize("use", [use_table, use_statistics])
def test_a_refusal_that_tells_two_worlds_apart_is_not_promised_away(workplace: Workplace, use: Any) -> None:
    use(workplace)
    world(workplace, 1.0)
    with begun(workplace) as line:
        line.protect()
        told = line.job.plan.guarantee.not_promised
    world(workplace, 0.0)
    # Accounts of these models are about one actual data set: the other world has one of its own.
    workplace.raw["name"] = workplace.raw["budget"]["dataset"] = "elsewhere"
    with begun(workplace) as line, pytest.raises(ScaleZero):
        line.protect()
    assert any(text.startswith("hiding a refusal") for text in told)
