"""Tables with coarser levels through the whole line: one file with every level, verified, asked for again, in parts."""

from __future__ import annotations

import copy
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.mechanisms import table
from penstock.mechanisms.randomness import system
from penstock.mechanisms.refusal import SpecRefused
from penstock.records.home import Home
from penstock.tasks.files.source import open_source, read_source
from penstock.tasks.files.tables import read_table
from penstock.tasks.outputs._cell_claims import LayoutClaim
from penstock.tasks.outputs.claims import claims_of
from penstock.tasks.verification.bundle import ClaimBroken, verify_bundle
from tests.support.cluster import write_parts
from tests.support.private_release import begun
from tests.support.workplace import (
    DESCRIPTIONS,
    REGIONS,
    Workplace,
    budget_of,
    files_of,
    make_table,
    make_units,
    open_dp_account,
    predicate,
)
from tests.tasks.close_release import Signed

SIDE = {"North": "coast", "West": "coast", "South": "inland", "East": "inland"}
EXACT = {"model": "k_anon", "epsilon": None, "adjacency": None, "k": 2}
RELAXED = {
    "bdp": {
        "model": "bdp",
        "adjacency": "bootstrap_replace",
        "scale": "one",
        "empty_cells": "noise",
        "acknowledges": ["bdp"],
    },
    "idp": {"model": "idp", "adjacency": "from_D", "acknowledges": ["idp"]},
}
EVERY: dict[str, dict[str, Any]] = {
    "dp": {},
    "measured": {"margins": "measured", "margin_share": "1/2", "totals": [["side", "education"], ["side"], []]},
    "exact total": {"exact_total": True},
    **RELAXED,
    "k_anon": EXACT,
}


def make_levels(workplace: Workplace, **settings: Any) -> None:
    make_table(workplace, levels={"region": ["side"]}, **settings)
    workplace.raw["source"]["columns"]["region"]["taxonomy"] = REGIONS


def published(workplace: Workplace, **settings: Any) -> Path:
    make_levels(workplace, **settings)
    workplace.write_survey(2000)
    with begun(workplace, account=settings.get("model") != "k_anon") as line:
        return Path(line.publish().path)


def adds_up(stored: pa.Table, name: str) -> bool:
    """Whether the rows of both sides are the sums of those of their regions, wherever the table has both."""
    rows = stored.to_pandas()
    rows["region"] = rows["region"].astype(str)
    groups = rows[rows["region"].isin(set(SIDE.values()))]
    assert len(groups) > 0
    fine = rows[rows["region"].isin(set(SIDE))].assign(region=lambda found: found["region"].map(SIDE))
    keys = ["region", "education"]
    cells = fine[fine["education"] != "_T"]
    sums = pd.concat([cells, cells.assign(education="_T")]).astype({"education": str}).groupby(keys)[name].sum()
    stated = groups.astype({"education": str}).set_index(keys)[name]
    return bool(((stated - sums.loc[stated.index]).abs() <= 1e-6 * sums.abs().max()).all())


@pytest.mark.parametrize("name", EVERY)
def test_tables_with_levels_are_released_and_verify(workplace: Workplace, name: str) -> None:
    bundle = published(workplace, **EVERY[name])
    findings = verify_bundle(bundle, Home.open().public_key_path)
    assert any("every total is the sum of its cells" in finding.text for finding in findings)
    suffixes = (".parquet", ".csv", ".sdmx.csv", ".structure.xml")
    assert set(files_of(bundle)) == {
        *(f"tables/incomes{suffix}" for suffix in suffixes),
        *DESCRIPTIONS,
        "manifest.json",
        "report.html",
    }
    stored = pq.read_table(bundle / "tables/incomes.parquet")
    assert adds_up(stored, "count")
    assert adds_up(stored, "income_sum")
    told = predicate(bundle)["release"]
    assert told["layout"]["coarser"] == [
        {"name": "side", "dimension": "region", "labels": ["coast", "inland"], "groups": [0, 1, 1, 0]}
    ]
    assert told["guarantee"]["parameters"]["levels"] == {"region": ["side"]}
    (region,) = (column for column in told["columns"] if column["name"] == "region")
    assert region["categories"][:6] == ["North", "South", "East", "West", "coast", "inland"]
    assert "groups of categories are those of side" in region["treatment"]
    if name == "k_anon":
        source = pq.read_table(workplace.source).to_pandas()
        counts = source["region"].astype(str).map(SIDE).value_counts()
        found = dict(zip(stored["region"].to_pylist(), stored["count"].to_pylist(), strict=True))
        assert found["coast"] == counts["coast"]


