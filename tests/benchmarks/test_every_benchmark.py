"""Every benchmark runs to its end on little data. How long it takes is not looked at here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MEASURED = re.findall(r"-m benchmarks\.(\w+)", (ROOT / "Makefile").read_text(encoding="utf-8"))


def test_make_bench_runs_every_benchmark() -> None:
    run = 'if __name__ == "__main__"'
    modules = {path.stem for path in (ROOT / "benchmarks").glob("*.py") if run in path.read_text("utf-8")}
    assert len(MEASURED) == len(set(MEASURED))
    assert set(MEASURED) == modules


@pytest.mark.parametrize("name", MEASURED)
def test_a_small_run_reaches_its_end(name: str) -> None:
    pictures = {path: path.read_bytes() for path in (ROOT / "docs" / "pictures").iterdir()}
    command = [sys.executable, "-m", f"benchmarks.{name}"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "BENCH_SHARE": "0.0005"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"\d", done.stdout), "it prints figures"
    assert {path: path.read_bytes() for path in (ROOT / "docs" / "pictures").iterdir()} == pictures
