"""A Dask cluster of two worker processes on this machine, and sources in several files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from distributed import Client

__all__ = ["Cluster", "write_hive", "write_parts"]


class Cluster:
    """A scheduler and its workers, each a process of its own; what was killed is replaced by `replenish`."""

    def __init__(self, folder: Path, preload: str, environment: dict[str, str]) -> None:
        self._file = folder / "scheduler.json"
        self._preload = preload
        self._environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment}
        self._scheduler = self._start("dask_scheduler", "--port", "0", "--no-dashboard", "--no-show")
        self._workers: list[subprocess.Popen[bytes]] = []
        until(self._file.exists)
        self.address = str(json.loads(self._file.read_text(encoding="utf-8"))["address"])

    def replenish(self) -> None:
        """Two workers that live."""
        self._workers = [worker for worker in self._workers if worker.poll() is None]
        while len(self._workers) < 2:
            options = ("--no-nanny", "--nthreads", "1", "--no-dashboard", "--preload", self._preload)
            self._workers.append(self._start("dask_worker", *options))
        with Client(self.address, set_as_default=False) as client:
            until(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == 2)

    def close(self) -> None:
        for process in (*self._workers, self._scheduler):
            process.kill()
            process.wait()

    def _start(self, command: str, *options: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{command}", "--scheduler-file", str(self._file), *options],
            env=self._environment,
            cwd=self._file.parent,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def until(holds: Callable[[], bool], seconds: float = 600) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.2)


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
