"""Linked tables through the whole line: one file each, one promise; what is changed in one of them is noticed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from penstock.flows.release import release
from penstock.flows.spec import load_spec, parse_spec
from penstock.mechanisms.linked_layout import columns_of_table, tables_of
from penstock.mechanisms.refusal import SpecRefused
from penstock.records.home import Home
from penstock.tasks.files.tables import read_table
from penstock.tasks.outputs._linked_claims import figures_apart
from penstock.tasks.outputs.claims import claims_of
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.private_release import begun
from tests.support.workplace import DESCRIPTIONS, Workplace, budget_of, files_of, make_table, open_dp_account, predicate

TABLES = {"by_region": ["region", "education"], "by_band": ["band", "region"], "by_school": ["education", "band"]}
FORMATS = (".parquet", ".csv", ".sdmx.csv", ".structure.xml")


def make_linked(workplace: Workplace, **settings: Any) -> None:
    make_table(workplace, dimensions=None, tables=TABLES, table=None, **settings)
    workplace.raw["source"]["columns"]["band"] = {
        "role": "quasi_identifier",
        "type": "ordinal",
        "recode": {"of": "income", "bands": [0, 20_000, 40_000, 100_000]},
    }
    del workplace.raw["source"]["columns"]["income"]["outside"]
    for figure in ("sums", "means"):
        del workplace.raw["protect"][0][figure]
    workplace.raw["source"]["columns"]["income"]["domain"] = [0, 10_000_000]
    workplace.raw["source"]["columns"]["band"]["recode"]["bands"] = [0, 20_000, 40_000, 10_000_000]


@pytest.mark.parametrize(
    "settings", [{}, {"exact_total": True, "margins": "measured", "margin_share": "1/2"}, {"margins": "none"}]
)
def test_linked_tables_are_released_and_verify(workplace: Workplace, settings: dict[str, Any]) -> None:
    make_linked(workplace, **settings)
    with begun(workplace) as line:
        layout = line.job.plan.output.layout
        receipt = line.publish()
    bundle = Path(receipt.path)
    expected = {f"tables/{name}{suffix}" for name in TABLES for suffix in FORMATS}
    assert set(files_of(bundle)) == {*expected, *DESCRIPTIONS, "manifest.json", "report.html"}
    findings = verify_bundle(bundle, Home.open().public_key_path)
    assert any("what several tables show is the same in all of them" in finding.text for finding in findings)
    assert budget_of()[0] == "1"
    release = predicate(bundle)["release"]
    assert release["records"] == receipt.records == layout.rows
    assert {table["name"]: table["dimensions"] for table in release["layout"]["tables"]} == TABLES
    page = (bundle / "report.html").read_text(encoding="utf-8")
    codebook = (bundle / "metadata/codebook.xml").read_text(encoding="utf-8")
    for table in tables_of(layout):
        assert f"The table {table.name}" in page
        assert f"tables/{table.name}.csv" in codebook
        stored = pq.read_table(bundle / "tables" / f"{table.name}.parquet")
        assert stored.num_rows == table.rows
        assert stored.column_names == list(table.columns)
        if "exact_total" in settings:
            assert stored["count"].to_pylist()[-1] == pq.read_metadata(workplace.source).num_rows
            assert stored["count_standard_error"].to_pylist()[-1] == 0
    assert workplace.working_files() == []


def test_the_same_question_gets_the_same_linked_tables(workplace: Workplace) -> None:
    make_linked(workplace)
    with begun(workplace) as line:
        first = line.publish()
    workplace.raw["name"] = "again"
    with begun(workplace, account=False) as line:
        _, staged = line.protect()
        layout = line.job.plan.output.layout
        columns = read_table(staged.data, layout)
    for table in tables_of(layout):
        stored = pq.read_table(Path(first.path) / "tables" / f"{table.name}.parquet")
        assert columns_of_table(layout, table, columns)["count"].tolist() == stored["count"].to_pylist()
    assert budget_of()[0] == "1"


@pytest.fixture
def published(workplace: Workplace) -> tuple[Path, Any]:
    make_linked(workplace)
    with begun(workplace) as line:
        layout = line.job.plan.output.layout
        receipt = line.publish()
    return Path(receipt.path), layout


def test_files_that_differ_about_one_figure_are_noticed(published: tuple[Path, Any]) -> None:
    bundle, layout = published
    files = {
        f"tables/{name}": {
            ".parquet": pq.read_table(bundle / f"tables/{name}.parquet"),
            ".csv": pyarrow.csv.read_csv(bundle / f"tables/{name}.csv"),
        }
        for name in TABLES
    }
    assert list(figures_apart(layout, files)) == []
    changed = files["tables/by_band"][".csv"]
    counts = changed["count"].to_pylist()
    counts[-1] += 1  # the grand total, which all three tables show
    place = changed.column_names.index("count")
    files["tables/by_band"][".csv"] = changed.set_column(place, "count", pa.array(counts))
    assert list(figures_apart(layout, files)) == ["must have the same count wherever two tables show the same figure"]


def test_a_manifest_whose_tables_are_not_of_its_levels_is_not_believed(published: tuple[Path, Any]) -> None:
    release = predicate(published[0])["release"]
    claims = claims_of(release)
    assert claims is not None
    assert [part.stem for part in claims.parts] == [f"tables/{name}" for name in TABLES]

    def believed(change: Any) -> bool:
        copy = json.loads(json.dumps(release))
        change(copy["layout"])
        return claims_of(copy) is not None

    assert believed(lambda layout: None)
    assert not believed(lambda layout: layout["tables"].pop())
    assert not believed(lambda layout: layout["tables"][0]["levels"].pop())
    assert not believed(lambda layout: layout["tables"][0].update(name="by_band"))
    assert not believed(lambda layout: layout["levels"].reverse())
    assert not believed(lambda layout: layout["levels"].append(layout["levels"][-1]))


def test_two_outputs_have_no_files_of_one_name(workplace: Workplace) -> None:
    make_linked(workplace)
    (entry,) = workplace.raw["protect"]
    other = {name: value for name, value in entry.items() if name != "tables"}
    workplace.raw["protect"] = [{**entry, "name": "linked"}, {**other, "table": "by_band", "dimensions": ["band"]}]
    with pytest.raises(SpecRefused) as refusal:
        parse_spec(workplace.raw)
    assert {fault.field for fault in refusal.value.faults} == {"protect.0 (linked).tables", "protect.1 (by_band).table"}


def test_linked_tables_beside_another_output_verify(workplace: Workplace) -> None:
    make_linked(workplace, epsilon="1/2")
    (entry,) = workplace.raw["protect"]
    other = {name: value for name, value in entry.items() if name != "tables"}
    workplace.raw["protect"] = [{**entry, "name": "linked"}, {**other, "table": "bands", "dimensions": ["band"]}]
    open_dp_account(2)
    receipt = release(load_spec(workplace.write_spec()))
    verify_bundle(Path(receipt.path), Home.open().public_key_path)
    files = set(files_of(Path(receipt.path)))
    assert {f"tables/{name}.csv" for name in (*TABLES, "bands")} <= files
    assert budget_of()[0] == "1"


def test_linked_tables_are_released_where_the_records_are_never_held_together(workplace: Workplace) -> None:
    make_linked(workplace, exact_total=True)
    workplace.raw["run"] = {"memory": "1 GB"}
    open_dp_account(2)
    receipt = release(load_spec(workplace.write_spec()))
    verify_bundle(Path(receipt.path), Home.open().public_key_path)
    stored = pq.read_table(Path(receipt.path) / "tables/by_band.parquet")
    assert stored["count"].to_pylist()[-1] == pq.read_metadata(workplace.source).num_rows
