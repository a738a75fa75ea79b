"""Reports of tables and of linked tables, and how a test reads a page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from penstock.mechanisms.guarantee import Guarantee
from penstock.reports.pages import public_report
from tests.records import page_facts as facts

VOID = {"meta", "wbr", "br", "link", "img", "input", "hr"}


class Outline(HTMLParser):
    """Tags in order, and whether every one was closed by its own end tag."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def outline(page: str) -> Outline:
    parsed = Outline()
    parsed.feed(page)
    parsed.close()
    assert parsed.open == []
    return parsed


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL))


def table_page(guarantee: Guarantee, *, errors: bool = True, most_rows: int = 200) -> str:
    sheet = facts.sheet(errors=errors, most_rows=most_rows)
    return public_report(facts.public(guarantee=guarantee, records=9, rows_are="cells", tables={"table": sheet}))


def linked_page(**other: Any) -> str:
    parts: dict[str, Any] = {"linked": facts.LINKED, "labels": facts.LABELS, "files": facts.LINKED_FILES, **other}
    return public_report(facts.public(guarantee=facts.CLOSE_GUARANTEE, **parts))


BDP_GUARANTEE = facts.DP_GUARANTEE.model_copy(update={"model": "bdp"})
