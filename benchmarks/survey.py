"""Ten tables of one survey of ten million records, against their bare group-bys of the same file in DuckDB.

    python -m benchmarks.survey

The release reads the file once: digests it, checks every value against its declared domain and categories, keeps the
columns, charges the ledger, counts, adds up, draws the noise of ten tables and stages their files. DuckDB counts and
adds up, once for each table. Validation by Great Expectations, re-checks and publication are measured by release_line.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.sizes import sized

RECORDS = sized(10_000_000, least=2_000)
SIZES = {"sex": 2, "age": 9, "region": 16, "education": 8, "sector": 20, "status": 5}
TABLES = [
    ("sex",),
    ("age", "sex"),
    ("region",),
    ("region", "sex"),
    ("education", "age"),
    ("sector",),
    ("sector", "status"),
    ("region", "sector"),
    ("status", "sex", "age"),
    ("education", "region"),
]
REPEATS = sized(3)


def write_source(path: Path) -> None:
    chance = np.random.default_rng(7)
    columns: dict[str, Any] = {
        name: pa.DictionaryArray.from_arrays(
            pa.array(chance.integers(0, size, RECORDS, np.int32)),
            pa.array([f"{name} {place}" for place in range(size)]),
        )
        for name, size in SIZES.items()
    }
    columns["hours"] = chance.integers(0, 81, RECORDS, np.int64)
    pq.write_table(pa.table(columns), path)


def spec(folder: Path) -> dict[str, Any]:
    categories = {name: [f"{name} {place}" for place in range(size)] for name, size in SIZES.items()}
    return {
        "name": "survey",
        "source": {
            "path": str(folder / "survey.parquet"),
            "unit": "row",
            "columns": {
                **{n: {"role": "quasi_identifier", "type": "nominal", "categories": c} for n, c in categories.items()},
                "hours": {"role": "confidential", "type": "integer", "domain": [0, 80]},
            },
        },
        "budget": {"dataset": "survey", "epsilon": "10"},
        "protect": [
            {
                "mechanism": "table",
                "table": f"table_{place}",
                "dimensions": list(dimensions),
                "sums": ["hours"],
                "model": "dp",
                "epsilon": "1",
                "adjacency": "replace",
            }
            for place, dimensions in enumerate(TABLES)
        ],
        "gates": [{"measure": "privacy_loss", "max": 1}],
        "publish": {"path": str(folder / "published")},
    }


def released(folder: Path, number: int) -> dict[str, float]:
    """Return the seconds of each step of a release in a home of its own, without Prefect and publication."""
    from penstock.flows.planning import draw_up_plan
    from penstock.flows.spec import parse_spec
    from penstock.records import open_records
    from penstock.records.ledger.accounts import Account
    from penstock.records.ledger.limits import Officer, open_account
    from penstock.records.people.trusted_keys import trust
    from penstock.tasks.ingest import ingest
    from penstock.tasks.protect import protect
    from penstock.tasks.reserve import reserve
    from penstock.tasks.run.job import begin

    os.environ["PENSTOCK_HOME"] = str(folder / f"home-{number}")
    log, how, key = open_records().log, {"actor": "olga", "now": datetime.now(UTC)}, Ed25519PrivateKey.generate()
    trust(log, "olga", key.public_key(), reason="benchmark", **how)
    account = Account(dataset="survey", model="dp", limit=Fraction(10), adjacency="replace", unit="row", partition=None)
    open_account(log, account, Officer("olga", key, "benchmark"), **how)
    plan = draw_up_plan(parse_spec(spec(folder)))
    with begin(plan) as job:
        begun = time.perf_counter()
        source = ingest.fn(job)  # type: ignore[attr-defined]
        read = time.perf_counter()
        reserve.fn(job, source)  # type: ignore[attr-defined]
        reserved = time.perf_counter()
        protect.fn(job, source)  # type: ignore[attr-defined]
        return {"read": read - begun, "reserve": reserved - read, "protect": time.perf_counter() - reserved}


def bare(folder: Path) -> float:
    begun = time.perf_counter()
    for dimensions in TABLES:
        keys = ", ".join(dimensions)
        duckdb.sql(f"select {keys}, count(*), sum(hours) from '{folder / 'survey.parquet'}' group by {keys}").arrow()
    return time.perf_counter() - begun


def main() -> None:
    duckdb.sql("set enable_progress_bar = false")
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_source(folder / "survey.parquet")
        released(folder, -1)  # compile, import
        ours, theirs = [], []
        for number in range(REPEATS):
            ours.append(released(folder, number))
            theirs.append(bare(folder))
    best, plain = min(ours, key=lambda each: sum(each.values())), min(theirs)
    whole = sum(best.values())
    print(f"{RECORDS:,} records from Parquet to {len(TABLES)} noisy tables, one pass over the file: {whole:.2f} s")
    print(f"  {whole / plain:.2f} times their {len(TABLES)} bare group-bys of the file in DuckDB ({plain:.2f} s)")
    print("  of it: " + ", ".join(f"{step} {took:.2f} s" for step, took in best.items()))


if __name__ == "__main__":
    main()
