"""The same release at once, under a memory limit, and on a cluster of two processes on this machine.

    python -m benchmarks.scale

Prints for each the seconds of protecting and assessing, of validation, and of the whole line, as ratios to the release
at once in the same run, and the peak memory of the process beyond that of a small release. The cluster is started
before and not counted; no Prefect server is used.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.apart import in_a_process
from benchmarks.sizes import WHOLE, sized

AMOUNTS = [f"amount_{place}" for place in range(8)]
ROW_GROUP = 1 << 16
MEMORY = "200 MB"
SMALL = 1_000
ROWS = {"ir_swap": 1_000_000, "table": 4_000_000} if WHOLE else {"table": sized(4_000_000, least=2_000)}


def write_source(path: Path, rows: int) -> int:
    """A synthetic file, written by row groups. Returns its bytes in memory."""
    chance, size = np.random.default_rng(7), 0
    writer = None
    for start in range(0, rows, ROW_GROUP):
        number = min(ROW_GROUP, rows - start)
        table = pa.table(
            {
                "region": np.array(["N", "S", "E", "W"])[chance.integers(0, 4, number)],
                "education": np.array(["low", "middle", "high"])[chance.integers(0, 3, number)],
                **{name: np.round(np.exp(9 + 0.7 * chance.normal(size=number)), 2) for name in AMOUNTS},
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
        size += int(table.nbytes)
    if writer is not None:
        writer.close()
    return size


def spec(kind: str, folder: Path, source: Path, run: dict[str, str]) -> dict[str, Any]:
    swap = {"mechanism": "probabilistic_k_anonymity", "method": "ir_swap", "k": 100}
    dimensions = ["region", "education"]
    table = {"mechanism": "table", "table": "amounts", "model": "k_anon", "k": 5}
    return {
        "name": kind,
        "source": {
            "path": str(source),
            "unit": "row",
            "columns": {
                "region": {"role": "quasi_identifier", "type": "nominal", "categories": ["N", "S", "E", "W"]},
                "education": {"role": "quasi_identifier", "type": "ordinal", "categories": ["low", "middle", "high"]},
                **{name: {"role": "confidential", "type": "continuous", "domain": [0, 10**9]} for name in AMOUNTS},
            },
        },
        "protect": [swap if kind == "ir_swap" else {**table, "dimensions": dimensions, "sums": AMOUNTS}],
        "gates": [
            {"measure": "average_risk", "max": 1} if kind == "ir_swap" else {"measure": "smallest_frequency", "min": 5}
        ],
        "publish": {"path": str(folder / "published")},
        **({"run": run} if run else {}),
    }


def child(kind: str, folder: Path, source: Path, run: dict[str, str]) -> None:
    """One release in this process: seconds of each step, and the peak memory."""
    from penstock.flows.release import release
    from penstock.flows.spec import parse_spec
    from penstock.tasks.validation import _engine  # noqa: F401  # its import is not part of the line
    from penstock.tasks.warm_up import compile_kernels

    compile_kernels()
    os.environ["PENSTOCK_HOME"] = str(folder / "home")
    receipt = release(parse_spec(spec(kind, folder, source, run)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    sys.stdout.write(json.dumps({"steps": receipt.as_dict()["seconds"], "peak": peak}) + "\n")


def measured(kind: str, folder: Path, source: Path, run: dict[str, str]) -> dict[str, Any]:
    folder.mkdir()
    return in_a_process("benchmarks.scale", kind, str(folder), str(source), json.dumps(run))


def compare(kind: str, folder: Path, address: str) -> None:
    source, small = folder / f"{kind}.parquet", folder / f"{kind}-small.parquet"
    size = write_source(source, ROWS[kind])
    write_source(small, SMALL)
    cluster = {"engine": "dask", "address": address}
    program = 0
    if WHOLE:
        program = measured(kind, folder / f"{kind}-program", small, {})["peak"]
        measured(kind, folder / f"{kind}-warm", small, cluster)  # its processes import what they need
    print(f"{kind}, {ROWS[kind]:,} records, {len(AMOUNTS) + 2} columns, {size / 1e6:.0f} MB in memory")
    ways = {"at once": {}, f"under {MEMORY}": {"memory": MEMORY}, "on two processes": cluster}
    plain: dict[str, float] = {}
    for place, (way, run) in enumerate(ways.items()):
        found = measured(kind, folder / f"{kind}-{place}", source, run)
        steps = found["steps"]
        shown = {
            "protect and assess": steps["protect"] + steps["assess"],
            "validate": steps["validate"],
            "line": sum(steps.values()),
        }
        plain = plain or shown
        told = ", ".join(f"{name} {seconds:.1f} s ({seconds / plain[name]:.2f})" for name, seconds in shown.items())
        print(f"  {way:18} {told}, memory {(found['peak'] - program) / 1e6:.0f} MB")


def two_processes() -> Any:
    from distributed import LocalCluster

    return LocalCluster(n_workers=2 if WHOLE else 1, threads_per_worker=1, dashboard_address=None)  # type: ignore[no-untyped-call]


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with two_processes() as cluster:
            for kind in ROWS:
                compare(kind, folder, cluster.scheduler_address)


if __name__ == "__main__":
    if len(sys.argv) == 5:
        child(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), json.loads(sys.argv[4]))
    else:
        main()
