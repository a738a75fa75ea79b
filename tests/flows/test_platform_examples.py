"""What other platforms start from: the examples run as they stand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from workplace import Workplace

PLATFORM = Path(__file__).parents[2] / "deployments" / "platform"


def _release(place: Workplace) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    command = [str(PLATFORM / "release.sh"), str(place.write_spec())]
    return subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True)


def test_the_script_prints_the_folder_of_the_bundle(workplace: Workplace, prefect_home: Path) -> None:
    done = _release(workplace)
    [bundle] = workplace.bundles()
    assert (done.returncode, done.stdout) == (0, f"{bundle}\n")


@pytest.mark.parametrize(
    ("section", "value", "code", "told"),
    [
        ("name", "Not A Name", 2, "The spec was refused"),
        ("validate", {"min_rows": 10_000}, 3, "The data were refused"),
        ("gates", [{"measure": "average_risk", "max": 0.001}], 4, "A gate refused"),
    ],
)
def test_the_script_tells_what_to_do_about_a_refusal(
    workplace: Workplace, prefect_home: Path, section: str, value: object, code: int, told: str
) -> None:
    workplace.raw[section] = value
    done = _release(workplace)
    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr
    assert workplace.public_files() == []
