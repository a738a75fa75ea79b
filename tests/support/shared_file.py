"""The survey of a workplace, its quasi-identifiers made alike and its amounts swapped, side by side in one file; and a
hand-made file of few records."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.workplace import Workplace

__all__ = ["AMOUNTS", "HAND", "KEYS", "make_shared", "make_small"]

KEYS = ["age", "region", "education", "weight"]
AMOUNTS = ["income", "savings"]
# Every scaled value is a multiple of 1/8, so that distances are exact.
HAND: dict[str, list[Any]] = {
    "name": ["Ada", "Bo", "Cy", "Di", "Ed", "Flo", "Gus", "Hal"],
    "age": [1, 1, 2, 2, 6, 6, 7, 7],
    "sex": ["f", "m", "m", "f", "m", "f", "m", "m"],
    "income": [0, 2, 5, 8, 1, 3, 6, 7],
    "tax": [1, 0, 3, 2, 5, 4, 7, 6],
}


def make_shared(workplace: Workplace) -> None:
    """Switch the workplace to one file with two treatments; every savings are known."""
    columns = workplace.raw["source"]["columns"]
    if "savings" in columns:
        columns["savings"]["missing"] = "refuse"
        survey = pq.read_table(workplace.source)
        known = survey["savings"].fill_null(0)
        pq.write_table(survey.set_column(survey.column_names.index("savings"), "savings", known), workplace.source)
    workplace.raw |= {
        "protect": _entries(KEYS, AMOUNTS, 5, 20),
        "gates": [{"measure": "record_linkage", "max": 1}, {"measure": "average_risk", "max": 0.25}],
        "budget": {"acknowledges": ["keys", "amounts"]},
    }


def make_small(workplace: Workplace) -> None:
    """Switch the workplace to the hand-made file, in groups of at least two."""
    number = {"type": "integer", "domain": [0, 8]}
    workplace.raw["source"]["columns"] = {
        "name": {"role": "identifier"},
        "age": {"role": "quasi_identifier", **number},
        "income": {"role": "confidential", **number},
        "sex": {"role": "quasi_identifier", "type": "nominal", "categories": ["f", "m"]},
        "tax": {"role": "confidential", **number},
    }
    make_shared(workplace)
    workplace.raw["protect"] = _entries(["age", "sex"], ["income", "tax"], 2, 2)
    workplace.raw["gates"] = [{"measure": "record_linkage", "max": 1}]
    pq.write_table(pa.table(HAND), workplace.source)


def _entries(keys: list[str], amounts: list[str], alike: int, swapped: int) -> list[dict[str, Any]]:
    one = {"mechanism": "probabilistic_k_anonymity", "file": "people"}
    return [
        {**one, "name": "keys", "method": "mdav_id", "k": alike, "columns": keys},
        {**one, "name": "amounts", "method": "ir_swap", "k": swapped, "columns": amounts},
    ]
