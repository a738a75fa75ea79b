"""Under a limit a release takes no more memory for its data than the limit says, however large its source is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def peak(folder: Path, kind: str, rows: int, memory: str) -> int:
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests")))}
    program = str(Path(__file__).with_name("limited_release.py"))
    done = subprocess.run(
        [sys.executable, program, str(folder), kind, str(rows), memory],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "memory", "rows"), [("table", 100, 1_500_000), ("ir_swap", 100, 530_000)])
def test_a_source_several_times_larger_than_the_limit_is_released_within_it(
    tmp_path: Path, kind: str, memory: int, rows: int
) -> None:
    program = peak(tmp_path / "small", kind, 2_000, f"{memory} MB")  # what the program itself takes
    assert peak(tmp_path / "large", kind, rows, f"{memory} MB") - program < memory * 10**6
