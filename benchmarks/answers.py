"""The cost of an answer beside DuckDB's query of the same statistic over the same Parquet file, in the same run.

    python -m benchmarks.answers

10,000,000 records in one file: a category with two values, one with fifty, a whole number and a float. Ours reads,
folds on the exact grid, charges the ledger (SQLite), draws and stores; DuckDB's figure is exact and promises nothing.
Which records they are was found out before: that costs one read of the whole file, and is kept until it changes; it is
printed by itself. The last line is a question that was asked before, in processor time of this process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
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
from penstock import ask
from penstock.flows.spec.data_description import DataDescription, resolve_keys
from penstock.records import Home, open_records
from penstock.records.home import login
from penstock.records.ledger.accounts import Account
from penstock.records.ledger.limits import Officer, open_account
from penstock.records.ledger.questions import allow_analyst
from penstock.records.people.trusted_keys import trust
from penstock.tasks.questions.identity import identify

RECORDS = sized(10_000_000, least=1_000)
REPEATS = sized(5, least=2)
# Each asked several times, as different questions: only the price differs.
EPSILONS: Iterator[Fraction] = (Fraction(1, number) for number in range(100, 10_000))
ASKED = {
    "count where sex is F and age from 18 below 65": "count(*) from s where sex = 'F' and age >= 18 and age < 65",
    "count where sex is F by region": "region, count(*) from s where sex = 'F' group by region",
    "mean of income": "avg(income) from s",
    "mean of income where sex is F and age from 18 below 65": "avg(income) from s where sex = 'F' and age >= 18 "
    "and age < 65",
    "sum of income where sex is F by region": "region, sum(income) from s where sex = 'F' group by region",
    "mean of hours by region": "region, avg(hours) from s group by region",
    "median of age": "quantile_disc(age, 0.5) from s",
    "median of income where sex is F": "quantile_disc(income, 0.5) from s where sex = 'F'",
    "quantile 9/10 of hours by sex": "sex, quantile_disc(hours, 0.9) from s group by sex",
    # Without a condition it stands in the footer of the file.
    "maximum of income where sex is F": "max(income) from s where sex = 'F'",
}


def write_source(path: Path) -> dict[str, Any]:
    chance = np.random.default_rng(7)
    regions = [f"region {number:02}" for number in range(50)]

    def coded(codes: Any, names: list[str]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(names))

    table = pa.table(
        {
            "sex": coded(chance.integers(0, 2, RECORDS), ["F", "M"]),
            "region": coded(chance.integers(0, 50, RECORDS), regions),
            "age": chance.integers(0, 100, RECORDS),
            "income": np.minimum(np.exp(chance.normal(10, 1, RECORDS)), 10**6).astype(np.int64),
            "hours": np.round(chance.uniform(0, 60, RECORDS), 1),
        }
    )
    pq.write_table(table, path)
    quasi = {"role": "quasi_identifier"}
    return {
        "sex": {**quasi, "type": "nominal", "categories": ["F", "M"]},
        "region": {**quasi, "type": "nominal", "categories": regions},
        "age": {**quasi, "type": "integer", "domain": [0, 120]},
        "income": {"role": "confidential", "type": "integer", "domain": [0, 10**6]},
        "hours": {"role": "confidential", "type": "continuous", "domain": [0, 60]},
    }


def described(folder: Path) -> DataDescription:
    columns = write_source(folder / "source.parquet")
    raw = {
        "name": "bench",
        "source": {"path": "source.parquet", "unit": "row", "columns": columns},
        "budget": {"dataset": "bench"},
        "questions": {"adjacency": "add_remove"},
    }
    return resolve_keys(raw, folder)


def open_accounts() -> None:
    log, now = open_records().log, datetime.now(UTC)
    key = Ed25519PrivateKey.generate()
    trust(log, "officer", key.public_key(), reason="benchmark", actor="bench", now=now)
    officer = Officer("officer", key, "benchmark")
    account = Account(
        dataset="bench", model="dp", limit=Fraction(1000), adjacency="add_remove", unit="row", partition=None
    )
    open_account(log, account, officer, actor="bench", now=now)
    allow_analyst(log, "bench", "dp", login(), Fraction(1000), officer, actor="bench", now=now)


def best(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    duckdb.sql("set enable_progress_bar = false")
    with TemporaryDirectory() as folder:
        os.environ["PENSTOCK_HOME"] = str(Path(folder, "home"))
        os.environ.pop("PENSTOCK_DB", None)
        data = described(Path(folder))
        open_accounts()
        source = data.source.path
        duckdb.sql(f"create view s as select * from '{source}'")
        time.sleep(2.1)  # what is known of a file is kept once it rests
        begun = time.perf_counter()
        identify(Home.open(), source, data.columns)
        print(f"{RECORDS:,} records; which they are: {time.perf_counter() - begun:.2f} s, once")
        for text, query in ASKED.items():
            ask(data, text, epsilon=next(EPSILONS))  # load, compile

            def ours(text: str = text) -> object:
                return ask(data, text, epsilon=next(EPSILONS))

            def theirs(query: str = query) -> object:
                return duckdb.sql(f"select {query}").fetchall()

            theirs()
            mine, bare = best(ours), best(theirs)
            print(f"  {mine / bare:5.2f} times DuckDB ({mine:.3f} s and {bare:.3f} s): {text}")
        again = next(iter(ASKED))
        ask(data, again, epsilon="1/2")
        begun = time.process_time()
        for _ in range(REPEATS):
            ask(data, again, epsilon="1/2")
        print(f"  asked before: {1000 * (time.process_time() - begun) / REPEATS:.1f} ms of processor time")


if __name__ == "__main__":
    main()
