"""A draw that is never made twice, whoever is told to make it again.

    <name>.begun    written before the draw, by exactly one process
    <name>.json     written after it, when all that was drawn is on disk

A cluster repeats the work of a worker that died, elsewhere. If the first draw was finished, its account is returned;
if it had only begun, a second one is refused, because nobody knows what became of the first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from penstock.mechanisms.refusal import Refusal
from penstock.records.files import durable
from penstock.records.files.digest import canonical

__all__ = ["DrawnBefore", "draw_once"]


class DrawnBefore(Refusal):
    """A worker was lost while it drew; what it drew is lost too and was charged."""

    code = "drawn-before"
    kind = "failure"
    remedy = "Run again: that is a new draw, and is charged as one."


def draw_once(folder: Path, name: str, draw: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """Return the account of a draw: made now, or before by somebody who finished it."""
    begun, done = folder / f"{name}.begun", folder / f"{name}.json"
    try:
        durable.write(begun, b"", flags=os.O_EXCL)
    except FileExistsError:
        if done.exists():
            return dict(json.loads(done.read_bytes()))
        raise DrawnBefore.at(
            "protect",
            rule="must not draw twice, and a worker was lost while it drew",
            remedy="Run again: that is a new draw, and is charged as one. Nothing was published.",
        ) from None
    durable.sync(folder)
    facts = dict(draw())
    durable.write_whole(done, canonical(facts))
    return facts
