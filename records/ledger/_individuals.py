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
from collections.abc import Mapping
from fractions import Fraction

from sqlalchemy import Column, Connection, Table, Text, and_, delete, insert, select

from penstock.records.files.digest import canonical, keyed
from penstock.records.ledger._balances import Balance
from penstock.records.ledger.accounts import LedgerAltered
from penstock.records.store.database import SCHEMA

__all__ = ["Individuals", "pages_of", "stored_pages"]

_PAGES = Table(
    "question_pages",
    SCHEMA,
    Column("sitting", Text, primary_key=True),
    Column("page", Text, primary_key=True),
    Column("content", Text, nullable=False),
)
_MOST = 64
_SUMS, _BELOW = "sums", "below"


class Individuals:
    """The sums of one sitting, as one transaction sees them."""

    def __init__(self, connection: Connection, key: bytes, sitting: str, balance: Balance) -> None:
        self._connection, self._key, self._sitting, self._balance = connection, key, sitting, balance

    def sum_of(self, individual: str) -> Fraction:
        """Return what the questions about one individual have cost."""
        *_, (_, content) = self._path(_name(self._key, self._sitting, individual))
        return Fraction(content[_SUMS].get(_name(self._key, self._sitting, individual), 0))

    def with_question(self, individual: str, epsilon: Fraction) -> Balance:
        """Write what one more question costs an individual; return the closing balance of the sitting."""
        name = _name(self._key, self._sitting, individual)
        *above, (last, content) = self._path(name)
        charged = Fraction(content[_SUMS].get(name, 0)) + epsilon
        changed = _subtree(self._key, self._sitting, last, {**content[_SUMS], name: str(charged)})
        below = last
        for page, inner in reversed(above):
            digests = {**inner[_BELOW], below[-1]: _digest(self._key, self._sitting, below, changed[below])}
            changed[page] = _text({_BELOW: digests})
            below = page
        for page in changed:
            self._connection.execute(delete(_PAGES).where(self._at(page)))
        rows = [{"sitting": self._sitting, "page": page, "content": text} for page, text in changed.items()]
        self._connection.execute(insert(_PAGES), rows)
        first = _digest(self._key, self._sitting, "", changed[""])
        return Balance(max(self._balance.sum, charged), self._balance.questions + 1, first)

    def _path(self, name: str) -> list[tuple[str, dict[str, dict[str, str]]]]:
        """Return the pages that lead to a name, from the first one on, each checked by (3)."""
        page, expected = "", self._balance.pages
        found: list[tuple[str, dict[str, dict[str, str]]]] = []
        while expected is not None:
            text = self._connection.execute(select(_PAGES.c.content).where(self._at(page))).scalar()
            if not isinstance(text, str) or _digest(self._key, self._sitting, page, text) != expected:
                raise LedgerAltered.where("question_pages", "must be as the ledger sealed them; a page was altered")
            content = json.loads(text)
            found.append((page, content))
            if _SUMS in content:
                return found
            page = name[: len(page) + 1]
            expected = content[_BELOW].get(page[-1])
        return [*found, (page, {_SUMS: {}})]

    def _at(self, page: str):  # type: ignore[no-untyped-def]
        return and_(_PAGES.c.sitting == self._sitting, _PAGES.c.page == page)


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
