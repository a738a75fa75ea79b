"""The run's page in Prefect: progress, gates and reports, and never a measured value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from prefect import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId

from penstock.flows.spec import load_spec
from penstock.measures.gates import GateRefused
from tests.support.workplace import Workplace

pytestmark = pytest.mark.usefixtures("prefect_home")

URL = "http://127.0.0.1:4200/reports"


def page(run: Path) -> dict[str, Any]:
    """What the page of the flow run shows that had this run in hand, by key."""
    content = json.loads(
        next(run / name for name in ("outcome.json", "run.json") if (run / name).exists()).read_bytes()
    )
    owner = ArtifactFilterFlowRunId(any_=[UUID(content["owners"][-1])])
    with get_client(sync_client=True) as client:
        found = client.read_artifacts(artifact_filter=ArtifactFilter(flow_run_id=owner))
    ours = [artifact for artifact in found if artifact.key is not None]  # Prefect adds where a failure is stored
    shown = {str(artifact.key): artifact for artifact in ours}
    assert len(shown) == len(ours)  # one of each, and the progress is moved, not repeated
    return shown


def release(workplace: Workplace) -> Any:
    from penstock.flows.release import release as flow

    return flow(load_spec(workplace.write_spec()))


def runs(workplace: Workplace) -> list[Path]:
    return [path for path in (workplace.home / "runs").iterdir() if path.is_dir()]


def test_a_published_run_shows_its_gates_where_its_bundle_is_and_the_digest_of_its_manifest(
    workplace: Workplace,
) -> None:
    receipt = release(workplace)
    [run] = runs(workplace)
    shown = page(run)
    assert set(shown) == {"release-progress", "release-gates", "release-published"}
    assert shown["release-progress"].data == 100
    assert {artifact.task_run_id for artifact in shown.values()} == {None}  # the page lists them first
    assert "## Passed every gate" in shown["release-gates"].data
    assert "| average_risk | pass | average_risk at most 0.05 |" in shown["release-gates"].data
    assert f"confidential report (`{run / 'report.html'}`)." in shown["release-gates"].data
    assert f"`{receipt.path}`" in shown["release-published"].data
    assert f"`{receipt.manifest}`" in shown["release-published"].data


def test_a_run_that_finds_its_release_published_shows_where(workplace: Workplace) -> None:
    receipt = release(workplace)
    again = release(workplace)
    assert (again.earlier, again.path) == (True, receipt.path)
    [run] = [run for run in runs(workplace) if run.name != receipt.run]
    shown = page(run)
    assert shown["release-published"].description == receipt.path
    assert f"`{receipt.manifest}`" in shown["release-published"].data


def test_reports_are_linked_where_they_are_served(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_REPORTS_URL", f"{URL}/")
    run = release(workplace).run
    shown = page(workplace.home / "runs" / run)
    assert shown["confidential-report"].data == f"[Confidential report]({URL}/{run})"
    assert shown["public-report"].data == f"[Public report]({URL}/{run}/public)"
    assert f"[confidential report]({URL}/{run})" in shown["release-gates"].data
    assert f"({URL}/{run}/public)" in shown["release-published"].data


def test_a_refused_run_shows_which_gate_refused_by_which_code_and_no_value(workplace: Workplace) -> None:
    workplace.raw["gates"] = [{"measure": "il1s", "max": 0.000_123}, {"measure": "average_risk", "max": 0.9}]
    with pytest.raises(GateRefused):
        release(workplace)
    [run] = runs(workplace)
    shown = page(run)
    assert set(shown) == {"release-progress", "release-gates"}
    text = shown["release-gates"].data
    assert "## Refused by il1s: gate-refused" in text
    assert "| il1s | refuse | il1s at most 0.000123 |" in text
    assert "| average_risk | pass | average_risk at most 0.9 |" in text
    measured = [taken["value"] for taken in json.loads((run / "assessment.json").read_bytes())["measurements"]]
    everything = repr([(artifact.data, artifact.description) for artifact in shown.values()])
    written = {text for value in measured for text in (repr(value), f"{value:.4g}") if len(text) > 3}
    assert not [text for text in written if text in everything]


def test_a_waiting_run_shows_how_far_it_is(workplace: Workplace) -> None:
    workplace.raw["approve"] = {"reviewers": 1, "allowed": ["anna"]}
    run = release(workplace).run
    shown = page(workplace.home / "runs" / run)
    assert shown["release-progress"].data == 70  # staged; the seal is next
    assert shown["release-progress"].description == "At stage"
