"""Tables by a taxonomy, counted by pandas from the definition: what the tests of coarser levels share.

The categories stand in an order in which no group has all its categories side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from penstock.mechanisms.columns import Column
from penstock.mechanisms.table import Params

TAXONOMY = {
    "all": (),
    "goods": ("all",),
    "services": ("all",),
    "farms": ("goods",),
    "plants": ("goods",),
    "trade": ("services",),
    "rice": ("farms",),
    "tea": ("farms",),
    "steel": ("plants",),
    "shops": ("trade",),
    "banks": ("trade",),
    "posts": ("trade",),
}
ACTIVITIES = ("shops", "rice", "banks", "steel", "tea", "posts")
ZONES = {"world": (), "north": ("world",), "south": ("world",), "a": ("north",), "b": ("south",), "c": ("north",)}
# For each level, coarse to fine, the label above each category.
ABOVE: dict[str, dict[str, str]] = {
    "section": {c: TAXONOMY[TAXONOMY[c][0]][0] for c in ACTIVITIES},
    "division": {c: TAXONOMY[c][0] for c in ACTIVITIES},
    "zone": {c: ZONES[c][0] for c in "abc"},
}
DIMENSION = {"section": "nace", "division": "nace", "zone": "region", "nace": "nace", "region": "region"}
GROUPS = {"section": ("services", "goods"), "division": ("trade", "farms", "plants"), "zone": ("north", "south")}
CATEGORIES = {"region": ("a", "b", "c"), "nace": ACTIVITIES, **GROUPS}
DECLARED: dict[str, Column] = {
    "firm": Column(role="identifier"),
    "region": Column(role="quasi_identifier", type="nominal", taxonomy=ZONES, categories=("a", "b", "c")),
    "nace": Column(role="quasi_identifier", type="nominal", taxonomy=TAXONOMY, categories=ACTIVITIES),
    "x": Column(role="confidential", type="integer", domain=(-3, 9)),
    "y": Column(role="confidential", type="continuous", domain=(0, 4)),
}
WEIGHTED = {**DECLARED, "w": Column(role="weight", domain=(0, 5))}
REPLICATED = {**WEIGHTED, "w1": Column(role="weight", domain=(0, 5))}
LEVELS = {"nace": ["section", "division"], "region": ["zone"]}
ALL = [
    ("region", "nace"),
    ("region", "division"),
    ("region", "section"),
    ("zone", "nace"),
    ("zone", "division"),
    ("zone", "section"),
    ("region",),
    ("zone",),
    ("nace",),
    ("division",),
    ("section",),
    (),
]
MODELS: dict[str, dict[str, Any]] = {
    "dp": {"model": "dp", "epsilon": "1", "adjacency": "replace"},
    "bdp": {
        "model": "bdp",
        "epsilon": "1",
        "adjacency": "bootstrap_replace",
        "scale": "one",
        "empty_cells": "noise",
        "acknowledges": ["bdp"],
    },
    "idp": {"model": "idp", "epsilon": "1", "adjacency": "from_D", "acknowledges": ["idp"]},
    "k_anon": {"model": "k_anon", "k": 2},
}
MEASURED = {"margins": "measured", "margin_share": "2/3"}


def nested(model: str = "dp", **chosen: Any) -> Params:
    """A table by region and activity with all their levels; None takes a setting away."""
    given = {"dimensions": ["region", "nace"], "levels": LEVELS, **MODELS[model], **chosen}
    return Params.model_validate({name: value for name, value in given.items() if value is not None})


def survey(n: int = 400, seed: int = 1, declared: Mapping[str, Column] = DECLARED) -> dict[str, np.ndarray]:
    """Records with at least two in every cell that has any."""
    chance = np.random.default_rng(seed)
    region = np.array(list("abc"), object)[chance.integers(0, 3, n)]
    nace = np.array(ACTIVITIES, object)[chance.integers(0, 6, n)]
    nace[region == "b"] = "tea"
    found = {
        "region": np.concatenate([region, region]),
        "nace": np.concatenate([nace, nace]),
        "x": chance.integers(-3, 10, 2 * n),
        "y": chance.integers(0, 17, 2 * n) / 4,
        "w": chance.integers(1, 11, 2 * n) / 2,
        "w1": chance.integers(0, 11, 2 * n) / 2,
    }
    return {name: values for name, values in found.items() if name in declared}


def kept_of(level: Sequence[str], columns: Mapping[str, np.ndarray]) -> list[tuple[str, ...]]:
    """For each record the labels that a level shows of it."""
    shown = [[ABOVE[name][value] if name in ABOVE else value for value in columns[DIMENSION[name]]] for name in level]
    return list(zip(*shown, strict=True)) if level else [()] * len(columns["region"])


def rows_of(level: Sequence[str]) -> list[tuple[str, ...]]:
    """The rows of a level, the last dimension fastest."""
    return list(product(*(CATEGORIES[name] for name in level)))


def by_pandas(
    levels: Sequence[Sequence[str]], columns: Mapping[str, np.ndarray], values: np.ndarray, how: str = "sum"
) -> np.ndarray:
    """What pandas makes of these values in every row of the levels; 0 where there are no records."""
    found: list[Any] = []
    for level in levels:
        grouped = pd.Series(values).groupby(pd.Series(kept_of(level, columns), dtype=object)).agg(how)
        known = {key if isinstance(key, tuple) else (key,): value for key, value in grouped.items()}
        found += [known.get(row, 0) for row in rows_of(level)]
    return np.array(found)
