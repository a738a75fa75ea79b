"""What the manifest of a table claims and its files can show: rows, columns, margins, and cell sizes where promised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, Field

from penstock.measures.cells.impossible import IMPOSSIBLE, figures_in_rows, impossible_rows
from penstock.measures.cells.stated_statistics import are_statistics_stated
from penstock.mechanisms.layout import Coarser, Figure, Layout, error_of
from penstock.mechanisms.linked_layout import levels_are_linked, tables_of
from penstock.tasks.files.tables import table_schema
from penstock.tasks.outputs._claims import Beside, Claims, Seen
from penstock.tasks.outputs._linked_claims import figures_apart

__all__ = ["CellClaims", "LayoutClaim", "table_faults"]

CONTRIBUTORS = "contributors"
_NAME = r"^[a-z][a-z0-9_]{0,49}$"
# For sums of figures that are not whole numbers, which a reader adds up in another order.
_ROUNDING = 1e-9


class _FigureClaim(BaseModel):
    model_config = ConfigDict(strict=True)

    name: str
    statistic: str
    column: str | None
    whole: bool


class _DimensionClaim(BaseModel):
    model_config = ConfigDict(strict=True)

    name: str
    categories: list[str]


class _TableClaim(BaseModel):
    model_config = ConfigDict(strict=True)

    name: Annotated[str, Field(pattern=_NAME)]
    dimensions: list[str]
    levels: list[list[str]]


class _CoarserClaim(BaseModel):
    model_config = ConfigDict(strict=True)

    name: str
    dimension: str
    labels: list[str]
    groups: list[int]


class LayoutClaim(BaseModel):
    """The layout as the manifest states it; coarser: levels of dimensions; tables: those of linked tables."""

    table: Annotated[str, Field(pattern=_NAME)]
    dimensions: list[_DimensionClaim]
    levels: list[list[str]] = Field(min_length=1)
    figures: list[_FigureClaim] = Field(min_length=1)
    errors: bool
    coarser: list[_CoarserClaim] = Field(default_factory=list)
    tables: list[_TableClaim] = Field(default_factory=list)

    @property
    def layout(self) -> Layout:
        return Layout(
            name=self.table,
            dimensions={dimension.name: tuple(dimension.categories) for dimension in self.dimensions},
            levels=tuple(tuple(level) for level in self.levels),
            figures=tuple(Figure(f.name, f.statistic, f.column, f.whole) for f in self.figures),
            errors=self.errors,
            tables={table.name: tuple(table.dimensions) for table in self.tables},
            coarser={
                each.name: Coarser(each.dimension, tuple(each.labels), tuple(each.groups)) for each in self.coarser
            },
        )

    @property
    def is_sound(self) -> bool:
        """Return whether the levels are made of the dimensions, the cells first; of linked tables those of each."""
        known = [dimension.name for dimension in self.dimensions]
        if self.coarser and not self._has_sound_groups:
            return False
        if self.tables:
            margins = len(self.levels) > len(self.tables)
            told = [(table.name, [tuple(level) for level in table.levels]) for table in self.tables]
            return (
                len(self.tables) == len({name for name, _ in told}) > 1
                and levels_are_linked(self.layout, with_margins=margins)
                and told == [(table.name, list(table.levels)) for table in tables_of(self.layout)]
            )
        kept = [[self.layout.dimension_of(name) for name in level] for level in self.levels]
        return self.levels[0] == known and all(
            set(level) <= set(known) and (not self.coarser or len(set(level)) == len(level)) for level in kept
        )

    @property
    def _has_sound_groups(self) -> bool:
        """Return whether every coarser level puts each category of a dimension into one of its groups, none empty,
        under a name and labels of its own."""
        sizes = {dimension.name: len(dimension.categories) for dimension in self.dimensions}
        labels = {name: [*self.layout.labels(name)] for name in sizes}
        return (
            not self.tables
            and len({*sizes, *(each.name for each in self.coarser)}) == len(sizes) + len(self.coarser)
            and all(len(set(own)) == len(own) for own in labels.values())
            and all(
                len(each.groups) == sizes.get(each.dimension) and {*each.groups} == {*range(len(each.labels))}
                for each in self.coarser
            )
        )


class CellClaims(Claims):
    """The claims of a table: its layout, and nothing beside it."""

    layout: LayoutClaim
    settled: dict[str, Any] = Field(default_factory=dict)
    linked: list[Any] = Field(default_factory=list, max_length=0)

    @property
    def stem(self) -> str:
        return f"tables/{self.layout.table}"

    @property
    def is_sound(self) -> bool:
        if not self.layout.is_sound or list(self.layout.layout.columns) != list(self.roles):
            return False
        parameters = self.guarantee.parameters
        if "epsilon_by_figure" in parameters or parameters.get("mechanism") == "statistics":
            return are_statistics_stated(self.guarantee, self.settled, self.layout.layout)
        known = {dimension.name: set(dimension.categories) for dimension in self.layout.dimensions}
        return all(
            len(combination) > 1 and all(set(map(str, named)) <= known[name] for name, named in combination.items())
            for combination in parameters.get(IMPOSSIBLE, ())
        )

    @property
    def parts(self) -> tuple[Claims, ...]:
        """Return what is claimed of each linked table, whose columns are some of those of all."""
        if not self.layout.tables:
            return (self,)
        return tuple(self._part(table) for table in tables_of(self.layout.layout))

    def _part(self, table: Layout) -> CellClaims:
        layout = LayoutClaim(
            table=table.name,
            dimensions=[each for name in table.dimensions for each in self.layout.dimensions if each.name == name],
            levels=[list(level) for level in table.levels],
            figures=self.layout.figures,
            errors=table.errors,
        )
        columns = [each for name in table.columns for each in self.columns if each.name == name]
        return self.model_copy(update={"layout": layout, "columns": columns, "records": table.rows})

    def disagreeing(self, tables: Mapping[str, Mapping[str, pa.Table]]) -> Iterator[str]:
        yield from figures_apart(self.layout.layout, tables)

    def broken(self, table: pa.Table) -> Iterator[str]:
        yield from table_faults(table, self.layout.layout, self.k, of_contributors=self.of_contributors)
        if self.guarantee.parameters.get("exact_total"):
            yield from exact_total_faults(table, self.layout.layout)
        # Of a file with other rows so much was told already, and the layout may have more than fit into memory.
        if IMPOSSIBLE in self.guarantee.parameters and table.num_rows == self.layout.layout.rows:
            yield from impossible_faults(table, self.layout.layout, self.guarantee.parameters[IMPOSSIBLE])

    @property
    def of_contributors(self) -> bool:
        """Return whether k counts contributors, each of whom may have several records."""
        return "contributors" in self.guarantee.parameters

    @property
    def counted(self) -> str:
        if self.layout.tables:
            return (
                f"The files of {len(self.layout.tables)} tables have all cells and totals that were declared, "
                f"{self.records:,} different ones, and the stated promise; every total is the sum of its cells, and "
                "what several tables show is the same in all of them."
            )
        if len(self.layout.levels) == 1:
            cells = "the one cell that was" if self.records == 1 else f"all {self.records:,} cells that were"
            return f"Every file has {cells} declared, and the stated promise."
        shown = any(figure.statistic == CONTRIBUTORS for figure in self.layout.figures)
        return (
            f"Every file has {self.records:,} cells and totals, all that were declared, and the stated promise; every "
            f"total is the sum of its cells{', except for contributors, who may be in several' if shown else ''}."
        )

    def seen(self, beside: Beside) -> Iterator[Seen]:
        if IMPOSSIBLE in self.guarantee.parameters:
            yield "impossible combinations", True, "Every figure of a combination that is declared impossible is 0."
        if self.guarantee.model != "k_anon":
            yield from super().seen(beside)
            return
        shown = CONTRIBUTORS if self.of_contributors else "count"
        counted = any(figure.statistic == shown for figure in self.layout.figures)
        seen = "has" if counted else "is said to have"
        whom = CONTRIBUTORS if self.of_contributors else "records"
        yield "k-anonymity", counted, f"Every cell that is not empty {seen} at least {self.k} {whom}."


def table_faults(table: pa.Table, layout: Layout, k: int, *, of_contributors: bool = False) -> Iterator[str]:
    """Yield what in a file of the table contradicts its layout; k: the fewest records that a cell may have, 0 for any.

    of_contributors: whether k counts contributors. The file may be CSV, where everything is text.
    """
    codes = layout.codes()
    for name in layout.dimensions:
        labels = np.array(layout.labels(name), dtype=object)
        if table.column(name).cast(pa.string()).to_pylist() != labels[codes[name]].tolist():
            yield f"must have the cells that the manifest lists, in its order of {name}"
            return
    figures = {
        figure.name: table.column(figure.name).cast(table_schema(layout).field(figure.name).type).to_numpy()
        for figure in layout.figures
        if figure.adds_up or figure.statistic == CONTRIBUTORS
    }
    for name, values in figures.items():
        if name != CONTRIBUTORS and not _adds_up(values, layout):
            yield f"must have totals of {name} that are the sums of their cells"
    yield from _error_faults(table, layout)
    counts = [figures[figure.name] for figure in layout.figures if figure.statistic == "count"]
    if k and counts and bool(((counts[0] > 0) & (counts[0] < k)).any()):
        yield f"must not have a cell of fewer than {k} records"
    people = [figures[figure.name] for figure in layout.figures if figure.statistic == CONTRIBUTORS]
    if k and of_contributors and people and bool(((people[0] != 0) & (people[0] < k)).any()):
        yield f"must not have a cell of fewer than {k} contributors"
    if people and counts and bool(((people[0] > counts[0]) | ((people[0] == 0) != (counts[0] == 0))).any()):
        yield "must have as many records as contributors or more in every cell, and none where there are none"


def _error_faults(table: pa.Table, layout: Layout) -> Iterator[str]:
    """Yield a rule for each combined error that is not made of the errors of noise and sampling beside it."""
    for figure in layout.figures:
        if figure.statistic.endswith("_combined_error"):
            of = figure.name.removesuffix("_combined_error")
            noise, sampling, both = (
                _numbers(table.column(name)) for name in (error_of(of), f"{of}_sampling_error", figure.name)
            )
            near = np.abs(both - np.hypot(noise, sampling)) <= _ROUNDING * both
            stated = near & ((sampling > 0) | (noise == 0))  # without noise the figure is 0 by declaration
            if not bool(np.where(np.isnan(sampling), np.isnan(both), stated).all()):
                yield f"must have combined errors of {of} that are made of its standard and sampling errors"


def exact_total_faults(table: pa.Table, layout: Layout) -> Iterator[str]:
    """Yield a rule if the grand total of counts is not stated as exact."""
    for figure in layout.figures:
        if figure.statistic == "count":
            errors = table.column(error_of(figure.name)).cast(pa.float64()).to_numpy()
            totals = [layout.starts[place] for place, level in enumerate(layout.levels) if not level]
            if bool(errors[totals].any()):
                yield f"must have the standard error 0 for the grand total of {figure.name}, which is exact"


def impossible_faults(
    table: pa.Table, layout: Layout, combinations: Sequence[Mapping[str, Sequence[object]]]
) -> Iterator[str]:
    """Yield a rule for each figure that is not an exact zero in a cell that is declared impossible."""
    columns = {name: _numbers(table.column(name)) for name in layout.columns if name not in layout.dimensions}
    for name in figures_in_rows(layout, columns, impossible_rows(layout, combinations)):
        yield f"must have a {name} of exactly 0, or no mean, for every combination that is declared impossible"


def _numbers(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """Return numbers, NaN where there is none; in CSV that is an empty text."""
    if pa.types.is_string(column.type):
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
    return column.cast(pa.float64()).fill_null(np.nan).to_numpy()  # type: ignore[no-any-return]


def _adds_up(values: np.ndarray[Any, Any], layout: Layout) -> bool:
    cells = values[: layout.starts[1]].reshape(layout.shape(layout.levels[0]))
    for place, level in enumerate(layout.levels):
        stated = values[layout.starts[place] : layout.starts[place + 1]]
        total, size = (_total(each, level, layout) for each in (cells, np.abs(cells)))
        if not bool((np.abs(stated - total) <= _ROUNDING * size).all()):
            return False
    return True


def _total(cells: np.ndarray[Any, Any], level: tuple[str, ...], layout: Layout) -> np.ndarray[Any, Any]:
    """Return the sums of the cells over what a level does not keep, group by group where it is a coarser one."""
    kept = {layout.dimension_of(name): name for name in level}
    for axis, name in enumerate(layout.dimensions):
        if name not in kept:
            cells = cells.sum(axis=axis, keepdims=True)
        elif kept[name] in layout.coarser:
            coarse = layout.coarser[kept[name]]
            groups = [np.flatnonzero(np.equal(coarse.groups, group)) for group in range(len(coarse.labels))]
            cells = np.stack([cells.take(places, axis=axis).sum(axis=axis) for places in groups], axis=axis)
    found: np.ndarray[Any, Any] = cells.ravel()
    return found
