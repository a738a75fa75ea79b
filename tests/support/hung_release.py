"""`penstock run SPEC`, whose main thread never comes back from a library once it has begun to read: SPEC SIGN [asleep].

SIGN: a file that is made when it hangs. asleep: it sleeps instead, and a signal wakes it.
"""

from __future__ import annotations

import ctypes
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from penstock.cli import _termination as termination
from penstock.cli import main as cli
from penstock.flows.prefect_setup import be_quiet
from penstock.records.home import Home
from tests.support.living_processes import LONGEST_WAIT

if __name__ == "__main__":
    spec, sign, *asleep = sys.argv[1:]
    home = Home.open().root
    be_quiet(home)  # before Prefect is imported, as the command does
    from penstock.tasks import ingest

    def hang(*_: Any, **__: Any) -> None:
        """Wait for a lock that this thread holds; the kernel takes up such a wait again after every signal."""
        Path(sign).touch()
        while asleep:
            time.sleep(3600)
        library, lock = ctypes.CDLL(None), ctypes.create_string_buffer(64)
        while True:
            library.pthread_mutex_lock(lock)

    ingest.read_source = hang  # type: ignore[assignment]
    if asleep:  # it ends by itself, however busy the machine is, and is not cut off
        termination.end_in_time = partial(termination.end_in_time, LONGEST_WAIT)
    sys.argv = ["penstock", "run", spec]
    cli.main()
