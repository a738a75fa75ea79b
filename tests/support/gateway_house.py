"""A gateway in one process, before an application that repeats what Prefect would have been told."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from starlette.testclient import TestClient

from penstock.records import open_records
from penstock.records.home import Home
from penstock.records.log.log import Event, Log
from penstock.records.people.users import Role, add_user, change_password, users
from penstock.server.gateway._forms import DEPLOYMENTS as FORMS
from penstock.server.gateway.app import gateway
from penstock.server.gateway.door import Door
from penstock.server.gateway.prefect_client import Prefect
from penstock.server.gateway.visitors import Visitors

ADDRESS = "http://127.0.0.1:4200"
OWN = {"Origin": ADDRESS}
TOKEN = "penstock:a-token-that-nobody-has"
PASSWORD = "a password of one's own"
DEPLOYMENTS = {
    "release": "11111111-1111-4111-8111-111111111111",
    "release-table": "22222222-2222-4222-8222-222222222222",
    "review": "33333333-3333-4333-8333-333333333333",
    "verify-log": "44444444-4444-4444-8444-444444444444",
    "ask": "88888888-8888-4888-8888-888888888888",
    "foreign": "55555555-5555-4555-8555-555555555555",
}
SCHEMAS: dict[str, Any] = {
    "release": {"type": "object", "properties": {"spec": {"type": "string"}, "again": {"type": "boolean"}}},
    "release-table": {"type": "object", "properties": {"data": {"type": "string"}}},
    "review": {"type": "object", "properties": {"run": {}, "decision": {}}},
    "verify-log": {"type": "object"},
    "ask": {"type": "object", "properties": {"data": {"type": "string"}}},
}
FLOW_RUN = "66666666-6666-4666-8666-666666666666"  # started by rita


async def echo(receive: Any, send: Any) -> None:
    """A WebSocket that says what it hears."""
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": message["text"]})


async def repeat(scope: Any, receive: Any, send: Any) -> None:
    """Stand where Prefect stands: say what was asked, and what there is of deployments and runs."""
    if scope["type"] == "websocket":
        await echo(receive, send)
        return
    body = (await receive())["body"]
    headers = {name.decode(): value.decode() for name, value in scope["headers"]}
    told: Any = {"method": scope["method"], "path": scope["path"], "headers": headers, "body": body.decode()}
    known: dict[str, Any] = {}
    for name, number in DEPLOYMENTS.items():
        made = {"name": name, "parameter_openapi_schema": SCHEMAS.get(name, {})}
        known[f"/api/deployments/{number}"] = made
        known.update({f"/api/deployments/name/{flow}": made for flow in FORMS if flow.endswith(f"/{name}")})
    known[f"/api/flow_runs/{FLOW_RUN}"] = {"parameters": {"started_by": "rita"}}
    known["/ui-settings"] = {"api_url": "http://elsewhere/api", "auth": "BASIC", "csrf_enabled": False}
    content = json.dumps(known.get(scope["path"], told)).encode()
    if scope["path"] == "/index.html":
        content = b"<html><body></body></html>"
    sent = [(b"access-control-allow-origin", b"*"), (b"set-cookie", b"a=b"), (b"x-prefect", b"1")]
    await send({"type": "http.response.start", "status": 200, "headers": sent})
    await send({"type": "http.response.body", "body": content})


PEOPLE = {"rita": Role.REQUESTER, "vera": Role.REVIEWER, "olga": Role.OFFICER, "rolf": Role.READER}


def furnish(home: Home) -> str:
    """Give a home its people, with passwords of their own, and a program; return the program's token."""
    log, now = open_records(home=home).log, datetime.now(UTC)
    for name, role in PEOPLE.items():
        once = _add(log, home, name, role)
        change_password(log, home, name, once, PASSWORD, now=now)
    return _add(log, home, "platform", Role.REQUESTER, is_program=True)


def _add(log: Log, home: Home, name: str, role: Role, *, is_program: bool = False) -> str:
    now = datetime.now(UTC)
    return add_user(log, home, name, [role], is_program=is_program, actor="root", reason="for a test", now=now)


class House:
    """A gateway with rita (requester), vera (reviewer), olga (officer), rolf (reader) and the program `platform`."""

    def __init__(self, home: Home, token: str, proxy_secret: str | None = None) -> None:
        self.home, self.token, self.now = home, token, 1000.0
        self.log = open_records(home=home).log
        self.visitors = Visitors(home, self.log, proxy_secret, clock=lambda: self.now)
        self.app = gateway(Prefect(repeat, TOKEN), self.visitors, Door.at(ADDRESS), home)

    def add(self, name: str, role: Role) -> str:
        """Add somebody; the password is for once."""
        return _add(self.log, self.home, name, role)

    def stranger(self, address: str = ADDRESS) -> TestClient:
        """Somebody nobody knows, in a browser of their own."""
        return TestClient(self.app, base_url=address, follow_redirects=False)

    @contextmanager
    def visitor(self, name: str) -> Iterator[TestClient]:
        """Somebody who has signed in, and whose browser says where its pages come from."""
        client = self.stranger()
        sign_in(client, name)
        client.headers.update(OWN)
        yield client

    def events(self) -> list[Event]:
        return self.log.events()

    def user(self, name: str) -> Any:
        return users(self.log)[name]


def sign_in(client: TestClient, name: str, password: str = PASSWORD, goal: str = "/") -> Any:
    """Fill in the form as a browser does."""
    fields = {"csrf": csrf_of(client.get("/sign-in").text), "goal": goal, "name": name, "password": password}
    return client.post("/sign-in", data=fields, headers=OWN)


def csrf_of(page: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', page)
    return "" if found is None else found[1]
