"""An office that `penstock serve` serves, and a window that reaches this machine only."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow.parquet as pq
from playwright.sync_api import BrowserContext, Page, Response, expect

from penstock.cli._demo import synthetic_survey
from penstock.mechanisms.randomness import seeded
from tests.support.prefect_pages import LONGEST
from tests.support.serving import LONGEST_START, LOOK_AGAIN, Serving

DESCRIPTION = """\
name: survey
source:
  path: ../survey.parquet
  unit: row
  columns:
    region:    {role: quasi_identifier, type: nominal, categories: [North, South, East, West]}
    education: {role: quasi_identifier, type: ordinal, categories: [primary, secondary, bachelor, master]}
    income:    {role: confidential, type: continuous, domain: [0, 100000], outside: clamp}
budget: {dataset: survey-2026}
publish: {path: ../published}
tables:
  k_anon: {k: 3, gates: [{measure: smallest_frequency, min: 1000}]}
  dp: {gates: [{measure: privacy_loss, max: 1}]}
"""


PEOPLE = {"rita": "requester", "anna": "reviewer", "olga": "officer", "rolf": "reader"}
OWN_PASSWORD = "words that only I know"


class Office:
    """What is served, four people with one role each, and the key of anna, who reviews."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.key = folder, folder / "anna.pem"
        (folder / "specs").mkdir()
        (folder / "specs" / "survey-data.yaml").write_text(DESCRIPTION, encoding="utf-8")
        pq.write_table(synthetic_survey(2000, seeded(5)), folder / "survey.parquet")
        self.serving = Serving(folder / "home", folder / "specs")
        self.first = {name: self._user(name, role) for name, role in PEOPLE.items()}
        self.typed("keys", "new", self.key)
        self.typed("keys", "trust", "anna", f"{self.key}.pub", "--reason", "Met in person")
        account = ("--model", "dp", "--epsilon", "3", "--adjacency", "replace", "--unit", "row")
        officer = ("--officer", "anna", "--key", self.key, "--reason", "Decision of the board")
        self.typed("budget", "open", "survey-2026", *account, *officer)

    def typed(self, *arguments: object) -> str:
        """What a command prints that somebody types beside the browser."""
        return self.serving.typed(*arguments)

    def _user(self, name: str, role: str) -> str:
        added = self.typed("users", "add", name, "--role", role, "--reason", "Works here", "--json")
        return str(json.loads(added)["password"])

    def sign_in(self, page: Page, name: str) -> None:
        """As a person does: with the first password once, and from then on with one of their own."""
        page.goto(f"{self.serving.address}/sign-in")
        first = self.first.pop(name, None)
        page.get_by_label("Name").fill(name)
        page.get_by_label("Password", exact=True).fill(first or OWN_PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        if first is not None:
            page.get_by_label("Present password").fill(first)
            page.get_by_label("New password", exact=True).fill(OWN_PASSWORD)
            page.get_by_label("New password, again").fill(OWN_PASSWORD)
            page.get_by_role("button", name="Change the password").click()
        expect(page.get_by_role("link", name=f"{name} · account")).to_be_visible(timeout=LONGEST)

    def flow_run(self, flow_run: str) -> Any:
        return self.serving.api(f"/flow_runs/{flow_run}")

    def until_runs(self, flow: str, **parameters: str) -> list[Any]:
        """Wait until there are runs of a flow with these parameters."""
        deadline = time.monotonic() + LONGEST_START
        while True:
            runs = self.serving.api("/flow_runs/filter", {"flows": {"name": {"any_": [flow]}}})
            found = [run for run in runs if parameters.items() <= run["parameters"].items()]
            if found:
                return found
            assert time.monotonic() < deadline, "nobody sent the form"
            time.sleep(LOOK_AGAIN)


class Window:
    """A window that reaches this machine only, and notes who else was asked, and what the pages asked in vain."""

    def __init__(self, context: BrowserContext) -> None:
        self.outside: set[str] = set()
        self.in_vain: set[str] = set()
        context.route("**/*", self._pass)
        context.on("response", self._note)
        self.page = context.new_page()

    def _pass(self, route: Any) -> None:
        host = urlsplit(route.request.url).hostname or ""
        if host in ("127.0.0.1", "localhost", ""):
            route.continue_()
        else:
            self.outside.add(host)
            route.abort()

    def _note(self, answer: Response) -> None:
        path = urlsplit(answer.url).path
        if answer.status >= 400 and not path.startswith("/ico/"):  # Prefect has no icon for some of its own states
            self.in_vain.add(f"{answer.request.method} {path}: {answer.status}")
