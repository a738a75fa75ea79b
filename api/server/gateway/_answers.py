"""The answers to questions, each on a page of its own.

    /answers/<key>/<proof>   for whoever asked it, and for officers; who read it is on record

The proof is a keyed digest of key and analyst, made when the answer was given: a page that was made for somebody else
opens to officers only. An answer that does not exist and one that is not for the visitor get the same reply.
"""

from __future__ import annotations

import re

from penstock.records import existing_records
from penstock.records.home import Home
from penstock.records.ledger.questions import stored_answer
from penstock.records.people.users import Role
from penstock.server.gateway.door import Turned
from penstock.server.gateway.visitors import Visitor
from penstock.tasks.questions.answered import is_page_of

__all__ = ["read_answer"]

_PATH = re.compile("/answers/([0-9a-f]{64})/([0-9a-f]{32})")


def read_answer(home: Home, visitor: Visitor, path: str) -> tuple[str, bytes]:
    """Return the key of an answer, and its page; turn away whoever may not read it."""
    named = _PATH.fullmatch(path)
    is_own = named is not None and is_page_of(home, named[1], named[2], visitor.name)
    if named is None or not (is_own or visitor.has(Role.OFFICER)):
        raise _nothing()
    found = stored_answer(existing_records(whole=False).log, named[1])
    if found is None:
        raise _nothing()
    from penstock.tasks.questions.page import answer_page  # what draws the picture is loaded with the first answer

    return named[1], answer_page(found.answer).encode()


def _nothing() -> Turned:
    return Turned(404, "There is no such answer.")
