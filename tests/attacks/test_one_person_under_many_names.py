"""Whoever can be found under several names is charged under one: 017 finds the person 17 where numbers are stored."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.mechanisms.refusal import Refusal
from tests.support.question_house import asked, set_up
from tests.support.workplace import Workplace


@pytest.fixture
def numbered(workplace: Workplace) -> Workplace:
    table = pq.read_table(workplace.source)
    place = table.schema.get_field_index("person_id")
    pq.write_table(table.set_column(place, "person_id", pa.array(range(len(table)))), workplace.source)
    workplace.raw["source"]["unit"] = "person_id"
    return workplace


@pytest.mark.parametrize("other", ['"017"', '"0017"', '"00017"'])
def test_another_spelling_of_a_number_has_no_budget_of_its_own(numbered: Workplace, other: str) -> None:
    data = set_up(numbered, limit=1, allowed="1", unit="individual", adjacency="presence", rows_per_unit=1)
    asked(data, "value of income for 17", epsilon="1")
    with pytest.raises(Refusal) as refused:
        asked(data, f"value of income for {other}", epsilon="1")
    assert refused.value.kind == "budget"


def test_somebody_else_has(numbered: Workplace) -> None:
    data = set_up(numbered, limit=1, allowed="1", unit="individual", adjacency="presence", rows_per_unit=1)
    first, second = (asked(data, f"value of income for {person}", epsilon="1") for person in (17, 18))
    assert (first.repeated, second.repeated) == (False, False)
    assert asked(data, 'value of income for "17"', epsilon="1").repeated
