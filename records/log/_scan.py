"""The log is believed as a whole or not at all: which events a run has is found by reading every one.

    scan     all events, checked together against chain, head and seal                              (1)
    known    of a log that passed (1): the digest of each event, and the numbers by run and action   (2)
    seen     what the home remembers (sighting.py) must be among the digests of (2)                  (3)

A question to the database ("the events of this run") is answered from an index, and an index says whatever
its administrator makes it say: events can be kept out of the answer although none was touched. So (2) is
built here from (1), kept in the memory of this process, and extended by what was written since; rows
that it names are fetched by number, and refused if one is missing or is not the one that was scanned. For the same
reason (3) is never asked of the database: it could show an event to those who ask for its number, and to nobody else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from threading import Lock

from sqlalchemy import Connection

from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.log import _rows as log_rows
from penstock.records.log.chain import GENESIS, Entry, SealedHead, find_faults, head_holds, is_genuine
from penstock.records.log.sighting import Sighting

__all__ = ["Known", "LogAltered", "altered", "scan", "unseen_faults"]


class LogAltered(Refusal):
    """The log is not as it was written."""

    code = "log-altered"
    kind = "integrity"
    remedy = "Keep the database as it is, run `penstock audit verify`, and restore the newest backup."


def scan(connection: Connection, key: bytes) -> tuple[list[Entry], list[Fault]]:
    """Return (1): every event, with everything that is wrong."""
    entries = log_rows.entries_after(connection, None)
    return entries, find_faults(key, entries, log_rows.head(connection))


def unseen_faults(seen: Iterable[Sighting], digest: Callable[[int], str | None]) -> list[Fault]:
    """Check (3): return a fault for the last event that the home has seen and that is not in this log, if there is one.

    digest: gives the digest of the event with a given number, as it was scanned.
    """
    missing = [number for number, its_digest in seen if digest(number) != its_digest]
    if not missing:
        return []
    return [
        Fault(
            f"event {max(missing)}",
            "must be the one that this home has seen: the log was cut short or replaced",
            "Restore the newest backup of the database; nothing is spent or published until then.",
        )
    ]


def altered(seq: int) -> LogAltered:
    """Return the refusal to believe one event."""
    return LogAltered.at(
        f"event {seq}",
        rule="must be as it was written; it was altered",
        remedy="Run `penstock audit verify` to see all that is wrong.",
    )


class Known:
    """(2), for one log in one process. It only ever grows."""

    def __init__(self) -> None:
        self._digests: list[str] = []
        self._numbers: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        self._lock = Lock()  # steps of one release may ask from several threads

    def catch_up(self, connection: Connection, key: bytes, before: int | None, seen: Collection[Sighting] = ()) -> None:
        """Read what was written since, and refuse a log that fails (3); events from number `before` on are not
        committed yet, and are not kept."""
        with self._lock:
            later = log_rows.entries_after(connection, len(self._digests))
            if not self._follows(key, later, log_rows.head(connection)):
                later = self._scanned(connection, key, seen)
            since = {entry.seq: entry.digest for entry in later}
            LogAltered.raise_for(unseen_faults(seen, lambda number: since.get(number) or self._digest(number)))
            self._keep([entry for entry in later if before is None or entry.seq < before])

    def learn(self, entries: Sequence[Entry], before: int | None) -> None:
        """Take over a scan that was just made."""
        with self._lock:
            self._keep(self._later(entries, before))

    def digest(self, number: int) -> str | None:
        """Return the digest of one event, as it was scanned."""
        with self._lock:
            return self._digest(number)

    def entries(self, connection: Connection, key: bytes, run: str, only: Collection[str] | None = None) -> list[Entry]:
        """Return the events of one run, or those of them with one of these actions; refuse if one differs from its
        scan."""
        with self._lock:
            listed = self._numbers.get(run, {}).items()
            numbers = sorted(number for action, some in listed if only is None or action in only for number in some)
            wanted = {number: self._digests[number - 1] for number in numbers}
        found = log_rows.entries_numbered(connection, list(wanted))
        genuine = {entry.seq: entry.digest for entry in found if is_genuine(key, entry)}
        for number, digest in wanted.items():
            if genuine.get(number) != digest:
                raise altered(number)
        return found

    def _digest(self, number: int) -> str | None:
        return self._digests[number - 1] if 1 <= number <= len(self._digests) else None

    def _follows(self, key: bytes, later: Sequence[Entry], head: SealedHead | None) -> bool:
        """Return whether these events continue what is known, up to the head."""
        seq, digest = len(self._digests), self._digests[-1] if self._digests else GENESIS
        for entry in later:
            if entry.seq != seq + 1 or entry.previous != digest or not is_genuine(key, entry):
                return False
            seq, digest = entry.seq, entry.digest
        return head is not None and head_holds(key, head) and (head.seq, head.digest) == (seq, digest)

    def _scanned(self, connection: Connection, key: bytes, seen: Collection[Sighting]) -> list[Entry]:
        """Scan the whole log, which shows better what is wrong, and return what is new; refuse a sound log that is
        another log."""
        entries, faults = scan(connection, key)
        if faults:
            digests = {entry.seq: entry.digest for entry in entries}
            LogAltered.raise_for([*faults, *unseen_faults(seen, digests.get)])
        return self._later(entries, None)

    def _later(self, entries: Sequence[Entry], before: int | None) -> list[Entry]:
        known = len(self._digests)
        if [entry.digest for entry in entries[:known]] != self._digests:
            raise LogAltered(
                Fault(
                    f"event {known}",
                    "must be the one that was there a moment ago: the log was cut short or replaced",
                    "Restore the newest backup of the database; nothing is spent or published until then.",
                )
            )
        return [entry for entry in entries[known:] if before is None or entry.seq < before]

    def _keep(self, later: Sequence[Entry]) -> None:
        for entry in later:
            self._digests.append(entry.digest)
            self._numbers[entry.run][entry.action].append(entry.seq)
