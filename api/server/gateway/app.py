"""The gateway itself: from a request to an answer, or to a polite refusal."""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

import anyio
from starlette.middleware.sessions import SessionMiddleware

from penstock.mechanisms.refusal import Refusal
from penstock.records.home import Home
from penstock.records.log.log import Action
from penstock.server.gateway._answers import read_answer
from penstock.server.gateway._forms import DEPLOYMENTS, form_check, question
from penstock.server.gateway._headers import ONCE, SECURE, secured
from penstock.server.gateway._pages import (
    PAGE_HEADERS,
    account_page,
    form_fields,
    own_path,
    sign_in_page,
    sign_in_path,
    turned_page,
    with_name,
)
from penstock.server.gateway._reports import REPORT_HEADERS, named_report, read_report, require_reader
from penstock.server.gateway.allowed import (
    answered_here,
    cancelling,
    decision,
    is_form_check,
    is_read,
    is_socket,
    order,
    wanted,
)
from penstock.server.gateway.door import SAFE, Door, Turned
from penstock.server.gateway.peer import NOBODY, owner_of
from penstock.server.gateway.prefect_client import App, Prefect, Receive, Scope, Send, whole
from penstock.server.gateway.timeouts import HEADER_BYTES
from penstock.server.gateway.visitors import HOURS, NUMBER, Visitor, Visitors

__all__ = ["BODY_BYTES", "gateway"]

BODY_BYTES = 1 << 20
BODY_SECONDS = 20.0
ANSWER_SECONDS = 60.0
_LOOK_AGAIN = 5.0  # seconds after which whoever listens is checked again
_NOT_OURS = ("/api", "/docs", "/redoc", "/openapi.json", "/v2")


def gateway(prefect: Prefect, visitors: Visitors, door: Door, home: Home) -> App:
    """Return the application that people and programs reach."""
    return SessionMiddleware(
        _Gateway(prefect, visitors, door, home),
        secret_key=secrets.token_urlsafe(32),  # sessions end with this process anyway
        session_cookie="__Host-penstock" if door.scheme == "https" else "penstock",
        max_age=int(HOURS),
        same_site="strict",
        https_only=door.scheme == "https",
    )


