"""Parquet: the staged file itself, with the guarantee in its metadata."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.tasks.formats.format import EVERY_KIND, Format, Rows

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FORMAT"]


def _write(rows: Rows, stem: Path) -> None:
    os.link(rows.data, stem.with_name(f"{stem.name}.parquet"))


def _read(path: Path, columns: Collection[str], escaped: bool) -> pa.Table:
    import pyarrow.parquet as pq

    return pq.read_table(path)


FORMAT = Format(
    name="parquet",
    media_types={".parquet": "application/vnd.apache.parquet"},
    kinds=EVERY_KIND,
    write=_write,
    read=_read,
    carries_promise=True,
)
