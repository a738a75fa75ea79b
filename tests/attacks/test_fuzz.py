"""No mutated input makes a command fail with a traceback, wait, fill the memory, or tell a value of the data.

The cases are numbered, and each is made from its number (see fuzz_cases.py). A few run with every test; many with
`make test-slow`, among them releases. Longer runs: fuzz_server.py FIRST COUNT.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.attacks import fuzz_cases

ROOT = Path(__file__).parents[2]
FEW, MANY, RELEASES = 12, 600, 40


def run_cases(folder: Path, first: int, count: int, *more: str) -> dict[str, Any]:
    """The figures of a run of cases; what ended badly is kept in the folder and shown."""
    run = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("fuzz_server.py")), str(first), str(count), *more],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "FUZZ_KEPT": str(folder)},
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return dict(json.loads(run.stdout))


def require_sound(figures: dict[str, Any], count: int) -> None:
    assert (figures["cases"], figures["faults"]) == (count, [])


@pytest.mark.slow
def test_a_few_mutated_inputs_end_well(tmp_path: Path) -> None:
    figures = run_cases(tmp_path, 0, FEW)
    require_sound(figures, FEW)
    assert len({name.split()[0] for name in figures["codes"]}) == len(fuzz_cases.KINDS)


@pytest.mark.slow
def test_many_mutated_inputs_end_well(tmp_path: Path) -> None:
    figures = run_cases(tmp_path, 10_000, MANY)
    require_sound(figures, MANY)
    assert {name.split()[1] for name in figures["codes"]} >= {"0", "2", "3"}  # some changes do no harm


@pytest.mark.slow
def test_releases_of_mutated_inputs_end_well(tmp_path: Path) -> None:
    require_sound(run_cases(tmp_path, 20_000, RELEASES, "--releases"), RELEASES)


def test_a_case_is_made_from_its_number() -> None:
    for seed in range(12):
        assert fuzz_cases.case(seed) == fuzz_cases.case(seed)
    assert len({str(fuzz_cases.case(seed).files) for seed in range(60)}) == 60


@pytest.mark.slow
def test_an_accident_would_be_noticed(tmp_path: Path) -> None:
    """The twin: a command that fails with a value of the data in its traceback, and one that never ends."""
    code = (
        "import sys, os\n"
        "from tests.attacks import fuzz_cases, fuzz_server\n"
        "def fail(): raise ValueError('CANARY-PERSON-1')\n"
        "def hang():\n    while True: pass\n"
        "def die(): os.kill(os.getpid(), 11)\n"
        "fuzz_server.SECONDS = 1\n"
        "for main in (fail, hang, die):\n"
        "    fuzz_server.cli.main = main\n"
        "    print(fuzz_server.run_case(fuzz_cases.case(0)).faults)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "FUZZ_KEPT": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    failed, hung, died = run.stdout.splitlines()
    assert "exit code 70" in failed
    assert "traceback" in failed
    assert "told a value of the data" in failed
    assert "computed too long" in hung
    assert "exit code -11" in died
