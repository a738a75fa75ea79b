"""What a relaxation bought and leaks stands in the confidential report, and leaves by no door."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec
from penstock.records.home import Home
from penstock.reports.words import number
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.order import telling
from tests.support.workplace import Workplace, make_table, open_dp_account
from tests.tasks.close_release import text_of

BDP = {"model": "bdp", "adjacency": "bootstrap_replace", "acknowledges": ["bdp"], "epsilon": "1"}
IDP = {"model": "idp", "acknowledges": ["idp"], "epsilon": "1"}
STATISTICS = {
    "mechanism": "statistics",
    "table": "incomes",
    "figures": [{"statistic": kind, "of": "income"} for kind in ("median", "maximum", "sum")],
}
SETTINGS: dict[str, dict[str, Any]] = {
    "bdp table": {**BDP, "scale": "per_cell", "empty_cells": "noise"},
    "idp table": {**IDP, "adjacency": "from_D"},
    "bdp statistics": {**STATISTICS, **BDP, "groups": ["education"]},
    "idp statistics": {**STATISTICS, **IDP, "groups": ["education"], "adjacency": "from_D_within_cell"},
}
ONLY_HERE = ("assessment.json", "report.html")


def make_canaries(workplace: Workplace, settings: dict[str, Any]) -> None:
    """Incomes of which no distance is a round number."""
    make_table(workplace)
    table = workplace.raw["protect"][0]
    shared = {name: table[name] for name in ("dimensions", "sums", "mechanism", "table")}
    workplace.raw["protect"] = [settings if "mechanism" in settings else {**shared, **settings}]
    survey = workplace.write_survey(400)
    values = np.random.default_rng(5).random(400) * 71_234.56789 + 10_101.0123
    pq.write_table(survey.set_column(survey.column_names.index("income"), "income", pa.array(values)), workplace.source)


def secrets(found: dict[str, Any]) -> Iterator[str]:
    """Yield what was computed from the data, as text in every form in which it is written."""
    for figure in found["figures"]:
        for row in figure["worst"]:
            numbers = [row[name] for name in ("used", "smooth", "gain", "half_width")] + list(row["neighbours"] or ())
            for value in numbers:
                # Short numbers stand everywhere by chance, and so do those of a scale that the domain fixes.
                if value is not None and value != row["declared"] and len(repr(value)) > 8:
                    yield repr(value)
            if any(digit.isdigit() for digit in row["tells"]):
                yield row["tells"]


def places_of(workplace: Workplace, prefect_home: Path, forms: set[str]) -> set[str]:
    found = set()
    for folder in (workplace.home, workplace.published, prefect_home):
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            content = path.read_bytes()
            if path.suffix == ".parquet":
                content += repr(pq.read_table(path).to_pydict()).encode()
            if any(form.encode() in content for form in forms):
                inside = path.is_relative_to(workplace.published)
                found.add(f"{'published: ' if inside else ''}{path.name}")
    return found


@pytest.mark.parametrize(
    "case",
    telling(SETTINGS, "idp statistics"),
)
def test_what_the_relaxation_leaks_stays_in_the_confidential_report(
    workplace: Workplace, prefect_home: Path, caplog: pytest.LogCaptureFixture, case: str
) -> None:
    from penstock.flows.release import release

    make_canaries(workplace, SETTINGS[case])
    spec = load_spec(workplace.write_spec())
    plan = draw_up_plan(spec)
    open_dp_account(4, dataset="survey", unit="row", model=plan.guarantee.model, adjacency=plan.guarantee.adjacency)
    receipt = release(spec)
    report = Path(receipt.confidential_report)
    found = json.loads(report.with_name("assessment.json").read_text(encoding="utf-8"))["relaxation"]
    forms = set(secrets(found))
    assert len(forms) >= 3
    # The page rounds its numbers.
    assert {"assessment.json"} <= places_of(workplace, prefect_home, forms) <= set(ONLY_HERE)
    assert not any(form in caplog.text for form in forms)
    page = text_of(report)
    assert "What the relaxation bought, and what it leaks" in page
    assert number(found["figures"][-1]["worst"][0]["used"]) in page
    public = text_of(Path(receipt.path) / "report.html")
    assert "relaxation bought" not in public
    assert "deniability" not in public
    verify_bundle(Path(receipt.path), Home.open().public_key_path)


def test_the_search_finds_a_number_that_was_published(workplace: Workplace, tmp_path: Path) -> None:
    row = {"used": 1234.56789, "declared": 5000.0, "smooth": None, "gain": 4.0500017, "half_width": 3702.123}
    found = {"figures": [{"worst": [{**row, "neighbours": None, "tells": "The maximum is 7."}]}]}
    forms = set(secrets(found))
    assert forms == {"1234.56789", "4.0500017", "The maximum is 7."}
    workplace.published.mkdir(parents=True, exist_ok=True)
    (workplace.published / "manifest.json").write_text('{"scale": 1234.56789}', encoding="utf-8")
    assert places_of(workplace, tmp_path / "none", forms) == {"published: manifest.json"}