def test_both_pages_show_groups_and_what_is_above_a_category(workplace: Workplace) -> None:
    make_levels(workplace)
    open_dp_account(1)
    bundle = Path(release(load_spec(workplace.write_spec())).path)
    confidential = next((workplace.home / "runs").rglob("report.html"))
    public = (bundle / "report.html").read_text(encoding="utf-8")
    assert "By side and education" in public
    assert "North <small>(coast)</small>" in public
    for text in (public, confidential.read_text(encoding="utf-8")):
        assert "levels: region" in text


def test_the_code_list_names_the_group_above_each_category(workplace: Workplace) -> None:
    tree = ET.parse(published(workplace) / "tables/incomes.structure.xml")
    spaces = {"str": "http://www.sdmx.org/resources/sdmxml/schemas/v3_0/structure"}
    parents = {
        code.get("id"): code.findtext("str:Parent", namespaces=spaces)
        for code in tree.findall(".//str:Codelist[@id='CL_INCOMES__REGION']/str:Code", spaces)
    }
    assert parents == {
        "NORTH": "COAST",
        "SOUTH": "INLAND",
        "EAST": "INLAND",
        "WEST": "COAST",
        "COAST": None,
        "INLAND": None,
        "_T": None,
    }
    others = tree.findall(".//str:Codelist[@id='CL_INCOMES__EDUCATION']/str:Code/str:Parent", spaces)
    assert others == []


def raised(row: int) -> Callable[[pa.Table], pa.Table]:
    def change(stored: pa.Table) -> pa.Table:
        counts = stored["count"].to_pylist()
        counts[row] += 1
        return stored.set_column(stored.column_names.index("count"), "count", pa.array(counts, pa.int64()))

    return change


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_total_of_a_group_that_was_changed_is_noticed(workplace: Workplace, suffix: str) -> None:
    bundle = published(workplace)
    rows = pq.read_table(bundle / "tables/incomes.parquet")["region"].to_pylist()
    signed = Signed(bundle, Home.open())
    signed.seal()
    verify_bundle(bundle, Home.open().public_key_path)
    keep = pq.read_table(bundle / "tables/incomes.parquet").schema.metadata
    change = raised(rows.index("inland"))
    signed.change(f"tables/incomes{suffix}", lambda stored: change(stored).replace_schema_metadata(keep))
    with pytest.raises(ClaimBroken) as found:
        verify_bundle(bundle, Home.open().public_key_path)
    assert {(fault.field, fault.rule) for fault in found.value.faults} >= {
        (f"tables/incomes{suffix}", "must have totals of count that are the sums of their cells")
    }


LIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "a category in another group": lambda layout: layout["coarser"][0].update(groups=[0, 0, 1, 1]),
}
UNSOUND: dict[str, Callable[[dict[str, Any]], object]] = {
    "no groups": lambda layout: layout.pop("coarser"),
    "a category without a group": lambda layout: layout["coarser"][0].update(groups=[0, 1, 1]),
    "a group of nobody": lambda layout: layout["coarser"][0].update(labels=["coast", "inland", "sea"]),
    "a group before the first": lambda layout: layout["coarser"][0].update(groups=[0, 1, 1, -1]),
    "a group like a category": lambda layout: layout["coarser"][0].update(labels=["coast", "East"]),
    "a group like a total": lambda layout: layout["coarser"][0].update(labels=["coast", "_T"]),
    "a level of no dimension": lambda layout: layout["coarser"][0].update(dimension="income"),
    "a level twice": lambda layout: layout["coarser"].append(layout["coarser"][0]),
    "a level like a dimension": lambda layout: layout["coarser"][0].update(name="education"),
    "two levels of a dimension": lambda layout: layout["levels"].append(["region", "side"]),
    "linked tables": lambda layout: layout.update(tables=[{"name": "a", "dimensions": [], "levels": []}]),
}


def test_manifests_whose_groups_are_unsound_are_not_believed(workplace: Workplace) -> None:
    bundle = published(workplace)
    told = predicate(bundle)["release"]
    assert claims_of(told) is not None
    for name, change in UNSOUND.items():
        lie = copy.deepcopy(told)
        change(lie["layout"])
        assert claims_of(lie) is None or not LayoutClaim.model_validate(lie["layout"]).is_sound, name


