"""SDMX: the observations of a table as SDMX-CSV 2.0 and its structure as SDMX-ML 3.0 (reports/sdmx.py)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from penstock.tasks.formats.format import Format, TableRows

__all__ = ["FORMAT"]

# The version of the structure; a release has its own dataflow, so it is the first.
_VERSION = "1.0"
# Adjacencies under which counts have no noise; and, of relaxations, those where the number of records is public.
_COUNTS_PUBLIC, _NUMBER_PUBLIC = "bootstrap_within_cell", ("bootstrap_replace", "from_D")


def _write(rows: TableRows, stem: Path) -> None:
    from penstock.reports.sdmx import sdmx_csv, sdmx_structure
    from penstock.tasks.files.tables import read_table

    columns = read_table(rows.data, rows.layout)
    lines = sdmx_csv(rows.layout, columns, version=_VERSION, exact=set(_exact(rows)), period=rows.period)
    with stem.with_name(f"{stem.name}.sdmx.csv").open("w", encoding="utf-8", newline="") as file:
        file.writelines(lines)
    timed = rows.period is not None
    structure = sdmx_structure(rows.layout, version=_VERSION, prepared=rows.prepared, timed=timed)
    stem.with_name(f"{stem.name}.structure.xml").write_text(structure, encoding="utf-8")


def _exact(rows: TableRows) -> Iterator[str]:
    """Yield the figures without noise: all of an exact table, and counts where everybody's cell is public, or where the
    only count is the number of records."""
    of_all = not rows.layout.dimensions and rows.guarantee.parameters.get("mechanism") == "table"
    public = (_COUNTS_PUBLIC, *(_NUMBER_PUBLIC if of_all else ()))
    public_counts = rows.guarantee.adjacency in public
    for figure in rows.layout.figures:
        if rows.guarantee.model == "k_anon" or (public_counts and figure.statistic == "count"):
            yield figure.name


FORMAT = Format(
    name="sdmx",
    media_types={
        ".sdmx.csv": "application/vnd.sdmx.data+csv",
        ".structure.xml": "application/vnd.sdmx.structure+xml",
    },
    kinds=("cells",),
    write=_write,
    read=None,
)
