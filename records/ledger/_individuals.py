"""What has been asked about each individual, so that one balance is found, and the largest known, without all others.

Questions about one individual cost that individual only, so a sitting of such questions costs the largest sum of one.
The sums are kept in pages, as a tree by the digits of the individual's digest:

    name      keyed(K, "individual of sitting", sitting, individual)                               (1)
    page p    of all names that begin with p: their sums if there are at most 64, else the digests
              of the 16 pages p0 .. pf (those that are not empty)                                   (2)
    digest    keyed(K, "page", sitting, p, content), that of the first page sealed with the tail    (3)

By (3) a page that was changed, removed, or put back is noticed when it is read (Merkle 1987, keyed). By (2) the tree
follows from the sums alone, whatever the order of the questions; so it can be recomputed from the log. A question reads
and writes one page of each depth, log_16 of the number of individuals. By (1) whoever reads the table learns neither
who was asked about, nor whether two sittings asked about the same one.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

from sqlalchemy import Column, Connection, Table, Text, select

from penstock.records.files.digest import canonical, keyed
from penstock.records.ledger._balances import Balance, added
from penstock.records.ledger.accounts import LedgerAltered
from penstock.records.store.database import SCHEMA, put

__all__ = ["Individuals", "keep_pages", "pages_of", "stored_pages"]

_PAGES = Table(
    "question_pages",
    SCHEMA,
    Column("sitting", Text, primary_key=True),
    Column("page", Text, primary_key=True),
    Column("content", Text, nullable=False),
)
_MOST = 64
_DEEPEST = 5  # read at once; with 64 names on a page, deeper ones are there from some million individuals on
_SUMS, _BELOW = "sums", "below"
_Path = list[tuple[str, dict[str, dict[str, str]]]]  # pages and what each holds


class Individuals:
    """The sums of one sitting, as one transaction sees them."""

    def __init__(self, connection: Connection, key: bytes, sitting: str, balance: Balance) -> None:
        self._connection, self._key, self._sitting, self._balance = connection, key, sitting, balance
        self._paths: dict[str, _Path] = {}  # from the first page to that of a name

    def sum_of(self, individual: str) -> Fraction:
        """Return what the questions about one individual have cost."""
        name = _name(self._key, self._sitting, individual)
        *_, (_, content) = self._path(name)
        return Fraction(content[_SUMS].get(name, 0))

    def with_question(self, individual: str, epsilon: Fraction) -> tuple[Balance, dict[str, str]]:
        """Return the closing balance of the sitting after one more question, and the pages that it changes."""
        name = _name(self._key, self._sitting, individual)
        *above, (last, content) = self._path(name)
        charged = added(Fraction(content[_SUMS].get(name, 0)), epsilon)
        changed = _subtree(self._key, self._sitting, last, {**content[_SUMS], name: str(charged)})
        below = last
        for page, inner in reversed(above):
            digests = {**inner[_BELOW], below[-1]: _digest(self._key, self._sitting, below, changed[below])}
            changed[page] = _text({_BELOW: digests})
            below = page
        first = _digest(self._key, self._sitting, "", changed[""])
        return Balance(max(self._balance.sum, charged), self._balance.questions + 1, first), changed

    def _path(self, name: str) -> _Path:
        """Return the pages that lead to a name, from the first one on, each checked by (3)."""
        if name not in self._paths:
            self._paths[name] = self._checked_path(name)
        return self._paths[name]

    def _checked_path(self, name: str) -> _Path:
        page, expected = "", self._balance.pages
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
            if _SUMS in content:
                return found
            page = name[: len(page) + 1]
            expected = content[_BELOW].get(page[-1])
        return [*found, (page, {_SUMS: {}})]

    def _stored(self, pages: Sequence[str]) -> dict[str, str]:
        query = select(_PAGES.c.page, _PAGES.c.content).where(
            _PAGES.c.sitting == self._sitting, _PAGES.c.page.in_(pages)
        )
        return {row.page: row.content for row in self._connection.execute(query)}

    def _is_sealed(self, page: str, text: object, expected: str) -> bool:
        """Return whether (3) holds; SQLite keeps any type in any column, and text that is none."""
        try:
            return isinstance(text, str) and _digest(self._key, self._sitting, page, text) == expected
        except UnicodeEncodeError:
            return False


def keep_pages(connection: Connection, changed: Mapping[str, Mapping[str, str]]) -> None:
    """Write the changed pages of some sittings, in the transaction that seals their balances."""
    put(
        connection,
        _PAGES,
        [
            {"sitting": sitting, "page": page, "content": text}
            for sitting, pages in changed.items()
            for page, text in pages.items()
        ],
    )


def pages_of(key: bytes, sitting: str, sums: Mapping[str, Fraction]) -> tuple[dict[str, str], str | None]:
    """Return every page of a sitting by (2), and the digest of the first; none if nobody was asked about."""
    named = {_name(key, sitting, individual): str(total) for individual, total in sums.items()}
    pages = _subtree(key, sitting, "", named) if named else {}
    return pages, _digest(key, sitting, "", pages[""]) if pages else None


def stored_pages(connection: Connection) -> dict[str, dict[str, str]]:
    """Return all pages of all sittings as they are stored."""
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for sitting, page, content in connection.execute(select(_PAGES)):
        found[sitting][page] = content
    return dict(found)


def _subtree(key: bytes, sitting: str, page: str, sums: Mapping[str, str]) -> dict[str, str]:
    """Return the page and all below it, by (2)."""
    if len(sums) <= _MOST:
        return {page: _text({_SUMS: dict(sums)})}
    parts: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name, total in sums.items():
        parts[name[len(page)]][name] = total
    made: dict[str, str] = {}
    for digit, part in parts.items():
        made |= _subtree(key, sitting, page + digit, part)
    digests = {digit: _digest(key, sitting, page + digit, made[page + digit]) for digit in parts}
    return {**made, page: _text({_BELOW: digests})}


def _name(key: bytes, sitting: str, individual: str) -> str:
    return keyed(key, "individual of sitting", sitting, individual)


def _digest(key: bytes, sitting: str, page: str, content: str) -> str:
    return keyed(key, "page", sitting, page, content)


def _text(content: Mapping[str, Mapping[str, str]]) -> str:
    return canonical({kind: dict(held) for kind, held in content.items()}).decode()
