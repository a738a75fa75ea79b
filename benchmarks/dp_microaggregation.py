"""Differentially private microaggregation: its time on a million records, and its error order by order.

    make bench

Speed: 1,000,000 records of four numbers, and the 30,162 complete records of Adult with two taxonomies (where the
data folder is there). Each step's share of the whole, the whole as a ratio to NumPy's sort of the same columns in
the same run, and peak memory in units of the table.

Error: releases of evenly spread records for each order with the block size that suits it best, as a root mean square
in units of the domain, beside what was foreseen without any record. `errors` writes the table and its picture to
docs/pictures.
"""

from __future__ import annotations

import csv
import os
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.sizes import WHOLE, sized
from penstock.flows.spec._taxonomies import read_taxonomy
from penstock.mechanisms.columns import Column
from penstock.mechanisms.dp_microaggregation import Params, protect, settle
from penstock.mechanisms.permutation import permutation
from penstock.mechanisms.randomness import seeded, system

ROWS = sized(1_000_000, least=1_000)
REPEATS = sized(5)
DATA = Path(os.environ.get("PENSTOCK_DATA", "no-folder-was-named"))
PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
UNIT = Column(role="confidential", type="continuous", domain=(0, 1))
ORDERS = ("snake", "corners_in_turn", "corner")
SIZES = tuple((sized(records, least=200), columns) for records in (1_080, 30_162, 1_000_000) for columns in (2, 4))

Columns = dict[str, NDArray[Any]]


def numbers(records: int, columns: int) -> tuple[Columns, dict[str, Column]]:
    chance = np.random.default_rng(7)
    names = [f"x{place}" for place in range(columns)]
    return {name: chance.random(records) for name in names}, dict.fromkeys(names, UNIT)


def adult() -> tuple[Columns, dict[str, Column]]:
    table = pq.read_table(DATA / "adult.parquet", columns=["occupation", "native-country"])
    files = {"occupation": "occupation_wordnet30.json", "native-country": "native_country_wordnet30.json"}
    declared = {
        name: Column(role="confidential", type="nominal", taxonomy=read_taxonomy(DATA / "taxonomy" / file))
        for name, file in files.items()
    }
    texts = {name: np.array(table.column(name).to_pylist(), dtype=object) for name in files}
    return {name: declared[name].codes(values, name) for name, values in texts.items()}, declared


def steps(columns: Columns, declared: dict[str, Column], params: Params) -> Iterator[tuple[str, float]]:
    """The steps of one release, each with its seconds."""

    def timed(work: Callable[[], Any]) -> tuple[Any, float]:
        start = time.perf_counter()
        return work(), time.perf_counter() - start

    records = len(next(iter(columns.values())))
    (part,), seconds = timed(lambda: settle(params, declared, records))
    yield "choose order and k", seconds
    levels, seconds = timed(lambda: [a.levels(columns[name], name) for name, a in part.attributes.items()])
    yield "put on the grid", seconds
    axes = [attribute.axis for attribute in part.attributes.values()]
    blocks, seconds = timed(lambda: part.choice.order.cut(levels, axes, part.choice.k))
    yield "sort and cut", seconds
    sums, noise = 0.0, 0.0
    for place, attribute in enumerate(part.attributes.values()):
        sensitivity, epsilon = part.choice.sensitivities[place], part.epsilons[place]
        drawing = partial(attribute.draw, levels[place], blocks, sensitivity, epsilon, system())
        _, whole = timed(drawing)
        _, gathered = timed(lambda p=place: np.add.reduceat(levels[p][blocks.rows], blocks.starts[:-1]))
        sums, noise = sums + gathered, noise + max(0.0, whole - gathered)
    yield "block sums", sums
    yield "noise", noise
    origin, seconds = timed(lambda: permutation(records, system()))
    yield "shuffle rows", seconds
    _, seconds = timed(lambda: [values[origin] for values in columns.values()])
    yield "write rows", seconds


