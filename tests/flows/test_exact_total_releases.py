"""An exact grand total through the whole line: published, verified, and refused for a part of a data set."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.flows.spec import parse_spec
from penstock.mechanisms.refusal import SpecRefused
from penstock.records.home import Home
from penstock.tasks.verification.bundle import verify_bundle
from tests.flows.good_specs import TABLE, changed
from tests.support.private_release import begun
from tests.support.workplace import Workplace, make_table


def test_the_grand_total_is_published_as_it_is(workplace: Workplace) -> None:
    make_table(workplace, exact_total=True, margins="measured", margin_share="1/2")
    with begun(workplace) as line:
        receipt = line.publish()
    verify_bundle(Path(receipt.path), Home.open().public_key_path)
    table = pq.read_table(Path(receipt.path) / "tables/incomes.parquet").to_pydict()
    assert table["count"][-1] == pq.read_metadata(workplace.source).num_rows
    assert table["count_standard_error"][-1] == 0
    lines = (Path(receipt.path) / "tables/incomes.sdmx.csv").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if ",A,F,0" in line] == [line for line in lines if line.endswith(",A,F,0")]
    assert sum(line.endswith(",A,F,0") for line in lines) == 1


def test_a_part_has_no_exact_total() -> None:
    part = changed("source/columns/injury/categories", ["burn"], TABLE)
    part["budget"]["part"] = "injury"
    part["protect"][0] |= {"exact_total": True, "model": "dp", "adjacency": "replace"}
    with pytest.raises(SpecRefused) as refusal:
        parse_spec(part)
    (fault,) = refusal.value.faults
    assert fault.field == "protect.0.exact_total"
    assert "its number is not public" in fault.rule


def test_chosen_records_have_no_exact_total(workplace: Workplace) -> None:
    make_table(workplace, exact_total=True)
    workplace.raw["source"]["where"] = "region is North"
    with pytest.raises(SpecRefused) as refusal:
        parse_spec(workplace.raw)
    assert {fault.field for fault in refusal.value.faults} == {"source.where"}
    workplace.raw["protect"][0]["adjacency"] = "add_remove"
    with pytest.raises(SpecRefused) as refusal:
        parse_spec(workplace.raw)
    assert {fault.field for fault in refusal.value.faults} == {"protect.0.exact_total"}
