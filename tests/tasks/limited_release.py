"""One release up to its checks in a process of its own; prints the most memory that the process ever had, in bytes.

python limited_release.py FOLDER KIND ROWS MEMORY
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from workplace import Workplace, make_table

from flows.plan import draw_up_plan
from flows.spec import load_spec
from tasks.assess import assess
from tasks.ingest import ingest
from tasks.job import begin
from tasks.protect import protect
from tasks.reserve import reserve
from tasks.validate import draw_up_expectations, validate

COLUMNS = [f"amount_{place}" for place in range(16)]
AT_ONCE = 1 << 15


def some_rows(rows: int, chance: np.random.Generator) -> pa.Table:
    regions, education = ["North", "South", "East", "West"], ["primary", "secondary", "bachelor", "master"]
    return pa.table(
        {
            "age": chance.integers(16, 100, rows),
            "region": np.array(regions)[chance.integers(0, 4, rows)],
            "education": np.array(education)[chance.integers(0, 4, rows)],
            **{name: chance.uniform(0, 90_000, rows) for name in ("income", "savings", *COLUMNS)},
            "weight": chance.uniform(1, 3, rows),
        }
    )


def main(folder: Path, kind: str, rows: int, memory: str) -> None:
    os.environ["PENSTOCK_HOME"] = str(folder / "home")
    workplace = Workplace(folder)
    chance = np.random.default_rng(1)
    with pq.ParquetWriter(workplace.source, some_rows(1, chance).schema) as writer:
        for start in range(0, rows, AT_ONCE):
            writer.write_table(some_rows(min(AT_ONCE, rows - start), chance))
    amount = {"role": "confidential", "type": "continuous", "domain": [0, 100_000]}
    workplace.raw["source"]["columns"] |= dict.fromkeys(COLUMNS, amount)
    if kind == "table":
        make_table(workplace, model="k_anon", epsilon=None, adjacency=None, k=2)
    workplace.raw["run"] = {"memory": memory}
    with begin(draw_up_plan(load_spec(workplace.write_spec()))) as job:
        expectations, source = draw_up_expectations.fn(job), ingest.fn(job)
        validate.fn(job, source, expectations)
        reserve.fn(job, source)
        decision = assess.fn(job, source, protect.fn(job, source))
    assert decision.verdict.name == "PASS"
    sys.stdout.write(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])
