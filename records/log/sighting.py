"""Where the log stood when something that counts was last added to it, written down in the home.

    <home>/seen.json    number and digest of one event; of several while writers overlap

Whoever puts back an older copy of the database undoes what happened since: a key that was withdrawn, a limit, an
approval, what was spent. The database does not control the home, so the home notices. Let M be what is written down,
and C the log as the transaction has scanned it (_scan.py):

    every transaction that reads the log requires that C holds M                          (1)
    after its commit, event h is written down: M := (M without what (1) found in C) + h    (2)

A digest covers all events before it, so a log that holds h holds what h replaced. What another writer wrote down
meanwhile was not compared with C, and stays: an event never replaces a sighting that its own log does not hold.

It is written after the commit: what is written here is certainly in the log, and a crash between the two only leaves
an older sighting. Each home of a database remembers what it saw itself.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Collection
from dataclasses import dataclass

from penstock.mechanisms.refusal import Refusal
from penstock.records.files import durable
from penstock.records.files.digest import canonical
from penstock.records.home import Home

__all__ = ["SEEN", "Memory", "Sighting", "SightingDamaged", "SightingLost", "remembered"]

SEEN = "seen.json"
Sighting = tuple[int, str]  # number and digest of an event


class SightingDamaged(Refusal):
    """The home's own note of where the log ends is not as it was written."""

    code = "sighting-damaged"
    kind = "integrity"
    remedy = "Restore the named file of the home, and find out who changed it."


class SightingLost(Refusal):
    """The event is on record, but the home could not note where the log ends."""

    code = "sighting-lost"
    remedy = "Check the permissions and the free space of the home; the event is on record."


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory that one home has of its log. ended: what its runs wrote down, read when the log was opened; what they
    wrote since is in the home's own file too."""

    home: Home
    ended: frozenset[Sighting] = frozenset()

    def sightings(self) -> frozenset[Sighting]:
        """Return every event that this home has seen in the log."""
        return self.ended | remembered(self.home)

    def newest(self) -> frozenset[Sighting]:
        """Return the sightings that no other one covers, by (2), unless runs noted an event that did not count; none
        before the first is in the home's own file."""
        own = remembered(self.home)
        return own | {each for each in self.ended if each[0] > min(own)[0]} if own else own

    def note(self, new: Sighting, held: Collection[Sighting]) -> None:
        """Write down the new event, by (2). held: what the log of the new event was found to hold."""
        try:
            descriptor = os.open(self.home.root / ".seen.lock", os.O_RDWR | os.O_CREAT, durable.PRIVATE)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                kept = sorted((remembered(self.home) - frozenset(held)) | {new})
                durable.write_whole(self.home.root / SEEN, canonical([{"seq": s, "digest": d} for s, d in kept]))
            finally:
                os.close(descriptor)
        except OSError as error:
            raise SightingLost.at(
                SEEN,
                rule=f"must be writable, to hold where the log ends ({error.strerror})",
                remedy="Check the home's permissions and the free space; the event is on record in the log.",
            ) from None


def remembered(home: Home) -> frozenset[Sighting]:
    """Return the events that this home wrote down; none before the first."""
    try:
        content = json.loads((home.root / SEEN).read_bytes())
    except FileNotFoundError:
        return frozenset()
    except ValueError:
        content = None
    found = frozenset(_sightings(content))
    if not found:
        raise SightingDamaged.at(
            SEEN,
            rule="must be as it was written",
            remedy="Restore it, and find out who changed it; nothing is spent or published until then.",
        )
    return found


def _sightings(content: object) -> list[Sighting]:
    """Return the sightings in the file; none if any of it is not a sighting."""
    found = list[Sighting]()
    for each in content if isinstance(content, list) else ():
        match each:
            case {"seq": int(seq), "digest": str(digest)}:
                found.append((seq, digest))
            case _:
                return []
    return found