def speed(title: str, columns: Columns, declared: dict[str, Column], params: Params) -> None:
    protect(columns, declared, params, system())  # compile, import

    def best(work: Callable[[], object]) -> float:
        seconds = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    def sort_all() -> None:
        for values in columns.values():
            np.argsort(values, kind="stable")

    whole = best(lambda: protect(columns, declared, params, system()))
    sorting = best(sort_all)
    records = len(next(iter(columns.values())))
    print(f"{title}: {records:,} records x {len(columns)} columns")
    memory(columns, declared, params)
    print(f"  whole {whole:.3f} s, {whole / sorting:.2f} times argsort of every column ({sorting:.3f} s)")
    runs = [dict(steps(columns, declared, params)) for _ in range(REPEATS)]
    for name in runs[0]:
        print(f"  {name:<20} {min(run[name] for run in runs):.4f} s")


def memory(columns: Columns, declared: dict[str, Column], params: Params) -> None:
    """The most that is allocated at one time while a release is made, its result included."""
    table = sum(values.nbytes for values in columns.values())
    tracemalloc.start()
    protect(columns, declared, params, system())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"  peak memory {peak / 1e6:.1f} MB, {peak / table:.1f} times the columns ({table / 1e6:.1f} MB)")


def simulated_error(records: int, columns: int, order: str) -> dict[str, Any]:
    """Root mean square error over columns, records and releases of evenly spread records, beside what was expected."""
    data, declared = numbers(records, columns)
    params = Params(epsilon=1, adjacency="replace", k="auto", order=order)
    (part,) = settle(params, declared, records)
    fixed = params.model_copy(update={"k": part.choice.k})
    releases = max(3, min(sized(60), 3_000_000 // records))
    squares = []
    for seed in range(releases):
        protected = protect(data, declared, fixed, seeded(seed))
        origin = protected.origin
        squares.append(np.mean([np.mean((protected.columns[name] - data[name][origin]) ** 2) for name in data]))
    return {
        "records": records,
        "columns": columns,
        "order": order,
        "k": part.choice.k,
        "error": float(np.sqrt(np.mean(squares))),
        "interval": float(1.96 * np.std(np.sqrt(squares)) / np.sqrt(releases)),
        "foreseen": part.choice.error,
        "releases": releases,
        "means_alone": float(np.sqrt(1 / 12)),
    }


def errors(folder: Path) -> None:
    """The table and its picture, written to the folder."""
    rows = [simulated_error(records, columns, order) for records, columns in SIZES for order in ORDERS]
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "error_by_order.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: f"{v:.4g}" if isinstance(v, float) else v for key, v in row.items()} for row in rows)
    for row in rows:
        size, found = "{records:>9,} x {columns}  {order:<16} k {k:>6}", "error {error:.3f}  foreseen {foreseen:.3f}"
        print(f"  {size}  {found}".format(**row))
    draw(rows, folder / "error_by_order.svg")


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """The table as a picture: a panel for each number of columns, a line for each order, bars of 95 % intervals."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "the same picture from the same figures"
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for panel, columns in zip(panels, (2, 4), strict=True):
        for order, marker in zip(ORDERS, "os^", strict=True):
            line = [row for row in rows if row["columns"] == columns and row["order"] == order]
            across, up = [row["records"] for row in line], [row["error"] for row in line]
            panel.errorbar(across, up, [row["interval"] for row in line], marker=marker, label=order.replace("_", " "))
        panel.axhline(rows[0]["means_alone"], color="grey", linestyle=":", label="means alone")
        panel.set(xscale="log", xlabel="records", title=f"{columns} columns, epsilon = 1")
        panel.grid(alpha=0.3)
    panels[0].set(ylabel="root mean square error (of the domain)", ylim=(0, 0.32))
    panels[1].legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    one = Params(epsilon=1, adjacency="replace", k="auto")
    speed("Numbers", *numbers(ROWS, 4), one)
    if (DATA / "adult.parquet").exists():
        speed("Adult, two taxonomies", *adult(), one)
    else:
        print("Adult: skipped, the data folder is not there")
    print("Error by order, evenly spread records, epsilon = 1")
    if WHOLE:
        errors(PICTURES)
    else:  # the pictures of the docs are of the whole
        with TemporaryDirectory() as folder:
            errors(Path(folder))


if __name__ == "__main__":
    main()
