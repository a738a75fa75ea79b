"""A measurement in a process of its own, so that its memory and caches are."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def in_a_process(module: str, *arguments: str) -> dict[str, Any]:
    """Run a module and read the last line that it prints, as JSON."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result
