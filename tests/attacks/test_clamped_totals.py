"""A table of skewed values whose bounds cut off most of a cell: does anybody hear of it?

Thirty records of one cell hold ten to thirty times the upper bound. The public side must say that totals are pulled
towards the bounds, whether or not any value was; the confidential side must measure by how much.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.flows.preview import preview
from penstock.flows.spec import load_spec
from penstock.measures.gates import Decision
from penstock.tasks import publish
from penstock.tasks.files.tables import read_table
from penstock.tasks.report import report
from tests.support.private_release import Line, begun
from tests.support.workplace import Workplace, make_private, make_table

BOUND = 100_000
PULLED = "pulled towards the bounds"


def enrich(workplace: Workplace, times: float = 20.0) -> pa.Table:
    """Thirty records of one cell get incomes far beyond the bound."""
    survey = workplace.write_survey(1000)
    rich = (np.array(survey["region"]) == "North") & (np.array(survey["education"]) == "primary")
    rich &= np.cumsum(rich) <= 30
    income = np.where(rich, BOUND * times, np.minimum(survey["income"].to_numpy(), BOUND))
    changed = survey.set_column(survey.column_names.index("income"), "income", pa.array(income))
    pq.write_table(changed, workplace.source)
    assert rich.sum() >= 20
    return changed


def truth(survey: pa.Table, layout: Any) -> np.ndarray[Any, Any]:
    """The totals of income by cell, as they were collected, by counting."""
    regions, levels = layout.dimensions["region"], layout.dimensions["education"]
    found = np.zeros((len(regions), len(levels)))
    for region, level, income in zip(
        *(survey[name].to_pylist() for name in ("region", "education", "income")), strict=True
    ):
        found[regions.index(region), levels.index(level)] += income
    return found.ravel()


def assessed(line: Line) -> tuple[dict[str, Any], Any, Decision]:
    source, staged, decision = line.assess()
    report.fn(line.job, source, 1, decision)  # type: ignore[attr-defined]
    publish.stage.fn(line.job, (staged,), decision)  # type: ignore[attr-defined]
    return json.loads(line.job.run.path("assessment.json").read_text(encoding="utf-8")), staged, decision


PARTS = {"whole": {}, "in parts": {"memory": "600 MB"}}


@pytest.mark.parametrize("run", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("how", ["domain", "cell bounds"])
def test_what_clamping_took_is_measured_and_shown_to_reviewers_only(
    workplace: Workplace, how: str, run: dict[str, Any]
) -> None:
    survey = enrich(workplace)
    make_table(workplace, epsilon="2", margins="none")
    workplace.raw["gates"] = [{"measure": "privacy_loss", "max": 2}]
    if how == "cell bounds":
        workplace.raw["source"]["columns"]["income"] = {
            "role": "confidential",
            "type": "continuous",
            "domain": [0, 10_000_000],
        }
        poor = {"cells": {"region": ["North"], "education": ["primary"]}, "domain": [0, BOUND]}
        workplace.raw["protect"][0]["bounds"] = {"income": [poor]}
    if run:
        workplace.raw["run"] = run
    with begun(workplace) as line:
        found, staged, _ = assessed(line)
        layout = line.job.plan.output.layout
        released = read_table(staged.data, layout)
        exact = truth(survey, layout)
        cells = len(exact)
        errors = np.abs(released["income_sum"][:cells] - exact)
        confidential = line.job.run.path("report.html").read_text(encoding="utf-8")
        public = (line.job.bundle / "report.html").read_text(encoding="utf-8")
        described = "".join(path.read_text("utf-8") for path in (line.job.bundle / "metadata").iterdir())
    worst = int(np.argmax(errors))
    if how == "domain":  # else the noise of the other cells hides it
        assert errors[worst] > 5 * released["income_sum_standard_error"][worst]
    measured = {each["name"]: each["by_column"] for each in found["measurements"]}
    assert measured["largest_cell_error"]["income_sum"] == pytest.approx(errors.max() / exact.mean(), rel=1e-6)
    assert measured["cell_error"]["income_sum"] == pytest.approx(errors.mean() / exact.mean(), rel=1e-6)

    rich = int((survey["income"].to_numpy() > BOUND).sum())
    [told] = found["clamped"]
    assert (told["column"], told["values"], told["clamped"]) == ("income", survey.num_rows, rich)
    [cell] = told["cells"]
    assert cell["cell"] == {"region": "North", "education": "primary"}
    assert cell["bias"] == pytest.approx(-rich * 19 * BOUND)
    assert cell["true"] == pytest.approx(exact[0])
    for words in ("Clamped values", "North", f"{100 * rich / survey.num_rows:.1f} %"):
        assert words in confidential
    for page in (public, described):
        assert PULLED in page
        assert "unbiased" not in page.replace("not unbiased", "")
    for page in (public, described, json.dumps(line.job.plan.guarantee.model_dump(mode="json"))):
        assert f"{100 * rich / survey.num_rows:.1f} %" not in page
        assert str(rich * 19 * BOUND) not in page


def words_of(page: str) -> list[str]:
    """What a page says, without numbers, digests and the run's name."""
    visible = re.sub(r"<style>.*?</style>|<svg.*?</svg>|<code>.*?</code>|<[^>]+>", " ", page, flags=re.DOTALL)
    return re.findall(r"[a-z]+", re.sub(r"\S*\d\S*", " ", visible.lower()))


def switch(workplace: Workplace, model: str) -> None:
    if model == "dp_microaggregation":
        make_private(workplace)
    elif model == "k_anon":
        make_table(workplace, model=model, epsilon=None, adjacency=None, k=2)
    else:
        make_table(workplace)


@pytest.mark.parametrize("model", ["dp", "k_anon", "dp_microaggregation"])
def test_the_public_side_says_the_same_whether_or_not_anything_was_clamped(
    workplace: Workplace, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    pages, other = [], Workplace(tmp_path / "other")
    for place, times in ((workplace, 20.0), (other, 0.5)):
        monkeypatch.setenv("PENSTOCK_HOME", str(place.home))
        enrich(place, times)
        switch(place, model)
        with begun(place, account=model != "k_anon") as line:
            line.stage()
            pages.append((line.job.bundle / "report.html").read_text(encoding="utf-8"))
        ahead = preview(load_spec(place.spec_file), count=True)
        for told in (ahead["expect"], ahead["guarantee"]["not_promised"]):
            assert any(PULLED in sentence for sentence in told)
    assert words_of(pages[0]) == words_of(pages[1])
    assert PULLED in pages[0]
    assert "unbiased" not in pages[0]


def test_a_table_of_which_nothing_can_be_clamped_may_call_itself_unbiased(workplace: Workplace) -> None:
    make_table(workplace, margins="none")
    del workplace.raw["source"]["columns"]["income"]["outside"]
    workplace.raw["source"]["columns"]["income"]["domain"] = [0, 10_000_000]
    with begun(workplace) as line:
        found, _, _ = assessed(line)
        page = (line.job.bundle / "report.html").read_text(encoding="utf-8")
        confidential = line.job.run.path("report.html").read_text(encoding="utf-8")
    assert found["clamped"] == []
    assert "unbiased" in page
    assert PULLED not in page
    assert "Clamped values" not in confidential
