"""A command in a process of its own: what it printed, and what it took of the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PENSTOCK = Path(sys.executable).with_name("penstock")
# Linux counts the memory of whoever starts a program as the program's own. So a small process starts it.
START = """
import json, os, sys
command = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, 2, 1)])
_, status, used = os.wait4(command, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_maxrss, used.ru_utime + used.ru_stime]))
"""


@dataclass(frozen=True)
class Measured:
    """memory: the most that it held, in KiB. seconds: of the processor, which a busy machine does not change."""

    code: int
    printed: str
    memory: int
    seconds: float


def measured(*arguments: object) -> Measured:
    """Run a command to its end."""
    started = subprocess.run(
        [sys.executable, "-I", "-S", "-c", START, str(PENSTOCK), *map(str, arguments)],
        env={name: value for name, value in os.environ.items() if not name.startswith("PREFECT")},
        capture_output=True,
        text=True,
        check=True,
    )
    code, memory, seconds = json.loads(started.stdout)
    return Measured(code, started.stderr, memory, seconds)
