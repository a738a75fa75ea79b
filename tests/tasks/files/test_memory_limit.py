"""Under a limit a release takes no more memory for its data than the limit says, however large its source is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LIMIT = 100 * 10**6


def peak(folder: Path, kind: str, rows: int, memory: str) -> int:
    """Bytes of the largest process of `penstock run`, from the source to the published bundle."""
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    program = str(ROOT / "tests" / "tasks" / "limited_release.py")
    done = subprocess.run(
        [sys.executable, program, str(folder), kind, str(rows), memory],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "rows"), [("table", 1_500_000), ("dp_table", 1_500_000), ("ir_swap", 530_000)])
def test_a_source_as_large_as_the_limit_or_larger_is_released_within_it(tmp_path: Path, kind: str, rows: int) -> None:
    program = peak(tmp_path / "small", kind, 2_000, "100 MB")  # what the program itself takes
    limited = peak(tmp_path / "limited", kind, rows, "100 MB") - program
    free = peak(tmp_path / "free", kind, rows, "none") - program
    assert limited < LIMIT
    assert free > 3 * LIMIT  # so there was something to limit
