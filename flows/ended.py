"""SIGTERM ends a command within seconds, wherever it is.

Without anything done the kernel ends the process at once, and that is how most commands end. A release is another
matter: Prefect takes the signal as an exception, puts the end on record, and only then lets go. That needs the main
thread, which may be inside a library and not come back. So a thread waits for the signal too, and after a while cuts
the process off: nothing is half published, and what was drawn waits for the next run of the same spec. The private
Prefect server notices the end of the command by itself.

The kernel's signal writes a byte to a pipe (signal.set_wakeup_fd), whatever the main thread does.
"""

from __future__ import annotations

import os
import signal
import threading
import time

__all__ = ["TERMINATED", "end_in_time"]

TERMINATED = 128 + signal.SIGTERM
_GRACE = 5.0


def end_in_time(grace: float = _GRACE) -> None:
    """From here on the process lives at most this long after SIGTERM."""
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)

    def watch() -> None:
        while signal.SIGTERM not in os.read(heard, 64):
            continue
        time.sleep(grace)
        os._exit(TERMINATED)

    threading.Thread(target=watch, daemon=True).start()
