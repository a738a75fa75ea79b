"""Two tables are asked for in one form, charged together and published in one bundle, by clicking."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from penstock.records import Home
from penstock.tasks.verification.bundle import verify_bundle
from tests.browser.test_forms import ASKED, PRIVATE, fill_in
from tests.support.browser_office import Office, Window
from tests.support.prefect_pages import Site

pytestmark = pytest.mark.slow

Enter = Callable[[str], Window]


def test_two_tables_of_one_form_are_published_together(office: Office, enter: Enter, pictures: Path) -> None:
    window = enter("rita")
    site = Site(window.page, office.serving.address)
    form = site.custom_run("release-table")
    fill_in(form)
    form.write("Epsilon", "1/2")
    form.choose("Adjacency", "replace")
    further = form.add_form("more_tables")
    assert all(text.strip() for text in further.help_texts())
    further.write("Table", "schooling")
    further.add("Dimensions", "education")
    further.write("Epsilon", "1/4")
    further.choose("Adjacency", "replace")
    form.show("more_tables")
    site.picture(pictures / "form-several.png")
    flow_run = site.run_by(form)
    site.until_state("Completed")

    asked = {"table": "schooling", "dimensions": ["education"], "count": True, "sums": [], "means": [], "totals": True}
    more = [{**asked, "protection": {**PRIVATE, "epsilon": "1/4"}}]
    assert office.flow_run(flow_run)["parameters"] == {**ASKED, "protection": PRIVATE, "more_tables": more}
    [bundle] = (office.folder / "published" / "survey-incomes").iterdir()
    assert {"incomes.parquet", "schooling.parquet"} <= {file.name for file in (bundle / "tables").iterdir()}
    verify_bundle(bundle, Home(office.folder / "home").public_key_path)
    assert "9/4" in office.typed("budget", "show", "survey-2026")  # of 3
    site.open_artifact("release-gates")
    for name, loss in (("incomes", "1"), ("schooling", "1")):
        expect(
            site.page.get_by_role("row", name=f"{name} privacy_loss pass privacy_loss at most {loss}")
        ).to_be_visible()
    assert window.outside | window.in_vain == set()
