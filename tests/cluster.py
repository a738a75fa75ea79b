"""A Dask cluster of two worker processes on this machine, and sources in several files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from distributed import LocalCluster

__all__ = ["two_workers", "write_hive", "write_parts"]


@contextmanager
def two_workers(**settings: Any) -> Iterator[str]:
    """Where the scheduler listens. A worker that is killed is started again."""
    with LocalCluster(
        n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None, silence_logs=50, **settings
    ) as cluster:
        yield cluster.scheduler_address


def write_parts(table: pa.Table, folder: Path, files: int = 3, row_group: int = 50) -> None:
    """The table in so many files of different lengths."""
    folder.mkdir()
    borders = [round(table.num_rows * (place / files) ** 1.3) for place in range(files + 1)]
    for place, (start, stop) in enumerate(pairwise(borders)):
        pq.write_table(table.slice(start, stop - start), folder / f"{place}.parquet", row_group_size=row_group)


def write_hive(table: pa.Table, folder: Path, by: str) -> None:
    """The table in a folder for each category."""
    partitioning = ds.partitioning(pa.schema([table.schema.field(by)]), flavor="hive")
    ds.write_dataset(table, folder, format="parquet", partitioning=partitioning)
