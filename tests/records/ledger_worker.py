"""Many processes that want the same at the same moment: `ledger_worker.py HOME COUNT WHAT`.

WHAT is `reserve` (each its own run), `resume` (all of them one run) or `open` (a database that is not
there yet). Imports are done once; the children wait for the end of a pipe, then each opens the records
by itself. Prints the exit status of each child: 0 done, 5 budget refused, 1 anything else, negative the
signal that ended it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import traceback
from collections import Counter
from fractions import Fraction
from pathlib import Path

import alembic.command  # noqa: F401  # imported here once instead of in every child
import psycopg  # noqa: F401

from penstock.records import Home, open_records
from penstock.records.ledger.ledger import BudgetExceeded
from tests.records.ledger_cases import HOW, claim

# A child that hangs is ended by the alarm, and its status tells.
LONGEST_WAIT = 120
PRICE = Fraction(1, 7)
ROOT = Path(__file__).parents[2]


def race(home: Home, count: int, what: str) -> Counter[int]:
    """Run this script; how many children ended with which status."""
    command = [sys.executable, "-m", "tests.records.ledger_worker", str(home.root), str(count), what]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_WAIT + 60, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    found = Counter(int(line) for line in done.stdout.split())
    assert set(found) <= {0, 5}, done.stderr
    return found


def work(home: Home, what: str, number: int) -> int:
    records = open_records(home=home)
    if what == "open":
        return 0
    run = "one" if what == "resume" else f"run-{number}"
    try:
        records.ledger.reserve(claim(epsilon=PRICE), run=run, **HOW)
    except BudgetExceeded:
        return 5
    return 0


def child(home: Home, what: str, number: int, gate: int) -> None:
    status = 1
    try:
        signal.alarm(LONGEST_WAIT)
        os.read(gate, 1)
        status = work(home, what, number)
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(status)


def main(root: str, count: str, what: str) -> None:
    home = Home(Path(root))
    gate, opener = os.pipe()
    children = []
    for number in range(int(count)):
        started = os.fork()
        if started == 0:
            os.close(opener)
            child(home, what, number, gate)
        children.append(started)
    os.close(opener)
    for started in children:
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(started, 0)[1])}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
