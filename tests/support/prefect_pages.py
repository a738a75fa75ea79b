"""Prefect's pages as a person uses them: forms are filled in and buttons clicked, by the words that they show."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, Response, expect

LONGEST = 60_000  # milliseconds; two cores that many share


class Form:
    """A form of the first UI, by the labels of its fields."""

    def __init__(self, page: Page, room: Locator) -> None:
        self._page, self._room = page, room
        expect(room.locator(".schema-form-property").first).to_be_visible(timeout=LONGEST)

    def field(self, label: str) -> Locator:
        named = self._room.locator(".schema-form-property__label").get_by_text(
            re.compile(rf"^\s*{re.escape(label)}( \(Optional\))?\s*$")
        )
        own = "xpath=ancestor::div[contains(concat(' ', @class, ' '), ' schema-form-property ')][1]"
        return named.locator(own)

    def add_form(self, label: str) -> Form:
        """Add an item to a list whose items have fields of their own, and return the form that it is."""
        self.field(label).get_by_role("button", name="Add item").last.click()
        item = self.field(label).locator(".schema-form-property-array-item:has(.schema-form-property)")
        return Form(self._page, item.last)

    def write(self, label: str, text: object) -> None:
        self.field(label).locator("textarea, input").first.fill(str(text))

    def add(self, label: str, *items: str) -> None:
        rows = self.field(label).locator("textarea")
        for item in items:
            before = rows.count()
            self.field(label).get_by_role("button", name="Add item").click()
            expect(rows).to_have_count(before + 1)
            rows.last.fill(item)

    def choose(self, label: str, option: str) -> None:
        self.field(label).locator("button.p-select-button__control").press("ArrowDown")
        self._page.get_by_role("option", name=option, exact=True).click()

    def tab(self, name: str) -> None:
        self._room.get_by_role("button", name=name, exact=True).click()

    def show(self, label: str) -> None:
        """Scroll the field to the top of the window."""
        self.field(label).evaluate("field => field.scrollIntoView()")

    def help_texts(self) -> list[str]:
        return self._room.locator(".schema-form-property__description").all_inner_texts()

    def submit(self) -> None:
        click_until_sent(self._room.get_by_role("button", name="Submit"))


def click_until_sent(button: Locator) -> None:
    """A click that comes while the page redraws itself is lost; then it is repeated, as people do."""
    for _ in range(3):
        button.click(timeout=LONGEST)
        try:
            expect(button).to_be_hidden(timeout=LONGEST / 2)
        except AssertionError:
            continue
        return
    raise AssertionError("the form was not taken")


def _is_begun(answer: Response) -> bool:
    """A server that is too busy with its database says so, and has done nothing; the form is sent again then."""
    return answer.url.endswith("/create_flow_run") and answer.status != 503


class Site:
    """The pages of one server in one browser window."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address

    def custom_run(self, deployment: str) -> Form:
        """From the list of deployments to the form of a custom run."""
        self.page.goto(f"{self.address}/deployments")
        self.page.get_by_role("link", name=deployment, exact=True).first.click(timeout=LONGEST)
        self.page.get_by_role("button", name="Run", exact=True).click(timeout=LONGEST)
        self.page.get_by_text("Custom run").click()
        return Form(self.page, self.page.locator("form"))

    def run_by(self, form: Form) -> str:
        """Send a form of a custom run and open the page of the flow run that the server made of it."""
        with self.page.expect_response(_is_begun, timeout=5 * LONGEST) as answer:
            form.submit()
        flow_run = str(answer.value.json()["id"])
        self.open_run(flow_run)
        return flow_run

    def open_run(self, flow_run: str) -> None:
        self.page.goto(f"{self.address}/runs/flow-run/{flow_run}")

    def until_state(self, name: str) -> None:
        """Prefect's page follows the run by itself."""
        expect(self.page.get_by_text(name, exact=True).first).to_be_visible(timeout=5 * LONGEST)

    def tab(self, name: str) -> None:
        self.page.get_by_text(name, exact=True).first.click(timeout=LONGEST)

    def open_artifact(self, key: str) -> None:
        self.tab("Artifacts")
        self.page.get_by_text(key, exact=True).first.click(timeout=LONGEST)
        expect(self.page.get_by_text("Show raw data")).to_be_visible(timeout=LONGEST)

    def resume(self) -> Form:
        """The form of a suspended run."""
        self.page.get_by_role("button", name="Resume").first.click(timeout=LONGEST)
        return Form(self.page, self.page.get_by_role("dialog"))

    def picture(self, path: Path) -> None:
        self.page.screenshot(path=path)
