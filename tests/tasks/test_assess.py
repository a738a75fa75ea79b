"""A measure that has no value for these columns: told if nobody gates it, refused if somebody does."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.flows.spec import load_spec
from penstock.measures.measurement import MeasureUndefined
from penstock.records import open_records
from tests.support.workplace import Workplace


@pytest.fixture
def one_number(workplace: Workplace) -> Workplace:
    """A release with a single numeric column, so that there is no correlation."""
    columns = workplace.raw["source"]["columns"]
    workplace.raw["source"]["columns"] = {name: columns[name] for name in ("region", "income")}
    return workplace


def release(workplace: Workplace) -> None:
    from penstock.flows.release import release as flow

    flow(load_spec(workplace.write_spec()))


def test_a_gate_on_a_measure_without_a_value_refuses(workplace: Workplace) -> None:
    survey = workplace.write_survey(400)
    same = pa.array([7.0] * survey.num_rows)
    pq.write_table(survey.set_column(survey.column_names.index("income"), "income", same), workplace.source)
    workplace.raw["gates"] = [{"measure": "correlation_change", "max": 2}]
    with pytest.raises(MeasureUndefined, match="a column without variation has no correlation"):
        release(workplace)
    assert workplace.bundles() == []
    last = open_records().log.events()[-1]
    assert (last.action.value, last.facts["code"]) == ("REFUSED", "measure-undefined")


def test_a_measure_without_a_value_that_nobody_gates_is_told(one_number: Workplace) -> None:
    release(one_number)
    [assessment] = one_number.home.rglob("assessment.json")
    told = json.loads(assessment.read_text(encoding="utf-8"))
    assert told["undefined"] == ["correlation_change", "mean_correlation_change"]
    assert "correlation_change" not in [taken["name"] for taken in told["measurements"]]


def test_linkage_is_searched_only_where_a_gate_asks_for_it(workplace: Workplace) -> None:
    release(workplace)
    [assessment] = workplace.home.rglob("assessment.json")
    told = json.loads(assessment.read_text(encoding="utf-8"))
    assert "record_linkage" not in [taken["name"] for taken in told["measurements"]]
