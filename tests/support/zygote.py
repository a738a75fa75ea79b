"""Runs releases in forked children that can be killed at a chosen point.

Everything is imported once; each release is a child of its own, so a kill costs a run and not an
import. Reads one JSON order a line, answers with the child's exit status.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import great_expectations  # noqa: F401  # imported here once instead of in every child
import opendp.measurements  # noqa: F401

import penstock.measures.kernels
import penstock.mechanisms.microaggregation._rounds
import penstock.mechanisms.microaggregation.kernels
import penstock.mechanisms.noise.kernels  # noqa: F401
from penstock.flows.release import release
from penstock.flows.spec import load_spec
from penstock.records.bundle import bundle
from penstock.records.files import durable, object_store
from penstock.records.ledger.ledger import Ledger
from penstock.records.log.log import Log
from penstock.tasks import look
from penstock.tasks.files import columns
from penstock.tasks.run import job

# The ledger writes its events in transactions of its own.
LEDGER = {"RESERVED": "reserve_all", "SPENT": "spend", "SETTLED": "settle"}


def die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def before(owner: Any, name: str, when: Callable[..., bool] = lambda *_, **__: True) -> None:
    original = getattr(owner, name)
    setattr(owner, name, lambda *a, **k: die() if when(*a, **k) else original(*a, **k))


def after(owner: Any, name: str, when: Callable[..., bool] = lambda *_, **__: True) -> None:
    original = getattr(owner, name)

    def run(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if when(*args, **kwargs):
            die()
        return result

    setattr(owner, name, run)


def die_later(calls: int, place: str) -> None:
    """Kill this process when this many calls and returns of functions have followed an event of the log.

    They are counted, not timed, so that a busy machine changes nothing; main() kills a release that ends before.
    """
    original = Log.append
    left = calls

    def count(*_: Any) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            die()

    def append(log: Log, action: Any, **facts: Any) -> Any:
        written = original(log, action, **facts)
        if action.value == place:
            sys.setprofile(count)
        return written

    Log.append = append  # type: ignore[method-assign]


def arm(point: str) -> None:
    """Kill this process at a point: before/after an event of the log, the marker of a draw, or inside publication;
    or, as in "100 calls after PUBLISHED", some way behind an event."""
    moment, _, place = point.partition(" ")
    if moment not in ("", "before", "after"):
        die_later(int(moment), place.split()[-1])
        return
    trap = before if moment == "before" else after
    if place in LEDGER:
        trap(Ledger, LEDGER[place])
    elif place == "LOOKED":
        trap(look, "look")
    elif place == "LEFT_OUT":
        trap(job, "note_left_out")
    elif place.isupper():
        trap(Log, "append", lambda log, action, **_: action.value == place)
    elif place == "marker":
        trap(durable, "write_whole", lambda path, *_: path.name == "protected.json")
    elif place == "files":
        trap(durable, "write_whole", lambda path, *_: path.name == "files.json")
    elif place.startswith("marker of "):
        output = place.split()[-1]
        trap(durable, "write_whole", lambda path, *_: (path.parent.name, path.name) == (output, "protected.json"))
    elif place.startswith("drawing of "):  # which begins with its charge
        output = place.split()[-1]
        trap(Ledger, "spend", lambda *_, draws, **__: output in draws)
    elif place == "csv":
        trap(columns, "write_csv")
    elif place == "manifest":
        trap(durable, "write", lambda path, *_, **__: path.name == "manifest.json")
    elif place == "sealed":
        trap(durable, "write_whole", lambda path, *_: path.name == "sealed.json")
    elif place == "rename":
        trap(bundle, "_rename")
    elif place == "claim":
        trap(object_store, "create", lambda path, *_: path.name.endswith(".claim"))
    elif place == "upload":
        trap(object_store, "put_file", lambda path, *_: path.name == "data.parquet")
    elif place == "appearance":
        trap(object_store, "create", lambda path, *_: path.name == "manifest.json")
    elif place == "outcome":
        trap(durable, "write_whole", lambda path, *_: path.name == "outcome.json")
    elif place:
        raise ValueError(place)


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            os.environ |= order["environment"]
            arm(order["point"])
            receipt = release(load_spec(Path(order["spec"])), **order["more"])
            if "calls after" in order["point"] and not receipt.earlier:
                die()  # behind everything: nobody has seen the receipt
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
