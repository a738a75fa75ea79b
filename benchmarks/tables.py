"""Tables: ten million records into a hundred thousand cells, and noise for a million cells.

    python -m benchmarks.tables

Building: 10,000,000 records, three dimensions, two measures, as a ratio to the bare group-by of DuckDB and of pyarrow
in the same run. They find counts, sums, smallest and largest values, DuckDB in a second query the two largest values
too; ours finds all of these and the sums of sizes.

Releasing: the same table from a Parquet file to a Parquet file, read, clamped, put on the grid, counted, added up,
noised under differential privacy (counts and both totals together) and written, as a ratio to the bare group-by.

Noise: exact, from the operating system, beside NumPy's Laplace draws, which are floats and promise nothing; with one
scale for all cells, and with several, which are drawn scale by scale.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.sizes import sized
from penstock.mechanisms import table
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import system
from penstock.mechanisms.table.cells import build_cells
from penstock.mechanisms.table.noise import cell_noise
from penstock.mechanisms.table.scales import Scales
from penstock.tasks.files.source import open_source, read_source
from penstock.tasks.files.tables import write_table

RECORDS = sized(10_000_000)
SHAPE = (sized(50, least=5), sized(50, least=5), sized(40, least=4))
CELLS = sized(1_000_000)
REPEATS = sized(5)
ONE = Fraction(1)


def columns() -> tuple[dict[str, NDArray[np.int32]], dict[str, NDArray[np.int64]]]:
    chance = np.random.default_rng(7)
    codes = {f"d{place}": chance.integers(0, size, RECORDS, np.int32) for place, size in enumerate(SHAPE)}
    income = np.exp(chance.normal(10, 1, RECORDS)).astype(np.int64)
    return codes, {"income": income, "profit": chance.integers(-(10**6), 10**6, RECORDS)}


def best(work: Callable[[], object], repeats: int = REPEATS) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def building() -> None:
    codes, values = columns()
    together = pa.table({**codes, **values})
    figures = [(name, figure) for name in values for figure in ("sum", "min", "max")]

    def group_by() -> object:
        return together.group_by(list(codes)).aggregate([([], "count_all"), *figures])

    keys = ", ".join(codes)
    plain = ", ".join(f"sum({name}), min({name}), max({name})" for name in values)
    largest = ", ".join(f"max({name}, 2)" for name in values)

    def duck(wanted: str) -> Callable[[], object]:
        return lambda: duckdb.sql(f"select {keys}, count(*), {wanted} from together group by {keys}").arrow()

    build_cells(codes, SHAPE, values)  # compile, import
    ours = best(lambda: build_cells(codes, SHAPE, values))
    print(f"{RECORDS:,} records, {' x '.join(map(str, SHAPE))} cells, {len(values)} measures: build_cells {ours:.3f} s")
    duckdb.register("together", together)
    for name, work in {
        "DuckDB": duck(plain),
        "DuckDB with the two largest": duck(f"{plain}, {largest}"),
        "pyarrow": group_by,
    }.items():
        theirs = best(work)
        print(f"  {ours / theirs:.2f} times {name} ({theirs:.3f} s)")


def releasing() -> None:
    """From file to file, as `tasks` do it but for validation and records of the run."""
    codes, values = columns()
    declared = {
        **{
            name: Column(role="quasi_identifier", type="nominal", categories=tuple(map(str, range(size))))
            for name, size in zip(codes, SHAPE, strict=True)
        },
        "income": Column(role="confidential", type="integer", domain=(0, 10**6), outside="clamp"),
        "profit": Column(role="confidential", type="integer", domain=(-(10**6), 10**6)),
    }
    params = table.Params(dimensions=tuple(codes), sums=tuple(values), model="dp", epsilon=ONE, adjacency="add_remove")
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "source.parquet", Path(folder) / "table.parquet"
        labelled = {
            name: pa.DictionaryArray.from_arrays(pa.array(each), pa.array(declared[name].categories))
            for name, each in codes.items()
        }
        pq.write_table(pa.table({**labelled, **values}), source, use_dictionary=list(codes))

        keys, sums = ", ".join(codes), ", ".join(f"sum({name})" for name in values)

        def bare() -> object:
            return duckdb.sql(f"select {keys}, count(*), {sums} from '{source}' group by {keys}").arrow()

        seconds: dict[str, float] = {}

        def whole() -> None:
            begun = time.perf_counter()
            read = read_source(open_source(str(source), declared), declared)
            seconds["read"] = time.perf_counter() - begun
            protected = table.protect(read, declared, params, system())
            seconds["protect"] = time.perf_counter() - begun - seconds["read"]
            write_table(target, protected.columns, table.layout(params, declared), protected.guarantee)
            seconds["write"] = time.perf_counter() - begun - seconds["read"] - seconds["protect"]

        whole()
        ours, theirs = best(whole, 3), best(bare, 3)
    print(f"{RECORDS:,} records from Parquet to a noisy table of {table.layout(params, declared).rows:,} rows")
    print(f"  {ours:.2f} s, {ours / theirs:.2f} times the bare group-by of the file in DuckDB ({theirs:.2f} s)")
    print("  of the last run: " + ", ".join(f"{name} {took:.2f} s" for name, took in seconds.items()))


def noise() -> None:
    chance = np.random.default_rng(7)
    floats = best(lambda: chance.laplace(scale=2.0, size=CELLS))
    print(f"noise for {CELLS:,} cells; NumPy's floats take {floats:.3f} s")
    scales = {
        f"{different:,} scales": Scales("from_D", ONE, np.resize(np.arange(1_000, 1_000 + different), CELLS))
        for different in (1, 10, 100, CELLS)
    }
    for name, each in scales.items():
        cell_noise(each, system())
        ours, cells = best(lambda each=each: cell_noise(each, system()), 3), len(each.steps)  # type: ignore[misc]
        print(f"  {name:<16} {cells:>9,} cells {ours:.3f} s, {1e6 * ours / cells:.2f} us a cell")


def main() -> None:
    duckdb.sql("set enable_progress_bar = false")
    building()
    releasing()
    noise()


if __name__ == "__main__":
    main()
