"""Releases whose records are never held together, under a memory limit: the same line, the same checks."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from cluster import write_hive, write_parts
from workplace import PASSED, Workplace, budget_of, make_table, open_dp_account

from flows.release import release
from flows.spec import load_spec
from records import open_records
from tasks.verification import verify_bundle

pytestmark = pytest.mark.usefixtures("prefect_home")


def in_files(workplace: Workplace, kind: str) -> None:
    survey = workplace.write_survey(400)
    folder = workplace.folder / "survey"
    if kind == "hive":
        write_hive(survey, folder, "region")
    else:
        write_parts(survey, folder)
    workplace.raw["source"]["path"] = "survey"


def released(workplace: Workplace) -> Path:
    release(load_spec(workplace.write_spec()))
    [bundle] = workplace.bundles()
    verify_bundle(bundle, workplace.home / "keys" / "signing.pub")
    assert workplace.working_files() == []
    open_records().log.verify()
    open_records().ledger.verify()
    return bundle


def events() -> list[str]:
    return [event.action.value for event in open_records().log.events()]


@pytest.mark.parametrize("kind", ["hive", "plain"])
def test_a_table_is_released_in_parts(workplace: Workplace, kind: str) -> None:
    make_table(workplace)
    in_files(workplace, kind)
    workplace.raw["run"] = {"memory": "64 MB"}
    open_dp_account(4)
    released(workplace)
    assert events()[2:] == PASSED
    assert budget_of()[0] == "1"


def test_an_exact_table_in_parts_is_the_one_that_is_made_at_once(workplace: Workplace) -> None:
    make_table(workplace, model="k_anon", epsilon=None, adjacency=None, k=2)
    in_files(workplace, "plain")
    workplace.raw["run"] = {"memory": "64 MB"}
    in_parts = pq.read_table(released(workplace) / "tables" / "incomes.parquet").to_pydict()
    assessed = [json.loads(path.read_text()) for path in workplace.home.rglob("assessment.json")]
    del workplace.raw["run"]
    workplace.raw["name"] = "again"
    workplace.raw["budget"] = {"acknowledges": [open_records().log.events()[0].run]}
