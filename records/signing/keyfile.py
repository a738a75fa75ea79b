"""Key files: made once, kept private.

If several processes start at the same time, one of them makes the key, and all of them use it. A key
that others could read is refused, not repaired: it may already be known.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from penstock.mechanisms.refusal import Refusal
from penstock.records.files import durable
from penstock.records.files.outside_text import NotOrdinary, open_ordinary

__all__ = ["KeyDamaged", "KeyExposed", "kept_key", "private_content"]


_LARGEST = 1 << 16


class KeyExposed(Refusal):
    """A key file can be read by other users."""

    code = "key-exposed"
    kind = "integrity"
    remedy = "Find out who read the key; then set mode 0600, or replace the key."


class KeyDamaged(Refusal):
    """A key file does not hold a key."""

    code = "key-damaged"
    kind = "integrity"
    remedy = "Restore the key file from its backup."


def kept_key(path: Path, make: Callable[[], bytes]) -> bytes:
    """Return the content of the key file; on first use make the file, with mode 0600."""
    if not path.exists():
        durable.create_once(path, make())
    return private_content(path)


def private_content(path: Path) -> bytes:
    """Return the content of a file that must exist; refuse it if others can read or change it."""
    try:
        descriptor = open_ordinary(path)
    except NotOrdinary:
        rule, remedy = "must be an ordinary file that you can read", "Check the path, or restore it from its backup."
        raise KeyDamaged.at(str(path), rule=rule, remedy=remedy) from None
    with os.fdopen(descriptor, "rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if mode & 0o077:
            raise KeyExposed.at(
                str(path),
                rule="must be readable by its owner only (mode 0600)",
                got=f"{mode:04o}",
                remedy="Find out who read it; then set mode 0600, or replace the key.",
            )
        return file.read(_LARGEST)
