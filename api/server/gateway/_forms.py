"""Read what pages send, within bounds, and rebuild it: forms, and queries that pages read with.

Prefect takes an object with the key `__prefect_kind` for something to evaluate: a template that it renders, a variable
that it looks up, a text that it parses, a value that replaces everything beside it. Here a plain value
and a parsed text are written out, and nothing else passes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from penstock.records.files.outside_text import from_json
from penstock.records.files.outside_values import OutsideWrong
from penstock.server.gateway.door import Turned

__all__ = ["DEPLOYMENTS", "form_check", "json_object", "plain", "question"]

# Flow and deployment, as Prefect names them together.
DEPLOYMENTS = (
    "answer/ask",
    "release-spec/release",
    "release-table/release-table",
    "review/review",
    "verify-log/verify-log",
)
_KIND = "__prefect_kind"
_QUESTION_BYTES = 64 << 10
_LARGEST = 2**31 - 1  # a database answers larger numbers with an error


def json_object(body: bytes) -> dict[str, Any]:
    """Read a JSON object within the bounds that apply to anything from outside."""
    try:
        given = _from_json(body.decode() or "{}")
    except UnicodeDecodeError:
        raise Turned(422, "The body must be UTF-8.") from None
    if not isinstance(given, dict):
        raise Turned(422, "The body must be a JSON object.")
    return given


def plain(value: Any) -> Any:
    """Return what a form says, with nothing in it for Prefect to work out."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    if _KIND not in value:
        return {name: plain(each) for name, each in value.items()}
    kind, held = value[_KIND], value.get("value")
    if kind == "none":
        return plain(held)
    if kind == "json" and isinstance(held, str):
        return plain(_from_json(held))
    raise Turned(422, "A parameter is a value: no template, and no variable of the server.")


def form_check(body: bytes, schemas: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the request that checks a form of ours; None for any other schema."""
    given = json_object(body)
    known = [schema for schema in schemas if schema == given.get("schema")]
    values = plain(given.get("values"))
    return {"schema": known[0], "values": values} if known and isinstance(values, dict) else None


def question(body: bytes) -> bytes:
    """Return what a page asks Prefect for, written out again."""
    if len(body) > _QUESTION_BYTES:
        raise Turned(413, "The question is too long.")
    asked = json_object(body)
    _require_small(asked)
    return json.dumps(asked).encode()


def _from_json(text: str) -> Any:
    try:
        return from_json(text)
    except OutsideWrong as wrong:
        raise Turned(422, f"The body {wrong.rule}.") from None


def _require_small(value: Any) -> None:
    if isinstance(value, dict):
        for each in value.values():
            _require_small(each)
    elif isinstance(value, list):
        for each in value:
            _require_small(each)
    elif isinstance(value, int | float) and abs(value) > _LARGEST:
        raise Turned(422, "A number is too large.")
