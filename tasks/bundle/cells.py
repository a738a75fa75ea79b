"""What the bundle of a table holds: its files in every format, its columns and its layout in words and as data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from penstock.mechanisms.layout import Layout
from penstock.mechanisms.registry import mechanism_of
from penstock.reports.sdmx import sdmx_csv, sdmx_structure
from penstock.tasks.files.columns import write_csv
from penstock.tasks.files.tables import read_table
from penstock.tasks.protect import Staged
from penstock.tasks.run.job import Job
from penstock.tasks.run.plan import Plan

__all__ = ["described_table", "stated_layout", "write_table_files"]

# Of the structure; a release has its own dataflow, so it is the first.
_VERSION = "1.0"


def write_table_files(job: Job, staged: Staged, layout: Layout) -> None:
    """The table in every format that was asked for."""
    folder = job.bundle / "tables"
    folder.mkdir(mode=0o700)
    if "parquet" in job.plan.formats:
        os.link(staged.data, folder / f"{layout.name}.parquet")
    if "csv" in job.plan.formats:
        write_csv(staged.data, folder / f"{layout.name}.csv", escape=job.plan.escape)
    if "sdmx" in job.plan.formats:
        lines = sdmx_csv(layout, read_table(staged.data, layout), version=_VERSION, exact=set(_exact(job.plan, layout)))
        with (folder / f"{layout.name}.sdmx.csv").open("w", encoding="utf-8", newline="") as file:
            file.writelines(lines)
        structure = sdmx_structure(layout, version=_VERSION, prepared=job.started)
        (folder / f"{layout.name}.structure.xml").write_text(structure, encoding="utf-8")


def described_table(plan: Plan, layout: Layout) -> list[dict[str, Any]]:
    """Every column of the table, for readers."""
    treated = mechanism_of(plan.params).treatments(plan.params, plan.declared)
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


def stated_layout(layout: Layout) -> dict[str, Any]:
    """What the table looks like, as a program reads it."""
    return {
        "table": layout.name,
        # A list, because a manifest sorts its keys.
        "dimensions": [
            {"name": name, "categories": list(categories)} for name, categories in layout.dimensions.items()
        ],
        "levels": [list(level) for level in layout.levels],
        "figures": [asdict(figure) for figure in layout.figures],
        "errors": layout.errors,
    }


def _exact(plan: Plan, layout: Layout) -> Iterator[str]:
    """The figures without noise: all of an exact table, and counts where everybody's cell is public."""
    public_counts = plan.guarantee.adjacency == "bootstrap_within_cell"
    for figure in layout.figures:
        if plan.guarantee.model == "k_anon" or (public_counts and figure.statistic == "count"):
            yield figure.name
