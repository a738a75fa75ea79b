"""Signing in: sessions that end, attempts that are limited, and all of it on record."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import pytest
from starlette.testclient import TestClient

from penstock.records.log.log import Action
from penstock.records.people.users import Role, change_password, remove_user
from penstock.server.gateway import visitors
from penstock.server.gateway._pages import own_path
from tests.support.gateway_house import ADDRESS, OWN, PASSWORD, House, csrf_of, sign_in

NEW = "another password altogether"


def is_known(client: TestClient) -> bool:
    return client.get("/api/health").status_code == 200


def visits(house: House) -> list[tuple[str, str]]:
    kinds = (Action.SIGNED_IN, Action.SIGN_IN_REFUSED, Action.SIGNED_OUT)
    return [(event.action.value, event.actor) for event in house.events() if event.action in kinds]


def change(client: TestClient, old: str, new: str, again: str | None = None) -> Any:
    fields = {"csrf": csrf_of(client.get("/account").text), "old": old, "new": new, "again": again or new}
    return client.post("/account", data=fields, headers=OWN)


def test_nobody_sees_anything_before_signing_in(house: House) -> None:
    client = house.stranger()
    for path in ("/", "/runs", "/reports/20260101T000000Z-00000000", "/account"):
        answer = client.get(path, headers={"Accept": "text/html"})
        assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/sign-in")
    for path in ("/api/health", "/api/admin/version", "/ui-settings", "/assets/index.js"):
        assert client.get(path).status_code == 401
    assert client.post("/api/flow_runs/filter", json={}, headers=OWN).status_code == 401


def test_a_person_signs_in_comes_back_and_signs_out(house: House) -> None:
    client = house.stranger()
    answer = sign_in(client, "Rita", goal="/runs?a=b")
    assert (answer.status_code, answer.headers["location"]) == (303, "/runs?a=b")
    assert is_known(client)
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    page = client.get("/runs", headers={"Accept": "text/html"}).text
    assert "rita · account" in page
    assert "Roles: requester." in client.get("/account").text
    assert client.get("/sign-in").headers["location"] == "/"
    answer = client.post("/sign-out", data={"csrf": csrf_of(client.get("/account").text)}, headers=OWN)
    assert answer.headers["location"] == "/sign-in"
    assert not is_known(client)
    assert visits(house) == [("SIGNED_IN", "rita"), ("SIGNED_OUT", "rita")]


def test_a_stolen_cookie_of_a_session_that_was_signed_out_opens_nothing(house: House) -> None:
    with house.visitor("rita") as client:
        stolen = dict(client.cookies)
        client.post("/sign-out", data={"csrf": csrf_of(client.get("/account").text)}, headers=OWN)
    thief = house.stranger()
    thief.cookies.update(stolen)
    assert not is_known(thief)


def test_a_cookie_of_another_service_or_of_nobody_opens_nothing(house: House) -> None:
    other = House(house.home, house.token)
    with other.visitor("rita") as client:
        cookies = dict(client.cookies)
    for value in (cookies["penstock"], "x", "eyJudW1iZXIiOiAiYSJ9.x.y"):
        client = house.stranger()
        client.cookies.set("penstock", value)
        assert not is_known(client)


@pytest.mark.parametrize(("passed", "known"), [(3599, True), (3601, False)])
def test_a_session_ends_when_nothing_is_done(house: House, passed: float, known: bool) -> None:
    with house.visitor("rita") as client:
        house.now += passed
        assert is_known(client) is known


def test_a_session_ends_after_twelve_hours_whatever_is_done(house: House) -> None:
    with house.visitor("rita") as client:
        for _ in range(23):
            house.now += 1800
            assert is_known(client)
        house.now += 1800
        assert not is_known(client)


def test_a_session_ends_when_its_owner_is_removed_or_renewed(house: House) -> None:
    with house.visitor("rita") as client, house.visitor("vera") as other:
        remove_user(house.log, house.home, "rita", actor="root", reason="left", now=datetime.now(UTC))
        change_password(house.log, house.home, "vera", PASSWORD, NEW, now=datetime.now(UTC))
        house.now += 4
        assert not is_known(client)
        assert not is_known(other)


def test_a_session_belongs_to_the_user_of_this_machine_who_began_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner: list[int | None] = [1000]
    monkeypatch.setattr("penstock.server.gateway.app.owner_of", lambda client, server: owner[0])
    with house.visitor("rita") as client:
        assert is_known(client)
        for other in (1001, None):
            owner[0] = other
            assert not is_known(client)
        owner[0] = 1000
        assert is_known(client)


def test_wrong_names_and_wrong_passwords_look_alike_and_are_on_record_without_what_was_typed(house: House) -> None:
    client = house.stranger()
    answers = [sign_in(client, name, word) for name, word in (("rita", "wrong wrong wrong"), ("nobody", PASSWORD))]
    answers.append(sign_in(client, "platform", house.token))  # programs do not sign in
    texts = {answer.text.replace(csrf_of(answer.text), "") for answer in answers}
    assert {answer.status_code for answer in answers} == {403}
    assert len(texts) == 1
    assert visits(house) == [("SIGN_IN_REFUSED", "rita"), ("SIGN_IN_REFUSED", "-"), ("SIGN_IN_REFUSED", "-")]
    assert not is_known(client)


def test_the_passwords_of_a_name_wait_after_five_wrong_ones_and_others_do_not(house: House) -> None:
    client = house.stranger()
    for _ in range(5):
        assert sign_in(client, "rita", "wrong wrong wrong").status_code == 403
    assert sign_in(client, "rita").status_code == 429  # the right one too
    house.now += 59
    assert sign_in(client, "RITA").status_code == 429
    house.now += 2
    assert sign_in(client, "rita", "wrong wrong wrong").status_code == 403
    house.now += 61
    assert sign_in(client, "rita").status_code == 429  # twice as long
    house.now += 60
    assert sign_in(client, "rita").status_code == 303
    assert sign_in(house.stranger(), "vera").status_code == 303
    assert len([visit for visit in visits(house) if visit == ("SIGN_IN_REFUSED", "rita")]) == 6  # not one for each try


def test_a_name_that_nobody_has_is_answered_like_any_other(house: House) -> None:
    """Else names could be found by asking: those that nobody has were turned away together, and at once."""
    client = house.stranger()
    for name in ("a", "b", "c", "d", "e", "f", "g"):
        assert sign_in(client, name, PASSWORD).status_code == 403
    for name in ("rita", "nobody"):
        answers = [sign_in(client, name, "wrong wrong wrong") for _ in range(6)]
        assert [answer.status_code for answer in answers] == [403] * 5 + [429]
    assert visits(house).count(("SIGN_IN_REFUSED", "-")) == 5  # what strangers type does not fill the log


def test_a_first_password_opens_nothing_but_the_page_where_another_is_chosen(house: House) -> None:
    once = house.add("nora", Role.OFFICER)
    client = house.stranger()
    assert sign_in(client, "nora", once).headers["location"] == "/account"
    assert client.get("/", headers={"Accept": "text/html"}).headers["location"] == "/account"
    assert client.post("/api/flow_runs/filter", json={}, headers=OWN).status_code == 403
    assert "Choose a password of your own" in client.get("/account").text
    for old, new, again in ((once, NEW, NEW + "x"), (once, "short", "short"), ("wrong wrong wrong", NEW, NEW)):
        answer = change(client, old, new, again)
        assert answer.status_code == 422
        assert 'role="alert"' in answer.text
    assert change(client, once, NEW).headers["location"] == "/"
    assert is_known(client)
    assert sign_in(house.stranger(), "nora", once).status_code == 403


def test_another_password_ends_the_other_sessions(house: House) -> None:
    with house.visitor("rita") as client, house.visitor("rita") as elsewhere:
        assert change(client, PASSWORD, NEW).status_code == 303
        assert is_known(client)
        assert not is_known(elsewhere)


def test_forms_are_taken_from_our_pages_only(house: House) -> None:
    client = house.stranger()
    csrf = csrf_of(client.get("/sign-in").text)
    fields = {"csrf": csrf, "goal": "/", "name": "rita", "password": PASSWORD}
    assert client.post("/sign-in", data=fields).status_code == 403
    assert client.post("/sign-in", data=fields, headers={"Origin": "http://evil.example"}).status_code == 403
    assert client.post("/sign-in", data={**fields, "csrf": "x"}, headers=OWN).status_code == 403
    assert client.post("/sign-in", data={**fields, "name": ["a", "b"]}, headers=OWN).status_code == 422
    assert client.post("/sign-in", json=fields, headers=OWN).status_code == 415
    assert client.put("/sign-in", data=fields, headers=OWN).status_code == 405
    with house.visitor("rita") as known:
        assert known.post("/sign-out", data={"csrf": "x"}).status_code == 403
        assert (
            known.post(
                "/sign-out", data={"csrf": csrf_of(known.get("/account").text)}, headers={"Origin": "null"}
            ).status_code
            == 403
        )
        assert known.put("/account").status_code == 405
        assert is_known(known)


@pytest.mark.parametrize(
    "goal",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "javascript:x",
        "",
        "runs",
        "/\nx",
        "/é",
        "/" + "a" * 2000,
        "http://[x",
        "//[x",
    ],
)
def test_nobody_is_led_to_another_site_after_signing_in(goal: str) -> None:
    assert own_path(goal) == "/"


def test_a_program_sends_its_token_and_has_no_session(house: House) -> None:
    def ask(name: str, token: str, scheme: str = "Basic") -> int:
        sent = base64.b64encode(f"{name}:{token}".encode()).decode()
        client = house.stranger()
        return client.post("/api/flow_runs/filter", json={}, headers={"Authorization": f"{scheme} {sent}"}).status_code

    assert ask("platform", house.token) == 200
    assert ask("platform", house.token + "x") == 401
    assert ask("platform", "") == 401
    assert ask("platform", house.token, "Bearer") == 401
    assert ask("rita", PASSWORD) == 401  # people sign in
    assert ask("nobody", house.token) == 401
    client = house.stranger()
    sent = {"Authorization": "Basic " + base64.b64encode(f"platform:{house.token}".encode()).decode()}
    for wrong in (b"Basic ***", b"Basic \xff\xfe", b"Basic", b""):
        assert client.get("/api/health", headers={"Authorization": wrong}).status_code == 401
    assert client.get("/account", headers=sent).status_code == 404
    assert (
        client.post("/api/flow_runs/filter", json={}, headers={**sent, "Origin": "http://evil.example"}).status_code
        == 403
    )


def test_a_proxy_vouches_for_people_and_nobody_else_is_answered(house: House) -> None:
    proxied = House(house.home, house.token, proxy_secret="s" * 32)
    client = proxied.stranger()
    known = {"X-Penstock-Proxy": "s" * 32, "X-Forwarded-User": "Rita"}
    for headers in (
        {},
        {**known, "X-Penstock-Proxy": "wrong"},
        {**known, "X-Forwarded-User": "nobody"},
        {**known, "X-Forwarded-User": "platform"},
    ):
        assert client.get("/api/health", headers=headers).status_code == 403
    for _ in range(2):
        assert client.get("/api/health", headers=known).status_code == 200
    assert client.post("/api/flow_runs/filter", json={}, headers=known).status_code == 403  # which page?
    assert client.post("/api/flow_runs/filter", json={}, headers={**known, **OWN}).status_code == 200
    assert client.get("/account", headers=known).status_code == 404
    signed = client.post(
        "/sign-in", data={"csrf": csrf_of(client.get("/sign-in", headers=known).text)}, headers={**known, **OWN}
    )
    assert signed.status_code == 403
    assert visits(proxied) == [("SIGNED_IN", "rita")]


def test_a_log_that_cannot_be_believed_lets_nobody_in(house: House) -> None:
    import sqlite3

    with house.visitor("rita") as client:
        with sqlite3.connect(house.home.root / "penstock.db") as database:
            database.execute("DELETE FROM log_events WHERE seq = 2")
        house.now += 4
        assert client.get("/api/health").status_code == 503
        assert sign_in(house.stranger(), "vera").status_code == 503


def test_a_secret_that_is_not_the_one_on_record_lets_nobody_in(house: House) -> None:
    for name in ("vera", "platform"):
        file = house.home.keys / "users" / f"{name}.json"
        file.write_bytes((house.home.keys / "users" / "rita.json").read_bytes())
    assert sign_in(house.stranger(), "vera").status_code == 503
    sent = {"Authorization": "Basic " + base64.b64encode(f"platform:{house.token}".encode()).decode()}
    assert house.stranger().get("/api/health", headers=sent).status_code == 503


def test_sessions_are_bounded_in_number(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitors, "_SESSIONS_AT_MOST", 1)
    assert sign_in(house.stranger(), "rita").status_code == 303
    assert sign_in(house.stranger(), "vera").status_code == 503
    house.now += visitors.IDLE
    assert sign_in(house.stranger(), "vera").status_code == 303


def test_a_header_that_decides_stands_once(house: House) -> None:
    client = house.stranger()
    for name in ("Origin", "Authorization", "X-Forwarded-User", "X-Penstock-Proxy", "Transfer-Encoding"):
        headers = [(name, ADDRESS), (name, ADDRESS)]
        assert client.get("/sign-in", headers=headers).status_code == 400
    both = {"Content-Length": "2", "Transfer-Encoding": "chunked"}
    assert client.get("/sign-in", headers=both).status_code == 400
    assert client.get("/sign-in", headers={"X-Long": "a" * (32 << 10)}).status_code == 431
