"""That the head follows everything the home has seen, without reading the whole log: for questions, which are many.

Let (s, d) be the oldest event that the home has written down (sighting.py) and not compared before, n and d_n the
number and digest of the head.

    walk     the events s .. n, each genuine (chain.py), the first one's digest being d, each other naming the one
             before it, the last one's digest being d_n, nothing behind it, and every other event that the home
             has seen standing on the way                                                                        (1)

What a scan protects from, and why (1) protects as well, as far as a transaction reads only what the head binds:

* An older copy put back. Each digest covers the one before it, so by (1) the head's history holds (s, d), and with it
  everything that (s, d) replaced in the home's memory (sighting.py (2)). A head that is older than s, or of a history
  that branched off before s, has no such walk: whoever lacks the key cannot write the events of one. What runs of this
  home wrote down with their outcome, at a number up to s, was in the memory too, if the event counts; if not
  (somebody else's event that happened to be the last), the next scan compares it.
* An index that lies. Nothing is asked of an index here: a hidden or exchanged event breaks the walk.
* Events of another history under the same key, each genuine. The walk cannot step on one. Events before s are not
  read here, so a reader must not believe one because it is genuine; it believes those whose digests are bound by L,
  which the seal of the head covers (ledger/_transactions.py): tails, balances, answers, the history of each subject.

What (1) leaves to the scan is damage to events that the reader does not read. `penstock audit verify` finds it, and so
does every release.

A process keeps where it last arrived, and walks on from there. A walk that fails is no verdict: the log is then
scanned as a whole, and the scan says what is wrong.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from threading import Lock

from sqlalchemy import Connection

from penstock.records.log import _rows as log_rows
from penstock.records.log.chain import SealedHead, head_holds, is_genuine
from penstock.records.log.sighting import Sighting

__all__ = ["Walked"]


class Walked:
    """How far one process has walked in one log."""

    def __init__(self) -> None:
        self._last: Sighting | None = None
        self._passed: frozenset[Sighting] = frozenset()
        self._lock = Lock()

    def to_head(self, connection: Connection, key: bytes, seen: Collection[Sighting]) -> SealedHead | None:
        """Return the head, if (1) holds for everything that was seen. Call it before anything is written."""
        with self._lock:
            head = log_rows.head(connection)
            if head is None or not head_holds(key, head):
                return None
            due = frozenset(seen) - self._passed
            due |= frozenset() if self._last is None else {self._last}
            if not due or not seen or max(due)[0] > head.seq:
                return None
            way = log_rows.entries_after(connection, min(due)[0] - 1)
            passed = {(entry.seq, entry.digest) for entry in way}
            if not due <= passed or (way[-1].seq, way[-1].digest) != (head.seq, head.digest):
                return None
            follows = all(
                (entry.seq, entry.previous) == (before.seq + 1, before.digest) for before, entry in pairwise(way)
            )
            if not follows or not all(is_genuine(key, entry) for entry in way):
                return None
            self._last, self._passed = (head.seq, head.digest), frozenset(seen)
            return head
