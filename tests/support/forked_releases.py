"""Releases in processes of their own, which can be killed at a chosen point (see zygote.py)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.workplace import Workplace

ROOT = Path(__file__).parents[2]


class Zygote:
    """The process that forks a child for each run."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("zygote.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def run(self, workplace: Workplace, point: str = "", *, again: bool = False) -> int:
        """Release in a child; its exit status. point: where it is killed. again: ask for another release."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {
            "spec": str(workplace.spec_file),
            "environment": {
                **{name: value for name, value in os.environ.items() if name.startswith(("AWS_", "PENSTOCK_DB"))},
                "PENSTOCK_HOME": str(workplace.home),
            },
            "point": point,
            "more": {"again": True} if again else {},
        }
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()
