"""While a backup is being brought back nothing is released from the home, nor after that was refused or killed.

    <home>/restoring    on disk before the first file is copied; removed when everything was checked

A half-finished restoration looks like a home: it has keys, but a ledger that is empty or older than what was
published. Its budget would be whole again.
"""

from __future__ import annotations

from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.files import durable
from penstock.records.home import Home

__all__ = ["RestorationUnfinished", "begin_restoring", "end_restoring", "require_restored", "unfinished_restoration"]

_MARKER = "restoring"


class RestorationUnfinished(Refusal):
    """A backup was being restored into this home, and that was refused or did not finish."""

    code = "restoration-unfinished"
    kind = "integrity"
    remedy = "Restore the newest backup into a new home and an empty database."


def begin_restoring(home: Home) -> None:
    """Mark the home as being restored: from here on nothing is released from it."""
    durable.write_whole(home.root / _MARKER, b"")
    durable.sync(home.root.parent)


def end_restoring(home: Home) -> None:
    """Mark the home as in use again: everything was checked."""
    (home.root / _MARKER).unlink()
    durable.sync(home.root)


def unfinished_restoration(home: Home) -> list[Fault]:
    """Return the fault of a home whose restoration was not completed; none for any other."""
    if not (home.root / _MARKER).exists():
        return []
    return [
        Fault(
            str(home.root / _MARKER),
            "must be gone before anything is decided, spent or published here: a restoration was not completed",
            "Restore the newest backup into a new home and an empty database, with every --bundles.",
        )
    ]


def require_restored(home: Home) -> None:
    """Refuse a home whose restoration was not completed."""
    RestorationUnfinished.raise_for(unfinished_restoration(home))