@dataclass(slots=True)
class _Request:
    """One request, with what is known about it."""

    scope: Scope
    receive: Receive
    send: Send
    headers: dict[str, str]
    visitor: Visitor | None = None

    @property
    def path(self) -> str:
        return str(self.scope["path"])

    @property
    def method(self) -> str:
        return str(self.scope.get("method", "GET"))

    @property
    def cookie(self) -> MutableMapping[str, Any]:
        cookie: MutableMapping[str, Any] = self.scope["session"]
        return cookie

    @property
    def is_page(self) -> bool:
        return self.method in SAFE and "text/html" in self.headers.get("accept", "")

    def owner(self) -> int | None:
        owner = owner_of(self.scope.get("client"), self.scope.get("server"))
        if owner == NOBODY:
            raise Turned(400, "The connection was closed before it was answered.")
        return owner

    def csrf(self) -> str:
        """Return the token that our own forms carry, so that only they are accepted."""
        return str(self.cookie.setdefault("csrf", secrets.token_urlsafe(32)))

    async def body(self) -> bytes:
        """Return the body; refuse one that is too long or too slow."""
        sent = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while True:
                    message = await self.receive()
                    sent += message.get("body", b"")
                    if len(sent) > BODY_BYTES:
                        raise Turned(413, "The request is too long.")
                    if not message.get("more_body", False):
                        return bytes(sent)
        except TimeoutError:
            raise Turned(408, "The request did not arrive in time.") from None

    async def form(self) -> dict[str, str]:
        """Return the fields of one of our own forms."""
        if self.headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
            raise Turned(415, "This is not one of our forms.")
        fields = form_fields(await self.body())
        if not hmac.compare_digest(fields.pop("csrf", "").encode(), self.csrf().encode()):
            raise Turned(403, "The form is out of date. Load the page again.")
        return fields

    async def answer(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        said = {**SECURE, **headers, "content-length": str(len(content))}
        encoded = [(name.encode(), value.encode("latin-1")) for name, value in said.items()]
        await self.send({"type": "http.response.start", "status": status, "headers": encoded})
        await self.send({"type": "http.response.body", "body": b"" if self.method == "HEAD" else content})

    async def go_to(self, path: str) -> None:
        await self.answer(303, b"", {"location": path})


class _Gateway:
    def __init__(self, prefect: Prefect, visitors: Visitors, door: Door, home: Home) -> None:
        self._prefect, self._visitors, self._door, self._home = prefect, visitors, door, home
        self._schemas: list[dict[str, Any]] = []  # of the forms of our deployments
        socket = door.address.replace("http", "ws", 1)
        self._page_policy = (
            "default-src 'self'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
            f"img-src 'self' data:; font-src 'self' data:; connect-src 'self' {socket}; worker-src 'self' blob:; "
            "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        request = _Request(scope, receive, send, headers)
        try:
            if sum(len(name) + len(value) for name, value in scope["headers"]) > HEADER_BYTES:
                raise Turned(431, "The headers are too long.")
            names = [name.decode("latin-1") for name, _ in scope["headers"]]
            if any(names.count(name) > 1 for name in ONCE):
                raise Turned(400, "A header stands twice.")
            if "transfer-encoding" in headers and "content-length" in headers:
                raise Turned(400, "The request says twice how long it is.")
            self._door.require_own(scope, headers, len(names))
            if scope["type"] == "websocket":
                await self._listen(request)
            else:
                await self._respond(request)
        except Turned as turned:
            await self._turn_away(request, turned)

    async def _respond(self, request: _Request) -> None:
        if request.path == "/sign-in":
            await self._sign_in(request)
            return
        visitor = await self._visitors.known(request.headers, request.cookie, request.owner())
        if visitor is None:
            if request.is_page:
                await request.go_to(sign_in_path(request.path, request.scope["query_string"].decode("latin-1")))
                return
            raise Turned(401, "Sign in first.")
        request.visitor = visitor
        if visitor.by_browser:
            self._door.require_page(request.method, request.headers)
        if request.path in ("/account", "/sign-out"):
            await self._account(request, visitor)
        elif visitor.session is not None and visitor.session.must_choose:
            if not request.is_page:
                raise Turned(403, "Choose a password of your own first.")
            await request.go_to("/account")
        elif request.path == "/reports" or request.path.startswith("/reports/"):
            await self._report(request, visitor)
        elif request.path.startswith("/answers/"):
            await self._answer(request, visitor)
        elif request.path.startswith("/api/"):
            await self._api(request, visitor, request.path.removeprefix("/api"))
        else:
            await self._prefect_page(request, visitor)

    async def _sign_in(self, request: _Request) -> None:
        goal = "/"
        if request.method == "POST":
            self._door.require_page(request.method, request.headers)
            fields = await request.form()
            goal = own_path(fields.get("goal", "/"))
            try:
                session = await self._visitors.sign_in(
                    fields.get("name", ""), fields.get("password", ""), request.owner()
                )
            except Turned as turned:
                if turned.status not in (403, 429):
                    raise
                page = sign_in_page(request.csrf(), goal, turned.sentence)
                await request.answer(turned.status, page, PAGE_HEADERS)
                return
            request.cookie.clear()
            request.cookie[NUMBER] = session.number
            await request.go_to("/account" if session.must_choose else goal)
            return
        if request.method not in SAFE:
            raise Turned(405, "This page is read, or its form sent.")
        if await self._visitors.known(request.headers, request.cookie, request.owner()) is not None:
            await request.go_to("/")
            return
        query = request.scope["query_string"].decode("latin-1")
        if query:
            goal = own_path(form_fields(query.encode("latin-1")).get("goal", "/"))
        await request.answer(200, sign_in_page(request.csrf(), goal), PAGE_HEADERS)

    async def _account(self, request: _Request, visitor: Visitor) -> None:
        session = visitor.session
        if session is None:
            raise Turned(404, "This account has no password here.")
        if request.method in SAFE and request.path == "/account":
            page = account_page(visitor, request.csrf(), must_choose=session.must_choose)
            await request.answer(200, page, PAGE_HEADERS)
            return
        if request.method != "POST":
            raise Turned(405, "This page is read, or its form sent.")
        fields = await request.form()
        if request.path == "/sign-out":
            await self._visitors.sign_out(session)
            request.cookie.clear()
            await request.go_to("/sign-in")
            return
        try:
            if fields.get("new") != fields.get("again"):
                raise Turned(422, "The new password must be the same twice.")
            session = await self._visitors.change_password(session, fields.get("old", ""), fields.get("new", ""))
        except (Refusal, Turned) as refused:
            status, note = 422, " ".join(f"The password {fault.rule}." for fault in getattr(refused, "faults", ()))
            if isinstance(refused, Turned):
                status, note = refused.status, refused.sentence
            page = account_page(visitor, request.csrf(), must_choose=session.must_choose, note=note)
            await request.answer(status, page, PAGE_HEADERS)
            return
        request.cookie.clear()
        request.cookie[NUMBER] = session.number
        await request.go_to("/")

    async def _report(self, request: _Request, visitor: Visitor) -> None:
        if request.method not in SAFE:
            raise Turned(405, "Reports are only read.")
        report = named_report(request.path)
        require_reader(visitor, report)
        page = await asyncio.to_thread(read_report, self._home, report)
        run, public = report
        if not public:
            await self._visitors.note(Action.REPORT_READ, visitor.name, run=run)
        await request.answer(200, page, REPORT_HEADERS)

    async def _answer(self, request: _Request, visitor: Visitor) -> None:
        if request.method not in SAFE:
            raise Turned(405, "Answers are only read.")
        key, page = await asyncio.to_thread(read_answer, self._home, visitor, request.path)
        await self._visitors.note(Action.REPORT_READ, visitor.name, run=key)
        await request.answer(200, page, REPORT_HEADERS)

    async def _api(self, request: _Request, visitor: Visitor, path: str) -> None:
        body = await request.body()
        if body and request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise Turned(415, "The body must be said to be JSON.")
        instead = answered_here(request.method, path)
        if instead is not None:
            await request.answer(200, json.dumps(instead).encode(), {"content-type": "application/json"})
            return
        if is_read(request.method, path):
            await self._pass_on(request, question(body) if body else b"")
            return
        if is_form_check(request.method, path):
            await self._check_form(request, body)
            return
        asked = wanted(request.method, path)
        if asked is None:
            raise Turned(403, "This is not done here.")
        if asked.what == "create_flow_run":
            told = order(visitor, await self._prefect.get(f"/api/deployments/{asked.about}"), body)
        elif asked.what == "resume":
            told = decision(visitor, body)
        else:
            told = cancelling(visitor, await self._prefect.get(f"/api/flow_runs/{asked.about}"), body)
            await self._visitors.note(Action.CANCEL_ASKED, visitor.name, flow_run=asked.about)
        await self._pass_on(request, json.dumps(told).encode())

    async def _check_form(self, request: _Request, body: bytes) -> None:
        """Let Prefect check a form of our deployments before it is sent. No other schema is checked: it could take for
        ever."""
        if not self._schemas:
            found = [await self._prefect.get(f"/api/deployments/name/{each}") for each in DEPLOYMENTS]
            self._schemas = [each["parameter_openapi_schema"] for each in found]
        checked = form_check(body, self._schemas)
        if checked is None:
            sound = json.dumps({"valid": True, "errors": []}).encode()  # it is checked again when it is sent
            await request.answer(200, sound, {"content-type": "application/json"})
        else:
            await self._pass_on(request, json.dumps(checked).encode())

    async def _prefect_page(self, request: _Request, visitor: Visitor) -> None:
        if request.method not in SAFE or request.path.startswith(_NOT_OURS):
            raise Turned(404, "There is no such page.")
        if request.path == "/ui-settings":
            # Prefect's pages need no password of their own: whoever sees them has signed in here.
            told = {**await self._prefect.get("/ui-settings"), "api_url": f"{self._door.address}/api"}
            told |= {"auth": None, "available_uis": ["v1"], "default_ui": "v1"}
            await request.answer(200, json.dumps(told).encode(), {"content-type": "application/json"})
            return
        if request.is_page:
            page = with_name(await self._prefect.content("/index.html"), visitor)
            headers = {"content-type": "text/html; charset=utf-8", "content-security-policy": self._page_policy}
            await request.answer(200, page, headers)
            return
        await request.body()  # it is empty; the next message says that the visitor has gone
        await self._pass_on(request, b"")

    async def _pass_on(self, request: _Request, body: bytes) -> None:
        begun = False

        async def send(message: MutableMapping[str, Any]) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": secured(request.path, message["headers"], self._page_policy)}
            await request.send(message)

        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._prefect.pass_on(request.scope, whole(b"", request.receive), send, body or None)
        except TimeoutError:
            if not begun:
                raise Turned(504, "It took too long.") from None

    async def _listen(self, request: _Request) -> None:
        """Let a page listen, until whoever opened it would no longer be let in."""
        visitor = await self._visitors.known(request.headers, request.cookie, request.owner())
        path = request.path
        if visitor is None or not path.startswith("/api/") or not is_socket(path.removeprefix("/api")):
            raise Turned(403, "Sign in first.")
        if visitor.session is not None and visitor.session.must_choose:
            raise Turned(403, "Choose a password of your own first.")

        is_known = True
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                nonlocal is_known
                while is_known:
                    await asyncio.sleep(_LOOK_AGAIN)
                    is_known = await self._visitors.is_still(visitor)
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            await self._prefect.connect(request.scope, request.receive, request.send)
            tasks.cancel_scope.cancel()
        if not is_known:
            await request.send({"type": "websocket.close", "code": 1008, "reason": "Sign in again."})

    async def _turn_away(self, request: _Request, turned: Turned) -> None:
        if request.scope["type"] == "websocket":
            await request.send({"type": "websocket.close", "code": 1008, "reason": ""})
        elif request.is_page:
            await request.answer(turned.status, turned_page(turned), PAGE_HEADERS)
        else:
            told = json.dumps({"detail": turned.sentence, "exception_message": turned.sentence})
            await request.answer(turned.status, told.encode(), {"content-type": "application/json"})
