"""A small file that unfolds: constant columns take no room on disk, and as much as any others in memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS, GROUP, GROUPS = 3, 1 << 20, 60
# In a process of its own with 3 GB of addresses, of which the program takes about one.
READER = f"""
import json, resource, sys
from mechanisms.columns import Column
from mechanisms.refusal import Refusal
from tasks.source import open_source, read_source

declared = {{f"x{{i}}": Column(role="confidential", type="continuous", domain=(0, 1)) for i in range({COLUMNS})}}
dataset = open_source(sys.argv[1], declared)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
try:
    read_source(dataset, declared)
    told = "read"
except Refusal as refusal:
    told = refusal.code
except MemoryError:
    told = "died"
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
print(json.dumps([told, grown]))
"""


def unfolding(path: Path) -> None:
    """1.4 GB of zeros in less than a megabyte."""
    zeros = pa.table({f"x{column}": np.zeros(GROUP) for column in range(COLUMNS)})
    with pq.ParquetWriter(path, zeros.schema, compression="zstd") as writer:
        for _ in range(GROUPS):
            writer.write_table(zeros, row_group_size=GROUP)


def test_what_does_not_fit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    unfolding(file)
    assert file.stat().st_size < 1 << 20
    ended = subprocess.run(
        [sys.executable, "-c", READER, str(file)], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )
    told, grown = json.loads(ended.stdout)
    assert told == "source-too-large"
    assert grown < 200  # MB
