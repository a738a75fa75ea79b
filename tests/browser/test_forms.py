"""A table is asked for, refused, reviewed and published in the browser, as people do it: by clicking."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from penstock.records import Home
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.browser_office import Office, Window
from tests.support.prefect_pages import LONGEST, Form, Site

pytestmark = pytest.mark.slow

Enter = Callable[[str], Window]

DEPLOYMENTS = {
    "ask": "answer/ask",
    "release": "release-spec/release",
    "release-table": "release-table/release-table",
    "review": "review/review",
    "verify-log": "verify-log/verify-log",
}
POST = """async ([path, body]) => (await fetch(path, {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)})).status"""
ASKED: dict[str, Any] = {
    "data": "survey-data.yaml",
    "table": "incomes",
    "dimensions": ["region", "education"],
    "count": True,
    "sums": ["income"],
    "means": [],
    "plan_only": False,
    "totals": True,
    "more_tables": [],
    "formats": ["parquet", "csv"],
    "earlier_releases": [],
    "not_covered_together": [],
    "reviewers": 0,
    "reviewer_names": [],
    "started_by": "rita",
    "again": False,
}
EXACT = {"kind": "exact with threshold", "threshold": "of the data description"}
PRIVATE = {
    "kind": "differential privacy",
    "epsilon": "1/2",
    "adjacency": "replace",
    "rows_per_unit": None,
}
# Each tab with a field of its own.
TABS = {
    "BootstrapDifferentialPrivacy": "Empty Cells",
    "DifferentialPrivacy": "Rows Per Unit",
    "ExactWithThreshold": "Threshold",
}


def fill_in(form: Form) -> None:
    """What both tables have in common."""
    form.write("data", "survey-data.yaml")
    form.write("table", "incomes")
    form.add("dimensions", "region", "education")
    form.add("sums", "income")


def shown_parameters(site: Site) -> Any:
    site.tab("Parameters")
    return json.loads(site.page.locator(".p-code-highlight, pre").first.inner_text(timeout=LONGEST))


def test_the_run_page_of_a_table_that_a_gate_refused_shows_gate_and_reason(
    office: Office, enter: Enter, pictures: Path
) -> None:
    window = enter("rita")
    site = Site(window.page, office.serving.address)
    form = site.custom_run("release-table")
    assert all(text.strip() for text in form.help_texts())
    fill_in(form)
    for tab, own in TABS.items():
        form.tab(tab)
        form.write("table", "incomes")  # the page redraws itself, and still shows the tab that was chosen
        expect(form.field(own)).to_be_visible()
        for other in set(TABS.values()) - {own}:
            expect(form.field(other)).to_be_hidden()
    form.tab("ExactWithThreshold")
    form.show("protection")
    site.picture(pictures / "form.png")

    flow_run = site.run_by(form)
    site.until_state("Refused")
    assert office.flow_run(flow_run)["parameters"] == {**ASKED, "protection": EXACT}
    assert shown_parameters(site) == {**ASKED, "protection": EXACT}
    site.tab("Details")
    expect(site.page.get_by_text("gate-refused: gates.smallest_frequency refused")).to_be_visible(timeout=LONGEST)
    assert "smallest_frequency at least 1000" in office.flow_run(flow_run)["state"]["message"]
    site.open_artifact("release-gates")
    expect(site.page.get_by_role("heading", name="Refused by smallest_frequency: gate-refused")).to_be_visible()
    expect(
        site.page.get_by_role("row", name="smallest_frequency refuse smallest_frequency at least 1000")
    ).to_be_visible()
    site.picture(pictures / "refused.png")
    assert window.outside | window.in_vain == set()


def test_a_table_waits_is_reviewed_and_published_without_leaving_the_browser(
    office: Office, enter: Enter, pictures: Path
) -> None:
    asking = enter("rita")
    site = Site(asking.page, office.serving.address)
    form = site.custom_run("release-table")
    fill_in(form)
    form.write("Epsilon", "1/2")
    form.choose("Adjacency", "replace")
    form.write("reviewers", 1)
    form.add("reviewer_names", "anna")
    flow_run = site.run_by(form)
    site.until_state("Suspended")
    asked = {**ASKED, "protection": PRIVATE, "reviewers": 1, "reviewer_names": ["anna"]}
    assert office.flow_run(flow_run)["parameters"] == asked

    window = enter("anna")
    site = Site(window.page, office.serving.address)
    site.open_run(flow_run)
    site.until_state("Suspended")
    form = site.resume()
    report = window.page.get_by_role("link", name="confidential report")
    address = str(report.get_attribute("href"))
    run = address.rpartition("/")[2]
    content = re.search(r"penstock sign ([0-9a-f]{64}) --key", window.page.get_by_role("dialog").inner_text())
    assert content is not None
    reader = window.page.context.new_page()
    reader.goto(address)
    expect(reader.get_by_text("privacy_loss").first).to_be_visible()
    assert asking.page.request.get(address).status == 403  # whoever asks does not learn what was measured

    signature = office.typed("sign", content[1], "--key", office.key)
    form.choose("Decision", "approve")
    form.write("Reviewer", "anna")
    form.write("Signature", signature)
    site.picture(pictures / "review.png")
    form.submit()
    site.until_state("Completed")
    site.open_artifact("release-published")
    expect(site.page.get_by_role("heading", name="survey-incomes is published")).to_be_visible()
    site.picture(pictures / "published.png")
    [bundle] = (office.folder / "published" / "survey-incomes").iterdir()
    expect(site.page.get_by_text(str(bundle)).first).to_be_visible()
    manifest = verify_bundle(bundle, Home(office.serving.home).public_key_path)
    assert manifest is not None
    public = str(site.page.get_by_role("link", name="The public report").get_attribute("href"))
    assert public == f"{office.serving.address}/reports/{run}/public"
    asking.page.goto(public)
    expect(asking.page.get_by_text("survey-incomes").first).to_be_visible()
    assert window.outside | asking.outside | window.in_vain | asking.in_vain == set()


def test_a_decision_that_does_not_count_is_refused_in_the_browser_with_its_code(office: Office, enter: Enter) -> None:
    window = enter("anna")
    site = Site(window.page, office.serving.address)
    form = site.custom_run("review")
    form.write("run", "20260101T000000Z-00000000")
    form.choose("decision", "approve")
    form.write("signature", office.typed("sign", "ab" * 32, "--key", office.key))
    site.run_by(form)
    site.until_state("Refused")
    site.tab("Details")
    expect(site.page.get_by_text(re.compile("nothing-waits: ")).first).to_be_visible(timeout=LONGEST)
    assert window.outside == set()


@pytest.mark.parametrize(
    ("name", "starts"),
    [("rolf", set()), ("rita", {"ask", "release", "release-table"}), ("anna", {"review"}), ("olga", {*DEPLOYMENTS})],
)
def test_each_role_starts_what_is_its_own_and_nothing_else(
    office: Office, enter: Enter, name: str, starts: set[str]
) -> None:
    window = enter(name)
    for deployment, path in DEPLOYMENTS.items():
        number = office.serving.api(f"/deployments/name/{path}")["id"]
        wanted: dict[str, Any] = {"parameters": {}}  # refused by the schema of most forms, once it is let through
        status = window.page.evaluate(POST, [f"/api/deployments/{number}/create_flow_run", wanted])
        assert status == ((201 if deployment == "verify-log" else 409) if deployment in starts else 403)
    assert window.outside == set()


def test_prefects_pages_work_behind_the_gateway_and_those_that_are_off_are_empty(office: Office, enter: Enter) -> None:
    window = enter("rolf")
    violations: list[str] = []
    window.page.on("console", lambda said: violations.append(said.text) if "Content Security" in said.text else None)
    shown = ("dashboard", "runs", "flows", "deployments", "work-pools", "work-pools/work-pool/penstock", "events")
    switched_off = ("blocks", "variables", "automations", "concurrency-limits", "settings")
    newest = [
        f"{kind}/{kind.replace('-', '_').removesuffix('s')}/{each['id']}"
        for kind in ("runs", "flows", "deployments")
        for each in office.serving.api(f"/{'flow_runs' if kind == 'runs' else kind}/filter", {"limit": 1})
    ]
    for path in (*shown, *switched_off, *(path.replace("runs/run/", "runs/flow-run/") for path in newest)):
        window.page.goto(f"{office.serving.address}/{path}")
        window.page.wait_for_load_state("networkidle")
        expect(window.page.get_by_text("Something went wrong")).to_have_count(0)
    assert window.in_vain == set()
    assert violations == []
    assert window.outside == set()
