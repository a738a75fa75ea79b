"""Loaded by every worker of a test's cluster: the first that comes to a chosen point dies there, by SIGKILL; or all do.

The orders are read when a point is reached, from the file that TEST_ORDERS names: {"point": ..., "folder": ...,
"all": ...}. Every draw leaves a line in the folder, whoever makes it.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import penstock.mechanisms.probabilistic_k_anonymity._mechanism as swapping
from penstock.tasks.parts import assess, cells, ingest, swap

POINTS: dict[str, tuple[Any, str]] = {
    "reading": (ingest, "save_whole"),
    "counting": (cells, "count_part_cells"),
    "counting again": (cells, "count_part"),
    "draw": (swap, "draw_once"),
    "swap": (swapping, "swap_column"),
    "judging": (assess, "column_verdicts"),
}


def dask_setup(worker: object) -> None:
    for place, (owner, name) in POINTS.items():
        setattr(owner, name, _watched(place, getattr(owner, name)))


def _watched(place: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        orders = json.loads(Path(os.environ["TEST_ORDERS"]).read_text(encoding="utf-8"))
        folder = Path(orders["folder"])
        if place == "swap":
            with open(folder / "draws", "a", encoding="utf-8") as draws:
                draws.write(f"{args[2]}\n")
        _die(orders, f"before {place}")
        result = original(*args, **kwargs)
        _die(orders, f"after {place}")
        return result

    return run


def _die(orders: dict[str, Any], point: str) -> None:
    if orders["point"] != point:
        return
    try:
        os.close(os.open(Path(orders["folder"]) / "died", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        if not orders["all"]:
            return
    os.kill(os.getpid(), signal.SIGKILL)
