"""Exact figures of everybody beside those of some records: no column is in both, and the totals differ by one person.

One person was below 18. A table by education counted all, another by region those from 18 on. Every cell had enough
records and no column was in both tables, so nobody was asked; one total less the other said how many are below 18.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.measures.gates import GateRefused, Verdict
from tests.attacks.test_differencing_in_either_order import one_after_the_other
from tests.support.private_release import begun
from tests.support.workplace import Workplace

COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"role": "confidential", "type": "integer", "domain": [0, 120]},
    "region": {"role": "quasi_identifier", "type": "nominal", "categories": ["North", "South", "East", "West"]},
    "education": {
        "role": "quasi_identifier",
        "type": "ordinal",
        "categories": ["primary", "secondary", "bachelor", "master"],
    },
    "income": {"role": "confidential", "type": "continuous", "domain": [0, 1_000_000]},
}
EXACT = {"mechanism": "table", "table": "people", "model": "k_anon", "k": 2}
SWAP = {"mechanism": "probabilistic_k_anonymity", "method": "ir_swap", "k": 20}
# What is made of which columns, and the condition that chooses its records.
KINDS: dict[str, tuple[dict[str, Any], list[str], str | None]] = {
    "adults": ({**EXACT, "dimensions": ["region"]}, ["region", "age"], "age from 18"),
    "everybody": ({**EXACT, "dimensions": ["education"]}, ["education"], None),
    "one row": ({**EXACT, "dimensions": []}, ["education"], None),
    "regions": ({**EXACT, "dimensions": ["region"]}, ["region"], None),
    "records": (SWAP, ["income"], None),
}


@pytest.fixture
def place(workplace: Workplace) -> Workplace:
    """A survey in which one person is below 18."""
    survey = workplace.write_survey(400)
    age = np.maximum(survey["age"].to_numpy(), 18)
    age[7] = 17
    pq.write_table(survey.set_column(survey.column_names.index("age"), "age", pa.array(age)), workplace.source)
    return workplace


def ask(place: Workplace, kind: str, *acknowledged: str, reviewed: bool = True) -> None:
    """Write the spec of one kind of release."""
    entry, columns, where = KINDS[kind]
    source = {"path": "survey.parquet", "unit": "row", "columns": {name: COLUMNS[name] for name in columns}}
    measure = {"measure": "average_risk", "max": 1} if entry is SWAP else {"measure": "smallest_frequency", "min": 2}
    place.raw |= {
        "name": f"release-{kind.replace(' ', '-')}",
        "source": source if where is None else {**source, "where": where},
        "protect": [entry],
        "gates": [measure],
        "budget": {"dataset": "survey", "acknowledges": list(acknowledged)},
        "publish": {"path": "published", "formats": ["parquet"]},
        "approve": {"reviewers": 1, "allowed": ["anna"]} if reviewed else {},
    }


@pytest.mark.parametrize("swapped", [False, True], ids=["this order", "the other order"])
@pytest.mark.parametrize("other", ["everybody", "one row", "records"])
def test_who_was_not_chosen_is_looked_at(place: Workplace, other: str, swapped: bool) -> None:
    first, second = ("adults", other) if swapped else (other, "adults")
    earlier, flag = one_after_the_other(place, ask, first, second)
    assert flag.verdict is Verdict.REVIEW
    assert flag.reason.startswith(f"{earlier} shares age: ")


def test_without_reviewers_it_is_refused_before_it_is_drawn(place: Workplace) -> None:
    ask(place, "everybody", reviewed=False)
    with begun(place, account=False) as line:
        line.publish()
    earlier = line.job.run.id
    ask(place, "adults", earlier, reviewed=False)
    with pytest.raises(GateRefused, match="differencing"), begun(place, account=False) as line:
        line.protect()
    assert line.job.run.committed("protected") is None


def test_tables_of_everybody_without_a_common_column_need_nobody(place: Workplace) -> None:
    ask(place, "everybody", reviewed=False)
    with begun(place, account=False) as line:
        line.publish()
    ask(place, "regions", line.job.run.id, reviewed=False)
    with begun(place, account=False) as line:
        line.publish()
