"""The release line on 1,000,000 records with ir_swap, against reading and writing the same file.

    make bench

Prints the share of each step, the ratio to a plain read and write of the same Parquet file by pyarrow
in the same process (the best of five in turn), and the peak memory in units of the table. Validation by
Great Expectations is counted separately. No Prefect server is used.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.apart import in_a_process
from benchmarks.sizes import sized

ROWS = sized(1_000_000, least=2_000)
CONFIDENTIAL = [f"amount_{place}" for place in range(8)]
REPEATS = sized(5)


def write_source(path: Path) -> int:
    """A synthetic file: three quasi-identifiers, eight correlated amounts, a weight. Returns bytes in memory."""
    chance = np.random.default_rng(7)
    common = chance.normal(size=ROWS)
    table = pa.table(
        {
            "age": chance.integers(16, 100, ROWS),
            "region": pa.array(np.array(["N", "S", "E", "W"])[chance.integers(0, 4, ROWS)]),
            "education": pa.array(np.array(["low", "middle", "high"])[chance.integers(0, 3, ROWS)]),
            **{name: np.round(np.exp(9 + 0.5 * common + 0.5 * chance.normal(size=ROWS)), 2) for name in CONFIDENTIAL},
            "weight": np.round(chance.uniform(50, 150, ROWS), 1),
        }
    )
    pq.write_table(table, path)
    return int(table.nbytes)


def spec(folder: Path, gates: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return {
        "name": name,
        "source": {
            "path": str(folder / "source.parquet"),
            "unit": "row",
            "columns": {
                "age": {"role": "quasi_identifier", "type": "integer", "domain": [16, 100]},
                "region": {"role": "quasi_identifier", "type": "nominal", "categories": ["N", "S", "E", "W"]},
                "education": {"role": "quasi_identifier", "type": "ordinal", "categories": ["low", "middle", "high"]},
                **{name: {"role": "confidential", "type": "continuous", "domain": [0, 1e9]} for name in CONFIDENTIAL},
                "weight": {"role": "weight"},
            },
        },
        "protect": [{"mechanism": "probabilistic_k_anonymity", "method": "ir_swap", "k": 100}],
        "gates": gates,
        "publish": {"path": str(folder / "published")},
    }


def read_and_write(folder: Path) -> float:
    """Seconds for pyarrow to read and write the source."""
    began = time.perf_counter()
    pq.write_table(pq.read_table(folder / "source.parquet"), folder / "copy.parquet")
    return time.perf_counter() - began


def released(folder: Path, gates: list[dict[str, Any]], name: str) -> dict[str, float]:
    """Seconds of each step of one release, in a home of its own: the ledger refuses the same records twice."""
    from penstock.flows.release import release
    from penstock.flows.spec import parse_spec

    os.environ["PENSTOCK_HOME"] = str(folder / f"home-{name}")
    receipt = release(parse_spec(spec(folder, gates, name)))
    return dict(receipt.as_dict()["seconds"])


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def child(folder: Path) -> None:
    """Release in this process and report seconds of each step and the memory it took."""
    import great_expectations  # noqa: F401  # its import is not part of the line

    from penstock.tasks.warm_up import compile_kernels

    compile_kernels()
    utility = [{"measure": "mean_change", "max": 1e-6}, {"measure": "correlation_change", "max": 1}]
    linkage = [*utility, {"measure": "record_linkage", "max": 1}]
    best: dict[str, float] = {}
    plain = float("inf")
    for place in range(REPEATS):
        plain = min(plain, read_and_write(folder))
        began = time.perf_counter()
        steps = released(folder, utility, f"run-{place}")
        steps["around"] = time.perf_counter() - began - sum(steps.values())
        best = {name: min(seconds, best.get(name, seconds)) for name, seconds in steps.items()}
    linked = released(folder, linkage, "linked")["assess"] - best["assess"]
    sys.stdout.write(json.dumps({"plain": plain, "steps": best, "linkage": linked}) + "\n")


def memory(folder: Path) -> None:
    """One release without validation's data frame; peak resident memory above the start of the run."""
    from unittest import mock

    from penstock.tasks.warm_up import compile_kernels

    compile_kernels()
    gates = [{"measure": "mean_change", "max": 1e-6}, {"measure": "correlation_change", "max": 1}]
    with (
        mock.patch("penstock.tasks.validate.run_expectations", return_value=()),
        mock.patch("penstock.tasks.validate.frame_of"),
    ):
        small = folder / "small"
        small.mkdir()
        pq.write_table(pq.read_table(folder / "source.parquet").slice(0, 1000), small / "source.parquet")
        pa.default_memory_pool().release_unused()
        loose = [{"measure": gate["measure"], "max": 2} for gate in gates]
        released(small, loose, "small")  # what is loaded on first use is not the run's
        started = resident()
        released(folder, gates, "memory")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    sys.stdout.write(json.dumps({"started": started, "peak": peak}) + "\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        os.environ["PENSTOCK_HOME"] = str(folder / "home")
        size = write_source(folder / "source.parquet")
        timed, held = (in_a_process("benchmarks.release_line", kind, str(folder)) for kind in ("child", "memory"))
    steps = timed["steps"]
    validation, around = steps.pop("validate"), steps.pop("around")
    total = sum(steps.values())
    print(f"ir_swap, {ROWS:,} records, {len(CONFIDENTIAL)} swapped of 12 columns, {size / 1e6:.0f} MB in memory")
    print(f"{'read and write by pyarrow':28} {timed['plain']:6.2f} s")
    for name, seconds in steps.items():
        print(f"  {name:26} {seconds:6.2f} s  {100 * seconds / total:5.1f} %")
    print(f"{'release, validation apart':28} {total:6.2f} s  ratio {total / timed['plain']:.2f} (goal: at most 3)")
    print(f"{'audit log':28} {around:6.2f} s  ratio with it {(total + around) / timed['plain']:.2f}")
    print(f"{'validation':28} {validation:6.2f} s")
    print(f"{'record linkage, if gated':28} {timed['linkage']:6.2f} s")
    tables = (held["peak"] - held["started"]) / size
    print(f"{'peak memory of the run':28} {tables:6.2f} tables (goal: below 4), {held['peak'] / 1e6:.0f} MB in all")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        {"child": child, "memory": memory}[sys.argv[1]](Path(sys.argv[2]))
    else:
        main()
