"""Append events to the log of a home: `log_writer.py HOME WRITER COUNT`; prints each number when it is on disk."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

from records import Action, Home, open_records


def main(root: str, writer: str, count: str) -> None:
    records = open_records(home=Home(Path(root)))
    for index in range(int(count)):
        event = records.log.append(
            Action.PLANNED, run=writer, actor="writer", facts={"index": index}, occurred=datetime.now(UTC)
        )
        sys.stdout.write(f"{event.seq}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
