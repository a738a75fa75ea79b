"""A refused run tells one bit about the data for nothing; columns that a release does not use must not give any."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.flows.spec import load_spec
from penstock.mechanisms.refusal import Refusal, ValueMissing, ValueOutsideDomain
from tests.support.workplace import Workplace, make_table, open_dp_account


def release(workplace: Workplace) -> Any:
    from penstock.flows.release import release as flow

    return flow(load_spec(workplace.write_spec()))


def replace_column(workplace: Workplace, name: str, values: pa.Array) -> None:
    survey = pq.read_table(workplace.source)
    pq.write_table(survey.set_column(survey.column_names.index(name), name, values), workplace.source)


def make_question(workplace: Workplace, exact: bool) -> None:
    """A table of regions; age, education and savings are declared and not used."""
    savings = workplace.raw["source"]["columns"]["savings"]
    age = workplace.raw["source"]["columns"]["age"]
    settings = {"model": "k_anon", "epsilon": None, "adjacency": None, "k": 2} if exact else {}
    make_table(workplace, dimensions=["region"], sums=[], means=[], **settings)
    workplace.raw["source"]["columns"] |= {"savings": {**savings, "missing": "refuse"}, "age": age}
    if not exact:
        open_dp_account(4)


@pytest.mark.parametrize("exact", [False, True], ids=["dp", "exact"])
@pytest.mark.parametrize("memory", [None, "200 MB"])
def test_a_threshold_on_a_column_that_is_not_used_answers_nothing(
    workplace: Workplace, exact: bool, memory: str | None
) -> None:
    make_question(workplace, exact)
    if memory is not None:
        workplace.raw["run"] = {"memory": memory}
    oldest = max(pq.read_table(workplace.source)["age"].to_pylist())
    workplace.raw["source"]["columns"]["age"]["domain"] = [16, oldest - 1]  # is anybody older than this?
    try:
        release(workplace)
        answer = "published"
    except Refusal as refusal:
        answer = refusal.code
    assert answer == "published"


def test_what_is_missing_or_no_category_where_it_is_not_used_does_not_refuse(workplace: Workplace) -> None:
    make_question(workplace, exact=False)
    replace_column(workplace, "savings", pa.array([None, 5.0] * 200))
    replace_column(workplace, "education", pa.array(["unheard of", None] * 200))
    release(workplace)


def test_it_does_refuse_where_it_is_used(workplace: Workplace) -> None:
    make_question(workplace, exact=False)
    replace_column(workplace, "region", pa.array(["unheard of", "North"] * 200))
    with pytest.raises(ValueOutsideDomain, match="region"):
        release(workplace)
    replace_column(workplace, "region", pa.array([None, "North"] * 200))
    with pytest.raises(ValueMissing, match="region"):
        release(workplace)
