"""Records that belong to no part must not be charged as each part in turn: one epsilon would pay for four."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec
from penstock.mechanisms.refusal import SpecRefused, ValueMissing
from penstock.tasks.publish import Receipt
from penstock.tasks.run.job import begin
from tests.support.private_release import Line
from tests.support.workplace import Workplace, budget_of, make_table, open_dp_account

PARTS = ("North", "South", "East", "West")


def without_region(workplace: Workplace) -> None:
    """The survey, whose records do not say where they belong."""
    survey = pq.read_table(workplace.source)
    place = survey.column_names.index("region")
    nowhere = pa.nulls(survey.num_rows, pa.string())
    pq.write_table(survey.set_column(place, "region", nowhere), workplace.source)


def in_the_default_partition(workplace: Workplace) -> None:
    """The same, said by a folder."""
    folder = workplace.folder / "survey" / "region=__HIVE_DEFAULT_PARTITION__"
    folder.mkdir(parents=True)
    pq.write_table(pq.read_table(workplace.source).drop_columns("region"), folder / "a.parquet")
    workplace.raw["source"]["path"] = "survey"


def make_part(workplace: Workplace, part: str, missing: str) -> None:
    workplace.raw["source"]["columns"]["region"] |= {"categories": [part], "missing": missing}
    workplace.raw["budget"]["part"] = "region"


@pytest.fixture
def table(workplace: Workplace) -> Workplace:
    make_table(workplace, dimensions=["education"], adjacency="add_remove", sums=[], means=[])
    open_dp_account(1, adjacency="add_remove", partition="region")
    return workplace


def spent() -> Any:
    return budget_of()[0]


def test_a_spec_cannot_let_the_column_of_its_part_be_missing(table: Workplace) -> None:
    without_region(table)
    for part in PARTS:
        make_part(table, part, "category")
        with pytest.raises(SpecRefused, match=r"source\.columns\.region\.missing.*no part"):
            release(table)
    assert spent() == "0"


@pytest.mark.parametrize("hide", [without_region, in_the_default_partition])
@pytest.mark.parametrize("memory", [None, 200_000_000])
def test_nor_can_a_plan(table: Workplace, hide: Any, memory: int | None) -> None:
    hide(table)
    for part in PARTS:
        make_part(table, part, "refuse")
        plan = draw_up_plan(load_spec(table.write_spec()))
        lenient = plan.declared["region"].model_copy(update={"missing": "category"})
        plan = replace(plan, declared={**plan.declared, "region": lenient}, memory=memory)
        with pytest.raises(ValueMissing, match="region"), begin(plan) as job:
            Line(job).publish()
    assert spent() == "0"


def release(workplace: Workplace) -> Receipt:
    with begin(draw_up_plan(load_spec(workplace.write_spec()))) as job:
        return Line(job).publish()
