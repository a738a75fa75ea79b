"""One release by the command line; prints the most memory that any of its processes ever had, in bytes.

python limited_release.py FOLDER KIND ROWS MEMORY
KIND: ir_swap, table or dp_table. MEMORY: what the spec says, or `none`.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.workplace import Workplace, make_table, open_dp_account

AMOUNTS = [f"amount_{place}" for place in range(16)]
AT_ONCE = 1 << 15


def some_rows(rows: int, chance: np.random.Generator) -> pa.Table:
    regions, education = ["North", "South", "East", "West"], ["primary", "secondary", "bachelor", "master"]
    return pa.table(
        {
            "age": chance.integers(16, 100, rows),
            "region": np.array(regions)[chance.integers(0, 4, rows)],
            "education": np.array(education)[chance.integers(0, 4, rows)],
            **{name: chance.uniform(0, 90_000, rows) for name in ("income", "savings", *AMOUNTS)},
            "weight": chance.uniform(1, 3, rows),
        }
    )


def main(folder: Path, kind: str, rows: int, memory: str) -> None:
    workplace = Workplace(folder)
    chance = np.random.default_rng(1)
    with pq.ParquetWriter(workplace.source, some_rows(1, chance).schema) as writer:
        for start in range(0, rows, AT_ONCE):
            writer.write_table(some_rows(min(AT_ONCE, rows - start), chance))
    amount = {"role": "confidential", "type": "continuous", "domain": [0, 100_000]}
    workplace.raw["source"]["columns"] |= dict.fromkeys(AMOUNTS, amount)
    if kind == "table":
        make_table(workplace, model="k_anon", epsilon=None, adjacency=None, k=2)
    elif kind == "dp_table":
        make_table(workplace)
        os.environ["PENSTOCK_HOME"] = str(workplace.home)
        open_dp_account(4)
    if memory != "none":
        workplace.raw["run"] = {"memory": memory}
    command = [str(Path(sys.executable).with_name("penstock")), "run", str(workplace.write_spec())]
    environment = {**os.environ, "PENSTOCK_HOME": str(workplace.home)}
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    sys.stdout.write(f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])
