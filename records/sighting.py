"""Where the log stood when something signed was last added to it, written down in the home.

    <home>/seen.json    number and digest of that event

Who puts back an older copy of the database takes back what people decided since: a key that was withdrawn, a limit,
an approval. The home is not in the database's hands, so it notices. It is written after the commit: what is written
here is in the log for certain, and a crash between the two only leaves an older sighting. Each home of a database
remembers what it saw itself.
"""

from __future__ import annotations

import fcntl
import json
import os

from mechanisms.refusal import Refusal
from records import durable
from records.digest import canonical
from records.home import Home

__all__ = ["SEEN", "SightingDamaged", "SightingLost", "last_sighting", "note_sighting"]

SEEN = "seen.json"


class SightingDamaged(Refusal):
    """What the home wrote down of the log is not as it was written."""

    code = "sighting-damaged"
    kind = "integrity"


class SightingLost(Refusal):
    """The event is on record, but the home could not write down that it saw it."""

    code = "sighting-lost"


def note_sighting(home: Home, seq: int, digest: str) -> None:
    """Write down that the log holds this event, unless a later one was seen already."""
    try:
        descriptor = os.open(home.root / ".seen.lock", os.O_RDWR | os.O_CREAT, durable.PRIVATE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # of two that end together, the later event stays
            last = last_sighting(home)
            if last is None or last[0] < seq:
                durable.write_whole(home.root / SEEN, canonical({"seq": seq, "digest": digest}))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise SightingLost.at(
            SEEN,
            rule=f"the home must be able to write down where the log stands ({error.strerror})",
            remedy="It is on record in the log. Check the home's permissions and the free space.",
        ) from None


def last_sighting(home: Home) -> tuple[int, str] | None:
    """Number and digest of the last signed event that this home saw; None before the first."""
    try:
        content = json.loads((home.root / SEEN).read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        content = None
    match content:
        case {"seq": int(seq), "digest": str(digest)}:
            return seq, digest
    raise SightingDamaged.at(
        SEEN,
        rule="must be as it was written",
        remedy="Restore it, and find out who changed it; nothing is spent or published until then.",
    )
