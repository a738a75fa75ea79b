"""A measurement in a process of its own, so that its memory and caches are.

A small run measures nothing, so there it is done in this process, which has imported everything.
"""

from __future__ import annotations

import io
import json
import runpy
import subprocess
import sys
from contextlib import redirect_stdout
from typing import Any
from unittest import mock

from benchmarks.sizes import WHOLE


def in_a_process(module: str, *arguments: str) -> dict[str, Any]:
    """Run a module and read the last line that it prints, as JSON."""
    if not WHOLE:
        return _here(module, *arguments)
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _here(module: str, *arguments: str) -> dict[str, Any]:
    printed = io.StringIO()
    with mock.patch.object(sys, "argv", [module, *arguments]), redirect_stdout(printed):
        runpy.run_module(module, run_name="__main__")
    result: dict[str, Any] = json.loads(printed.getvalue().splitlines()[-1])
    return result
