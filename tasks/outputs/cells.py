"""Released tables: their cells drawn in public order, counted again from the records, written with their layout."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.measures.cells.chosen_group import of_chosen_group
from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.relaxation import relaxation
from penstock.measures.clamping import clamped_totals
from penstock.measures.recheck import recheck
from penstock.measures.registry import judge
from penstock.mechanisms.columns import Column
from penstock.mechanisms.layout import Layout
from penstock.mechanisms.linked_layout import columns_of_table, tables_of
from penstock.mechanisms.mechanism import ByCell
from penstock.mechanisms.protected import Protected
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.registry import mechanism_of
from penstock.mechanisms.statistics.smooth import smooth_sensitivity_of_maximum, smooth_sensitivity_of_median
from penstock.records.ledger.answers import Answer
from penstock.reports.described import OutputWords
from penstock.reports.period import period_of
from penstock.reports.table_sheet import TableSheet, sheet_of
from penstock.tasks.files.columns import load_columns, save_columns
from penstock.tasks.files.tables import arrow_cells, read_table, write_table
from penstock.tasks.formats import FORMATS
from penstock.tasks.formats.format import TableRows
from penstock.tasks.outputs._counted import cells_of
from penstock.tasks.outputs.drawn import protected_rows, require_planned, staged_as, units_of
from penstock.tasks.outputs.output import Draw, Judgement, Output, Staged

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.tasks.ingest import Ingested
    from penstock.tasks.run.job import Job

__all__ = ["Cells"]


# To compare with, on the confidential side; nothing is drawn from them.
_SMOOTH = {"median": smooth_sensitivity_of_median, "maximum": smooth_sensitivity_of_maximum}
_ROWS = "cells and totals of a protected table"


class Cells(Output):
    """The cells and totals of a table."""

    kind = "cells"
    rows_are = "cells"
    comes_back = True
    is_table = True
    needs_records = False

    @cached_property
    def layout(self) -> Layout:
        """Return the layout of the table."""
        of_table = mechanism_of(self.params).layout
        if of_table is None:
            raise TypeError("a mechanism that makes cells has their layout")
        return of_table(self.params, self.declared)

    @property
    def about(self) -> tuple[str, ...]:
        layout = self.layout
        used = {*layout.dimensions, *(figure.column for figure in layout.figures), *layout.weights, *layout.counted}
        return tuple(name for name in self.declared if name in used)

    @property
    def released(self) -> Mapping[str, Column]:
        return {}  # its columns are those of the layout

    @property
    def words(self) -> OutputWords:
        sheets = {f"tables/{table.name}": table.columns for table in tables_of(self.layout)}
        rows = "cells and totals of linked protected tables" if self.layout.tables else _ROWS
        return OutputWords(rows, next(iter(sheets)), "Summary statistics", sheets)

    @property
    def sizes(self) -> dict[str, dict[str, int]]:
        tables = tables_of(self.layout)
        return {each.name: {"cells": each.cell_rows, "totals": each.rows - each.cell_rows} for each in tables}

    @property
    def stated(self) -> dict[str, Any]:
        layout = self.layout
        told = {
            "table": layout.name,
            # A list, because a manifest sorts its keys.
            "dimensions": [
                {"name": name, "categories": list(categories)} for name, categories in layout.dimensions.items()
            ],
            "levels": [list(level) for level in layout.levels],
            "figures": [asdict(figure) for figure in layout.figures],
            "errors": layout.errors,
        }
        if layout.coarser:
            told["coarser"] = [{"name": name, **asdict(each)} for name, each in layout.coarser.items()]
        if layout.tables:
            told["tables"] = [
                {
                    "name": table.name,
                    "dimensions": list(table.dimensions),
                    "levels": [list(level) for level in table.levels],
                }
                for table in tables_of(layout)
            ]
        return {"layout": told}

    def as_arrow(self, protected: Protected, randomness: Randomness) -> pa.Table:
        """Return the cells in their public order."""
        return arrow_cells(protected.columns, self.layout)

    def prepare(self, job: Job, source: Ingested) -> Draw:
        plan, how = job.plan, mechanism_of(self.params).in_parts
        cells = cells_of(job, source)
        if cells is None or not isinstance(how, ByCell):
            return partial(self._draw, job, lambda kept, randomness: protected_rows(job, source, kept, randomness))

        def protected(kept: NDArray[np.int64] | None, randomness: Randomness) -> Protected:
            drawn = how.protect_cells(cells, plan.data_columns, plan.params, randomness)
            require_planned(drawn.guarantee, plan.guarantee)
            return drawn

        return partial(self._draw, job, protected)

    def _draw(
        self,
        job: Job,
        protect: Callable[[NDArray[np.int64] | None, Randomness], Protected],
        kept: NDArray[np.int64] | None,
        randomness: Randomness,
    ) -> Staged:
        """Draw a protected table and write it; its cells have their public order, so nothing is shuffled."""
        protected = protect(kept, randomness)
        write_table(job.run.path("protected.parquet"), protected.columns, self.layout, job.plan.guarantee)
        rows = {} if kept is None else {"kept": kept}
        save_columns(job.run.path("secrets"), {**rows, **protected.hidden})
        return staged_as(job, protected.masked, self.layout.rows, protected.chosen)

    def take_back(self, job: Job, answer: Answer) -> Staged:
        columns = read_table(answer.data, self.layout)
        write_table(job.run.path("protected.parquet"), columns, self.layout, job.plan.guarantee)
        secrets = job.run.path("secrets")
        shutil.rmtree(secrets, ignore_errors=not secrets.exists())
        shutil.copytree(answer.secrets, secrets)
        chosen = {**answer.facts["settled"], "table": self.layout.name}
        return staged_as(job, (), answer.facts["records"], chosen)

    def judge(self, job: Job, source: Ingested, staged: Staged) -> Judgement:
        plan = job.plan
        hidden = load_columns(staged.secrets)
        kept = hidden.pop("kept", None)
        output = TableOutput(
            original={} if source.parts else load_columns(source.folder, kept, plan.used_columns),
            declared=plan.data_columns,
            layout=self.layout,
            released=read_table(staged.data, self.layout),
            guarantee=plan.guarantee,
            chosen=staged.chosen,
            hidden=hidden,
            units=units_of(job, source),
        )
        if source.parts:
            from penstock.tasks.parts.cells import counted_again  # a plan is made without Prefect

            output = counted_again(source.parts, output, plan.address)
        shown = of_chosen_group(output)
        return Judgement(
            recheck(output),
            lambda name, asked: judge(name, shown, asked),
            clamped_totals(shown),
            relaxation(output, _SMOOTH),
        )

    def write(self, job: Job, staged: Staged) -> None:
        plan, folder = job.plan, job.bundle / "tables"
        folder.mkdir(mode=0o700, exist_ok=True)
        period = period_of(plan.edition)
        for table in tables_of(self.layout):
            rows = TableRows(
                data=self._data_of(job, staged, table),
                guarantee=plan.guarantee,
                prepared=job.started,
                escape=plan.escape,
                layout=table,
                period=None if period is None else period.text,
            )
            for name in plan.formats:
                FORMATS[name].write(rows, folder / table.name)

    def _data_of(self, job: Job, staged: Staged, table: Layout) -> Path:
        """Return the staged file of a table; that of one of several linked tables is made of what all have in
        common."""
        if not self.layout.tables:
            return staged.data
        path = job.run.path(f"table-{table.name}.parquet")
        columns = columns_of_table(self.layout, table, read_table(staged.data, self.layout))
        write_table(path, columns, table, job.plan.guarantee)
        return path

    def describe(self, staged: Staged) -> list[dict[str, Any]]:
        layout, treated = self.layout, self.treatments
        figures = {figure.name: figure for figure in layout.figures}
        described = []
        for name in layout.columns:
            dimension = name in layout.dimensions
            kind = "nominal" if dimension else "integer" if name in figures and figures[name].whole else "continuous"
            described.append(
                {
                    "name": name,
                    "role": "dimension" if dimension else "figure" if name in figures else "standard_error",
                    "type": kind,
                    "domain": None,
                    "categories": list(layout.labels(name)) if dimension else None,
                    "treatment": treated.get(name, "standard error of the figure before it; noise only"),
                }
            )
        return described

    def sheets(self, staged: Staged) -> dict[str, TableSheet]:
        columns = read_table(staged.data, self.layout)
        if not self.layout.tables:
            return {self.layout.name: sheet_of(self.layout, columns, words=self.treatments)}
        tables = tables_of(self.layout)
        return {
            table.name: sheet_of(table, columns_of_table(self.layout, table, columns), words=self.treatments)
            for table in tables
        }
