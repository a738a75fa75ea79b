"""The cells of a table from parts of its records: once for the mechanism, and once more, by other code, for the checks.

The counts of a part lie beside it, in whole numbers that add up exactly; the parts are added here, and noise is drawn
here, once, by the code that every table uses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

from penstock.measures.cells import counted as table_counted
from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.parts import count_part, summed_columns
from penstock.mechanisms.columns import Column
from penstock.mechanisms.mechanism import ByCell
from penstock.mechanisms.registry import AnyParams, mechanism_of
from penstock.tasks.files.columns import load_columns
from penstock.tasks.parts._spread import spread
from penstock.tasks.parts.working_copy import Part, save_whole

__all__ = ["CellOrder", "RecountOrder", "count_part_again", "count_part_cells", "counted_again", "counted_cells"]


@dataclass(frozen=True, slots=True)
class CellOrder:
    """A part whose records are to be counted by cell."""

    part: Part
    declared: Mapping[str, Column]
    params: AnyParams


@dataclass(frozen=True, slots=True)
class RecountOrder:
    """A part whose records are to be counted again; the output is without records, noise or figures."""

    part: Part
    output: TableOutput


def counted_cells(
    parts: Sequence[Part], declared: Mapping[str, Column], params: AnyParams, how: ByCell, address: str | None
) -> Any:
    """Return what `how.count` finds in all the records together."""
    spread("count a part", count_part_cells, [CellOrder(part, declared, params) for part in parts], address)
    return reduce(how.merged, (how.from_columns(load_columns(_cells(part)), declared, params) for part in parts))


def count_part_cells(order: CellOrder) -> None:
    """Count the cells of one part, and put them beside it."""
    how = mechanism_of(order.params).in_parts
    if not isinstance(how, ByCell):
        raise TypeError("only a mechanism that needs nothing but cells counts them in parts")
    cells = how.count(load_columns(order.part.folder), order.declared, order.params)
    save_whole(_cells(order.part), how.as_columns(cells))


def counted_again(parts: Sequence[Part], output: TableOutput, address: str | None) -> TableOutput:
    """Return the output with its records counted again."""
    bare = replace(output, released={}, hidden={})
    spread("count a part again", count_part_again, [RecountOrder(part, bare) for part in parts], address)
    names = summed_columns(output)
    counted = reduce(
        table_counted.together, (table_counted.from_columns(load_columns(_again(part)), names) for part in parts)
    )
    return replace(output, counted=counted)


def count_part_again(order: RecountOrder) -> None:
    """Count the records of one part again, and put the counts beside it."""
    counted = count_part(replace(order.output, original=load_columns(order.part.folder)))
    save_whole(_again(order.part), table_counted.as_columns(counted))


def _cells(part: Part) -> Path:
    return part.folder.with_name(f"{part.folder.name}.cells")


def _again(part: Part) -> Path:
    return part.folder.with_name(f"{part.folder.name}.again")
