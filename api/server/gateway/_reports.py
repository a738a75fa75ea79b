"""The reports of runs.

    /reports/<run>          the confidential report, for reviewers and officers; who read it is on record
    /reports/<run>/public   the public one, staged or published, for everybody who has signed in

A report that does not exist and a name that is not allowed get the same answer.
"""

from __future__ import annotations

import re

from penstock.mechanisms.refusal import Refusal
from penstock.records import existing_records
from penstock.records.bundle.places import plain_content, public_report
from penstock.records.files.addresses import place_of
from penstock.records.home import Home
from penstock.records.log.log import Action
from penstock.records.people.users import Role
from penstock.server.gateway.door import Turned
from penstock.server.gateway.visitors import Visitor

__all__ = ["REPORT_HEADERS", "Report", "named_report", "read_report", "require_reader"]

_PATH = re.compile(r"/reports/([0-9]{8}T[0-9]{6}Z-[0-9a-f]{8})(/public)?")
REPORT_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
}

Report = tuple[str, bool]


def named_report(path: str) -> Report:
    """Return the run that a path names, and whether its public report is meant."""
    named = _PATH.fullmatch(path)
    if named is None:
        raise _nothing()
    return named[1], named[2] is not None


def require_reader(visitor: Visitor, report: Report) -> None:
    """Turn away whoever may not read this one."""
    if not report[1] and not visitor.has(Role.REVIEWER, Role.OFFICER):
        raise Turned(403, "Confidential reports are read by reviewers and officers.")


def read_report(home: Home, report: Report) -> bytes:
    """Return a page; the public one is taken from the staged bundle, or from where it was published."""
    run, public = report
    path = home.runs / run / "bundle" / "report.html" if public else home.runs / run / "report.html"
    page = plain_content(path)
    if page is None and public:
        page = _published(run)
    if page is None:
        raise _nothing()
    return page


def _published(run: str) -> bytes | None:
    try:
        events = existing_records().log.events(run)
        folders = [event.facts.get("destination") for event in events if event.action is Action.PUBLISHED]
        return public_report(place_of(folders[-1])) if folders and folders[-1] else None
    except Refusal:  # no records, damaged ones, or a store that is away; verify-log reports that
        return None


def _nothing() -> Turned:
    return Turned(404, "There is no such report.")
