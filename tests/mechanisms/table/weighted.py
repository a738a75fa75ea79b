"""Records with weights and units, and settings for them: what the tests of weighted tables share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from penstock.mechanisms.columns import Column
from penstock.mechanisms.table import Params
from tests.support.plain_tables import AREAS, DECLARED, SIZES, table

CAP = 50
WEIGHTED: dict[str, Column] = {
    **{name: DECLARED[name] for name in ("area", "size")},
    "x": Column(role="confidential", type="integer", domain=(-10, 90)),
    "y": Column(role="confidential", type="continuous", domain=(0, 10)),
    "w": Column(role="weight", domain=(0, CAP), outside="clamp"),
    "a": Column(role="weight", domain=(0, 100)),
    "b": Column(role="weight", domain=(0, 100)),
}
ONE = {name: column for name, column in WEIGHTED.items() if name not in ("a", "b")}
REPLICATES = {"column": "w", "replicates": ["a", "b"], "scale": "1/2"}
EVERYTHING: dict[str, Any] = {"sums": ["x", "y"], "means": ["y", "x"]}


def weighted(model: str = "k_anon", **chosen: Any) -> Params:
    """A weighted table by area and size."""
    return table(model, **{"weight": {"column": "w"}, **EVERYTHING, **chosen})


def frame(rows: int, seed: int, *, least: int = 3) -> pd.DataFrame:
    """Records of every cell; some weights are above the cap."""
    rng = np.random.default_rng(seed)
    filled = [(area, size) for area in AREAS for size in SIZES for _ in range(least)]
    more = list(zip(rng.choice(AREAS, rows), rng.choice(SIZES, rows), strict=True))
    cells = np.array([*filled, *more])
    n = len(cells)
    return pd.DataFrame(
        {
            "area": cells[:, 0],
            "size": cells[:, 1],
            "x": rng.integers(-10, 91, n),
            "y": rng.uniform(0, 10, n),
            "w": rng.uniform(0, 1.1 * CAP, n),
            "a": rng.uniform(0, 100, n),
            "b": rng.uniform(0, 100, n),
        }
    )


def columns(records: pd.DataFrame, declared: Mapping[str, Column]) -> dict[str, np.ndarray]:
    """Arrays as a mechanism takes them."""
    return {
        name: records[name].to_numpy(object) if column.categories is not None else records[name].to_numpy()
        for name, column in declared.items()
    }


def rows_of(levels: Sequence[tuple[str, ...]]) -> list[dict[str, str]]:
    """The cells of every level, each as the categories that it keeps."""
    categories = {"area": AREAS, "size": SIZES}
    found: list[dict[str, str]] = []
    for level in levels:
        cells: list[dict[str, str]] = [{}]
        for name in level:
            cells = [{**cell, name: category} for cell in cells for category in categories[name]]
        found += cells
    return found


def inside(records: pd.DataFrame, cell: Mapping[str, str]) -> pd.DataFrame:
    """The records of a cell."""
    for name, category in cell.items():
        records = records[records[name] == category]
    return records
