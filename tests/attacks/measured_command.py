"""A command in a process of its own: what it printed, and what it took of the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PENSTOCK = Path(sys.executable).with_name("penstock")


@dataclass(frozen=True)
class Measured:
    """memory: the most that it held, in KiB. seconds: of the processor, which a busy machine does not change."""

    code: int
    printed: str
    memory: int
    seconds: float


def measured(*arguments: object) -> Measured:
    """Run a command to its end."""
    command = subprocess.Popen(
        [str(PENSTOCK), *map(str, arguments)],
        env={name: value for name, value in os.environ.items() if not name.startswith("PREFECT")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with command:
        assert command.stdout is not None
        printed = command.stdout.read()
        _, status, used = os.wait4(command.pid, 0)
        command.returncode = os.waitstatus_to_exitcode(status)
    return Measured(command.returncode, printed, used.ru_maxrss, used.ru_utime + used.ru_stime)
