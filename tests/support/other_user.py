"""Another user of this machine: a plain Python of the system, run as nobody."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

PYTHON = Path("/usr/bin/python3")
NOBODY = 65534

# Ask for an address with a cookie; the status of the answer.
REPLAY = """
import sys, urllib.error, urllib.request
request = urllib.request.Request(sys.argv[1], headers={"Cookie": sys.argv[2]})
try:
    with urllib.request.urlopen(request, timeout=300) as answer: print(answer.status)
except urllib.error.HTTPError as error: print(error.code)
"""


def require_other_user() -> None:
    """Skip where there is nobody to be: only root becomes somebody else."""
    if os.geteuid() != 0:
        pytest.skip("the tests do not run as root, who alone can act as another user")
    if not PYTHON.exists():
        pytest.skip(f"no {PYTHON}, and another user cannot use the Python of these tests")


def as_nobody(script: str, *arguments: object) -> str:
    """Run a script as another user; what it prints."""
    done = subprocess.run(
        [str(PYTHON), "-I", "-c", script, *map(str, arguments)],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        env={"PATH": os.defpath},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