def test_a_manifest_with_other_groups_is_not_borne_out_by_its_files(workplace: Workplace) -> None:
    bundle = published(workplace)
    signed = Signed(bundle, Home.open())
    for change in LIES.values():
        change(signed.release["layout"])
    signed.seal()
    with pytest.raises(ClaimBroken, match="sums of their cells"):
        verify_bundle(bundle, Home.open().public_key_path)


def test_the_same_question_gets_the_same_answer_and_other_groups_are_another_question(workplace: Workplace) -> None:
    first = published(workplace)
    workplace.raw["name"] = "again"
    with begun(workplace, account=False) as line:
        second = Path(line.publish().path)
    one, two = (pq.read_table(each / "tables/incomes.parquet").to_pydict() for each in (first, second))
    assert one == two
    assert budget_of()[0] == "1"
    workplace.raw["source"]["columns"]["region"]["taxonomy"] = {**REGIONS, "East": ["coast"]}
    with begun(workplace, account=False) as line:
        third = Path(line.publish().path)
    assert budget_of()[0] == "2"
    assert pq.read_table(third / "tables/incomes.parquet").to_pydict() != one


def test_a_contributor_counts_once_in_each_group(workplace: Workplace) -> None:
    make_levels(workplace, **EXACT)
    make_units(workplace, 2)
    del workplace.raw["protect"][0]["rows_per_unit"]
    workplace.raw["protect"][0]["k"] = 2
    workplace.raw["protect"][0]["dimensions"] = ["region"]
    with begun(workplace, account=False) as line:
        receipt = line.publish()
    verify_bundle(Path(receipt.path), Home.open().public_key_path)
    source = pq.read_table(workplace.source).to_pandas()
    expected = source.assign(side=source["region"].astype(str).map(SIDE)).groupby("side")["person_id"].nunique()
    found = pq.read_table(Path(receipt.path) / "tables/incomes.parquet").to_pandas().set_index("region")
    assert found.loc["coast", "contributors"] == expected["coast"]
    assert found.loc["inland", "contributors"] == expected["inland"]


def test_an_exact_table_in_parts_is_the_one_that_is_made_at_once(workplace: Workplace) -> None:
    make_levels(workplace, **EXACT)
    write_parts(workplace.write_survey(2000), workplace.folder / "survey")
    workplace.raw["source"]["path"] = "survey"
    workplace.raw["run"] = {"memory": "100 MB"}
    receipt = release(load_spec(workplace.write_spec()))
    verify_bundle(Path(receipt.path), Home.open().public_key_path)
    spec = load_spec(workplace.spec_file)
    [params] = spec.protect
    assert isinstance(params, table.Params)
    columns = read_source(open_source(str(workplace.source), spec.columns), spec.columns)
    at_once = table.protect(columns, spec.data_columns, params, system()).columns
    layout = table.layout(params, spec.columns)
    in_parts = read_table(Path(receipt.path) / "tables/incomes.parquet", layout)
    assert {name: values.tolist() for name, values in in_parts.items()} == {
        name: values.tolist() for name, values in at_once.items()
    }


@pytest.mark.parametrize("name", ["NUTS 1", "", "a" * 51, "side\n"])
def test_names_of_levels_are_written_like_those_of_tables(workplace: Workplace, name: str) -> None:
    make_levels(workplace)
    workplace.raw["protect"][0]["levels"] = {"region": [name]}
    with pytest.raises(SpecRefused, match="lower case letters"):
        load_spec(workplace.write_spec())


def test_several_outputs_with_levels_are_counted_in_one_pass(workplace: Workplace) -> None:
    make_levels(workplace, epsilon="1/2")
    (entry,) = workplace.raw["protect"]
    other = {**entry, "table": "schools", "dimensions": ["education"], "levels": {}}
    workplace.raw["protect"] = [{**entry, "name": "first"}, {**other, "name": "second"}]
    open_dp_account(2)
    receipt = release(load_spec(workplace.write_spec()))
    bundle = Path(receipt.path)
    verify_bundle(bundle, Home.open().public_key_path)
    assert adds_up(pq.read_table(bundle / "tables/incomes.parquet"), "count")
    assert "coast" not in json.dumps(pq.read_table(bundle / "tables/schools.parquet").to_pydict())
