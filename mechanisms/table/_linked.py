"""Linked tables: several tables that share cells, measured once and reconciled together.

The dimensions of all tables span a cube, which is neither measured nor published. Every set of dimensions that a table
shows, as its cells or as a margin, is one level of that cube, whichever tables show it; each level that is measured is
measured once, so that epsilon is divided among distinct levels (_chosen), and all are fitted together (_linked_fit).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import combinations
from math import prod
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, Field, StrictStr, model_validator

from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.table.cells import MOST_CELLS

if TYPE_CHECKING:
    from penstock.mechanisms.table.settings import Params

__all__ = [
    "MOST_DIMENSIONS",
    "MOST_LEVELS",
    "MOST_TABLES",
    "MOST_WORK",
    "LinkedSettings",
    "cell_levels",
    "linked_faults",
    "linked_levels",
    "size_faults",
]

# More than 24 dimensions of two categories each are more than 2^24 cells, and more than 512 tables of them, none inside
# another, have hardly fewer than 2^12 margins. What is longer is refused before its faults are looked for.
MOST_DIMENSIONS = 32
MOST_TABLES = 512

# Each round of least squares goes through all levels, and rounding through all cells times all levels.
MOST_LEVELS = 2**12
MOST_WORK = 2**30
_NAME = re.compile(r"[a-z][a-z0-9_]{0,49}\Z")


class LinkedSettings(BaseModel):
    """The part of the settings that makes several tables of one."""

    tables: dict[StrictStr, tuple[StrictStr, ...]] = Field(
        default={},
        max_length=MOST_TABLES,
        exclude_if=lambda given: not given,  # so that specs from before there were any keep their digests
        description="dp only, instead of dimensions: several tables that share cells, each by its name and its "
        "dimensions. Every cell and margin is drawn once, whichever tables show it, and all are made to agree.",
    )

    @model_validator(mode="before")
    @classmethod
    def _of_all_tables(cls, given: Any) -> Any:
        """Fill in the dimensions of the cube: those of all tables."""
        tables = given.get("tables") if isinstance(given, Mapping) else None
        if not isinstance(tables, Mapping) or given.get("dimensions") is not None or len(tables) > MOST_TABLES:
            return given
        listed = [each for each in tables.values() if isinstance(each, list | tuple)]
        names = dict.fromkeys(name for each in listed for name in each if isinstance(name, str))
        return {**given, "dimensions": list(names)} if names else given


def cell_levels(params: Params) -> tuple[tuple[str, ...], ...]:
    """Return the dimensions of the cells of each table, in the order of the cube."""
    if not params.tables:
        return (params.dimensions,)
    return tuple(tuple(name for name in params.dimensions if name in table) for table in params.tables.values())


def linked_levels(params: Params) -> tuple[tuple[str, ...], ...]:
    """Return the cells of each table, then every margin of one or more of them once, large ones first."""
    cells = cell_levels(params)
    if params.margins == "none":
        return cells
    margins = {part for level in cells for size in range(len(level)) for part in combinations(level, size)}
    place = {name: number for number, name in enumerate(params.dimensions)}
    return (*cells, *sorted(margins - {*cells}, key=lambda margin: (-len(margin), [place[name] for name in margin])))


def linked_faults(params: Params) -> Iterator[Fault]:
    """Yield every reason why tables cannot be linked like this."""
    if not params.tables:
        if "dimensions" not in params.model_fields_set:
            remedy = "Name the columns whose combinations are the cells, or write [] for figures of the whole file."
            yield Fault("dimensions", "must be given", remedy)
        return
    if params.model != "dp":
        rule = (
            f"must not be given under {params.model}: they are fitted by the size of the noise, which is secret there"
        )
        remedy = "Release them as separate outputs."
        if params.model == "k_anon":
            rule = "must not be given under k_anon, where separate tables agree by themselves"
        yield Fault("tables", rule, remedy, params.model)
    if len(params.tables) < 2:
        yield Fault("tables", "must hold at least two tables", "Use dimensions for a single one.")
    within = _within_others(list(params.tables.values()))
    for (name, table), is_within in zip(params.tables.items(), within, strict=True):
        if not _NAME.match(name):
            rule = "must be named with lower case letters, digits and _, at most 50, beginning with a letter"
            yield Fault("tables", rule, "Rename the table.", repr(name))
        if not table:
            yield Fault(f"tables.{name}", "must name at least one column", "Name its dimensions.")
        elif len(set(table)) < len(table):
            yield Fault(f"tables.{name}", "must not list a column twice", "Remove the repetition.", ", ".join(table))
        elif is_within:
            rule = "must have a dimension that each other table lacks: else it is a margin of that one"
            yield Fault(f"tables.{name}", rule, "Remove it, and let the other have margins.", ", ".join(table))
    if set(params.dimensions) != {name for table in params.tables.values() for name in table}:
        rule = "must not be given with tables, which have dimensions of their own"
        yield Fault("dimensions", rule, "Remove it.", ", ".join(params.dimensions))
    if params.totals is not None:
        rule = "must not be given with tables: each has all its margins, or none"
        yield Fault("totals", rule, "Remove it; choose margins: none, summed or measured.")
    if params.bounds:
        rule = "must not be given with tables, whose cells are cells of others too"
        yield Fault("bounds", rule, "Declare a tighter domain of the column.")


def _within_others(tables: Sequence[Sequence[str]]) -> list[bool]:
    """Return of each table whether another has all of its dimensions; False where they are too many to be compared."""
    names = dict.fromkeys(name for table in tables for name in table)
    if len(names) > MOST_DIMENSIONS:
        return [False] * len(tables)  # refused for their number: `dimensions` are those of all tables
    bit = {name: 1 << place for place, name in enumerate(names)}
    masks = np.array([reduce(or_, (bit[name] for name in table), 0) for table in tables], dtype=np.int64)
    inside = masks[:, np.newaxis] & masks[np.newaxis, :] == masks[:, np.newaxis]
    return [bool(each) for each in inside.sum(axis=1) > 1]


def size_faults(params: Params, sizes: Mapping[str, int]) -> Iterator[Fault]:
    """Yield a fault if there is too much to be fitted, found before any margin is listed."""
    cells = prod(sizes.values())
    levels = sum(2 ** min(len(table), 64) for table in params.tables.values())
    if cells > MOST_CELLS:
        rule = "must span at most 2^24 cells, all their dimensions together"
        remedy = "Take fewer or coarser dimensions, or link fewer tables and release the others by themselves."
        yield Fault("tables", rule, remedy, f"{cells:,} cells")
    elif levels > MOST_LEVELS or levels * cells > MOST_WORK:
        rule = f"must have at most {MOST_LEVELS:,} margins, and cells x margins of at most {MOST_WORK:,}"
        remedy = "Take fewer dimensions in each table, or link fewer tables."
        yield Fault("tables", rule, remedy, f"{cells:,} x {levels:,}")
