"""A release of a random sample: what is drawn and judged is all of it, what is published is a part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from penstock.flows.preview import preview
from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.mechanisms.refusal import TooFewRecords
from penstock.records.home import Home
from penstock.tasks.files.columns import write_first_rows
from penstock.tasks.publish import Receipt
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.private_release import begun
from tests.support.workplace import ROWS, Workplace, predicate


def settled(workplace: Workplace, sample: Any) -> None:
    del workplace.raw["source"]["columns"]["weight"]
    workplace.raw["protect"][0]["sample"] = sample


def released(workplace: Workplace, sample: Any, **run: Any) -> Path:
    settled(workplace, sample)
    if run:
        workplace.raw["run"] = run
    receipt = release(load_spec(workplace.write_spec()))
    assert isinstance(receipt, Receipt)
    return Path(receipt.path)


@pytest.mark.parametrize("run", [{}, {"memory": "1 GB"}], ids=["whole", "in parts"])
def test_a_sample_is_published_and_all_records_are_judged(workplace: Workplace, run: dict[str, str]) -> None:
    bundle = released(workplace, "1/10", **run)
    files = pq.read_table(bundle / "data.parquet"), pyarrow.csv.read_csv(bundle / "data.csv")
    assert [file.num_rows for file in files] == [ROWS // 10] * 2
    stated = predicate(bundle)["release"]
    assert stated["records"] == ROWS // 10
    assert stated["guarantee"]["parameters"]["sample"] == "1/10"
    findings = {each.name: each.text for each in verify_bundle(bundle, Home.open().public_key_path)}
    assert f"{ROWS // 10:,} records" in findings["records"]
    assert "random sample without replacement" in (bundle / "report.html").read_text(encoding="utf-8")
    [assessment] = workplace.home.rglob("assessment.json")
    assert json.loads(assessment.read_text())["records"] == ROWS


def test_the_sample_is_the_first_rows_of_a_random_order(workplace: Workplace) -> None:
    settled(workplace, "1/10")
    with begun(workplace, account=False) as line:
        line.stage()
        every = pq.read_table(line.job.run.path("protected.parquet"))
        found = pq.read_table(line.job.bundle / "data.parquet")
    assert (every.num_rows, found.num_rows) == (ROWS, ROWS // 10)
    assert every.slice(0, ROWS // 10).to_pydict() == found.to_pydict()
    assert every.column("age").to_pylist() != pq.read_table(workplace.source).column("age").to_pylist()


def test_a_number_of_records_is_published(workplace: Workplace) -> None:
    assert pq.read_table(released(workplace, 7) / "data.parquet").num_rows == 7


def test_more_records_than_there_are_refuse_before_anything_is_drawn(workplace: Workplace) -> None:
    with pytest.raises(TooFewRecords, match="sample refused"):
        released(workplace, ROWS + 1)
    assert not list(workplace.home.rglob("protected.parquet"))


def test_the_plan_says_what_the_file_will_hold(workplace: Workplace) -> None:
    settled(workplace, "1/4")
    told = preview(load_spec(workplace.write_spec()), count=True)
    assert any(f"{ROWS // 4:,} of {ROWS:,}" in sentence for sentence in told["expect"])


def test_nothing_of_the_other_records_stays_in_the_file(workplace: Workplace, tmp_path: Path) -> None:
    """Neither in a dictionary nor in the statistics of a column."""
    from penstock.mechanisms.columns import Column
    from penstock.mechanisms.probabilistic_k_anonymity import Params, promise
    from penstock.tasks.files.columns import write_release

    declared = {
        "kind": Column(role="confidential", type="ordinal", categories=("a", "b", "secret")),
        "size": Column(role="confidential", type="integer", domain=(0, 99999)),
    }
    guarantee = promise(Params(method="ir_swap", k=2), declared)
    columns = {"kind": np.array([0, 1, 0, 2]), "size": np.array([1, 2, 3, 77777])}
    write_release(tmp_path / "all.parquet", columns, declared, guarantee, np.arange(4))
    write_first_rows(tmp_path / "first.parquet", tmp_path / "all.parquet", declared, guarantee, 3)
    shorter = {name: values[:3] for name, values in columns.items()}
    write_release(tmp_path / "alone.parquet", shorter, declared, guarantee, np.arange(3))
    assert (tmp_path / "first.parquet").read_bytes() == (tmp_path / "alone.parquet").read_bytes()
