"""The page of an answer opens to whoever asked, and to officers; to others it does not exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.tasks.questions.answered import page_of
from tests.support.gateway_house import House
from tests.support.question_house import allow, asked, set_up
from tests.support.workplace import Workplace

NORTH = "count where region is North by education"


@pytest.fixture
def page(house: House, tmp_path: Path) -> str:
    """The page of rita's answer."""
    data = set_up(Workplace(tmp_path))
    allow("1", analyst="rita")
    found = asked(data, NORTH, analyst="rita", epsilon="1/4")
    return page_of(house.home, found.id, "rita")


@pytest.mark.parametrize(("name", "may"), [("rita", True), ("olga", True), ("vera", False), ("rolf", False)])
def test_it_is_shown_to_whoever_asked_and_to_officers(house: House, page: str, name: str, may: bool) -> None:
    with house.visitor(name) as client:
        found = client.get(page)
        assert found.status_code == (200 if may else 404)
        assert (NORTH in found.text) == may
        if may:
            assert "<svg" in found.text
            assert "differential privacy" in found.text
            assert "This page is not published" in found.text
            assert "CONFIDENTIAL" not in found.text
            assert "default-src 'none'" in found.headers["content-security-policy"]
            assert client.post(page).status_code == 405
    read = [(event.run, event.actor) for event in house.events() if event.action.value == "REPORT_READ"]
    assert read == ([(page.split("/")[2], name)] if may else [])


def test_a_page_made_for_one_opens_to_no_other_and_nothing_else_is_there(house: House, page: str) -> None:
    key, proof = page.split("/")[2:]
    other = page_of(house.home, key, "vera")
    with house.visitor("rita") as client:
        none = f"/answers/{'0' * 64}/{proof}"
        for path in (other, none, f"/answers/{key}", f"/answers/{key}/{'0' * 32}", "/answers/"):
            assert client.get(path).status_code == 404
        assert client.get(page_of(house.home, "0" * 64, "rita")).status_code == 404  # hers, but no answer
    with house.visitor("vera") as client:
        assert client.get(other).status_code == 200  # a proof that only the home can make
    with house.visitor("olga") as client:
        assert client.get(f"/answers/{key}/{'0' * 32}").status_code == 200
    assert house.stranger().get(page).status_code == 401
