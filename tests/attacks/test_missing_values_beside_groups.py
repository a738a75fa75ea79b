"""Which records of a shared file have no value stays in place, and linkage is measured of complete records only.

Four amounts of 800 persons, half of them missing, stood beside groups of ten persons: 406 rows were the only ones of
their group with just these amounts missing. Whoever knows which questions somebody did not answer found their row.

Where missing values were a category, nearly everybody lacked one value beside the groups. The gate on linkage passed on
the twelve others, who were alike; 97 % of all rows were found.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock
from penstock.measures.gates import GateRefused
from penstock.mechanisms.refusal import SpecRefused
from tests.support.workplace import Workplace

AMOUNTS = [f"amount_{place}" for place in range(4)]
ROWS = 300


def share_a_file(workplace: Workplace, missing: str) -> None:
    """Switch the workplace to ages in groups of ten, beside swapped amounts of which half are missing."""
    chance = np.random.default_rng(3)
    amounts = {name: chance.uniform(0, 1000, ROWS) for name in AMOUNTS}
    absent = {name: chance.random(ROWS) < (0.5 if missing == "own_group" else 0) for name in AMOUNTS}
    for name in AMOUNTS:
        absent[name][:40] = False
    ages = {"age": pa.array(chance.integers(16, 100, ROWS))}
    stored = {name: pa.array(values, mask=absent[name]) for name, values in amounts.items()}
    pq.write_table(pa.table({**ages, **stored}), workplace.source)
    amount = {"role": "confidential", "type": "continuous", "domain": [0, 1000], "missing": missing}
    age = {"role": "quasi_identifier", "type": "integer", "domain": [16, 100]}
    workplace.raw["source"]["columns"] = {"age": age, **dict.fromkeys(AMOUNTS, amount)}
    swapped = {"mechanism": "probabilistic_k_anonymity", "file": "people"}
    workplace.raw |= {
        "budget": {"acknowledges": ["keys", "amounts"]},
        "protect": [
            {"name": "keys", "method": "mdav_id", "k": 10, "columns": ["age"], **swapped},
            {"name": "amounts", "method": "ir_swap", "k": 20, "columns": AMOUNTS, **swapped},
        ],
        "gates": [{"measure": "record_linkage", "max": 1}],
    }


def rows_found_by_what_is_missing(workplace: Workplace) -> int:
    """How many rows of the published file have an age and missing amounts that no other has."""
    path = penstock.release(penstock.load_spec(workplace.write_spec())).path
    shown = pq.read_table(f"{path}/people/data.parquet").to_pylist()
    rows = Counter((row["age"], *(row[name] is None for name in AMOUNTS)) for row in shown)
    return sum(times == 1 for times in rows.values())


def test_a_shared_file_has_no_column_whose_missing_values_stay_in_place(workplace: Workplace) -> None:
    share_a_file(workplace, "own_group")
    with pytest.raises(SpecRefused) as refused:
        rows_found_by_what_is_missing(workplace)
    assert {fault.field for fault in refused.value.faults} == {f"source.columns.{name}.missing" for name in AMOUNTS}


def test_complete_columns_share_a_file(workplace: Workplace) -> None:
    share_a_file(workplace, "refuse")
    assert rows_found_by_what_is_missing(workplace) == 0


def lack(workplace: Workplace, extra: pa.Array, declared: dict[str, object]) -> None:
    """Add a column beside the groups that nearly everybody lacks; the few others are alike. Linkage has a limit."""
    share_a_file(workplace, "refuse")
    few = np.arange(ROWS) < len(extra) - extra.null_count
    survey = pq.read_table(workplace.source)
    alike = [pa.array(np.where(few, 50, survey[name].to_numpy())) for name in survey.column_names]
    pq.write_table(pa.table([*alike, extra], names=[*survey.column_names, "extra"]), workplace.source)
    workplace.raw["source"]["columns"]["extra"] = {"role": "confidential", "missing": "category", **declared}
    keys, amounts = workplace.raw["protect"]
    keys["columns"] = ["age", "extra"]
    amounts["gates"] = [{"measure": "average_risk", "max": 1}]
    workplace.raw["gates"] = [{"measure": "record_linkage", "max": 0.2}]


def test_no_column_makes_records_incomplete_that_linkage_is_measured_of(workplace: Workplace) -> None:
    extra = pa.array([1.0] * 12 + [None] * (ROWS - 12))
    lack(workplace, extra, {"type": "continuous", "domain": [0, 1]})
    with pytest.raises(SpecRefused) as refused:
        rows_found_by_what_is_missing(workplace)
    assert [fault.field for fault in refused.value.faults] == ["source.columns.extra.missing"]


def test_linkage_is_measured_of_records_without_a_category_too(workplace: Workplace) -> None:
    lack(workplace, pa.array(["a"] * 12 + [None] * (ROWS - 12)), {"type": "nominal", "categories": ["a", "b"]})
    with pytest.raises(GateRefused, match="record_linkage at most"):
        rows_found_by_what_is_missing(workplace)
