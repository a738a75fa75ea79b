"""A browser, and an office to visit with it."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_office import Office, Window
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine; install the package chromium")
    office = Office(tmp_path_factory.mktemp("office"))
    try:
        office.serving.ready()
        yield office
        office.serving.stop(signal.SIGTERM)
    finally:
        office.serving.clear_away()


@pytest.fixture(scope="module")
def browser(office: Office) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def window(browser: Browser) -> Iterator[Window]:
    with browser.new_context(viewport={"width": 1400, "height": 1000}) as context:
        yield Window(context)


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Where screenshots go: those of the documentation are made by PENSTOCK_PICTURES=docs/pictures."""
    return Path(os.environ.get("PENSTOCK_PICTURES") or tmp_path)
