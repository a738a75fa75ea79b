"""Many values by name, of which one is read or written without the others, and none unnoticed: a tree of pages.

    page p    of all names that begin with p: their values if there are at most 64, else the digests
              of the 16 pages p0 .. pf (those that are not empty)                                   (1)
    digest    keyed(K, "page", tree, p, content), that of the first page sealed by the ledger       (2)

Names are keyed digests. By (2) a page that was changed, removed, or put back is noticed when it is read (Merkle 1987,
keyed), and so is a name that is missing. By (1) the tree follows from its values alone, whatever the order in which
they came; so it can be recomputed from the log. Reading or writing a value takes one page of each depth, log_16 of the
number of names.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlalchemy import Column, Connection, Table, Text, select

from penstock.records.files.digest import canonical, keyed
from penstock.records.ledger.accounts import LedgerAltered
from penstock.records.store.database import SCHEMA, put

__all__ = ["Pages", "keep_pages", "pages_with", "stored_pages"]

_PAGES = Table(
    "question_pages",
    SCHEMA,
    Column("sitting", Text, primary_key=True),
    Column("page", Text, primary_key=True),
    Column("content", Text, nullable=False),
)
_MOST = 64
_DEEPEST = 5  # read at once; with 64 names on a page, deeper ones are there from some million names on
_VALUES, _BELOW = "values", "below"
_Path = list[tuple[str, dict[str, dict[str, str]]]]  # pages and what each holds


class Pages:
    """One tree, as one transaction sees it. first: the digest of its first page, as sealed; None if it is empty."""

    def __init__(self, connection: Connection, key: bytes, tree: str, first: str | None) -> None:
        self._connection, self._key, self._tree, self._first = connection, key, tree, first
        self._paths: dict[str, _Path] = {}  # from the first page to that of a name

    def value_of(self, name: str) -> str | None:
        """Return the value of a name; None if it has none."""
        *_, (_, content) = self._path(name)
        return content[_VALUES].get(name)

    def with_value(self, name: str, value: str) -> tuple[str, dict[str, str]]:
        """Return the digest of the first page after a name gets a value, and the pages that this changes."""
        *above, (last, content) = self._path(name)
        changed = _subtree(self._key, self._tree, last, {**content[_VALUES], name: value})
        below = last
        for page, inner in reversed(above):
            digests = {**inner[_BELOW], below[-1]: _digest(self._key, self._tree, below, changed[below])}
            changed[page] = _text({_BELOW: digests})
            below = page
        return _digest(self._key, self._tree, "", changed[""]), changed

    def _path(self, name: str) -> _Path:
        """Return the pages that lead to a name, from the first one on, each checked by (2)."""
        if name not in self._paths:
            self._paths[name] = self._checked_path(name)
        return self._paths[name]

    def _checked_path(self, name: str) -> _Path:
        page, expected = "", self._first
        stored = {} if expected is None else self._stored([name[:depth] for depth in range(_DEEPEST)])
        found: _Path = []
        while expected is not None:
            if page not in stored:
                stored |= self._stored([page])
            text = stored.get(page)
            if text is None or not self._is_sealed(page, text, expected):
                raise LedgerAltered.where("question_pages", "must be as the ledger sealed them; a page was altered")
            content = json.loads(text)
            found.append((page, content))
            if _VALUES in content:
                return found
            page = name[: len(page) + 1]
            expected = content[_BELOW].get(page[-1])
        return [*found, (page, {_VALUES: {}})]

    def _stored(self, pages: Sequence[str]) -> dict[str, str]:
        query = select(_PAGES.c.page, _PAGES.c.content).where(_PAGES.c.sitting == self._tree, _PAGES.c.page.in_(pages))
        return {row.page: row.content for row in self._connection.execute(query)}

    def _is_sealed(self, page: str, text: object, expected: str) -> bool:
        """Return whether (2) holds; SQLite keeps any type in any column, and text that is none."""
        try:
            return isinstance(text, str) and _digest(self._key, self._tree, page, text) == expected
        except UnicodeEncodeError:
            return False


def keep_pages(connection: Connection, changed: Mapping[str, Mapping[str, str]]) -> None:
    """Write the changed pages of some trees, in the transaction that seals their digests."""
    put(
        connection,
        _PAGES,
        [
            {"sitting": tree, "page": page, "content": text}
            for tree, pages in changed.items()
            for page, text in pages.items()
        ],
    )


def pages_with(key: bytes, tree: str, values: Mapping[str, str]) -> tuple[dict[str, str], str | None]:
    """Return every page of a tree by (1), and the digest of the first; none if it is empty."""
    pages = _subtree(key, tree, "", values) if values else {}
    return pages, _digest(key, tree, "", pages[""]) if pages else None


def stored_pages(connection: Connection) -> dict[str, dict[str, str]]:
    """Return all pages of all trees as they are stored."""
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for tree, page, content in connection.execute(select(_PAGES)):
        found[tree][page] = content
    return dict(found)


def _subtree(key: bytes, tree: str, page: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return the page and all below it, by (1)."""
    if len(values) <= _MOST:
        return {page: _text({_VALUES: dict(values)})}
    parts: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name, value in values.items():
        parts[name[len(page)]][name] = value
    made: dict[str, str] = {}
    for digit, part in parts.items():
        made |= _subtree(key, tree, page + digit, part)
    digests = {digit: _digest(key, tree, page + digit, made[page + digit]) for digit in parts}
    return {**made, page: _text({_BELOW: digests})}


def _digest(key: bytes, tree: str, page: str, content: str) -> str:
    return keyed(key, "page", tree, page, content)


def _text(content: Mapping[str, Mapping[str, str]]) -> str:
    return canonical({kind: dict(held) for kind, held in content.items()}).decode()
