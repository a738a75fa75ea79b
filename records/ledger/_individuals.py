"""What has been asked about each individual, so that one balance is found, and the largest known, without all others.

Questions about one individual cost that individual only, so a sitting of such questions costs the largest sum of one.
The sums are kept in the pages of a tree (_pages.py), whose first digest is sealed with the balance of the sitting:

    name      keyed(K, "individual of sitting", sitting, individual)                               (1)

By (1) whoever reads the table learns neither who was asked about, nor whether two sittings asked about the same one.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sqlalchemy import Connection

from penstock.records.files.digest import keyed
from penstock.records.ledger._balances import Balance, added
from penstock.records.ledger._pages import Pages, pages_with

__all__ = ["Individuals", "pages_of"]


class Individuals:
    """The sums of one sitting, as one transaction sees them."""

    def __init__(self, connection: Connection, key: bytes, sitting: str, balance: Balance) -> None:
        self._key, self._sitting, self._balance = key, sitting, balance
        self._pages = Pages(connection, key, sitting, balance.pages)

    def sum_of(self, individual: str) -> Fraction:
        """Return what the questions about one individual have cost."""
        return Fraction(self._pages.value_of(_name(self._key, self._sitting, individual)) or 0)

    def with_question(self, individual: str, epsilon: Fraction) -> tuple[Balance, dict[str, str]]:
        """Return the closing balance of the sitting after one more question, and the pages that it changes."""
        charged = added(self.sum_of(individual), epsilon)
        first, changed = self._pages.with_value(_name(self._key, self._sitting, individual), str(charged))
        return Balance(max(self._balance.sum, charged), self._balance.questions + 1, first), changed


def pages_of(key: bytes, sitting: str, sums: Mapping[str, Fraction]) -> tuple[dict[str, str], str | None]:
    """Return every page of a sitting, and the digest of the first; none if nobody was asked about."""
    return pages_with(key, sitting, {_name(key, sitting, individual): str(total) for individual, total in sums.items()})


def _name(key: bytes, sitting: str, individual: str) -> str:
    return keyed(key, "individual of sitting", sitting, individual)
