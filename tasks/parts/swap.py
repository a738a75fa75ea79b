"""ir_swap column by column: each is read from the parts, swapped by itself, put into the released order, and written.

The order of the released rows is drawn here, once, and lies on the confidential side; a worker reads it from there.
Each confidential column is drawn once (tasks.parts._drawn_once), from the operating system of the worker that does it.

One column of all records must fit into memory, with what ranking, swapping and judging it takes: BYTES_A_RECORD. As
measured on half a million and a million records, evenly spread, skewed, with ties and with missing values, it is at
most 90, while it is judged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.mechanism import ProtectColumn
from penstock.mechanisms.permutation import permutation
from penstock.mechanisms.randomness import Randomness, require_system, system
from penstock.mechanisms.refusal import Refusal
from penstock.mechanisms.sound import require_sound
from penstock.records.files import durable
from penstock.records.files.digest import canonical, plain_file
from penstock.tasks.parts._drawn_once import draw_once
from penstock.tasks.parts._spread import spread
from penstock.tasks.parts.working_copy import Part, StoredColumn

__all__ = ["BYTES_A_RECORD", "Columns", "DrawDamaged", "SwapOrder", "Swapped", "swap_columns", "swap_one"]

BYTES_A_RECORD = 112


class DrawDamaged(Refusal):
    """A column is not as its worker reported that it wrote it."""

    code = "draw-damaged"
    kind = "integrity"
    remedy = "Check the file system that all workers share, and run again."


@dataclass(frozen=True, slots=True)
class SwapOrder:
    """One column, and where to write what becomes of it.

    k: the smallest group; None for a column that is released as it is.
    """

    folders: tuple[Path, ...]
    name: str
    column: Column
    k: int | None
    place: int
    attempt: Path
    secrets: Path
    protect: ProtectColumn


@dataclass(frozen=True, slots=True)
class Swapped:
    """Released columns in released order, read by rows; the masked ones have groups in the folder of secrets."""

    columns: Mapping[str, StoredColumn]
    masked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that are released, and how those with a smallest group are protected."""

    parts: Sequence[Part]
    released: Mapping[str, Column]
    sizes: Mapping[str, int]
    protect: ProtectColumn


def swap_columns(
    columns: Columns,
    attempt: Path,
    secrets: Path,
    *,
    address: str | None,
    randomness: Randomness,
) -> Swapped:
    """Draw the order of rows, then every column; `secrets` gets the order (origin) and the groups.

    attempt: a new folder for this draw alone.
    """
    parts, sizes = columns.parts, columns.sizes
    folders, records = tuple(part.folder for part in parts), sum(part.rows for part in parts)
    attempt.mkdir(mode=0o700, parents=True)
    secrets.mkdir(mode=0o700, exist_ok=True)
    permutation(records, randomness).tofile(secrets / "0.column")
    orders = [
        SwapOrder(folders, name, column, sizes.get(name), place, attempt, secrets, columns.protect)
        for place, (name, column) in enumerate(columns.released.items())
    ]
    spread("release a column", swap_one, orders, address)
    index: list[tuple[str, str, int]] = [("origin", np.dtype(np.int64).str, records)]
    written = {}
    for order in orders:
        facts = json.loads((attempt / f"{order.place}.json").read_bytes())
        if plain_file(_released(order)) != facts["released"]:
            raise _damaged()
        _index(_released(order).parent, [(order.name, facts["kind"], records)])
        written[order.name] = StoredColumn([_released(order).parent], order.name)
        if order.k is not None:
            if plain_file(_groups(order)) != facts["groups"]:
                raise _damaged()
            place = len(index)
            _groups(order).rename(secrets / f"{place}.column")
            index.append((f"group {order.name}", facts["labels"], records))
    _index(secrets, index)
    return Swapped(written, tuple(sizes))


def swap_one(order: SwapOrder) -> None:
    """Write one column as released, swapped once if it is confidential."""
    if order.k is None:
        durable.write_whole(order.attempt / f"{order.place}.json", canonical(_write_column(order)))
    else:
        draw_once(order.attempt, str(order.place), lambda: _write_column(order))


def _write_column(order: SwapOrder) -> dict[str, Any]:
    values = StoredColumn(order.folders, order.name)[:]
    require_sound({order.name: values}, {order.name: order.column})
    facts: dict[str, Any] = {"kind": values.dtype.str}
    if order.k is not None:
        randomness = system()
        require_system(randomness)
        values, labels = order.protect(values, order.column, order.name, order.k, randomness)
        facts |= {"labels": labels.dtype.str, "groups": _write(_groups(order), labels)}
        del labels
    origin = np.fromfile(order.secrets / "0.column", np.int64)
    facts["released"] = _write(_released(order), np.take(values, origin))
    return facts


def _write(path: Path, values: NDArray[Any]) -> str:
    """Write bare numbers that survive a power cut; return their digest."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    values.tofile(path)
    durable.sync(path)
    return plain_file(path)


def _released(order: SwapOrder) -> Path:
    return order.attempt / f"released-{order.place}" / "0.column"


def _groups(order: SwapOrder) -> Path:
    return order.attempt / f"groups-{order.place}" / "0.column"


def _index(folder: Path, index: Sequence[tuple[str, str, int]]) -> None:
    """Make a working table of the files of a folder (penstock.tasks.files.columns)."""
    (folder / "index.json").write_text(json.dumps(index), encoding="utf-8")


def _damaged() -> DrawDamaged:
    return DrawDamaged.at(
        "protect",
        rule="must read every column as its worker wrote it",
        remedy="Check the file system that all workers share.",
    )
