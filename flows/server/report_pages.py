"""Reports in the browser, behind a password, beside the pages of Prefect.

    /reports/<run>          the confidential report
    /reports/<run>/public   the public one, staged or published

Who may read them is whoever knows PREFECT_SERVER_API_AUTH_STRING ("user:password"), or else the password in
keys/reports.password of the home, with any user name. What is not there and what may not be named look alike.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import os
import re
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

from mechanisms.refusal import Refusal
from records import existing_records
from records.addresses import place_of
from records.home import Home
from records.log import Action
from records.places import plain_content, public_report

__all__ = ["beside_reports", "report_password_file"]

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]

_PATH = re.compile(r"/reports/([0-9]{8}T[0-9]{6}Z-[0-9a-f]{8})(/public)?")
_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


def report_password_file(home: Home) -> Path | None:
    """The file with the password, made on first use; None where PREFECT_SERVER_API_AUTH_STRING is the password."""
    return None if os.environ.get("PREFECT_SERVER_API_AUTH_STRING") else home.reports_password_file()


def beside_reports(prefect: App, home: Home) -> App:
    """An application that answers for /reports itself and leaves the rest to Prefect."""

    async def dispatch(scope: Scope, receive: Any, send: Any) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or not (path == "/reports" or path.startswith("/reports/")):
            await prefect(scope, receive, send)
            return
        status, page = await asyncio.to_thread(_answer, home, scope)
        headers = {**_HEADERS, "content-length": str(len(page))}
        if status == 401:
            headers["www-authenticate"] = 'Basic realm="Penstock reports", charset="UTF-8"'
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": encoded})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else page})

    return dispatch


def _answer(home: Home, scope: Scope) -> tuple[int, bytes]:
    if not _is_known(home, dict(scope["headers"]).get(b"authorization", b"")):
        return 401, b"A password is needed."
    if scope["method"] not in ("GET", "HEAD"):
        return 405, b"Reports are only read."
    named = _PATH.fullmatch(scope["path"])
    page = None if named is None else _page(home, named[1], public=named[2] is not None)
    return (404, b"There is no such report.") if page is None else (200, page)


def _is_known(home: Home, authorization: bytes) -> bool:
    scheme, _, credentials = authorization.partition(b" ")
    try:
        given = base64.b64decode(credentials, validate=True)
    except binascii.Error:
        return False
    if scheme.lower() != b"basic":
        return False
    path = report_password_file(home)
    if path is None:
        return hmac.compare_digest(given, os.environ["PREFECT_SERVER_API_AUTH_STRING"].encode())
    return hmac.compare_digest(given.partition(b":")[2], path.read_bytes().strip())


def _page(home: Home, run: str, *, public: bool) -> bytes | None:
    if not public:
        return plain_content(home.runs / run / "report.html")
    staged = plain_content(home.runs / run / "bundle" / "report.html")
    return staged if staged is not None else _published(run)


def _published(run: str) -> bytes | None:
    try:
        events = existing_records().log.events(run)
        folders = [event.facts.get("destination") for event in events if event.action is Action.PUBLISHED]
        return public_report(place_of(folders[-1])) if folders and folders[-1] else None
    except Refusal:  # no records, damaged ones, or a store that is away; verify-log is who tells
        return None
