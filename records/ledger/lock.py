"""Releases of one data set take turns: a second one waits until the first has ended, or waits for its reviewers.

    <home>/turns/<digest of the name>   held with flock; the kernel lets go when the process ends, also by SIGKILL

The ledger is safe without it. It saves people from a release that was refused, or charged, only because another
was in progress.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.records.files import durable
from penstock.records.home import Home

__all__ = ["take_turn"]


@contextmanager
def take_turn(home: Home, dataset: str) -> Iterator[None]:
    """Wait until nobody else on this machine is working on the data set of this name."""
    folder = home.root / "turns"
    folder.mkdir(mode=0o700, exist_ok=True)
    name = hashlib.sha256(dataset.encode()).hexdigest()
    descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT, durable.PRIVATE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
