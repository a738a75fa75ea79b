"""`penstock reproduce --html`: one page with numbers, figures and errata that asks nothing of a network."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from penstock.reproduction.errata import ERRATA
from penstock.reproduction.page import page
from penstock.reproduction.tables import reproduce_for_a_page
from tests.support.ended_command import Typed

VOID = {"meta", "link", "br", "hr", "img", "input", "path", "use"}


class Whole(HTMLParser):
    """Every element that is opened is closed, and ids differ."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        named = dict(attributes)
        if found := named.get("id"):
            self.ids.append(found)
        self.fetched += [value for name in ("src", "href", "xlink:href") if (value := named.get(name))]

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def text() -> str:
    return page(*reproduce_for_a_page(["thesis-4"], None))


def test_the_page_is_whole_and_fetches_nothing(text: str) -> None:
    read = Whole()
    read.feed(text)
    assert read.open == []
    assert len(set(read.ids)) == len(read.ids)
    assert all(address.startswith("#") for address in read.fetched)
    assert {address.removeprefix("#") for address in read.fetched} <= set(read.ids)
    assert "<script" not in text
    assert "url(http" not in text


def test_figures_have_an_alternative_text_and_their_numbers(text: str) -> None:
    drawn = text.count("<svg ")
    assert drawn >= 6
    assert len(re.findall(r'<svg role="img" aria-label="[^"]{40,}"', text)) == drawn
    assert text.count("The numbers of this figure") == drawn
    assert "Figure 4.1. The density of Laplace noise" in text


def test_verdicts_stand_in_words(text: str) -> None:
    rows = text.count('<td class="wrong">')
    assert rows == 0
    assert "<td>same</td>" in text
    assert "<td>corrected</td><td>must read 6.69</td>" in text


def test_the_same_numbers_give_the_same_page(text: str) -> None:
    assert page(*reproduce_for_a_page(["thesis-4"], None)) == text


def test_the_command_writes_a_new_file_only(typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_DATA", raising=False)
    file = tmp_path / "page.html"
    assert typed("reproduce", "thesis-4.4", "--html", file).code == 0
    before = file.read_text(encoding="utf-8")
    assert "Table 4.4" in before
    again = typed("reproduce", "thesis-4.4", "--html", file)
    assert (again.code != 0, file.read_text(encoding="utf-8")) == (True, before)
    assert "--html: must be a new file" in again.err


def test_what_is_refused_leaves_no_file(typed: Typed, tmp_path: Path) -> None:
    assert typed("reproduce", "nothing", "--html", tmp_path / "page.html").code == 2
    assert list(tmp_path.iterdir()) == []


def test_errata_have_a_page(typed: Typed, tmp_path: Path) -> None:
    assert typed("reproduce", "errata", "--html", tmp_path / "page.html").code == 0
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("The counter-example stands.") == len(ERRATA)
