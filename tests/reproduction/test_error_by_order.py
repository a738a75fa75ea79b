"""What is foreseen of each order, beside an independent simulation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.dp_microaggregation import Params, settle

ROWS = json.loads((Path(__file__).parent / "error_by_order.json").read_text(encoding="utf-8"))["rows"]
UNIT = Column(role="confidential", type="continuous", domain=(0, 1))
CASES = [
    (row["records"], row["columns"], order, row[order])
    for row in ROWS
    for order in row
    if order[0] in "cs" and order != "columns"
]


@pytest.mark.parametrize(("records", "columns", "order", "error"), CASES)
def test_the_foreseen_error_of_every_order_is_that_of_the_simulation(records, columns, order, error):
    declared = {f"x{place}": UNIT for place in range(columns)}
    (part,) = settle(Params(epsilon=1, adjacency="replace", k="auto", order=order), declared, records)
    assert part.choice.error == pytest.approx(error, rel=0.1)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['records']} x {row['columns']}")
def test_auto_is_as_good_as_the_best_of_them(row):
    declared = {f"x{place}": UNIT for place in range(row["columns"])}
    (part,) = settle(Params(epsilon=1, adjacency="replace", k="auto"), declared, row["records"])
    best = min(row[order] for order in row if order in ("corner", "corners_in_turn", "snake"))
    assert part.choice.error <= 1.01 * best
