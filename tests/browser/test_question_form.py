"""A question is planned, asked, asked again and refused in the browser, as people do it: by clicking."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.browser_office import DESCRIPTION, Office, Window
from tests.support.prefect_pages import LONGEST, Form, Site

pytestmark = pytest.mark.slow

Enter = Callable[[str], Window]

NORTH = "region is North or South"


@pytest.fixture
def asked(office: Office) -> Office:
    """A data set with an account of 1/2, of which rita may spend all."""
    text = DESCRIPTION.replace("survey-2026", "survey-asked") + 'questions: {adjacency: replace, most: "1/2"}\n'
    (office.folder / "specs" / "ask.yaml").write_text(text, encoding="utf-8")
    officer = ("--officer", "anna", "--key", office.key, "--reason", "Decision of the board")
    dp = ("--model", "dp", "--epsilon", "1/2")
    office.typed("budget", "open", "survey-asked", *dp, "--adjacency", "replace", "--unit", "row", *officer)
    office.typed("budget", "allow", "survey-asked", *dp, "--analyst", "rita", *officer)
    return office


def fill_in(form: Form, epsilon: str) -> None:
    form.write("data", "ask.yaml")
    form.choose("statistic", "count")
    form.add("where", NORTH)
    form.write("by", "education")
    form.write("epsilon", epsilon)


def test_a_question_is_planned_answered_repeated_and_refused(asked: Office, enter: Enter, pictures: Path) -> None:
    window = enter("rita")
    site = Site(window.page, asked.serving.address)
    form = site.custom_run("ask")
    assert all(text.strip() for text in form.help_texts())
    fill_in(form, "1/2")
    form.field("plan_only").locator("input, [role=switch], .p-toggle__control").first.click()
    site.picture(pictures / "question-form.png")
    site.run_by(form)
    site.until_state("Completed")
    site.open_artifact("question-plan")
    expect(site.page.get_by_role("row", name="laplace dp").first).to_be_visible(timeout=LONGEST)
    site.picture(pictures / "question-plan.png")

    form = site.custom_run("ask")
    fill_in(form, "1/2")
    flow_run = site.run_by(form)
    site.until_state("Completed")
    assert "Epsilon 1/2 was spent" in asked.flow_run(flow_run)["state"]["message"]
    site.open_artifact("question-answer")
    page = str(site.page.get_by_role("link", name="The answer").first.get_attribute("href"))
    assert page.startswith(f"{asked.serving.address}/answers/")
    window.page.goto(page)
    expect(window.page.get_by_role("heading", name=f"count where {NORTH} by education")).to_be_visible()
    expect(window.page.get_by_role("row", name="secondary").first).to_be_visible()
    expect(window.page.get_by_role("img", name="How far the answer may lie from the truth")).to_be_visible()
    site.picture(pictures / "answer.png")
    told = window.page.get_by_role("table").first.inner_text()

    form = site.custom_run("ask")
    fill_in(form, "1/2")
    again = site.run_by(form)
    site.until_state("Completed")
    assert "nothing was spent" in asked.flow_run(again)["state"]["message"]
    window.page.goto(page)
    assert window.page.get_by_role("table").first.inner_text() == told

    form = site.custom_run("ask")
    fill_in(form, "1/4")
    refused = site.run_by(form)
    site.until_state("Refused")
    assert asked.flow_run(refused)["state"]["message"].startswith("allowance-exceeded: epsilon refused")
    site.picture(pictures / "question-refused.png")
    in_vain = {each for each in window.in_vain if not each.endswith(": 503")}  # too busy: the form is sent again
    assert window.outside | in_vain == set()

    others = enter("anna")
    assert others.page.request.get(page).status == 404
    officer = enter("olga")
    assert officer.page.request.get(page).status == 200
    shown = json.loads(asked.typed("budget", "show", "survey-asked", "--json"))
    assert shown["datasets"][0]["accounts"][0]["left"] == "0"
