"""Hand in one decision when told to: `decision_racer.py HOME SIGNATURE NOW`; prints the state or the refusal's code."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

from penstock.records import Home, open_records
from penstock.records.approval.approval import DecisionRefused, decide
from tests.records.reviewers import CONTENT


def main(root: str, signature: str, now: str) -> None:
    log = open_records(home=Home(Path(root))).log
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
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
        sys.stdout.write(f"{after.state}\n")
    except DecisionRefused as refusal:
        sys.stdout.write(f"{refusal.code}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
