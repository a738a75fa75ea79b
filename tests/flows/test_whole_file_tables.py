"""Tables of the whole file, without any dimension: one row through the whole line, under every model."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import penstock
from penstock.flows.planning import draw_up_plan
from penstock.flows.preview import preview
from penstock.flows.release import release
from penstock.flows.spec import load_spec, parse_spec
from penstock.mechanisms.refusal import Refusal, SpecRefused
from penstock.mechanisms.table.together import counted_together
from penstock.records import open_records
from penstock.records.home import Home
from penstock.records.log.log import Action
from penstock.tasks.verification.bundle import verify_bundle
from tests.flows.good_specs import TABLE, changed
from tests.support.cluster import write_parts
from tests.support.workplace import ROWS, Workplace, budget_of, make_table, make_units, open_dp_account, predicate

MODELS: dict[str, dict[str, Any]] = {
    "dp": {"adjacency": "add_remove"},
    "dp with a public number": {"exact_total": True},
    "bdp": {
        "model": "bdp",
        "adjacency": "bootstrap_replace",
        "scale": "one",
        "empty_cells": "zero",
        "acknowledges": ["bdp"],
    },
    "idp": {"model": "idp", "adjacency": "from_D", "acknowledges": ["idp"]},
    "k_anon": {"model": "k_anon", "epsilon": None, "adjacency": None, "k": 5},
}


def make_whole(workplace: Workplace, **settings: Any) -> None:
    make_table(workplace, dimensions=[], **settings)


def open_account(workplace: Workplace) -> None:
    asked = workplace.raw["protect"][0]
    if asked["model"] != "k_anon":
        open_dp_account(4, model=asked["model"], adjacency=asked["adjacency"])


def row(bundle: Path, name: str = "incomes") -> dict[str, Any]:
    (found,) = pq.read_table(bundle / f"tables/{name}.parquet").to_pylist()
    return dict(found)


@pytest.mark.parametrize("model", MODELS)
def test_figures_of_the_whole_file_are_released_in_every_format_and_verify(workplace: Workplace, model: str) -> None:
    make_whole(workplace, **MODELS[model])
    open_account(workplace)
    spec = load_spec(workplace.write_spec())
    assert "One row: figures of the whole file." in preview(spec, count=False)["expect"]
    bundle = Path(release(spec).path)
    findings = {found.name: found.checked for found in verify_bundle(bundle, Home.open().public_key_path)}
    assert findings["records"]
    figures = row(bundle)
    stated = predicate(bundle)["release"]
    assert stated["guarantee"]["parameters"]["dimensions"] == stated["layout"]["dimensions"] == []
    assert stated["layout"]["levels"] == [[]]
    assert stated["guarantee"]["statement"].endswith("The output is one row: figures of the whole file.")
    if model != "dp":
        assert figures["count"] == ROWS
    text = (bundle / "tables/incomes.csv").read_text(encoding="utf-8").splitlines()
    assert len(text) == 2
    observations = (bundle / "tables/incomes.sdmx.csv").read_text(encoding="utf-8").splitlines()
    assert len(observations) == 1 + 3  # count, total and mean
    status = {line.split(",")[3]: line.split(",")[5] for line in observations[1:]}
    assert status["COUNT"] == ("E" if model == "dp" else "A")
    assert status["INCOME_SUM"] == ("A" if model == "k_anon" else "E")
    structure = ET.fromstring((bundle / "tables/incomes.structure.xml").read_text(encoding="utf-8"))
    of_structure = [each.get("id") for each in structure.iter() if each.tag.endswith("}Dimension")]
    assert of_structure == ["FIGURE"]
    for page in ("report.html", "metadata/codebook.xml", "metadata/dataset.jsonld"):
        assert (bundle / page).stat().st_size > 0
    report = (bundle / "report.html").read_text(encoding="utf-8")
    assert "By ." not in report


def test_a_public_number_of_records_costs_nothing_and_all_is_spent_on_totals(workplace: Workplace) -> None:
    make_whole(workplace, exact_total=True)
    open_account(workplace)
    bundle = Path(release(load_spec(workplace.write_spec())).path)
    (entry,) = predicate(bundle)["release"]["settled"]["measured"]
    assert entry["measures"] == ["income"]
    assert entry["epsilon"] == "1"
    assert row(bundle)["count_standard_error"] == 0
    assert budget_of()[0] == "1"


def test_an_account_that_is_asked_the_same_again_gives_the_same_row(workplace: Workplace) -> None:
    make_whole(workplace)
    open_account(workplace)
    first = Path(release(load_spec(workplace.write_spec())).path)
    workplace.raw["protect"][0]["table"] = "others"
    workplace.raw["name"] = "again"
    workplace.raw["budget"]["acknowledges"] = [first.name]
    second = Path(release(load_spec(workplace.write_spec())).path)
    assert row(first) == row(second, "others")
    assert budget_of()[0] == "1"


@pytest.mark.parametrize("model", ["dp", "k_anon"])
def test_the_whole_file_is_counted_in_parts(workplace: Workplace, model: str) -> None:
    make_whole(workplace, **MODELS[model])
    open_account(workplace)
    folder = workplace.folder / "survey"
    survey = workplace.write_survey(ROWS)
    write_parts(survey, folder)
    workplace.raw["source"]["path"] = "survey"
    workplace.raw["run"] = {"memory": "100 MB"}
    bundle = Path(release(load_spec(workplace.write_spec())).path)
    verify_bundle(bundle, Home.open().public_key_path)
    if model == "k_anon":
        assert row(bundle)["count"] == ROWS
        assert row(bundle)["income_sum"] == pytest.approx(survey["income"].to_numpy().clip(0, 100_000).sum(), rel=1e-6)


def test_a_count_of_the_whole_file_alone_is_counted_in_parts(workplace: Workplace) -> None:
    """No column shows how many records there are: the first one is read for it."""
    make_whole(workplace, model="k_anon", epsilon=None, adjacency=None, k=5, sums=[], means=[])
    folder = workplace.folder / "survey"
    write_parts(workplace.write_survey(ROWS), folder)
    workplace.raw["source"]["path"] = "survey"
    workplace.raw["run"] = {"memory": "100 MB"}
    assert row(Path(release(load_spec(workplace.write_spec())).path))["count"] == ROWS


def test_the_whole_file_stands_beside_its_cells(workplace: Workplace) -> None:
    """Two tables of one release, counted in one pass."""
    make_table(workplace)
    cells = {**workplace.raw["protect"][0], "name": "cells"}
    whole = {**cells, "table": "whole", "dimensions": [], "name": "whole", "exact_total": True}
    workplace.raw["protect"] = [cells, whole]
    del workplace.raw["gates"]
    for entry in workplace.raw["protect"]:
        entry["gates"] = [{"measure": "privacy_loss", "max": 1}]
    asked = {str(plan.output_name): plan.params for plan in draw_up_plan(load_spec(workplace.write_spec())).outputs}
    assert set(counted_together(asked, load_spec(workplace.spec_file).columns)) == {"cells", "whole"}
    open_dp_account(4)
    bundle = Path(release(load_spec(workplace.spec_file)).path)
    verify_bundle(bundle, Home.open().public_key_path)
    assert row(bundle, "whole")["count"] == ROWS
    assert budget_of()[0] == "2"


def test_contributors_and_weights_of_the_whole_file(workplace: Workplace) -> None:
    make_whole(workplace, model="k_anon", epsilon=None, adjacency=None, k=5, weight={"column": "weight"})
    workplace.raw["source"]["columns"]["weight"] = {"role": "weight", "domain": [0, 500]}
    make_units(workplace, 1)
    del workplace.raw["protect"][0]["rows_per_unit"]
    bundle = Path(release(load_spec(workplace.write_spec())).path)
    verify_bundle(bundle, Home.open().public_key_path)
    survey = pq.read_table(workplace.source)
    assert row(bundle)["contributors"] == ROWS // 4
    assert row(bundle)["weighted_count"] == pytest.approx(survey["weight"].to_numpy().sum())


def test_weights_of_the_whole_file_under_noise(workplace: Workplace) -> None:
    make_whole(workplace, weight={"column": "weight"}, adjacency="replace")
    workplace.raw["source"]["columns"]["weight"] = {"role": "weight", "domain": [0, 500]}
    open_account(workplace)
    bundle = Path(release(load_spec(workplace.write_spec())).path)
    verify_bundle(bundle, Home.open().public_key_path)
    assert row(bundle)["weighted_count_standard_error"] > 0


def test_a_trial_shows_the_whole_file(workplace: Workplace) -> None:
    columns = workplace.raw["source"]["columns"]
    declared = {"income": {**columns["income"], "outside": "clamp"}}
    asked = {"mechanism": "table", "dimensions": [], "sums": ["income"], "model": "k_anon", "k": 2}
    trial = penstock.protect(pq.read_table(workplace.source), declared, asked)
    assert trial.data.num_rows == 1
    assert trial.data["count"].to_pylist() == [ROWS]


def test_dimensions_that_are_not_given_are_still_refused() -> None:
    spec = changed("name", "table", TABLE)
    del spec["protect"][0]["dimensions"]
    with pytest.raises(SpecRefused) as refusal:
        parse_spec(spec)
    assert [(fault.field, fault.rule) for fault in refusal.value.faults] == [("protect.0.dimensions", "must be given")]


@pytest.mark.parametrize("model", ["dp with a public number", "bdp", "idp"])
def test_nothing_is_released_of_a_part_where_its_number_of_records_counts_as_public(model: str) -> None:
    part = changed("source/columns/injury/categories", ["burn"], TABLE)
    part["budget"]["part"] = "injury"
    asked = {"mechanism": "table", "dimensions": [], "sums": ["loss"], "epsilon": "1/2", "model": "dp"}
    part["protect"] = [{**asked, "adjacency": "replace", **MODELS[model]}]
    part["gates"] = [{"measure": "privacy_loss", "max": 1}]
    with pytest.raises(Refusal) as refusal:
        draw_up_plan(parse_spec(part))
    assert {fault.field for fault in refusal.value.faults} <= {"budget.part", "protect.0.exact_total"}


@pytest.mark.parametrize(
    ("model", "adjacency", "may"),
    [
        ("dp", "replace", False),
        ("dp", "add_remove", True),
        ("idp", "from_D", False),
        ("idp", "from_D_add_remove", True),
    ],
)
def test_statistics_of_a_part_are_planned_only_where_its_number_of_records_is_secret(
    model: str, adjacency: str, *, may: bool
) -> None:
    part = changed("source/columns/injury/categories", ["burn"], TABLE)
    part["budget"]["part"] = "injury"
    figures = [{"statistic": "sum", "of": "loss"}]
    asked = {"mechanism": "statistics", "figures": figures, "epsilon": "1/2", "model": model, "adjacency": adjacency}
    part["protect"] = [{**asked, "acknowledges": [] if model == "dp" else [model]}]
    part["gates"] = [{"measure": "privacy_loss", "max": 1}]
    if may:
        assert draw_up_plan(parse_spec(part)).guarantee.adjacency == adjacency
        return
    with pytest.raises(Refusal, match="a record that moves would change two sizes"):
        draw_up_plan(parse_spec(part))


def test_a_refused_table_of_the_number_of_records_alone_draws_nothing(workplace: Workplace) -> None:
    make_whole(workplace, exact_total=True, sums=[], means=[])
    open_account(workplace)
    with pytest.raises(SpecRefused, match="the count is the number of records, which is public"):
        load_spec(workplace.write_spec())
    assert all(event.action is not Action.PLANNED for event in open_records().log.events())
