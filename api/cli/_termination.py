"""SIGTERM ends a command within seconds, wherever it is.

The signal becomes an exception in the main thread, so that whatever the command is doing puts its end on record and
releases what it holds. That needs the main thread, which may be inside a library and not return. So a thread waits for
the signal too, and after a while ends the process: nothing is half published, and what was drawn waits for the next
run of the same spec. Within a flow run Prefect has a handler of its own, and calls ours when it is done.

The signal also writes a byte to a pipe (signal.set_wakeup_fd), whatever the main thread is doing.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import NoReturn

__all__ = ["TERMINATED", "Terminated", "end_in_time"]

TERMINATED = 128 + signal.SIGTERM
_GRACE = 5.0


class Terminated(SystemExit):
    """An exit because the process was told to end; the name of this class is the code on record."""


def end_in_time(grace: float = _GRACE) -> None:
    """Make SIGTERM end this process, at most this many seconds after the signal. Call it in the main thread."""
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, _end)

    def watch() -> None:
        while signal.SIGTERM not in os.read(heard, 64):
            continue
        time.sleep(grace)
        os._exit(TERMINATED)

    threading.Thread(target=watch, daemon=True).start()


def _end(*_: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # another one must not disturb putting the end on record
    raise Terminated(TERMINATED)
