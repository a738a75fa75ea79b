"""Blocks of records without impossible combinations through the whole line, and plans that refuse what cannot be."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from penstock.flows.preview import preview
from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.mechanisms.refusal import SpecRefused
from penstock.records.home import Home
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.workplace import COMBINATIONS, Workplace, make_private, open_dp_account, predicate

ROWS = 400


def impossible(table: pd.DataFrame) -> bool:
    region, education = table["region"].astype(str), table["education"].astype(str)
    found = (region == "South") & education.isin(["bachelor", "master"]) | (region == "East") & (education == "primary")
    return bool(found.any())


def published(workplace: Workplace) -> tuple[Path, pd.DataFrame]:
    bundle = Path(release(load_spec(workplace.write_spec())).path)
    assert {each.name: each for each in verify_bundle(bundle, Home.open().public_key_path)}["blocks"].checked
    return bundle, pq.read_table(bundle / "data.parquet").to_pandas()


def test_blocks_come_back_without_them_though_records_have_them(workplace: Workplace) -> None:
    make_private(workplace, impossible=COMBINATIONS, k=4)
    assert impossible(workplace.write_survey(ROWS).to_pandas())
    open_dp_account(2)
    bundle, data = published(workplace)
    assert len(data) == ROWS
    assert not impossible(data)
    told = predicate(bundle)["release"]
    (joint,) = told["settled"]["parts"][0]["joint"]
    assert joint["columns"] == ["region", "education"]
    assert told["guarantee"]["parameters"]["impossible"] == joint["impossible"]
    page = (bundle / "report.html").read_text(encoding="utf-8")
    assert "region, education were drawn together for each block" in page
    workplace.raw["protect"][0]["impossible"] = []
    workplace.raw |= {"name": "apart", "budget": {**workplace.raw["budget"], "acknowledges": [bundle.name]}}
    assert impossible(published(workplace)[1])


def test_a_plan_refuses_what_cannot_be_drawn_together(workplace: Workplace) -> None:
    make_private(workplace, impossible=[{"region": "South", "age": "young"}], mode="marginals")
    with pytest.raises(SpecRefused) as refusal:
        preview(load_spec(workplace.write_spec()), count=False)
    assert {fault.field for fault in refusal.value.faults} == {"protect.0.impossible", "protect.0.impossible.0.age"}
