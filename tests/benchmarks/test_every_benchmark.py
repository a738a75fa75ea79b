"""Every benchmark runs to its end on little data. How long it takes is not looked at here.

Half a minute of that of the gateway is the start of a service. In `make test` it asks the one that test_serve.py has
started.
"""

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


# Imports once what all of them need, then forks a process for each.
TOGETHER = """
import os, runpy, sys, traceback
import pandas, pyarrow.parquet
import penstock.flows.release, penstock.measures.kernels, penstock.tasks.validation._engine
import penstock.mechanisms.microaggregation._rounds, penstock.mechanisms.noise.kernels
for name in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            sys.stdout = open(f"{os.environ['PRINTED']}/{name}", "w")
            sys.argv[1:] = []
            runpy.run_module(f"benchmarks.{name}", run_name="__main__")
            sys.stdout.flush()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit(f"{name} did not reach its end")
"""


APART = ("gateway",)
HERE = tuple(name for name in MEASURED if name not in APART)


@pytest.mark.parametrize("names", [HERE, pytest.param(APART, marks=pytest.mark.slow)], ids=len)
def test_a_small_run_of_each_reaches_its_end(names: tuple[str, ...], tmp_path: Path) -> None:
    pictures = {path: path.read_bytes() for path in (ROOT / "docs" / "pictures").iterdir()}
    settings = {**os.environ, "BENCH_SHARE": "0.0005", "PRINTED": str(tmp_path)}
    command = [sys.executable, "-c", TOGETHER, *names]
    done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in names:
        assert re.search(r"\d", (tmp_path / name).read_text(encoding="utf-8")), f"{name} prints figures"
    assert {path: path.read_bytes() for path in (ROOT / "docs" / "pictures").iterdir()} == pictures
