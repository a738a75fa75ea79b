"""Statistics through every step of the line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.measures.gates import GateRefused
from penstock.mechanisms.refusal import ScaleZero
from penstock.records.home import Home
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.private_release import begun
from tests.support.workplace import ROWS, Workplace, budget_of, make_table

DP = {"model": "dp", "adjacency": "add_remove", "groups": ["education"]}
IDP = {"model": "idp", "adjacency": "from_D_within_cell", "groups": ["education"], "acknowledges": ["idp"]}
BDP = {"model": "bdp", "adjacency": "bootstrap_replace", "groups": ["education"], "acknowledges": ["bdp"]}
ONE = {"model": "bdp", "adjacency": "bootstrap_add_remove", "only": {"education": "master"}, "acknowledges": ["bdp"]}
ALL = {"model": "idp", "adjacency": "from_D", "groups": [], "acknowledges": ["idp"]}
SEVERAL = {**ALL, "group_epsilons": ["1", "2", "2"]}
MORE_OR_LESS = {**IDP, "adjacency": "from_D_add_remove"}


def make_statistics(workplace: Workplace, **settings: Any) -> None:
    make_table(workplace)
    figures = [
        {"statistic": "median", "of": "income"},
        {"statistic": "quantile", "of": "income", "share": "9/10"},
        {"statistic": "mean", "of": "income"},
    ]
    if settings["adjacency"] == "from_D_add_remove":
        del figures[1]  # the highest incomes of a group are tied at the bound, and one more or less moves nothing there
    if settings["model"] in ("dp", "bdp") or settings["adjacency"] == "from_D_add_remove":
        figures.append({"statistic": "count"})
    elif settings["model"] == "idp":
        figures.append({"statistic": "count", "of": "region", "category": "North"})
    workplace.raw["protect"] = [
        {"mechanism": "statistics", "table": "incomes", "figures": figures, "epsilon": "1", **settings}
    ]


@pytest.mark.parametrize(
    "settings",
    [DP, IDP, ALL, SEVERAL, MORE_OR_LESS, BDP, ONE],
    ids=[
        "dp",
        "idp by group",
        "idp of all",
        "of several records",
        "one more or less",
        "bdp by group",
        "bdp of one group",
    ],
)
def test_statistics_are_released_and_verify(workplace: Workplace, settings: dict[str, Any]) -> None:
    make_statistics(workplace, **settings)
    with begun(workplace) as line:
        receipt = line.publish()
    bundle = Path(receipt.path)
    found = {finding.name: finding.text for finding in verify_bundle(bundle, Home.open().public_key_path)}
    grouped = settings.get("groups")
    cells = "all 4 cells that were" if grouped else "the one cell that was"
    assert found["records"] == f"Every file has {cells} declared, and the stated promise."
    table = pq.read_table(bundle / "tables/incomes.parquet").to_pydict()
    assert len(table["income_median"]) == receipt.records == (4 if grouped else 1)
    assert all(0 <= value <= 100_000 for value in table["income_median"])
    assert ("count_standard_error" in table) == (settings["model"] == "dp")
    assert budget_of()[0] == "1"


def test_the_same_statistics_come_back_and_are_charged_once(workplace: Workplace) -> None:
    make_statistics(workplace, **IDP)
    with begun(workplace, limit=1) as line:
        first = line.publish()
    workplace.raw["name"] = "again"
    with begun(workplace, account=False) as line:
        second = line.publish()
    one, two = (pq.read_table(Path(receipt.path) / "tables/incomes.parquet") for receipt in (first, second))
    assert one.to_pydict() == two.to_pydict()


@pytest.mark.parametrize("settings", [IDP, BDP, ONE], ids=["idp", "bdp", "bdp of one group"])
def test_what_the_size_of_noise_shows_stays_on_the_confidential_side(
    workplace: Workplace, settings: dict[str, Any]
) -> None:
    make_statistics(workplace, **settings)
    with begun(workplace) as line:
        content = line.stage()
    told = json.dumps(content["release"])
    assert "steps" not in told
    assert "standard_error" not in told


def test_a_figure_that_no_record_could_change_is_refused(workplace: Workplace) -> None:
    make_statistics(workplace, **ALL)
    survey = workplace.write_survey(ROWS)
    place = survey.column_names.index("income")
    pq.write_table(survey.set_column(place, "income", pa.array([30_000.0] * ROWS)), workplace.source)
    with begun(workplace) as line, pytest.raises(ScaleZero) as refusal:
        line.protect()
    assert "30" not in str(refusal.value)


def test_a_gate_on_an_error_that_statistics_miss_refuses_before_anything_is_reserved(workplace: Workplace) -> None:
    make_statistics(workplace, **DP)
    workplace.raw["gates"] = [{"measure": "expected_error", "max": 0.5}]
    with begun(workplace) as line, pytest.raises(GateRefused, match="expected_error"):
        line.protect()
    assert budget_of() == ("0", "4", [])
