"""The door: its own name and its own pages, and nobody else's."""

from __future__ import annotations

import pytest

from penstock.server.gateway.door import AddressRefused, Door, Turned

DOOR = Door.at("https://penstock.example")
OWN = {"host": "penstock.example"}
POST = {"type": "http", "method": "POST"}
GET = {"type": "http", "method": "GET"}
SOCKET = {"type": "websocket"}


def test_it_is_at_the_address_that_people_type() -> None:
    assert DOOR.address == "https://penstock.example"
    assert Door.at("http://127.0.0.1:4200/").address == "http://127.0.0.1:4200"


@pytest.mark.parametrize(
    "address",
    [
        "",
        "penstock.example",
        "ftp://a",
        "http://",
        "https://u:p@a",
        "https://a/b",
        "https://a?b",
        "http://a:0",
        "http://a:x",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(AddressRefused, match="must be http:// or https://"):
        Door.at(address)


def test_its_own_pages_pass() -> None:
    DOOR.require_own(GET, OWN, 3)
    DOOR.require_own(POST, {**OWN, "origin": "https://penstock.example", "sec-fetch-site": "same-origin"}, 3)
    DOOR.require_own(SOCKET, {**OWN, "origin": "https://penstock.example"}, 3)
    DOOR.require_own(GET, {**OWN, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 3)  # a link


@pytest.mark.parametrize(
    ("scope", "headers", "count", "status"),
    [
        (GET, {}, 3, 421),
        (GET, {"host": "evil.example"}, 3, 421),
        (GET, {"host": "penstock.example:444"}, 3, 421),
        (GET, OWN, 101, 431),
        (POST, {**OWN, "origin": "https://evil.example"}, 3, 403),
        (POST, {**OWN, "origin": "null"}, 3, 403),
        (POST, {**OWN, "origin": "http://penstock.example"}, 3, 403),
        (GET, {**OWN, "origin": "https://evil.example"}, 3, 403),
        (POST, {**OWN, "sec-fetch-site": "cross-site"}, 3, 403),
        (POST, {**OWN, "sec-fetch-site": "same-site"}, 3, 403),
        (POST, {**OWN, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 3, 403),
        (GET, {**OWN, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 3, 403),
        (SOCKET, OWN, 3, 403),
        (SOCKET, {**OWN, "origin": "https://evil.example"}, 3, 403),
    ],
)
def test_others_are_turned_away(scope: dict[str, str], headers: dict[str, str], count: int, status: int) -> None:
    with pytest.raises(Turned) as turned:
        DOOR.require_own(scope, headers, count)
    assert turned.value.status == status


def test_a_change_says_from_which_page_it_comes() -> None:
    DOOR.require_page("GET", {})
    DOOR.require_page("POST", {"origin": "https://penstock.example"})
    for headers in ({}, {"origin": "https://evil.example"}):
        with pytest.raises(Turned):
            DOOR.require_page("POST", headers)
