"""An office that `penstock serve` serves, and a window that reaches this machine only."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow.parquet as pq
from playwright.sync_api import BrowserContext
from serving import LONGEST_START, LOOK_AGAIN, Serving

from flows.demo import synthetic_survey
from mechanisms.randomness import seeded

PENSTOCK = str(Path(sys.executable).with_name("penstock"))
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


class Office:
    """What is served, and the reviewer anna with her key."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.key = folder, folder / "anna.pem"
        (folder / "specs").mkdir()
        (folder / "specs" / "survey-data.yaml").write_text(DESCRIPTION, encoding="utf-8")
        pq.write_table(synthetic_survey(2000, seeded(5)), folder / "survey.parquet")
        self.serving = Serving(folder / "home", folder / "specs")
        self.typed("keys", "new", self.key)
        self.typed("keys", "trust", "anna", f"{self.key}.pub", "--reason", "Met in person")
        account = ("--model", "dp", "--epsilon", "3", "--adjacency", "replace", "--unit", "row")
        officer = ("--officer", "anna", "--key", self.key, "--reason", "Decision of the board")
        self.typed("budget", "open", "survey-2026", *account, *officer)

    def typed(self, *arguments: object) -> str:
        """What a command prints that somebody types beside the browser."""
        command = [PENSTOCK, *map(str, arguments)]
        done = subprocess.run(command, env=self.serving.environment(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

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
    """A window that reaches this machine only, and notes who else was asked."""

    def __init__(self, context: BrowserContext) -> None:
        self.outside: set[str] = set()
        context.route("**/*", self._pass)
        self.page = context.new_page()

    def _pass(self, route: Any) -> None:
        host = urlsplit(route.request.url).hostname or ""
        if host in ("127.0.0.1", "localhost", ""):
            route.continue_()
        else:
            self.outside.add(host)
            route.abort()
