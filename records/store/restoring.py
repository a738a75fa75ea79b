"""While a backup is being brought back nothing is released from the home, nor after that was refused or killed.

    <home>/restoring    on disk before the first file is copied; removed when everything was checked

What a restoration leaves on the way looks like a home: with keys, but with a ledger that is empty or older than what
was published. Its budget would be whole again.
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
    """From here on nothing is released from this home."""
    durable.write_whole(home.root / _MARKER, b"")
    durable.sync(home.root.parent)


def end_restoring(home: Home) -> None:
    """Everything was checked; the home is in use again."""
    (home.root / _MARKER).unlink()
    durable.sync(home.root)


def unfinished_restoration(home: Home) -> list[Fault]:
    """What is wrong with a home that was not restored to the end; nothing with any other."""
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
    """Refuse a home that was not restored to the end."""
    RestorationUnfinished.raise_for(unfinished_restoration(home))
