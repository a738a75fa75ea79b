"""Hand in one decision by many processes at the same moment: `decision_racer.py HOME SIGNATURE NOW COUNT`.

Imports are done once; each child opens the log by itself, and all wait for the end of a pipe. Each prints the state, or
the code of its refusal.
"""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from datetime import datetime
from pathlib import Path

import psycopg  # noqa: F401  # imported here once instead of in every child

from penstock.records import Home, open_records
from penstock.records.approval.approval import DecisionRefused, decide
from tests.records.reviewers import CONTENT

ROOT = Path(__file__).parents[2]


def race(home: Home, signature: str, now: datetime, count: int) -> list[str]:
    """Run this script; what its children printed, sorted."""
    command = [sys.executable, __file__, str(home.root), signature, now.isoformat(), str(count)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.split())


def hand_in(root: str, signature: str, now: str, ready: int, gate: int) -> None:
    log = open_records(home=Home(Path(root))).log
    os.write(ready, b".")
    os.read(gate, 1)
    try:
        after = decide(
            log,
            run="run-1",
            content=CONTENT,
            reviewer="anna",
            decision="approve",
            signature=signature,
            reason="",
            actor="racer",
            now=datetime.fromisoformat(now),
        )
        told = after.state
    except DecisionRefused as refusal:
        told = refusal.code
    os.write(1, f"{told}\n".encode())


def main(root: str, signature: str, now: str, count: str) -> None:
    (gate, opener), (told, ready) = os.pipe(), os.pipe()
    children = []
    for _ in range(int(count)):
        child = os.fork()
        if child == 0:
            os.close(opener)
            status = 1
            try:
                hand_in(root, signature, now, ready, gate)
                status = 0
            except BaseException:
                traceback.print_exc()
                raise
            finally:
                os._exit(status)
        children.append(child)
    os.close(ready)
    waiting = 0
    while waiting < len(children) and (arrived := os.read(told, len(children))):
        waiting += len(arrived)
    os.close(opener)
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0 for child in children))


if __name__ == "__main__":
    main(*sys.argv[1:])
