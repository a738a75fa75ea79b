"""Refuse a waiting run and die when its end is on record and its folder is still there: RUN REVIEWER KEY."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from penstock.flows.review import review
from penstock.records.run import Run


def die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    Run.finish = die  # type: ignore[method-assign]
    review(sys.argv[1], reviewer=sys.argv[2], decision="refuse", reason="too wide", key=Path(sys.argv[3]))
