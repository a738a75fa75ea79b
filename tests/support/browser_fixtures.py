"""Fixtures of tests in the browser: an office that is served, a browser, and windows of people."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.support.browser_office import Office, Window

__all__ = ["ARGUMENTS", "CHROMIUM", "browser", "enter", "office"]

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
def enter(office: Office, browser: Browser) -> Iterator[Callable[[str], Window]]:
    """Open a window of its own for somebody, who has signed in."""
    contexts = []

    def window(name: str) -> Window:
        context = browser.new_context(viewport={"width": 1400, "height": 1000})
        contexts.append(context)
        opened = Window(context)
        office.sign_in(opened.page, name)
        return opened

    yield window
    for each in contexts:
        each.close()
