"""Many processes that ask adaptively, some of them killed: `question_clients.py HOME CLIENTS QUESTIONS TOLD`.

Each client opens the records by itself, decides its next question from its last answer, and writes each answer into
TOLD, one line, once it has it. Whenever enough lines were written, one of the clients is killed with SIGKILL, wherever
it is, and another one starts in its place; so it goes on until all questions are told, or every client was told that
nothing is left. Imports are done once. Prints how many were killed.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg  # noqa: F401  # imported here once instead of in every child

from penstock.records import Home, LogAppendFailed, Records, open_records
from penstock.records.ledger.analysts import AllowanceExceeded
from penstock.records.ledger.ledger import BudgetExceeded
from penstock.records.ledger.questions import record_refusal
from tests.records.ledger_cases import HOW
from tests.records.question_cases import PERSONAL, QUESTION, asked

LONGEST_WAIT = 280
EPSILONS = (Fraction(1, 7), Fraction(2, 7), Fraction(1, 9))
PEOPLE = 5
MOST_REFUSED = 8
SHARED = 8  # questions that every client may come across
ROOT = Path(__file__).parents[2]


def clients(home: Home, count: int, questions: int, told: Path) -> tuple[int, list[dict[str, Any]]]:
    """Run this script; how many clients were killed, and everything that was told."""
    command = [sys.executable, "-m", "tests.records.question_clients", str(home.root), str(count), str(questions), told]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_WAIT + 60, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return int(done.stdout), [json.loads(line) for line in told.read_text().splitlines()]


def next_question(number: int, turn: int, last: bytes) -> dict[str, Any]:
    """Whatever the last answer was decides what is asked, of whom, and how exactly."""
    seed = hashlib.sha256(last).digest()
    asks_person = seed[0] % 2 == 1
    key = f"shared-{seed[1] % SHARED}" if seed[2] % 4 == 0 else f"{os.getpid()}-{turn}-{seed.hex()}"
    return {
        "key": f"{'person' if asks_person else 'all'}-{key}",
        "of": PERSONAL if asks_person else QUESTION,
        "individual": f"i{seed[3] % PEOPLE}" if asks_person else None,
        "epsilon": EPSILONS[seed[4] % len(EPSILONS)],
        "analyst": f"analyst-{number % 3}",
    }


def client(home: Home, number: int, told: Path) -> None:
    """Ask until nothing is left, or until the parent has heard enough."""
    records, last, turn, refused = open_records(home=home, whole=False), os.urandom(8), 0, 0
    out = os.open(told, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    while refused < MOST_REFUSED:
        turn += 1
        wanted = next_question(number, turn, last)
        line: dict[str, Any] = {"key": wanted["key"], "refused": None}
        try:
            answer = patiently(records, wanted)
            last = answer.answer
            line |= {"answer": last.hex(), "digest": answer.digest, "seq": answer.seq, "repeated": answer.repeated}
        except (BudgetExceeded, AllowanceExceeded) as refusal:
            refused += 1
            line["refused"], last = refusal.code, os.urandom(8)
            dataset = wanted["of"].dataset
            told_of = {"dataset": dataset, "analyst": wanted["analyst"], "key": wanted["key"], "code": refusal.code}
            record_refusal(records.log, **told_of, **HOW)
        os.write(out, json.dumps(line).encode() + b"\n")


def patiently(records: Records, wanted: dict[str, Any]) -> Any:
    """One of many writers may wait longer for its turn than the database lets it; then it asks again."""
    for _ in range(5):
        try:
            return asked(records, draw=lambda: os.urandom(8), **wanted)
        except LogAppendFailed:
            continue
    raise TimeoutError


def start(home: Home, number: int, told: Path) -> int:
    started = os.fork()
    if started == 0:
        status = 1
        try:
            signal.alarm(LONGEST_WAIT)
            client(home, number, told)
            status = 0
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            os._exit(status)
    return started


def main(root: str, count: str, questions: str, path: str) -> None:
    home, told, wanted = Home(Path(root)), Path(path), int(questions)
    told.touch(mode=0o600)
    living = {start(home, number, told): number for number in range(int(count))}
    every, killed, chance = max(3, wanted // 25), 0, random.Random(wanted)
    while living:
        heard = told.read_bytes().count(b"\n")
        if heard >= wanted or heard >= every * (killed + 1):
            victim = chance.choice(list(living))
            os.kill(victim, signal.SIGKILL)
            number = living.pop(victim)
            os.waitpid(victim, 0)
            killed += 1
            if heard < wanted:
                living[start(home, number, told)] = number
            continue
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended:
            if os.waitstatus_to_exitcode(status) != 0:
                for each in living.keys() - {ended}:
                    os.kill(each, signal.SIGKILL)
                sys.exit("a client failed; its error stands above")
            del living[ended]
        time.sleep(0.002)  # until there is more to hear
    sys.stdout.write(f"{killed}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
