"""What else the gateway answers: reports by role, Prefect's pages, WebSockets, and requests that are too long."""

from __future__ import annotations

import asyncio
import json

import pytest
from starlette.websockets import WebSocketDisconnect

from penstock.server.gateway import app
from tests.support.gateway_house import ADDRESS, OWN, TOKEN, House

RUN = "20260101T000000Z-0123abcd"
SOCKETS = "ws://127.0.0.1:4200"  # the client of Starlette would take another host
SOCKET = f"{SOCKETS}/api/events/out"


@pytest.fixture
def reports(house: House) -> House:
    folder = house.home.runs / RUN
    (folder / "bundle").mkdir(parents=True)
    (folder / "report.html").write_text("confidential")
    (folder / "bundle" / "report.html").write_text("public")
    return house


@pytest.mark.parametrize(("name", "may"), [("rolf", False), ("rita", False), ("vera", True), ("olga", True)])
def test_reports_are_shown_by_role_and_whoever_read_one_is_on_record(reports: House, name: str, may: bool) -> None:
    with reports.visitor(name) as client:
        answer = client.get(f"/reports/{RUN}")
        assert answer.status_code == (200 if may else 403)
        assert (answer.text == "confidential") is may
        public = client.get(f"/reports/{RUN}/public")
        assert (public.status_code, public.text) == (200, "public")
        assert public.headers["content-security-policy"].startswith("default-src 'none';")
        assert public.headers["cache-control"] == "no-store"
        assert client.head(f"/reports/{RUN}/public").text == ""
        assert client.delete(f"/reports/{RUN}/public").status_code == 405
    read = [(event.run, event.actor) for event in reports.events() if event.action.value == "REPORT_READ"]
    assert read == ([(RUN, name)] if may else [])


@pytest.mark.parametrize(
    "path",
    ["", "/", "/20260101T000000Z-00000000", "/20260101T000000Z-00000000/public", "/%2e%2e/keys/secret.key",
     f"/{RUN}/..%2f..%2fkeys/secret.key", f"/{RUN}/outcome.json", f"/{RUN}/", f"/{RUN}%0a", f"//{RUN}"],
)  # fmt: skip
def test_nothing_else_is_shown_under_reports(reports: House, path: str) -> None:
    with reports.visitor("olga") as client:
        answer = client.get(f"/reports{path}")
    assert answer.status_code == 404


def test_prefects_pages_ask_us_and_nobody_else_and_need_no_password_of_their_own(house: House) -> None:
    with house.visitor("rolf") as client:
        told = client.get("/ui-settings").json()
        assert (told["api_url"], told["auth"], told["available_uis"]) == (f"{ADDRESS}/api", None, ["v1"])
        page = client.get("/runs/flow-run/x", headers={"Accept": "text/html"})
        assert "connect-src 'self' ws://127.0.0.1:4200;" in page.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        assert client.get("/assets/index.js").status_code == 200
        for path in ("/docs", "/openapi.json", "/v2/runs", "/api", "/apis"):
            assert client.get(path, headers={"Accept": "text/html"}).status_code == 404
        assert client.post("/runs").status_code == 404


def test_a_page_listens_in_the_name_of_the_gateway(house: House) -> None:
    with house.visitor("rolf") as client, client.websocket_connect(SOCKET, headers=OWN) as socket:
        socket.send_text(json.dumps({"type": "auth", "token": "guess"}))
        assert socket.receive_json() == {"type": "auth", "token": TOKEN}
        socket.send_text('{"type": "filter"}')
        assert socket.receive_json() == {"type": "filter"}


@pytest.mark.parametrize(
    "question", ["filter", "[1]", '{"a": NaN}', '{"a": 1e30}', "[" * 2000, '{"a": "%s"}' % ("b" * 70_000)]
)
def test_who_asks_what_is_no_question_hears_no_more(house: House, question: str) -> None:
    with house.visitor("rolf") as client, client.websocket_connect(SOCKET, headers=OWN) as socket:
        socket.send_text("anything")
        socket.receive_json()
        socket.send_text(question)
        with pytest.raises(WebSocketDisconnect) as ended:
            socket.receive_text()
        assert ended.value.code == 1007


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        (SOCKET, {"Origin": "http://evil.example"}),
        (SOCKET, {"Origin": "null"}),
        (SOCKET, {"Origin": ""}),
        (f"{SOCKETS}/api/events/in", OWN),
        (f"{SOCKETS}/api/task_runs/subscriptions/scheduled", OWN),
        (f"{SOCKETS}/", OWN),
        ("ws://evil.example/api/events/out", OWN),
    ],
)
def test_no_other_page_listens_and_to_nothing_else(house: House, path: str, headers: dict[str, str]) -> None:
    with house.visitor("olga") as client:
        client.headers.pop("Origin")
        with pytest.raises(WebSocketDisconnect), client.websocket_connect(path, headers=headers):
            pytest.fail("it was let in")


def test_nobody_listens_without_signing_in(house: House) -> None:
    with pytest.raises(WebSocketDisconnect), house.stranger().websocket_connect(SOCKET, headers=OWN):
        pytest.fail("it was let in")


def test_whoever_listens_is_looked_at_again(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_LOOK_AGAIN", 0.01)
    with house.visitor("rolf") as client, client.websocket_connect(SOCKET, headers=OWN) as socket:
        house.now += 13 * 3600
        with pytest.raises(WebSocketDisconnect) as ended:
            socket.receive_text()
    assert ended.value.code == 1008


def test_a_body_that_is_too_long_is_refused(house: House) -> None:
    with house.visitor("rolf") as client:
        answer = client.post(
            "/api/flow_runs/filter", content=b" " * (app.BODY_BYTES + 1), headers={"Content-Type": "application/json"}
        )
    assert answer.status_code == 413


def asked(house: House, headers: list[tuple[bytes, bytes]], receive: object) -> int:
    """Ask without a client, to be as slow as one likes."""
    sent: list[dict[str, int]] = []

    async def send(message: dict[str, int]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/sign-in",
        "query_string": b"",
        "headers": headers,
        "client": None,
    }
    asyncio.run(house.app(scope, receive, send))  # type: ignore[arg-type]
    return sent[0]["status"]


def test_a_body_that_does_not_come_is_not_waited_for(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "BODY_SECONDS", 0.01)

    async def never() -> None:
        await asyncio.Event().wait()

    headers = [
        (b"host", b"127.0.0.1:4200"),
        (b"origin", ADDRESS.encode()),
        (b"content-type", b"application/x-www-form-urlencoded"),
    ]
    assert asked(house, headers, never) == 408
