"""A table is asked for, refused, reviewed and published in the browser, as people do it: by clicking."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from browser_office import Office, Window
from playwright.sync_api import Browser, expect
from prefect_pages import LONGEST, Form, Site, click_until_sent

from records import Home
from tasks.verification import verify_bundle

ASKED: dict[str, Any] = {
    "data": "survey-data.yaml",
    "table": "incomes",
    "dimensions": ["region", "education"],
    "count": True,
    "sums": ["income"],
    "means": [],
    "totals": True,
    "formats": ["parquet", "csv"],
    "earlier_releases": [],
    "reviewers": 0,
    "reviewer_names": [],
    "started_by": "carl",
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
    form.write("started_by", "carl")


def shown_parameters(site: Site) -> Any:
    site.tab("Parameters")
    return json.loads(site.page.locator(".p-code-highlight, pre").first.inner_text(timeout=LONGEST))


def test_the_run_page_of_a_table_that_a_gate_refused_shows_gate_and_reason(
    office: Office, window: Window, pictures: Path
) -> None:
    site = Site(window.page, office.serving.address)
    form = site.custom_run("release-table")
    assert all(text.strip() for text in form.help_texts())
    fill_in(form)
    for tab, own in TABS.items():
        form.tab(tab)
        form.write("started_by", "carl")  # the page redraws itself, and still shows the tab that was chosen
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
    assert window.outside == set()


def test_a_table_waits_is_reviewed_and_published_without_leaving_the_browser(
    office: Office, window: Window, browser: Browser, pictures: Path
) -> None:
    site = Site(window.page, office.serving.address)
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

    form = site.resume()
    report = window.page.get_by_role("link", name="confidential report")
    address = str(report.get_attribute("href"))
    run = address.rpartition("/")[2]
    content = re.search(r"penstock sign ([0-9a-f]{64}) --key", window.page.get_by_role("dialog").inner_text())
    assert content is not None
    password = (office.serving.home / "keys" / "reports.password").read_text(encoding="utf-8").strip()
    with browser.new_context(http_credentials={"username": "anna", "password": password}) as context:
        reader = Window(context)
        reader.page.goto(address)
        expect(reader.page.get_by_text("privacy_loss").first).to_be_visible()
        assert reader.outside == set()
    with browser.new_context() as context:
        answer = Window(context).page.request.get(address)
        assert answer.status == 401

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
    with browser.new_context(http_credentials={"username": "anna", "password": password}) as context:
        reader = Window(context)
        reader.page.goto(public)
        expect(reader.page.get_by_text("survey-incomes").first).to_be_visible()
        assert reader.outside == set()
    assert window.outside == set()


def test_a_decision_that_does_not_count_is_refused_in_the_browser_with_its_code(office: Office, window: Window) -> None:
    site = Site(window.page, office.serving.address)
    form = site.custom_run("review")
    form.write("run", "20260101T000000Z-00000000")
    form.choose("decision", "approve")
    form.write("reviewer", "anna")
    form.write("signature", office.typed("sign", "ab" * 32, "--key", office.key))
    site.run_by(form)
    site.until_state("Refused")
    site.tab("Details")
    expect(site.page.get_by_text(re.compile("nothing-waits: ")).first).to_be_visible(timeout=LONGEST)
    assert window.outside == set()


def test_the_newer_pages_of_prefect_send_what_their_form_shows_also_after_changing_tabs(
    office: Office, window: Window
) -> None:
    """They ask an outside host for settings, which the window keeps from them; `penstock serve` opens the others."""
    page = window.page
    deployment = office.serving.api("/deployments/name/release-table/release-table")["id"]
    page.goto(f"{office.serving.address}/v2/deployments/deployment/{deployment}/run")
    page.get_by_label("data", exact=True).fill("nowhere.yaml", timeout=LONGEST)
    page.get_by_label("table", exact=True).fill("incomes")
    page.get_by_role("button", name="Add item").first.click()
    page.locator("form textarea").nth(2).fill("region")
    page.get_by_label("Epsilon", exact=True).fill("1")
    page.get_by_role("tab", name="ExactWithThreshold").click()
    page.get_by_label("started_by", exact=True).fill("carl")
    expect(page.get_by_label("Kind (Optional)", exact=True)).to_have_value("exact with threshold")
    click_until_sent(page.get_by_role("button", name="Submit"))
    [flow_run] = office.until_runs("release-table", data="nowhere.yaml")
    assert flow_run["parameters"] == {
        **ASKED,
        "data": "nowhere.yaml",
        "dimensions": ["region"],
        "sums": [],
        "protection": EXACT,
    }
    message = office.serving.until(flow_run["id"], "FAILED")["message"]
    assert message.startswith("spec-refused: data refused: must be a file in the folder PENSTOCK_SPECS")
